#include "tools/perf/contest.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>

namespace tutti::tools::perf {
namespace {

// Entrants whose times are known. With a seed, every tenth sample or so takes ten times as long.
class Machine {
 public:
  explicit Machine(std::vector<double> us, std::optional<uint32_t> seed = {})
      : us_(std::move(us)), is_noisy_(seed.has_value()), random_(seed.value_or(0)) {}

  Result<Round> operator()(std::span<const size_t> who) {
    Round round;
    for (const size_t entrant : who) {
      const bool is_noise = is_noisy_ && random_() % 10 == 0;
      round.us.push_back(us_[entrant] * (is_noise ? 10 : 1));
      asked_ += std::to_string(entrant);
    }
    asked_ += ' ';
    ++num_rounds_;
    round.used = used_a_round * static_cast<double>(num_rounds_);
    round.is_late = num_rounds_ >= rounds_until_late;
    return round;
  }

  [[nodiscard]] std::optional<Outcome> contest() {
    return hold_contest(us_.size(), [&](std::span<const size_t> who) { return (*this)(who); })
        .value();
  }
  [[nodiscard]] size_t num_rounds() const { return num_rounds_; }
  [[nodiscard]] const std::string& asked() const { return asked_; }

  double used_a_round = 0;
  size_t rounds_until_late = SIZE_MAX;

 private:
  std::vector<double> us_;
  bool is_noisy_;
  std::mt19937 random_;
  size_t num_rounds_ = 0;
  std::string asked_;
};

TEST(Contest, TheFastestWins) {
  const auto outcome = Machine({10, 12, 8, 9}).contest();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->winner, 2u);
  EXPECT_EQ(outcome->us, 8);
  EXPECT_EQ(outcome->default_us, 10);
}

TEST(Contest, TheOneInUseStaysUnlessItIsBeatenByTheMargin) {
  EXPECT_EQ(Machine({10, 9.6, 9.7}).contest()->winner, 0u);
  EXPECT_EQ(Machine({10, 9.4}).contest()->winner, 1u);
  EXPECT_EQ(Machine({10}).contest()->winner, 0u);
}

// The one in use may stay for once; nothing else may take its place.
TEST(Contest, SlowMomentsDecideNothing) {
  size_t missed = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const size_t winner = Machine({10, 12, 8, 11}, seed).contest()->winner;
    EXPECT_TRUE(winner == 2 || winner == 0) << "seed " << seed;
    missed += winner == 0 ? 1 : 0;
    EXPECT_EQ(Machine({10, 10.1, 9.9, 10.2}, seed).contest()->winner, 0u) << "seed " << seed;
  }
  EXPECT_LE(missed, 2u);
}

TEST(Contest, WhoWasOnlyLuckyLosesTheFinal) {
  size_t round = 0;
  const auto outcome = hold_contest(2, [&](std::span<const size_t>) -> Result<Round> {
    // The challenger shines nine times, as long as the heats last.
    return Round{{10.0, ++round <= 9 ? 5.0 : 10.0}, 0, false};
  });
  EXPECT_EQ(outcome.value()->winner, 0u);
  EXPECT_GT(round, 9u);
}

TEST(Contest, AllAreMeasuredByTurnsAndTheHopelessNoMore) {
  Machine machine({10, 100, 9, 20});
  EXPECT_EQ(machine.contest()->winner, 2u);
  EXPECT_TRUE(machine.asked().starts_with("0123 0123 0123 02 02 ")) << machine.asked();
}

TEST(Contest, StopsWhenItsTimeIsUsed) {
  Machine slow({10, 8});
  slow.used_a_round = 1;
  EXPECT_EQ(slow.contest()->winner, 1u);
  EXPECT_EQ(slow.num_rounds(), 6u);
}

TEST(Contest, DecidesNothingWhenThereWasNoTime) {
  for (const size_t rounds : {1, 2, 4, 5}) {
    Machine late({10, 8});
    late.used_a_round = 1;
    late.rounds_until_late = rounds;
    EXPECT_FALSE(late.contest()) << rounds;
    EXPECT_EQ(late.num_rounds(), rounds) << "it went on";
  }
}

TEST(Contest, AnErrorEndsIt) {
  const auto outcome = hold_contest(2, [](std::span<const size_t>) -> Result<Round> {
    return Error{ErrorCode::kPeerLost, "rank 1 is lost"};
  });
  EXPECT_EQ(outcome.error().code, ErrorCode::kPeerLost);
}

}  // namespace
}  // namespace tutti::tools::perf
