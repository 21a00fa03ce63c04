#include "tools/view/activity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "ir/step.h"

namespace tutti::view {
namespace {

constexpr size_t kNumParts = 240;
constexpr std::array<std::string_view, 5> kWork = {"wait", "send", "recv", "reduce", "copy"};

size_t work_of(const trace::Event& event) {
  if (event.kind == trace::EventKind::kWait) return 0;
  const auto kind = static_cast<ir::StepKind>(event.op);
  if (ir::reduces(kind)) return 3;
  if (ir::receives(kind)) return 2;
  return ir::sends(kind) ? 1 : 4;
}

}  // namespace

nlohmann::ordered_json activity_json(const trace::Trace& trace, TimeWindow window) {
  const uint32_t num_rows = std::min(std::max(trace.num_ranks, 1u), kMostLanes);
  const double part = static_cast<double>(window.end - window.begin) / kNumParts;
  std::vector<uint32_t> rows;
  for (uint64_t i = 0; i <= num_rows; ++i) {
    rows.push_back(static_cast<uint32_t>((i * trace.num_ranks + num_rows - 1) / num_rows));
  }
  std::array<std::vector<double>, kWork.size()> ticks;
  for (auto& its : ticks) its.resize(num_rows * kNumParts);
  for (const trace::Event& event : trace.events) {
    if (event.kind == trace::EventKind::kMessage || part <= 0) continue;
    const auto from = static_cast<double>(std::max(event.begin, window.begin) - window.begin);
    const auto until = static_cast<double>(std::min(event.end, window.end) - window.begin);
    const size_t row = uint64_t{event.rank} * num_rows / trace.num_ranks;
    for (auto i = static_cast<size_t>(from / part); i < kNumParts; ++i) {
      const double begin = std::max(from, static_cast<double>(i) * part);
      const double stop = std::min(until, static_cast<double>(i + 1) * part);
      if (stop <= begin) break;
      ticks[work_of(event)][row * kNumParts + i] += stop - begin;
    }
  }
  nlohmann::ordered_json shares;
  for (size_t work = 0; work < kWork.size(); ++work) {
    nlohmann::ordered_json row_shares = nlohmann::ordered_json::array();
    for (size_t i = 0; i < ticks[work].size(); ++i) {
      const size_t row = i / kNumParts;
      const double room = part * (rows[row + 1] - rows[row]);
      row_shares.push_back(room > 0 ? std::lround(1000 * ticks[work][i] / room) : 0);
    }
    shares[std::string(kWork[work])] = std::move(row_shares);
  }
  return {{"rows", rows},
          {"count", kNumParts},
          {"ns", part / trace.ticks_per_ns},
          {"shares", std::move(shares)}};
}

}  // namespace tutti::view
