#include "plan/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tutti::plan {
namespace {

constexpr size_t kNumSliceKinds = 6;

std::string_view name_of(sim::SliceKind kind) {
  switch (kind) {
    case sim::SliceKind::kWait: return "waiting";
    case sim::SliceKind::kOverhead: return "the overhead of steps";
    case sim::SliceKind::kLatency: return "latency";
    case sim::SliceKind::kTransfer: return "bandwidth";
    case sim::SliceKind::kReduce: return "reducing";
    case sim::SliceKind::kCopy: return "copying";
  }
  return "";
}

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.3g} ns", ns);
  if (ns < 1e6) return fmt::format("{:.3g} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.3g} ms", ns / 1e6);
  return fmt::format("{:.3g} s", ns / 1e9);
}

// "bound by bandwidth (81 % of its critical path)"
std::string what_bounds(const sim::Report& report) {
  std::array<double, kNumSliceKinds> ns{};
  for (const sim::Slice& slice : report.critical_path) {
    ns[static_cast<size_t>(slice.kind)] += slice.end_ns - slice.begin_ns;
  }
  const auto most = std::max_element(ns.begin(), ns.end());
  const auto kind = static_cast<sim::SliceKind>(most - ns.begin());
  return fmt::format("bound by {} ({:.0f} % of its critical path)", name_of(kind),
                     100 * *most / report.total_ns);
}

// The fastest candidate of another algorithm: that the winner with other options is nearly as fast
// says little.
const Candidate* next_best(std::span<const Candidate> candidates) {
  for (const Candidate& candidate : candidates) {
    if (candidate.algorithm != candidates.front().algorithm && candidate.skipped.empty()) {
      return &candidate;
    }
  }
  return nullptr;
}

std::string compare(const Candidate& winner, const Candidate* next) {
  if (next == nullptr) return "no other algorithm was tried";
  if (next->ns == winner.ns) return fmt::format("{} is as fast", describe(*next));
  return fmt::format("next is {} with {}, {:.3g} times as long", describe(*next),
                     time_text(next->ns), next->ns / winner.ns);
}

}  // namespace

std::string explain(std::span<const Candidate> candidates, const sim::Report& report) {
  const Candidate& winner = candidates.front();
  const auto num_skipped =
      std::count_if(candidates.begin(), candidates.end(),
                    [](const Candidate& candidate) { return !candidate.skipped.empty(); });
  std::string text = fmt::format("{} takes {}", describe(winner), time_text(winner.ns));
  if (report.total_ns > 0) text += ", " + what_bounds(report);
  if (report.ratio > 0) text += fmt::format(", {:.3g} times the lower bound", report.ratio);
  text += "; " + compare(winner, next_best(candidates));
  if (num_skipped > 0) text += fmt::format("; {} not tried", num_skipped);
  return text;
}

}  // namespace tutti::plan
