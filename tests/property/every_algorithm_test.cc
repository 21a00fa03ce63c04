// Every algorithm, for every number of ranks from 1 to 33 and 64: the verifier proves it, and the
// plain interpreter gets the right numbers from it in a random order of lanes, for sizes that
// nothing divides, for blocks of uneven size, in place and out of place, with slots and without.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "ir/layout.h"
#include "ir/sizes.h"
#include "plan/algorithm.h"
#include "tests/support/interpreter.h"
#include "tests/support/sanitized.h"
#include "verify/check.h"

namespace tutti {
namespace {

constexpr uint32_t kMaxDenseRanks = 33;
constexpr uint32_t kSparseRanks = 64;

std::string name_of(const testing::TestParamInfo<const plan::Algorithm*>& info) {
  return fmt::format("{}_{}", to_string(info.param->kind), info.param->name);
}

std::vector<const plan::Algorithm*> all_algorithms() {
  std::vector<const plan::Algorithm*> list;
  for (const plan::Algorithm& algorithm : plan::algorithms()) list.push_back(&algorithm);
  return list;
}

std::vector<uint32_t> rank_counts() {
  if (test::kSanitized) return {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 17};
  std::vector<uint32_t> counts{kSparseRanks};
  for (uint32_t p = 1; p <= kMaxDenseRanks; ++p) counts.push_back(p);
  return counts;
}

// The roots worth trying: the first, the last and one in the middle.
std::vector<Collective> collectives(CollectiveKind kind, uint32_t p) {
  std::vector<Collective> list{{kind, p, 0, kind == CollectiveKind::kSendRecv ? p - 1 : 0}};
  if (!is_rooted(kind) || p == 1) return list;
  list.push_back({kind, p, p - 1, 0});
  if (p > 2) list.push_back({kind, p, p / 2, kind == CollectiveKind::kSendRecv ? p / 2 : 0});
  return list;
}

std::vector<plan::Options> option_choices(const plan::Algorithm& algorithm, uint32_t p) {
  std::vector<plan::Options> list{{}};
  if (algorithm.takes_chunks) list.push_back({.chunks = 3});
  if (algorithm.takes_radix) list.push_back({.radix = 3});
  if (algorithm.takes_group_size) {
    for (uint32_t size = 1; size <= p && size <= 8; ++size) list.push_back({.group_size = size});
  }
  return list;
}

std::vector<ir::Sizes> size_choices(const ir::Layout& layout, std::mt19937_64& random) {
  std::vector<ir::Sizes> list;
  for (uint64_t elems : {uint64_t{0}, uint64_t{1}, 3 * layout.num_chunks() + 1}) {
    list.push_back(ir::Sizes::even(layout, elems));
  }
  std::vector<uint64_t> counts;
  for (uint64_t b = 0; b < layout.num_blocks(); ++b) counts.push_back(random() % 6);
  list.push_back(ir::Sizes::uneven(layout, counts).value());
  return list;
}

void expect_right_numbers(const ir::Schedule& schedule, std::mt19937_64& random) {
  const auto layout = ir::Layout::create(schedule.collective, schedule.chunks_per_block).value();
  std::vector<test::Aliasing> aliasings;
  if (schedule.placement != ir::Placement::kInPlace) {
    aliasings.push_back(test::Aliasing::kOutOfPlace);
  }
  if (schedule.placement != ir::Placement::kOutOfPlace) {
    aliasings.push_back(test::Aliasing::kInPlace);
  }
  for (const ir::Sizes& sizes : size_choices(layout, random)) {
    for (test::Aliasing aliasing : aliasings) {
      for (auto discipline : {test::Discipline::kLending, test::Discipline::kSlots}) {
        const Status status = test::interpret(schedule, sizes, {discipline, aliasing, random()});
        ASSERT_TRUE(status.ok()) << status.error().message;
      }
    }
  }
}

class EveryAlgorithm : public testing::TestWithParam<const plan::Algorithm*> {};

TEST_P(EveryAlgorithm, IsProvedAndComputesTheRightNumbers) {
  const plan::Algorithm& algorithm = *GetParam();
  for (uint32_t p : rank_counts()) {
    std::mt19937_64 random(p);
    for (const Collective& collective : collectives(algorithm.kind, p)) {
      for (const plan::Options& options : option_choices(algorithm, p)) {
        SCOPED_TRACE(fmt::format("ranks {} root {} chunks {} radix {} group_size {}", p,
                                 collective.root, options.chunks, options.radix,
                                 options.group_size));
        const auto schedule = plan::make(collective, algorithm.name, options);
        ASSERT_TRUE(schedule.ok()) << schedule.error().message;
        const verify::Verdict verdict = verify::check(*schedule);
        ASSERT_TRUE(verdict.proved()) << verdict.refusal().message;
        // 64 ranks are proved; the interpreter copies every chunk and is left to the smaller ones.
        if (p > kMaxDenseRanks) continue;
        ASSERT_NO_FATAL_FAILURE(expect_right_numbers(*schedule, random));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryAlgorithm, testing::ValuesIn(all_algorithms()), name_of);

}  // namespace
}  // namespace tutti
