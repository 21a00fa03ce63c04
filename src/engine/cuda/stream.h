// Operations in the order of a stream of the user's: they begin when the stream has come to them,
// and what comes behind in the stream waits for them. No thread of the host is on the way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/cuda/daemon.h"
#include "engine/cuda/device.h"
#include "engine/cuda/watch.h"

namespace tutti::engine::cuda {

class Stream {
 public:
  // All outlive it.
  static Result<std::unique_ptr<Stream>> create(Device& device, Daemon& daemon, Watch& watch);

  // Operations that begin together, in some order, and before and after which the stream copies.
  // What is about streams is filled in here. `ending` hears of each.
  struct Copy {
    void* to = nullptr;
    const void* from = nullptr;
    uint64_t bytes = 0;
  };
  struct Group {
    StreamHandle stream;  // always the same stream, whatever its handle is in this thread
    std::span<DeviceRequest> requests;
    std::span<const Copy> before = {};
    std::span<const Copy> after = {};
    Ending* ending = nullptr;
    // Called when the stream has taken them, before the first is handed to the daemon.
    std::function<void()> on_taken = nullptr;
  };
  // Any thread. If the stream does not take them, nothing is left behind but copies. A later error
  // is the device's, on which nothing runs any more.
  [[nodiscard]] Status submit(const Group& group);

  // Whether nothing that was submitted is under way; then it can be another stream's.
  [[nodiscard]] bool is_idle() const { return under_way_.is_none(); }
  // From now on it is another stream's. Memory for copies is new: the old may still be used.
  void begin_anew();

  // Memory for copies of at most so many bytes, in the order of the stream: what it is used for in
  // one group is over when the next group begins.
  [[nodiscard]] Result<std::byte*> staging(uint64_t bytes);
  // The same without a word to the driver, in what all neighbours know from the beginning; null:
  // there is not so much.
  [[nodiscard]] std::byte* staging_at_hand(uint64_t bytes);

 private:
  Stream(Device& device, Daemon& daemon, Watch& watch)
      : device_(device), daemon_(daemon), watch_(watch) {}
  [[nodiscard]] Status submit_all(const Group& group);
  [[nodiscard]] Status take_places(const Group& group);
  [[nodiscard]] Status arm(const Group& group);
  [[nodiscard]] Status hand_over(const Group& group, const DeviceRequest& request,
                                 const Daemon::Ticket& ticket);
  [[nodiscard]] Status copy_all(StreamHandle stream, std::span<const Copy> copies);
  [[nodiscard]] Status watch_copies(const Group& group);
  [[nodiscard]] bool grow_at_hand(uint64_t bytes);

  Device& device_;
  Daemon& daemon_;
  Watch& watch_;
  StreamWords* words_ = nullptr;
  uint32_t* num_passed_ = nullptr;  // of groups that end with copies, as the stream says
  UnderWay under_way_;

  std::mutex mutex_;                     // of what follows, and of the order in the stream
  std::vector<Daemon::Ticket> tickets_;  // of the group that is being submitted
  uint32_t num_groups_ = 0;
  uint32_t num_operations_ = 0;
  uint32_t num_copying_ = 0;  // groups that end with copies
  MemoryPool::Piece piece_;   // that staging is, if it was at hand
  std::byte* staging_ = nullptr;
  uint64_t staging_bytes_ = 0;
};

}  // namespace tutti::engine::cuda
