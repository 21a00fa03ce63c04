#include "comm/group.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "comm/keys.h"
#include "engine/cpu/reduce.h"

namespace tutti::comm {
namespace {

Rank place_of(std::span<const Rank> members, Rank rank) {
  const auto found = std::find(members.begin(), members.end(), rank);
  TUTTI_CHECK(found != members.end(), "a group belongs to one of its members");
  return Rank{static_cast<uint32_t>(found - members.begin())};
}

}  // namespace

Group::Group(std::shared_ptr<Node> node, uint64_t id, std::vector<Rank> members)
    : node_(std::move(node)),
      id_(id),
      members_(node_->shelf.members(std::move(members))),
      self_(place_of(members_, node_->engine.endpoint().self())),
      programs_(&node_->shelf.programs(num_ranks(), self_)),
      sender_programs_(&node_->shelf.programs(2, Rank{0})),
      receiver_programs_(&node_->shelf.programs(2, Rank{1})) {}

uint64_t Group::next_use(uint64_t key) {
  const std::lock_guard lock(mutex_);
  return uses_[key]++;
}

uint64_t Group::next_id(const CallOptions& options) {
  if (options.name.empty() && options.tag == 0) {
    return mix(id_, num_unnamed_.fetch_add(1, std::memory_order_relaxed));
  }
  const uint64_t key = key_of(mix(id_, kNamed), options);
  return mix(key, next_use(key));
}

Work Group::submit(const Call& call) {
  auto checked = check_call(call, num_ranks(), self_);
  if (!checked) return Work(std::move(checked.error()));
  if (call.kind == CollectiveKind::kSendRecv) return exchange(call);
  if (call.kind == CollectiveKind::kAllToAll && !call.counts.empty()) {
    return all_to_all_uneven(call);
  }
  return start(call, *checked, {next_id(call.options), id_, members_, programs_});
}

Work Group::start(const Call& call, const CheckedCall& checked, const Route& route) {
  auto program = route.programs->find(checked.key);
  if (!program) return Work(std::move(program.error()));
  engine::Request request;
  request.id = route.id;
  request.group = route.group;
  request.signature = checked.signature;
  request.program = *program;
  request.members = route.members;
  request.communicator = members_;
  request.input = call.input;
  request.output = call.output;
  request.elem_bytes = checked.key.elem_bytes;
  if (is_reducing(call.kind)) {
    request.reduce = engine::reduce_function(call.type, call.options.op);
    request.finishing = {call.type, call.options.op, call.options.factor};
  }
  request.deadline_ns = deadline_of(call.options);
  auto operation = node_->engine.submit(request);
  if (!operation) return Work(std::move(operation.error()));
  return {this, *operation};
}

}  // namespace tutti::comm
