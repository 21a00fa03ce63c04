#include "comm/tuning.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "comm/keys.h"

namespace tutti::comm {
namespace {

auto scope_of(const TuningRule& rule) { return std::tuple(rule.kind, rule.num_ranks); }

bool is_before(const TuningRule& a, const TuningRule& b) {
  return std::tuple(scope_of(a), a.min_bytes) < std::tuple(scope_of(b), b.min_bytes);
}

}  // namespace

std::optional<Overlap> sort_rules(std::vector<TuningRule>& rules) {
  std::vector<size_t> order(rules.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return is_before(rules[a], rules[b]); });
  std::vector<TuningRule> sorted;
  sorted.reserve(rules.size());
  for (const size_t place : order) sorted.push_back(rules[place]);
  rules.swap(sorted);
  for (size_t i = 1; i < rules.size(); ++i) {
    const TuningRule& before = rules[i - 1];
    if (scope_of(before) == scope_of(rules[i]) && rules[i].min_bytes <= before.max_bytes) {
      return Overlap{order[i - 1], order[i]};
    }
  }
  return std::nullopt;
}

std::optional<Choice> find_choice(const TuningTable& table, const Collective& collective,
                                  uint64_t bytes) {
  for (const TuningRule& rule : table.rules) {
    const bool speaks = scope_of(rule) == std::tuple(collective.kind, collective.num_ranks) &&
                        rule.min_bytes <= bytes && bytes <= rule.max_bytes;
    if (speaks && rule.choice) return rule.choice;
  }
  return std::nullopt;
}

Choice choose_algorithm(const TuningTable& table, const Collective& collective, uint64_t bytes) {
  const std::optional<Choice> choice = find_choice(table, collective, bytes);
  return choice ? *choice : choose_algorithm(collective, bytes);
}

uint64_t digest(const TuningTable& table) {
  uint64_t hash = 0;
  for (const TuningRule& rule : table.rules) {
    if (!rule.choice) continue;
    for (const char c : rule.choice->algorithm) hash = mix(hash, static_cast<unsigned char>(c));
    const plan::Options& options = rule.choice->options;
    const uint64_t facts[] = {static_cast<uint64_t>(rule.kind),
                              rule.num_ranks,
                              rule.min_bytes,
                              rule.max_bytes,
                              options.chunks,
                              options.radix,
                              options.group_size};
    for (const uint64_t fact : facts) hash = mix(hash, fact);
  }
  for (const LoadedSchedule& loaded : table.schedules) {
    hash = mix(mix(mix(hash, loaded.digest), loaded.sizes.min_bytes), loaded.sizes.max_bytes);
  }
  return hash;
}

}  // namespace tutti::comm
