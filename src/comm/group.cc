#include "comm/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/try.h"
#include "comm/diagnosis/report.h"
#include "engine/cpu/reduce.h"

namespace tutti::comm {
namespace {

// Distinguishes names from running numbers in the hash.
constexpr uint64_t kNamed = 0x6e616d65;
constexpr uint64_t kSubset = 0x73756273;

uint64_t hash_text(std::string_view text) {
  uint64_t hash = text.size();
  for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
  return hash;
}

void log_call(const engine::Request& request, Rank self) {
  BoardEntry facts;
  facts.signature = request.signature;
  facts.number = request.number;
  facts.name.assign(request.name);
  base::log(base::LogLevel::kTrace, self.value,
            fmt::format("{} issued among {} ranks", describe(facts), request.members.size()));
}

Rank place_of(const std::vector<Rank>& members, Rank rank) {
  const auto found = std::find(members.begin(), members.end(), rank);
  TUTTI_CHECK(found != members.end(), "a group belongs to one of its members");
  return Rank{static_cast<uint32_t>(found - members.begin())};
}

}  // namespace

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9E3779B97F4A7C15u + b + 0x632BE59BD9B4E019u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  x ^= x >> 31;
  return x == 0 ? 1 : x;
}

Group::Group(std::shared_ptr<Node> node, uint64_t id, std::vector<Rank> members)
    : node_(std::move(node)),
      id_(id),
      members_(std::move(members)),
      self_(place_of(members_, node_->engine.endpoint().self())),
      programs_(static_cast<uint32_t>(members_.size()), self_) {}

Group::Key Group::next_key(std::string_view name) {
  if (name.empty()) {
    const uint64_t number = num_unnamed_++;
    return {mix(id_, number), number};
  }
  auto use = uses_.find(name);
  if (use == uses_.end()) use = uses_.emplace(name, 0).first;
  const uint64_t number = use->second++;
  return {mix(mix(mix(id_, kNamed), hash_text(name)), number), number};
}

Work Group::submit(const Call& call) {
  auto checked = check_call(call, static_cast<uint32_t>(members_.size()), self_);
  if (!checked) return Work(std::move(checked.error()));
  engine::Request request;
  {
    const std::lock_guard lock(mutex_);
    auto program = programs_.find(checked->key);
    if (!program) return Work(std::move(program.error()));
    request.program = *program;
    const Key key = next_key(call.options.name);
    request.id = key.id;
    request.number = key.number;
  }
  request.name = call.options.name;
  request.signature = checked->signature;
  request.members = members_;
  request.input = call.input;
  request.output = call.output;
  request.elem_bytes = checked->key.elem_bytes;
  if (is_reducing(call.kind)) {
    request.reduce = engine::reduce_function(call.type, call.options.op);
    request.finishing = {call.type, call.options.op, call.options.factor};
  }
  request.deadline_ns =
      base::now_ns() + static_cast<uint64_t>(std::max<int64_t>(call.options.deadline.count(), 0));
  auto operation = node_->engine.submit(request);
  if (!operation) return Work(std::move(operation.error()));
  if (base::logs(base::LogLevel::kTrace)) log_call(request, node_->engine.endpoint().self());
  node_->notice();
  return {this, *operation};
}

Result<std::shared_ptr<Group>> Group::subset(std::span<const uint32_t> ranks) {
  std::vector<Rank> members;
  uint64_t id = mix(id_, kSubset);
  for (const uint32_t rank : ranks) {
    if (rank >= members_.size()) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("subset: rank {} of {}", rank, members_.size())};
    }
    members.push_back(members_[rank]);
    id = mix(id, rank);
  }
  const std::set<uint32_t> distinct(ranks.begin(), ranks.end());
  if (distinct.size() != ranks.size()) {
    return Error{ErrorCode::kInvalidArgument, "subset: a rank is named twice"};
  }
  if (!distinct.contains(self_.value)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("subset: rank {} calls it and is not in it", self_.value)};
  }
  const std::lock_guard lock(mutex_);
  id = mix(id, subsets_[{ranks.begin(), ranks.end()}]++);
  return std::make_shared<Group>(node_, id, std::move(members));
}

}  // namespace tutti::comm
