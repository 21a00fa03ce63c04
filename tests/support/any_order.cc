#include "tests/support/any_order.h"

#include <algorithm>
#include <utility>

namespace tutti::test {

using engine::OperationState;

void AnyOrder::add(const TestCollective::Spec& spec, std::vector<Rank> members) {
  const uint64_t id = (collectives_.size() + 1) * 0x9E3779B97F4A7C15u;
  collectives_.push_back(std::make_unique<TestCollective>(spec, id, std::move(members)));
}

void AnyOrder::shuffle() {
  for (uint32_t r = 0; r < cluster_.num_ranks(); ++r) {
    std::vector<size_t> order;
    for (size_t c = 0; c < collectives_.size(); ++c) {
      if (place_of(c, r) < collectives_[c]->members().size()) order.push_back(c);
    }
    std::shuffle(order.begin(), order.end(), random_);
    orders_.push_back(std::move(order));
  }
}

void AnyOrder::issue_all() {
  for (uint32_t r = 0; r < cluster_.num_ranks(); ++r) {
    while (works_[r].size() < orders_[r].size()) issue(r);
  }
}

size_t AnyOrder::run() {
  size_t idle = 0;
  while (idle < 50 * cluster_.num_ranks()) {
    const auto rank = static_cast<uint32_t>(random_() % cluster_.num_ranks());
    const bool issues = works_[rank].size() < orders_[rank].size() && random_() % 3 == 0;
    if (issues) issue(rank);
    const uint64_t completed = cluster_.engine(rank).counts().completed;
    const bool moved = cluster_.engine(rank).progress();
    if (issues || cluster_.engine(rank).counts().completed != completed) note_ended(rank);
    idle = issues || moved ? 0 : idle + 1;
  }
  size_t left = 0;
  for (const std::vector<size_t>& running : running_) left += running.size();
  return left;
}

// What ended in the same turn is in the order of issue.
void AnyOrder::note_ended(uint32_t rank) {
  std::erase_if(running_[rank], [&](size_t i) {
    const engine::Operation* const op = works_[rank][i];
    const bool is_done = op == nullptr || op->state.load() == OperationState::kDone;
    if (is_done) ended_[rank].push_back(orders_[rank][i]);
    return is_done;
  });
}

std::string AnyOrder::difference() const {
  for (const auto& collective : collectives_) {
    if (std::string text = collective->difference(); !text.empty()) return text;
  }
  return "";
}

size_t AnyOrder::left_behind() {
  size_t sum = 0;
  for (uint32_t r = 0; r < cluster_.num_ranks(); ++r) {
    sum += cluster_.engine(r).num_under_way() + cluster_.engine(r).endpoint().arena().used() +
           cluster_.engine(r).endpoint().words().used() +
           cluster_.engine(r).endpoint().heap().used();
  }
  return sum;
}

size_t AnyOrder::num_issued() const {
  size_t sum = 0;
  for (const auto& works : works_) sum += works.size();
  return sum;
}

size_t AnyOrder::place_of(size_t collective, uint32_t rank) const {
  const auto& members = collectives_[collective]->members();
  return static_cast<size_t>(std::find(members.begin(), members.end(), Rank{rank}) -
                             members.begin());
}

void AnyOrder::issue(uint32_t rank) {
  const size_t c = orders_[rank][works_[rank].size()];
  const auto place = static_cast<uint32_t>(place_of(c, rank));
  running_[rank].push_back(works_[rank].size());
  engine::Engine& engine = cluster_.engine(rank);
  const engine::Request request = collectives_[c]->request(place);
  works_[rank].push_back(
      ((c + rank) % 2 == 0 ? engine.call(request, 1) : engine.submit(request)).value());
}

const std::vector<TestCollective::Spec>& mixed_collectives() {
  static const std::vector<TestCollective::Spec> kMixed = {
      {CollectiveKind::kAllReduce, "one_shot", 1},
      {CollectiveKind::kAllReduce, "pull", 3000},
      {CollectiveKind::kAllReduce, "pull_all", 2},
      {CollectiveKind::kAllReduce, "pull_all", 1500, 0, true},
      {CollectiveKind::kReduceScatter, "pull", 5000},
      {CollectiveKind::kReduce, "pull", 700, 1},
      {CollectiveKind::kBroadcast, "direct", 9000, 1},
      {CollectiveKind::kReduce, "spread", 5000, 2},
      {CollectiveKind::kReduce, "spread", 70'001, 0, true},
      {CollectiveKind::kBroadcast, "spread", 70'001, 2},
      {CollectiveKind::kBroadcast, "spread", 5000, 1, true},
      {CollectiveKind::kAllToAll, "direct", 4000},
      {CollectiveKind::kAllReduce, "ring", 1000},
      {CollectiveKind::kAllReduce, "rabenseifner", 70'001},
      {CollectiveKind::kAllReduce, "double_tree", 513, 0, true},
      {CollectiveKind::kBroadcast, "chain", 9000, 1},
      {CollectiveKind::kBroadcast, "binomial", 3, 2},
      {CollectiveKind::kReduce, "binomial", 2500, 1},
      {CollectiveKind::kReduce, "chain", 40, 0},
      {CollectiveKind::kAllGather, "ring", 1001},
      {CollectiveKind::kAllGather, "bruck", 8},
      {CollectiveKind::kReduceScatter, "ring", 777},
      {CollectiveKind::kReduceScatter, "recursive_halving", 12, 0, true},
      {CollectiveKind::kAllToAll, "pairwise", 900},
      {CollectiveKind::kAllToAll, "bruck", 5},
      {CollectiveKind::kGather, "binomial", 300, 2},
      {CollectiveKind::kScatter, "direct", 301, 1},
      {CollectiveKind::kBarrier, "dissemination", 0},
  };
  return kMixed;
}

}  // namespace tutti::test
