// What if ranks call in different orders? Several all_reduces as one schedule, twice: as an
// ordinary library runs them, where a rank's calls queue up behind each other, and as tutti does,
// where none waits for another. The verifier says what becomes of each.
//
// The calls share one message: call c is the chunks [c k, (c + 1) k) of it, with lanes, channels
// and scratch of its own. What an ordinary library adds is dependencies: all of a call's first
// steps wait for all last steps of the call before it on that rank.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "plan/algorithm.h"
#include "sim/simulate.h"
#include "tools/view/answers.h"
#include "tools/view/conditions.h"
#include "tools/view/course_json.h"
#include "verify/history.h"

namespace tutti::view {
namespace {

constexpr uint64_t kMostOrderRanks = 16;
constexpr uint64_t kMostOrderCalls = 3;

using Orders = std::vector<std::vector<uint32_t>>;  // by rank: its calls, the first one first

std::string letter(uint32_t call) { return std::string(1, static_cast<char>('A' + call)); }

// "AB,BA": rank by rank; a rank that is not named calls A first, then B.
Result<Orders> orders_of(const Question& question, uint32_t num_ranks, uint32_t num_calls) {
  // A rank that calls the other way round is what the question is about.
  const std::string text = text_of(question, "order", ",BA");
  std::vector<uint32_t> usual;
  for (uint32_t call = 0; call < num_calls; ++call) usual.push_back(call);
  Orders orders(num_ranks, usual);
  size_t at = 0;
  for (uint32_t rank = 0; at <= text.size(); ++rank) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, comma - at);
    at = comma + 1;
    if (word.empty() || rank >= num_ranks) continue;
    std::vector<uint32_t> order;
    for (char c : word) order.push_back(static_cast<uint32_t>(c - 'A'));
    std::vector<uint32_t> rest = usual;
    // A word of fewer calls leaves the others behind them, in their order.
    for (uint32_t call : order) std::erase(rest, call);
    order.insert(order.end(), rest.begin(), rest.end());
    if (!std::is_permutation(order.begin(), order.end(), usual.begin(), usual.end())) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("order: '{}' of rank {} is not each of {} calls once, as in BA",
                               word, rank, num_calls)};
    }
    orders[rank] = std::move(order);
  }
  return orders;
}

// The calls of one rank beside each other, none waiting for another.
ir::RankProgram beside(const ir::RankProgram& one, uint32_t num_calls, uint32_t num_chunks,
                       uint32_t num_channels) {
  ir::RankProgram all;
  const auto num_lanes = static_cast<uint32_t>(one.lanes.size());
  for (uint32_t call = 0; call < num_calls; ++call) {
    const auto shift = [&](ir::Buffer buffer) {
      const auto by = buffer == ir::Buffer::kScratch ? one.scratch.size() : num_chunks;
      return call * static_cast<uint32_t>(by);
    };
    for (ChunkId chunk : one.scratch) {
      all.scratch.push_back(chunk == ir::kAnyChunk ? chunk
                                                   : ChunkId{chunk.value + call * num_chunks});
    }
    for (const ir::Lane& lane : one.lanes) {
      ir::Lane its{lane.channel + call * num_channels, lane.steps};
      for (ir::Step& step : its.steps) {
        if (ir::reads_src(step.kind)) step.src_index += shift(step.src_buffer);
        if (ir::writes_dst(step.kind)) step.dst_index += shift(step.dst_buffer);
        const auto deps = one.deps_of(step);
        step.first_dep = deps.empty() ? 0 : static_cast<uint32_t>(all.deps.size());
        for (ir::StepRef dep : deps) all.deps.push_back({dep.lane + call * num_lanes, dep.step});
      }
      all.lanes.push_back(std::move(its));
    }
  }
  return all;
}

// The same with every call behind the one that the rank has called before.
ir::RankProgram behind_each_other(const ir::RankProgram& all, const std::vector<uint32_t>& order) {
  const auto num_lanes = static_cast<uint32_t>(all.lanes.size() / order.size());
  std::vector<std::optional<uint32_t>> before(order.size());
  for (size_t i = 1; i < order.size(); ++i) before[order[i]] = order[i - 1];
  ir::RankProgram queued = all;
  queued.deps.clear();
  for (uint32_t lane = 0; lane < queued.lanes.size(); ++lane) {
    for (size_t i = 0; i < queued.lanes[lane].steps.size(); ++i) {
      ir::Step& step = queued.lanes[lane].steps[i];
      std::vector<ir::StepRef> deps(all.deps_of(step).begin(), all.deps_of(step).end());
      const auto previous = before[lane / num_lanes];
      for (uint32_t j = 0; i == 0 && previous && j < num_lanes; ++j) {
        const uint32_t other = *previous * num_lanes + j;
        const auto count = static_cast<uint32_t>(all.lanes[other].steps.size());
        if (count > 0) deps.push_back({other, count - 1});
      }
      step.first_dep = deps.empty() ? 0 : static_cast<uint32_t>(queued.deps.size());
      step.num_deps = static_cast<uint32_t>(deps.size());
      queued.deps.insert(queued.deps.end(), deps.begin(), deps.end());
    }
  }
  return queued;
}

uint32_t num_channels_of(const ir::Schedule& schedule) {
  uint32_t channels = 1;
  for (const ir::RankProgram& program : schedule.ranks) {
    for (const ir::Lane& lane : program.lanes) channels = std::max(channels, lane.channel + 1);
  }
  return channels;
}

ir::Schedule composed(const ir::Schedule& one, uint32_t num_calls) {
  ir::Schedule all = one;
  all.chunks_per_block = one.chunks_per_block * num_calls;
  for (ir::RankProgram& program : all.ranks) {
    program = beside(program, num_calls, one.chunks_per_block, num_channels_of(one));
  }
  return all;
}

std::string ranks_in_words(const std::vector<uint32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    text += i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

// Who sits in which call, and for whom they wait there. `in` is the call that each rank is stuck
// in.
std::vector<std::string> circle_in_words(const std::map<uint32_t, uint32_t>& in) {
  std::map<uint32_t, std::vector<uint32_t>> by_call;
  for (const auto& [rank, call] : in) by_call[call].push_back(rank);
  std::vector<std::string> words;
  for (const auto& [call, ranks] : by_call) {
    std::vector<uint32_t> others;
    for (const auto& [rank, its] : in) {
      if (its != call) others.push_back(rank);
    }
    std::string who = ranks_in_words(ranks);
    who[0] = 'R';
    words.push_back(fmt::format("{} {} in {} and {} there for {}.", who,
                                ranks.size() == 1 ? "is" : "are", letter(call),
                                ranks.size() == 1 ? "waits" : "wait", ranks_in_words(others)));
  }
  return words;
}

// One way of running the calls: what runs in which round, and where ranks are stuck.
Result<ordered_json> side_json(const ir::Schedule& schedule, const Orders& orders,
                               const topo::Topology& topology, const sim::Options& options) {
  TUTTI_ASSIGN(const verify::History history, verify::write_history(schedule));
  const auto call_of = [&](const verify::StepName& name) {
    const size_t lanes = schedule.ranks[name.rank.value].lanes.size() / orders[0].size();
    return static_cast<uint32_t>(name.step.lane / lanes);
  };
  ordered_json json{{"proved", !history.refusal}, {"rounds", ordered_json::array()}};
  for (const verify::Round& round : history.rounds) {
    std::set<std::pair<uint32_t, uint32_t>> at_work;  // rank, call
    for (const verify::StepName& name : round.steps) {
      at_work.insert({name.rank.value, call_of(name)});
    }
    json["rounds"].push_back({{"messages", round.arrived.size()}, {"at_work", at_work}});
  }
  if (!history.refusal) {
    TUTTI_ASSIGN(const sim::Report report, sim::simulate(schedule, topology, options));
    json["time_ns"] = report.total_ns;
    return json;
  }
  json["refusal"] = refusal_json(*history.refusal);
  // Of the calls that a rank has not ended, the first that it called is the one that it is in.
  std::set<std::pair<uint32_t, uint32_t>> open;
  for (const verify::StepName& name : history.stuck) open.insert({name.rank.value, call_of(name)});
  std::map<uint32_t, uint32_t> in;
  for (uint32_t rank = 0; rank < orders.size(); ++rank) {
    for (uint32_t call : orders[rank]) {
      if (open.contains({rank, call})) in.try_emplace(rank, call);
    }
  }
  json["stuck"] = ordered_json::array();
  for (const auto& [rank, call] : in) json["stuck"].push_back({rank, call});
  json["words"] = circle_in_words(in);
  return json;
}

}  // namespace

Result<ordered_json> answer_order(const Shelf& shelf, const Question& question) {
  TUTTI_ASSIGN(const uint64_t ranks,
               number_of(question, "ranks", Defaults::kRanks, {2, kMostOrderRanks}));
  TUTTI_ASSIGN(const uint64_t calls, number_of(question, "calls", 2, {2, kMostOrderCalls}));
  const auto num_ranks = static_cast<uint32_t>(ranks);
  const auto num_calls = static_cast<uint32_t>(calls);
  TUTTI_ASSIGN(const Orders orders, orders_of(question, num_ranks, num_calls));
  TUTTI_ASSIGN(const ir::Schedule one,
               plan::make({CollectiveKind::kAllReduce, num_ranks}, "ring", {}));
  TUTTI_ASSIGN(const topo::Topology topology, machine_of(shelf, question, num_ranks));
  TUTTI_ASSIGN(const sim::Options options, conditions_of(question, num_ranks));
  const ir::Schedule free = composed(one, num_calls);
  ir::Schedule queued = free;
  for (uint32_t r = 0; r < num_ranks; ++r) {
    queued.ranks[r] = behind_each_other(free.ranks[r], orders[r]);
  }
  ordered_json json{{"schema", kSchemaVersion}, {"ranks", num_ranks}, {"bytes", options.bytes}};
  for (const std::vector<uint32_t>& order : orders) {
    std::string text;
    for (uint32_t call : order) text += letter(call);
    json["orders"].push_back(text);
  }
  json["machine"] = topology.name;
  TUTTI_ASSIGN(json["ordinary"], side_json(queued, orders, topology, options));
  TUTTI_ASSIGN(json["tutti"], side_json(free, orders, topology, options));
  return json;
}

}  // namespace tutti::view
