#include "comm/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "comm/diagnosis/report.h"
#include "engine/cpu/reduce.h"

namespace tutti::comm {
namespace {

void log_call(const engine::Request& request, Rank self) {
  BoardEntry facts;
  facts.signature = request.signature;
  facts.number = request.number;
  facts.name.assign(request.name);
  base::log(base::LogLevel::kTrace, self.value,
            fmt::format("{} issued among {} ranks", describe(facts), request.members.size()));
}

Rank place_of(std::span<const Rank> members, Rank rank) {
  const auto found = std::find(members.begin(), members.end(), rank);
  TUTTI_CHECK(found != members.end(), "a group belongs to one of its members");
  return Rank{static_cast<uint32_t>(found - members.begin())};
}

}  // namespace

Group::Group(std::shared_ptr<Node> node, uint64_t id, std::vector<Rank> members,
             std::shared_ptr<const TuningTable> tuning)
    : node_(std::move(node)),
      tuning_(std::move(tuning)),
      id_(id),
      members_(node_->shelf.members(std::move(members))),
      self_(place_of(members_, node_->engine.endpoint().self())),
      programs_(&node_->shelf.programs(num_ranks(), self_, tuning_)),
      sender_programs_(&node_->shelf.programs(2, Rank{0})),
      receiver_programs_(&node_->shelf.programs(2, Rank{1})) {}

Work Group::submit(const Call& call) {
  if (const LastCall::Use last(last_call_, call); last) {
    return issue(last.request(), call, numbers_.next(call.options));
  }
  auto checked = check_call(call, num_ranks(), self_);
  if (!checked) return Work(std::move(checked.error()));
  if (call.kind == CollectiveKind::kSendRecv) return exchange(call);
  if (call.kind == CollectiveKind::kAllToAll && !call.counts.empty()) {
    return all_to_all_uneven(call);
  }
  return start(call, *checked, {numbers_.next(call.options), id_, members_, programs_});
}

Work Group::start(const Call& call, const CheckedCall& checked, const Route& route) {
  auto program = route.programs->find(checked.key);
  if (!program) return Work(std::move(program.error()));
  engine::Request request;
  request.group = route.group;
  request.signature = checked.signature;
  request.program = program->get();
  request.members = route.members;
  request.communicator = members_;
  request.input = call.input;
  request.output = call.output;
  request.elem_bytes = checked.key.elem_bytes;
  if (is_reducing(call.kind)) {
    request.reduce = engine::reduce_function(call.type, call.options.op);
    request.finishing = {call.type, call.options.op, call.options.factor};
  }
  Work work = issue(request, call, route.key);
  const bool may_be_repeated = call.kind != CollectiveKind::kSendRecv && call.counts.empty();
  if (may_be_repeated) last_call_.remember(call, request, *std::move(program));
  return work;
}

Work Group::issue(engine::Request& request, const Call& call, Key key) {
  request.id = key.id;
  request.number = key.number;
  request.name = call.options.name;
  request.deadline_ns = deadline_of(call.options);
  auto operation = node_->engine.call(request, node_->policy.looks);
  if (!operation) return Work(std::move(operation.error()));
  if (base::logs(base::LogLevel::kTrace)) log_call(request, node_->engine.endpoint().self());
  if (*operation == nullptr) return {};  // over already
  node_->notice();
  return {this, *operation};
}

}  // namespace tutti::comm
