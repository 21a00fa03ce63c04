#include "tools/perf/contest.h"

#include <algorithm>
#include <utility>

#include "base/try.h"

namespace tutti::tools::perf {
namespace {

constexpr size_t kLeastRounds = 3;
constexpr size_t kHeats = 9;
constexpr size_t kFinals = 25;
// Who was in no round better than this much slower than another usually is need not go on.
constexpr double kHopeless = 1.5;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Some of the entrants, measured by turns.
class Heat {
 public:
  explicit Heat(std::vector<size_t> entrants)
      : entrants_(std::move(entrants)), samples_(entrants_.size()) {}

  // At least kLeastRounds and at most `most`, as long as less than `until` of the time is used.
  // Whether it came to an end.
  Result<bool> run(const Sampler& sample, size_t most, double until) {
    // Liveness: every turn counts.
    for (size_t rounds = 1; rounds <= most; ++rounds) {
      TUTTI_ASSIGN(const Round round, sample(entrants_));
      for (size_t i = 0; i < entrants_.size(); ++i) samples_[i].push_back(round.us[i]);
      if (rounds >= kLeastRounds && (round.is_late || round.used >= until)) return true;
      if (round.is_late) return false;
      if (rounds >= kLeastRounds) drop_hopeless();
    }
    return true;
  }

  // The first is always the one in use.
  [[nodiscard]] double default_us() const { return median(samples_[0]); }
  // The fastest of the others, if there are any.
  [[nodiscard]] std::optional<Outcome> best() const {
    std::optional<Outcome> best;
    for (size_t i = 1; i < entrants_.size(); ++i) {
      const double us = median(samples_[i]);
      if (!best || us < best->us) best = Outcome{entrants_[i], us, default_us()};
    }
    return best;
  }

 private:
  void drop_hopeless() {
    double usual = default_us();
    for (const auto& samples : samples_) usual = std::min(usual, median(samples));
    size_t kept = 1;
    for (size_t i = 1; i < entrants_.size(); ++i) {
      if (*std::min_element(samples_[i].begin(), samples_[i].end()) > kHopeless * usual) continue;
      std::swap(entrants_[kept], entrants_[i]);
      std::swap(samples_[kept], samples_[i]);
      ++kept;
    }
    entrants_.resize(kept);
    samples_.resize(kept);
  }

  std::vector<size_t> entrants_;
  std::vector<std::vector<double>> samples_;
};

bool wins(const std::optional<Outcome>& challenger) {
  return challenger && challenger->us <= kMargin * challenger->default_us;
}

}  // namespace

Result<std::optional<Outcome>> hold_contest(size_t num_entrants, const Sampler& sample) {
  std::vector<size_t> all(num_entrants);
  for (size_t i = 0; i < num_entrants; ++i) all[i] = i;
  Heat heats(std::move(all));
  TUTTI_ASSIGN(const bool is_seen, heats.run(sample, kHeats, 0.5));
  if (!is_seen) return std::optional<Outcome>();
  const auto challenger = heats.best();
  const Outcome stays{0, heats.default_us(), heats.default_us()};
  if (!wins(challenger)) return std::optional(stays);
  Heat finals({0, challenger->winner});
  TUTTI_ASSIGN(const bool is_decided, finals.run(sample, kFinals, 1));
  if (!is_decided) return std::optional<Outcome>();
  if (const auto best = finals.best(); wins(best)) return best;
  return std::optional(Outcome{0, finals.default_us(), finals.default_us()});
}

}  // namespace tutti::tools::perf
