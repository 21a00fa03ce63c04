// Ranks of an engine in one thread, for tests that decide who runs when. Engines never block, so a
// test picks any rank, gives it a turn, and has explored one interleaving; the same seed gives the
// same one again.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cpu/engine.h"
#include "transport/loopback/loopback.h"
#include "tutti/collective.h"

namespace tutti::test {

// A collective on some of the ranks, with the numbers that go in and must come out.
class TestCollective {
 public:
  struct Spec {
    CollectiveKind kind = CollectiveKind::kAllReduce;
    std::string_view algorithm = "ring";
    uint64_t elems = 1;  // of the whole row: ir/sizes.h
    uint32_t root = 0;
    bool in_place = false;
  };

  TestCollective(const Spec& spec, uint64_t id, std::vector<Rank> members);

  [[nodiscard]] uint64_t id() const { return id_; }
  [[nodiscard]] const std::vector<Rank>& members() const { return members_; }
  // The request of the member at this place. May be changed before it is submitted.
  [[nodiscard]] engine::Request request(uint32_t place);
  // "" when every output is as the collective defines; else the first difference.
  [[nodiscard]] std::string difference() const;
  // "" when nothing of any output was written.
  [[nodiscard]] std::string first_write() const;
  // "" when nothing before or behind any buffer was written.
  [[nodiscard]] std::string damage() const;

 private:
  struct Part;

  Spec spec_;
  uint64_t id_;
  std::vector<Rank> members_;
  std::vector<std::shared_ptr<Part>> parts_;  // by place
};

[[nodiscard]] std::vector<Rank> first_ranks(uint32_t num);

// What ranks can see of each other's own memory.
enum class Reach {
  kThreads,    // all of it
  kProcesses,  // nothing: it is mirrored
  kPulled,     // nothing, and there is no room for mirrors: it is pulled
  kRefused,    // nothing, there is no room for mirrors, and the system refuses to pull
};

class Cluster {
 public:
  explicit Cluster(uint32_t num_ranks, Reach reach = Reach::kThreads);

  [[nodiscard]] uint32_t num_ranks() const { return static_cast<uint32_t>(engines_.size()); }
  [[nodiscard]] engine::Engine& engine(uint32_t rank) { return *engines_[rank]; }

  // As all ranks see it; only tests that play a mad rank write it.
  [[nodiscard]] std::span<std::byte> segment(uint32_t rank) const {
    const transport::RankMemory& memory = loopback_->ranks()[rank];
    return {memory.segment, memory.segment_bytes};
  }

  // Fills the ring from rank 0 to rank 1, which must not run: with packets of operations that rank
  // 1 has not issued. Their ids are from `first_id` on.
  void fill_ring(uint64_t first_id);

 private:
  std::shared_ptr<transport::Loopback> loopback_;
  std::vector<std::unique_ptr<engine::Engine>> engines_;
  std::deque<TestCollective> fillers_;
};

}  // namespace tutti::test
