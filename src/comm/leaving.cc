#include "comm/leaving.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <list>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "base/library_thread.h"
#include "comm/group.h"
#include "comm/join.h"

namespace tutti::comm {
namespace {

// Other groups' ids are kWorldGroup and hashes.
constexpr uint64_t kLeavingGroup = 2;
// Longer than ranks of a job are apart; a process that has more to do at its end is waited for so
// long at most.
constexpr auto kLongestGoodbye = std::chrono::minutes(1);

struct Stay {
  std::shared_ptr<Node> node;
  std::string directory;
};

// A job that was aborted is left at once, by all.
Status say_goodbye(const std::shared_ptr<Node>& node) {
  const auto ranks = all_ranks(node->engine.endpoint().num_ranks());
  Group everybody(node, kLeavingGroup, ranks);
  if (node->engine.aborter_of(kWorldGroup, ranks) != kNoRank) everybody.abort();
  const CallOptions options{.name = "tutti: leaving the job", .deadline = kLongestGoodbye};
  // Liveness: all ranks leave, or die, or the deadline passes.
  return everybody.submit({.kind = CollectiveKind::kBarrier, .options = options}).wait();
}

void leave(const Stay& stay) {
  const bool all_left = say_goodbye(stay.node).ok();
  stay.node->watch.reset();  // takes this rank's socket out of the directory
  std::error_code ignored;
  if (all_left) {
    std::filesystem::remove(stay.directory, ignored);  // while others' sockets are there, it stays
  } else {
    std::filesystem::remove_all(stay.directory, ignored);  // the dead do not tidy up
  }
}

class Leavers {
 public:
  // Never destroyed: communicators that are globals may be let go of later than anything.
  static Leavers& get() {
    static auto& leavers = *new Leavers;
    static const AtExit at_exit{leavers};
    return leavers;
  }

  void enter(const Stay* stay) {
    const std::lock_guard lock(mutex_);
    present_.insert(stay);
  }

  // After the end of the process has begun, goodbye was said for it.
  void see_off(const Stay* stay) {
    const std::lock_guard lock(mutex_);
    present_.erase(stay);
    if (is_over_) return;
    // Liveness: a thread that is done has nothing left to do.
    leaving_.remove_if(
        [](Leaving& one) { return one.is_done ? (one.thread.join(), true) : false; });
    start(*stay);
  }

 private:
  struct Leaving {
    std::thread thread;
    std::atomic<bool> is_done{false};
  };
  struct AtExit {
    Leavers& leavers;
    ~AtExit() { leavers.end(); }
  };

  void start(const Stay& stay) {
    Leaving& leaving = leaving_.emplace_back();
    leaving.thread = base::start_library_thread("tutti-leave", [&leaving, own = stay]() mutable {
      leave(own);
      own = {};  // all of it is gone before it is done
      leaving.is_done = true;
    });
  }

  void end() {
    std::list<Leaving> last;
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      if (getpid() != process_) return;  // a fork, which has none of these threads
      for (const Stay* stay : present_) start(*stay);
      last.swap(leaving_);
    }
    // Liveness: a goodbye has a deadline.
    for (Leaving& one : last) one.thread.join();
  }

  const pid_t process_ = getpid();
  std::mutex mutex_;  // guards what follows; never held across a wait
  std::set<const Stay*> present_;
  std::list<Leaving> leaving_;
  bool is_over_ = false;
};

struct Guest {
  explicit Guest(Stay given) : stay(std::move(given)) { Leavers::get().enter(&stay); }
  ~Guest() { Leavers::get().see_off(&stay); }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  Stay stay;
};

}  // namespace

std::shared_ptr<Node> leaving_at_end(std::shared_ptr<Node> node, std::string directory) {
  Node* const kept = node.get();
  return {std::make_shared<Guest>(Stay{std::move(node), std::move(directory)}), kept};
}

}  // namespace tutti::comm
