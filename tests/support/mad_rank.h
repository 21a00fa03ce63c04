// A rank that writes nonsense into its own segment, which is all that it can write: words at random
// places, and records that look right but for some of their fields. The same seed does the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/cluster.h"
#include "transport/record.h"

namespace tutti::test {

class MadRank {
 public:
  MadRank(Cluster& cluster, uint32_t rank, Reach reach, std::mt19937_64& random);

  // Operations whose numbers and signatures it may misuse.
  void learn(const engine::Request& request);
  // One word or one record.
  void act();

 private:
  void scribble();
  void forge_record();
  void forge_hello(transport::Record& record);
  void forge_failure(transport::Record& record);
  [[nodiscard]] transport::RecordKind some_kind();
  [[nodiscard]] transport::RemoteAddress some_address();
  // Where to scribble: an offset into the segment.
  [[nodiscard]] size_t some_place();
  [[nodiscard]] uint64_t some_value();
  [[nodiscard]] uint64_t below(uint64_t end) { return random_() % end; }
  [[nodiscard]] uint32_t some_victim();

  struct Known {
    uint64_t id;
    transport::Signature signature;
  };

  Cluster& cluster_;
  uint32_t rank_;
  Reach reach_;
  std::mt19937_64& random_;
  std::vector<Known> known_;
  std::vector<uint64_t> addresses_;  // of buffers, its own and others'
};

}  // namespace tutti::test
