// Messages between two ranks, and what is made of them: an all_to_all whose counts differ. There a
// rank knows what it sends and what it gets and no more, so no schedule of the whole can be bound;
// since operations never wait for each other, as many messages as there are pairs do as well.
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "comm/group.h"

namespace tutti::comm {
namespace {

const void* at(const void* data, uint64_t elem, DataType type) {
  return data == nullptr ? nullptr : static_cast<const std::byte*>(data) + elem * size_of(type);
}
void* at(void* data, uint64_t elem, DataType type) {
  return data == nullptr ? nullptr : static_cast<std::byte*>(data) + elem * size_of(type);
}

}  // namespace

Work Group::exchange(const Call& call) {
  const Rank peer{call.peer};
  const Rank from = call.receives ? peer : self_;
  const Rank to = call.receives ? self_ : peer;
  const Key key = numbers_.next({from.value, to.value, call.receives}, call.options);
  if (peer == self_) {
    notice_abort();
    const uint64_t elems = call.receives ? call.output_elems : call.input_elems;
    return {this, self_mail_.post({call.input, call.output, elems, call.type, call.receives, key.id,
                                   deadline_of(call.options)})};
  }
  return start_end(call, key, id_);
}

Work Group::start_end(const Call& call, Key key, uint64_t group) {
  auto checked = check_call(call, num_ranks(), self_);
  if (!checked) return Work(std::move(checked.error()));
  const Rank peer = members_[call.peer];
  const Shelf& shelf = node_->shelf;
  return start(call, *checked,
               {key, group, call.receives ? shelf.from(peer) : shelf.to(peer),
                call.receives ? receiver_programs_ : sender_programs_});
}

// In the i-th round everyone sends i places up and receives from i places down, so that no rank is
// everybody's first.
Work Group::all_to_all_uneven(const Call& call) {
  const Key scope = numbers_.next(call.options);
  std::vector<uint64_t> in_at{0};
  std::vector<uint64_t> out_at{0};
  for (uint32_t r = 0; r < num_ranks(); ++r) {
    in_at.push_back(in_at.back() + call.counts[r]);
    out_at.push_back(out_at.back() + call.output_counts[r]);
  }
  const auto receive_from = [&](uint32_t peer) {
    return start_end({.kind = CollectiveKind::kSendRecv,
                      .type = call.type,
                      .output = at(call.output, out_at[peer], call.type),
                      .output_elems = call.output_counts[peer],
                      .peer = peer,
                      .receives = true,
                      .options = call.options},
                     {CallNumbers::pair_key(scope.id, peer, self_.value), scope.number}, id_);
  };
  const auto send_to = [&](uint32_t peer) {
    return start_end({.kind = CollectiveKind::kSendRecv,
                      .type = call.type,
                      .input = at(call.input, in_at[peer], call.type),
                      .input_elems = call.counts[peer],
                      .peer = peer,
                      .options = call.options},
                     {CallNumbers::pair_key(scope.id, self_.value, peer), scope.number}, id_);
  };
  const uint32_t own = self_.value;
  Work all;
  for (uint32_t i = 1; i < num_ranks(); ++i) {
    all += receive_from((own + num_ranks() - i) % num_ranks());
    all += send_to((own + i) % num_ranks());
  }
  if (call.counts[own] != 0) {
    std::memcpy(at(call.output, out_at[own], call.type), at(call.input, in_at[own], call.type),
                call.counts[own] * size_of(call.type));
  }
  return all;
}

}  // namespace tutti::comm
