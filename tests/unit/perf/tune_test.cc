#include "tools/perf/tune.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "comm/tuning_file.h"
#include "tests/support/sanitized.h"
#include "tests/unit/comm/ranks.h"
#include "tools/perf/candidates.h"
#include "tools/perf/measure.h"

namespace tutti::tools::perf {
namespace {

std::vector<CollectiveKind> all_kinds() {
  std::vector<CollectiveKind> kinds;
  for (int i = 0; i < kNumCollectiveKinds; ++i) {
    const auto kind = static_cast<CollectiveKind>(i);
    if (kind != CollectiveKind::kSendRecv) kinds.push_back(kind);
  }
  return kinds;
}

void on_all(test::Ranks& ranks, const std::function<void(uint32_t rank)>& body) {
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < ranks.size(); ++r) threads.emplace_back([&, r] { body(r); });
  for (std::thread& thread : threads) thread.join();
}

TEST(Candidates, EveryAlgorithmIsTriedOrIsTheBuiltInChoice) {
  for (const plan::Algorithm& algorithm : plan::algorithms()) {
    if (algorithm.kind == CollectiveKind::kSendRecv) continue;
    const Collective collective{algorithm.kind, 8, 0, 0};
    const auto found = candidates(collective, 1u << 20);
    const bool is_tried = std::any_of(found.begin(), found.end(), [&](const comm::Choice& choice) {
      return choice.algorithm == algorithm.name;
    });
    const bool is_default =
        comm::choose_algorithm(collective, 1u << 20).algorithm == algorithm.name;
    EXPECT_TRUE(is_tried || is_default) << to_string(algorithm.kind) << " " << algorithm.name;
    EXPECT_EQ(std::count(found.begin(), found.end(), comm::choose_algorithm(collective, 1u << 20)),
              0);
  }
}

// Whatever a table can name gives the right result, in place and out of place, from messages that
// travel with their flag to those that are pulled.
TEST(Candidates, EveryOneOfThemGivesTheRightResult) {
  for (const uint32_t num_ranks :
       test::kSanitized ? std::vector{3u} : std::vector{2u, 3u, 4u, 7u}) {
    test::Ranks ranks(num_ranks);
    for (const CollectiveKind kind : all_kinds()) {
      for (const uint64_t bytes : {16u, 1000u, 400'000u}) {
        Subject subject{.kind = kind, .root = num_ranks - 1, .warmups = 0, .iterations = 1};
        const bool is_barrier = kind == CollectiveKind::kBarrier;
        const uint64_t elems = is_barrier ? 0 : elems_for(subject, num_ranks, bytes);
        for (const comm::Choice& choice : candidates({kind, num_ranks, 0, 0}, bytes)) {
          comm::TuningTable table;
          table.rules = {{kind, num_ranks, 0, UINT64_MAX, choice}};
          on_all(ranks, [&](uint32_t r) {
            Communicator comm(ranks.group(r)->tuned(table));
            for (const auto placing : {Placing::kOutOfPlace, Placing::kInPlace}) {
              if (placing == Placing::kInPlace && kind == CollectiveKind::kAllToAll) continue;
              const auto measured = measure(comm, subject, elems, placing);
              ASSERT_TRUE(measured.ok()) << measured.error().message;
              EXPECT_EQ(measured->wrong, 0u) << to_string(kind) << " " << to_string(choice) << " "
                                             << num_ranks << " ranks, " << bytes << " bytes";
            }
          });
        }
      }
    }
  }
}

TEST(Cells, RangesMeetAndNothingBeyondThemIsDecided) {
  TuneOptions options;
  options.kinds = all_kinds();
  options.min_bytes = 8;
  options.max_bytes = 1u << 24;
  for (const uint32_t num_ranks : {2u, 3u, 8u, 64u}) {
    const std::vector<Cell> all = cells(options, num_ranks);
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                               [](const Cell& a, const Cell& b) { return a.bytes < b.bytes; }));
    for (const CollectiveKind kind : options.kinds) {
      std::vector<Cell> own;
      std::copy_if(all.begin(), all.end(), std::back_inserter(own),
                   [&](const Cell& cell) { return cell.kind == kind; });
      ASSERT_FALSE(own.empty());
      for (size_t i = 0; i < own.size(); ++i) {
        EXPECT_LE(own[i].min_bytes, own[i].bytes);
        EXPECT_GE(own[i].max_bytes, own[i].bytes);
        if (i > 0) {
          EXPECT_EQ(own[i].min_bytes, own[i - 1].max_bytes + 1);
        }
      }
      EXPECT_EQ(own.back().max_bytes, own.back().bytes);
      if (num_ranks < 64) {
        EXPECT_EQ(own.front().min_bytes, 0u);
      }
    }
  }
}

TEST(Cells, ARangeThatWasAskedForIsNotLeft) {
  TuneOptions options;
  options.kinds = {CollectiveKind::kBroadcast};
  options.min_bytes = 4096;
  options.max_bytes = 4096;
  const std::vector<Cell> all = cells(options, 4);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].min_bytes, 4096u);
  EXPECT_EQ(all[0].max_bytes, 4096u);
}

// Every kind at a few small sizes.
TuneOptions small_options(double seconds) {
  TuneOptions options;
  options.kinds = all_kinds();
  options.max_bytes = 256;
  options.factor = 32;
  options.seconds = seconds;
  return options;
}

TEST(Tune, AllRanksComeToTheSameRulesAndTheyMakeATable) {
  test::Ranks ranks(3);
  const TuneOptions options = small_options(1000);
  std::vector<comm::TuningTable> tables(ranks.size());
  on_all(ranks, [&](uint32_t r) {
    size_t told = 0;
    const auto rules = tune(ranks.group(r), options, [&](const comm::TuningRule&) { ++told; });
    ASSERT_TRUE(rules.ok()) << rules.error().message;
    EXPECT_EQ(told, rules->size());
    tables[r].machine = {"any", 1};
    put_rules(tables[r], *rules);
  });
  EXPECT_EQ(tables[0].rules.size(), cells(options, 3).size());
  EXPECT_EQ(to_json(tables[0]), to_json(tables[1]));
  EXPECT_EQ(to_json(tables[0]), to_json(tables[2]));
  EXPECT_EQ(to_json(comm::tuning_from_json(to_json(tables[0]), "t").value()), to_json(tables[0]));
  for (const comm::TuningRule& rule : tables[0].rules) {
    EXPECT_GT(rule.us, 0);
    EXPECT_LE(rule.us, rule.choice ? 0.95 * rule.default_us : rule.default_us);
  }
}

TEST(Tune, WithoutTimeThereAreNoRules) {
  test::Ranks ranks(2);
  const TuneOptions options = small_options(0);
  on_all(ranks, [&](uint32_t r) {
    EXPECT_TRUE(tune(ranks.group(r), options, [](const comm::TuningRule&) {}).value().empty());
  });
}

TEST(Tune, NewRulesReplaceThoseOfTheSameCollectiveAndRanksAndNoOthers) {
  const auto rule = [](CollectiveKind kind, uint32_t num_ranks, uint64_t min, uint64_t max) {
    return comm::TuningRule{kind, num_ranks, min, max};
  };
  comm::TuningTable table;
  table.rules = {rule(CollectiveKind::kAllReduce, 2, 0, 9),
                 rule(CollectiveKind::kAllReduce, 4, 0, 9), rule(CollectiveKind::kReduce, 2, 0, 9)};
  put_rules(table, {rule(CollectiveKind::kAllReduce, 2, 5, 20)});
  ASSERT_EQ(table.rules.size(), 3u);
  EXPECT_EQ(table.rules[0].min_bytes, 5u);
  EXPECT_EQ(table.rules[1].num_ranks, 4u);
  EXPECT_EQ(table.rules[2].kind, CollectiveKind::kReduce);
}

}  // namespace
}  // namespace tutti::tools::perf
