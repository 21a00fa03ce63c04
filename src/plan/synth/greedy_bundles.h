// Chunks that wait at a rank for the same hop and go to the same destination (and are the same part
// of their blocks) are a bundle: they go on as one message. How many they are is known, not which,
// so that the blocks of ten thousand ranks have room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::plan::synth {

// `chunk` is any that has the same destination and part as all of them.
struct Load {
  uint32_t chunk = 0;
  uint32_t num_chunks = 1;
};

class Bundles {
 public:
  // A target is a destination and a part; chunk c has target c % num_targets.
  Bundles(uint32_t num_ranks, uint32_t num_targets)
      : num_targets_(num_targets), first_(size_t{num_ranks} * num_targets, kNone) {}

  struct Added {
    uint32_t bundle;
    bool is_new;
  };
  Added add(uint32_t rank, uint32_t hop, Load load) {
    uint32_t& first = first_[size_t{rank} * num_targets_ + load.chunk % num_targets_];
    for (uint32_t b = first; b != kNone; b = bundles_[b].next) {
      if (bundles_[b].hop != hop) continue;
      bundles_[b].load.num_chunks += load.num_chunks;
      return {b, false};
    }
    const Bundle made{load, hop, first};
    if (free_.empty()) {
      first = static_cast<uint32_t>(bundles_.size());
      bundles_.push_back(made);
    } else {
      first = free_.back();
      free_.pop_back();
      bundles_[first] = made;
    }
    return {first, true};
  }

  Load take(uint32_t rank, uint32_t bundle) {
    const Bundle& taken = bundles_[bundle];
    uint32_t* at = &first_[size_t{rank} * num_targets_ + taken.load.chunk % num_targets_];
    while (*at != bundle) at = &bundles_[*at].next;
    *at = taken.next;
    free_.push_back(bundle);
    return taken.load;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Bundle {
    Load load;
    uint32_t hop;
    uint32_t next;  // at the same rank, for the same target
  };

  size_t num_targets_;
  std::vector<uint32_t> first_;  // by rank and target
  std::vector<Bundle> bundles_;
  std::vector<uint32_t> free_;
};

}  // namespace tutti::plan::synth
