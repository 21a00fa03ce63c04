#include "tools/perf/tune.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/try.h"
#include "tools/perf/buffers.h"
#include "tools/perf/candidates.h"
#include "tools/perf/contest.h"

namespace tutti::tools::perf {
namespace {

using Clock = std::chrono::steady_clock;

// What is this small takes as long as nothing.
constexpr uint64_t kNextToNothing = 64;
// A sample is the mean of so many calls that they take about this long, so that the clock and the
// meeting before it do not count.
constexpr double kSampleUs = 500;
constexpr double kMostCalls = 256;

uint64_t half_way(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(std::sqrt(static_cast<double>(a) * static_cast<double>(b)));
}

// The sizes of one collective: at least an element for each rank that has a part.
std::vector<uint64_t> sizes_of(const Subject& subject, const TuneOptions& options,
                               uint32_t num_ranks) {
  if (subject.kind == CollectiveKind::kBarrier) return {0};
  const uint64_t elem_bytes = size_of(subject.type);
  const uint64_t least = elem_bytes * (splits_row(subject.kind) ? num_ranks : 1);
  std::set<uint64_t> sizes;
  const auto add = [&](uint64_t bytes) {
    sizes.insert(elems_for(subject, num_ranks, std::max(bytes, least)) * elem_bytes);
  };
  for (uint64_t bytes = std::max<uint64_t>(options.min_bytes, 1); bytes < options.max_bytes;
       bytes *= options.factor) {
    add(bytes);
    if (bytes > options.max_bytes / options.factor) break;
  }
  add(options.max_bytes);
  return {sizes.begin(), sizes.end()};
}

class Tuner {
 public:
  Tuner(std::shared_ptr<comm::Group> world, const TuneOptions& options)
      : world_(std::move(world)), options_(options), default_(world_->tuned({})) {}

  // Nothing when there was no time for it.
  Result<std::optional<comm::TuningRule>> run(const Cell& cell, size_t cells_left) {
    TUTTI_ASSIGN(begin_s_, agreed_seconds());
    if (begin_s_ >= options_.seconds) return std::optional<comm::TuningRule>();
    share_s_ = (options_.seconds - begin_s_) / static_cast<double>(cells_left);
    subject_ = options_.subject;
    subject_.kind = cell.kind;
    const Collective collective{cell.kind, world_->num_ranks(), 0, 0};
    const auto others = candidates(collective, cell.bytes);
    entrants_ = {Entrant{default_}};
    for (const comm::Choice& choice : others) entrants_.push_back({following(cell.kind, choice)});
    Buffers buffers(default_, subject_, cell.bytes / size_of(subject_.type));
    TUTTI_TRY(buffers.make(default_, Placing::kOutOfPlace));
    buffers.fill();
    const Call call = buffers.call();
    TUTTI_ASSIGN(const auto outcome,
                 hold_contest(entrants_.size(),
                              [&](std::span<const size_t> who) { return sample(call, who); }));
    if (!outcome) return std::optional<comm::TuningRule>();
    comm::TuningRule rule{cell.kind, world_->num_ranks(), cell.min_bytes, cell.max_bytes};
    if (outcome->winner != 0) rule.choice = others[outcome->winner - 1];
    rule.measured_bytes = cell.bytes;
    rule.us = outcome->us;
    rule.default_us = outcome->default_us;
    return std::optional(rule);
  }

 private:
  struct Entrant {
    Communicator comm;
    double calls = 0;  // in a sample; none was made yet
  };

  // A communicator whose calls of this kind follow the choice; made once.
  Communicator following(CollectiveKind kind, const comm::Choice& choice) {
    const std::pair key(kind, to_string(choice));
    const auto found = followers_.find(key);
    if (found != followers_.end()) return found->second;
    comm::TuningTable table;
    table.rules.push_back({kind, world_->num_ranks(), 0, UINT64_MAX, choice});
    return followers_.emplace(key, world_->tuned(std::move(table))).first->second;
  }

  Result<Round> sample(const Call& call, std::span<const size_t> who) {
    Round round;
    for (const size_t entrant : who) {
      TUTTI_ASSIGN(const double us, time_calls(call, entrants_[entrant]));
      round.us.push_back(us);
    }
    // The slowest rank's, so that all ranks judge by the same figures.
    round.us.push_back(seconds());
    // Liveness: all ranks measure the same; one that is lost ends it.
    TUTTI_TRY(default_.all_reduce(std::span(round.us), {.op = Op::kMax}).wait());
    const double now_s = round.us.back();
    round.us.pop_back();
    for (size_t i = 0; i < who.size(); ++i) {
      const double us = std::max(round.us[i], 0.01);
      entrants_[who[i]].calls = std::clamp(std::floor(kSampleUs / us), 1.0, kMostCalls);
    }
    round.used = (now_s - begin_s_) / share_s_;
    round.is_late = now_s >= options_.seconds;
    return round;
  }

  Result<double> time_calls(const Call& call, Entrant& entrant) {
    // The first call plans and proves the schedule.
    // Liveness: all ranks make the same calls; one that is lost ends them.
    if (entrant.calls == 0) TUTTI_TRY(entrant.comm.submit(call).wait());
    const auto calls = static_cast<uint32_t>(std::max(entrant.calls, 1.0));
    TUTTI_TRY(default_.barrier().wait());
    const auto begin = Clock::now();
    // Liveness: as above.
    for (uint32_t i = 0; i < calls; ++i) TUTTI_TRY(entrant.comm.submit(call).wait());
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    return took.count() / calls;
  }

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }
  Result<double> agreed_seconds() {
    double now_s = seconds();
    // Liveness: as in sample().
    TUTTI_TRY(default_.all_reduce(std::span(&now_s, 1), {.op = Op::kMax}).wait());
    return now_s;
  }

  std::shared_ptr<comm::Group> world_;
  const TuneOptions& options_;
  Communicator default_;  // follows the built-in rules
  std::map<std::pair<CollectiveKind, std::string>, Communicator> followers_;
  Clock::time_point start_ = Clock::now();
  // Of the cell that is measured.
  Subject subject_;
  std::vector<Entrant> entrants_;
  double begin_s_ = 0;
  double share_s_ = 0;
};

}  // namespace

std::vector<Cell> cells(const TuneOptions& options, uint32_t num_ranks) {
  std::vector<Cell> all;
  for (const CollectiveKind kind : options.kinds) {
    Subject subject = options.subject;
    subject.kind = kind;
    const std::vector<uint64_t> sizes = sizes_of(subject, options, num_ranks);
    for (size_t i = 0; i < sizes.size(); ++i) {
      Cell cell{kind, sizes[i], sizes[i], sizes[i]};
      if (i > 0) cell.min_bytes = half_way(sizes[i - 1], sizes[i]) + 1;
      if (i == 0 && sizes[i] <= kNextToNothing) cell.min_bytes = 0;
      if (i + 1 < sizes.size()) cell.max_bytes = half_way(sizes[i], sizes[i + 1]);
      all.push_back(cell);
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Cell& a, const Cell& b) { return a.bytes < b.bytes; });
  return all;
}

Result<std::vector<comm::TuningRule>> tune(
    const std::shared_ptr<comm::Group>& world, const TuneOptions& options,
    const std::function<void(const comm::TuningRule&)>& on_rule) {
  const std::vector<Cell> all = cells(options, world->num_ranks());
  Tuner tuner(world, options);
  std::vector<comm::TuningRule> rules;
  for (size_t i = 0; i < all.size(); ++i) {
    TUTTI_ASSIGN(const auto rule, tuner.run(all[i], all.size() - i));
    if (!rule) continue;
    rules.push_back(*rule);
    on_rule(*rule);
  }
  return rules;
}

void put_rules(comm::TuningTable& table, const std::vector<comm::TuningRule>& rules) {
  std::erase_if(table.rules, [&](const comm::TuningRule& old) {
    return std::any_of(rules.begin(), rules.end(), [&](const comm::TuningRule& rule) {
      return rule.kind == old.kind && rule.num_ranks == old.num_ranks;
    });
  });
  table.rules.insert(table.rules.end(), rules.begin(), rules.end());
  TUTTI_CHECK(!sort_rules(table.rules), "ranges of one run are disjoint, and others are gone");
}

}  // namespace tutti::tools::perf
