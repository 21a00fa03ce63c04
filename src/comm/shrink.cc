// How survivors agree on who lives.
//
// Deaths are certain and known to everybody sooner or later: the kernel tells (watch.h), so nobody
// that lives is ever taken for dead, and a message from a dead rank fails instead of not coming.
// First every rank tells every other whom it holds for dead; whoever does not answer is dead too.
// That pools what is known, but one that dies in the middle may have told some and not others. So
// then, in order of ranks, each tells all behind it the set that it has settled on, and whoever
// hears a set takes it for its own. The first rank that lives through it all is heard by all behind
// it, and all before it are dead: hence all that live have its set.
#include <utility>
#include <vector>

#include "base/try.h"
#include "comm/group.h"
#include "comm/keys.h"

namespace tutti::comm {
namespace {

// By place: 1 who lives.
using Living = std::vector<uint8_t>;

constexpr uint64_t kPool = 1;
constexpr uint64_t kSettle = 2;

bool is_loss(const Status& status) {
  return !status && status.error().code == ErrorCode::kPeerLost;
}

}  // namespace

// Messages of one shrink. No abort ends them: an aborted communicator can be shrunk.
class Group::Survey {
 public:
  Survey(Group& group, uint64_t id, const CallOptions& options)
      : group_(group), id_(id), options_(options), self_(group.self_.value) {}

  Result<Living> pool() {
    const uint32_t n = group_.num_ranks();
    std::vector<Living> heard(n, Living(n));
    std::vector<Work> receives(n);
    Living living(n, 1);
    for (uint32_t r = 0; r < n; ++r) {
      if (r == self_) continue;
      receives[r] = receive(heard[r], r, kPool);
      // From one that is known to be dead it is over already.
      // Liveness: over, so it does not wait.
      if (receives[r].test() && is_loss(receives[r].wait())) living[r] = 0;
    }
    Work sends;
    for (uint32_t r = 0; r < n; ++r) {
      if (r != self_ && living[r] != 0) sends += send(living, r, kPool);
    }
    Living pooled = living;
    for (uint32_t r = 0; r < n; ++r) {
      if (r == self_) continue;
      // Liveness: all that live send to all, the others are lost; the deadline ends it in any case.
      const Status status = receives[r].wait();
      if (!status && !is_loss(status)) return status.error();
      if (!status) pooled[r] = 0;
      for (uint32_t i = 0; status && i < n; ++i) pooled[i] &= heard[r][i];
    }
    // Liveness: it ends as the receives do. Whether all could be told shows in the second part.
    (void)sends.wait();
    return pooled;
  }

  Result<Living> settle(Living living) {
    Living heard(living.size());
    for (uint32_t r = 0; r < self_; ++r) {
      // Liveness: rank r comes to this point, is lost, or the deadline passes.
      const Status status = receive(heard, r, kSettle).wait();
      if (!status && !is_loss(status)) return status.error();
      if (status) living = heard;
    }
    Work sends;
    for (uint32_t r = self_ + 1; r < living.size(); ++r) sends += send(living, r, kSettle);
    // Liveness: those behind come to this point, are lost, or the deadline passes.
    const Status status = sends.wait();
    if (!status && !is_loss(status)) return status.error();
    return living;
  }

 private:
  Work send(const Living& living, uint32_t to, uint64_t part) {
    return group_.start_end({.kind = CollectiveKind::kSendRecv,
                             .input = living.data(),
                             .input_elems = living.size(),
                             .peer = to,
                             .options = options_},
                            {number(part, self_, to), part}, 0);
  }
  Work receive(Living& living, uint32_t from, uint64_t part) {
    return group_.start_end({.kind = CollectiveKind::kSendRecv,
                             .output = living.data(),
                             .output_elems = living.size(),
                             .peer = from,
                             .receives = true,
                             .options = options_},
                            {number(part, from, self_), part}, 0);
  }
  [[nodiscard]] uint64_t number(uint64_t part, uint32_t from, uint32_t to) const {
    return mix(mix(id_, part), uint64_t{from} << 32 | to);
  }

  Group& group_;
  uint64_t id_;
  const CallOptions& options_;
  uint32_t self_;
};

Result<std::shared_ptr<Group>> Group::shrink(const CallOptions& options) {
  const uint64_t key = mix(id_, kShrink);
  uint64_t id = mix(key, numbers_.next_use(key));
  Survey survey(*this, id, options);
  TUTTI_ASSIGN(Living pooled, survey.pool());
  TUTTI_ASSIGN(const Living living, survey.settle(std::move(pooled)));
  std::vector<uint32_t> ranks;
  for (uint32_t r = 0; r < living.size(); ++r) {
    if (living[r] == 0) continue;
    ranks.push_back(r);
    id = mix(id, r);
  }
  return part(id, ranks);
}

}  // namespace tutti::comm
