#include "tests/support/cluster.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "engine/bound_program.h"
#include "ir/layout.h"
#include "ir/sizes.h"
#include "plan/algorithm.h"
#include "tests/support/rank_memory.h"
#include "transport/ring.h"
#include "verify/check.h"

namespace tutti::test {
namespace {

using ir::Buffer;

void add_int64(void* dst, const void* a, const void* b, size_t elems) {
  auto* const to = static_cast<uint64_t*>(dst);
  const auto* const left = static_cast<const uint64_t*>(a);
  const auto* const right = static_cast<const uint64_t*>(b);
  for (size_t i = 0; i < elems; ++i) to[i] = left[i] + right[i];
}

verify::VerifiedSchedule proved(const Collective& collective, std::string_view algorithm) {
  return verify::check(plan::make(collective, algorithm, {}).value()).schedule();
}

}  // namespace

struct TestCollective::Part {
  Part(const verify::VerifiedSchedule& schedule, const ir::Layout& row_layout,
       const ir::Sizes& row_sizes, Rank place, Aliasing aliasing)
      : layout(row_layout),
        sizes(row_sizes),
        program(engine::bind(schedule, place, row_sizes, sizeof(int64_t))),
        memory(schedule.schedule(), layout, row_sizes, place, aliasing) {}

  ir::Layout layout;
  ir::Sizes sizes;
  engine::BoundProgram program;
  RankMemory memory;
};

TestCollective::TestCollective(const Spec& spec, uint64_t id, std::vector<Rank> members)
    : spec_(spec), id_(id), members_(std::move(members)) {
  const Collective collective{spec.kind, static_cast<uint32_t>(members_.size()), spec.root,
                              spec.kind == CollectiveKind::kSendRecv ? 1 - spec.root : 0};
  const verify::VerifiedSchedule schedule = proved(collective, spec.algorithm);
  const auto layout = ir::Layout::create(collective, schedule.schedule().chunks_per_block).value();
  const ir::Sizes sizes = ir::Sizes::even(layout, spec.elems);
  const Aliasing aliasing = spec.in_place ? Aliasing::kInPlace : Aliasing::kOutOfPlace;
  for (uint32_t place = 0; place < members_.size(); ++place) {
    parts_.push_back(std::make_shared<Part>(schedule, layout, sizes, Rank{place}, aliasing));
  }
}

engine::Request TestCollective::request(uint32_t place) {
  Part& part = *parts_[place];
  engine::Request request;
  request.id = id_;
  request.signature = {spec_.elems, spec_.root, static_cast<uint8_t>(spec_.kind), 6, 0, 0};
  request.program = &part.program;
  request.members = members_;
  if (part.program.input_bytes != 0) request.input = part.memory.at(Buffer::kInput, 0);
  if (part.program.output_bytes != 0) request.output = part.memory.at(Buffer::kOutput, 0);
  request.reduce = add_int64;
  request.elem_bytes = sizeof(int64_t);
  return request;
}

std::string TestCollective::difference() const {
  for (uint32_t place = 0; place < parts_.size(); ++place) {
    Part& part = *parts_[place];
    const ir::Layout& layout = part.layout;
    for (uint32_t i = 0; i < layout.num_blocks(Rank{place}, Buffer::kOutput); ++i) {
      const uint32_t block = layout.block_at(Rank{place}, Buffer::kOutput, i);
      const int64_t* const got = part.memory.at(Buffer::kOutput, i * layout.chunks_per_block());
      for (uint64_t e = 0; e < part.sizes.block_elems(block); ++e) {
        const int64_t want = expected(layout.collective(), block, e);
        if (got[e] == want) continue;
        return fmt::format("{} {} of {} ranks: rank {} block {} element {}: {} instead of {}",
                           to_string(spec_.kind), spec_.algorithm, members_.size(), place, block, e,
                           got[e], want);
      }
    }
  }
  return "";
}

std::string TestCollective::first_write() const {
  for (uint32_t place = 0; place < parts_.size(); ++place) {
    Part& part = *parts_[place];
    const auto elems = part.program.output_bytes / sizeof(int64_t);
    if (elems == 0) continue;
    const int64_t* const got = part.memory.at(Buffer::kOutput, 0);
    const auto* const written =
        std::find_if(got, got + elems, [](int64_t v) { return v != kUnwritten; });
    if (written != got + elems) return fmt::format("rank {} element {}", place, written - got);
  }
  return "";
}

std::string TestCollective::damage() const {
  for (uint32_t place = 0; place < parts_.size(); ++place) {
    if (parts_[place]->memory.is_whole()) continue;
    return fmt::format("{} {} of {} elements: memory around a buffer of rank {} was written",
                       to_string(spec_.kind), spec_.algorithm, spec_.elems, place);
  }
  return "";
}

Cluster::Cluster(uint32_t num_ranks, Reach reach)
    : loopback_(transport::Loopback::create(num_ranks).value()) {
  std::vector<transport::RankMemory> ranks = loopback_->ranks();
  if (reach != Reach::kThreads) {
    for (transport::RankMemory& rank : ranks) {
      rank.can_be_pulled = reach != Reach::kRefused;
      rank.process = rank.can_be_pulled ? getpid() : -1;  // nobody's
    }
  }
  const bool has_mirrors = reach == Reach::kThreads || reach == Reach::kProcesses;
  const uint64_t mirror_bytes = has_mirrors ? engine::kMirrorBytes : 0;
  for (uint32_t rank = 0; rank < num_ranks; ++rank) {
    engines_.push_back(
        std::make_unique<engine::Engine>(transport::Endpoint(Rank{rank}, ranks), mirror_bytes));
  }
}

void Cluster::fill_ring(uint64_t first_id) {
  for (uint64_t i = 0; i < transport::kRingSlots; ++i) {
    fillers_.emplace_back(TestCollective::Spec{CollectiveKind::kAllReduce, "one_shot", 1},
                          first_id + i, first_ranks(2));
    TUTTI_CHECK(engine(0).submit(fillers_.back().request(0)).ok(), "there is room for it");
  }
  TUTTI_CHECK(engine(0).endpoint().to(Rank{1}).reserve() == nullptr, "now it is full");
}

std::vector<Rank> first_ranks(uint32_t num) {
  std::vector<Rank> out;
  for (uint32_t r = 0; r < num; ++r) out.emplace_back(r);
  return out;
}

}  // namespace tutti::test
