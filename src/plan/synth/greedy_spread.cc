// Every rank needs every chunk. Who has what, and what is on its way to whom, are rows of bits; the
// chunks that a hop can carry are one row and not the other. Of the first few found, from a random
// place on, the one that fewest ranks have goes first, since it has the longest way before it.
//
// Hops are tried when something changes for them: a chunk arrives at their sender, or room on the
// link they waited for. At one moment they are tried turn by turn, so that around a switch every
// port finds a partner. The turn that comes first changes from moment to moment: blocks then
// spread directly instead of along a ring.
#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/try.h"
#include "plan/synth/greedy_run.h"

namespace tutti::plan::synth {
namespace {

constexpr uint32_t kNoChunk = UINT32_MAX;
// How many chunks are compared before one is chosen.
constexpr uint32_t kNumCompared = 16;

class BitRows {
 public:
  BitRows(size_t num_rows, size_t num_bits)
      : words_((num_bits + 63) / 64), bits_(num_rows * words_, 0) {}
  [[nodiscard]] size_t num_words() const { return words_; }
  [[nodiscard]] const uint64_t* row(size_t r) const { return bits_.data() + r * words_; }
  [[nodiscard]] bool has(size_t r, uint32_t bit) const {
    return (row(r)[bit / 64] >> (bit % 64) & 1) != 0;
  }
  void set(size_t r, uint32_t bit) { bits_[r * words_ + bit / 64] |= uint64_t{1} << (bit % 64); }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

class Spreader {
 public:
  Spreader(const Network& network, const std::vector<uint32_t>& owner, const GreedyWork& work,
           const TransferSink& sink)
      : network_(network),
        owner_(owner),
        sink_(sink),
        run_(network, work),
        has_(network.num_ranks, owner.size()),
        gets_(network.num_ranks, owner.size()),
        group_gets_(network.num_groups, owner.size()),
        num_missing_(network.num_ranks, static_cast<uint32_t>(owner.size())),
        num_copies_(owner.size(), 1) {}

  Result<int64_t> run() {
    const uint64_t total = uint64_t{network_.num_ranks - 1} * owner_.size();
    run_.expect(total);
    for (uint32_t c = 0; c < owner_.size(); ++c) {
      expect(owner_[c], c);
      arrive(owner_[c], c);
    }
    TUTTI_ASSIGN(
        const int64_t last_ps,
        run_.run([this](const Hop& hop, const GreedyEvent& event) { arrive(hop.to, event.chunk); },
                 [this](std::vector<uint32_t>& ready) { run_.room().wake(ready); },
                 [this](uint32_t h) { start_hop(h); }));
    TUTTI_CHECK(run_.num_started() == total, "all chunks reach all ranks that reach each other");
    return last_ps;
  }

 private:
  [[nodiscard]] bool enters_group(const Hop& hop) const {
    return network_.group[hop.to] != kNoGroup && network_.group[hop.from] != network_.group[hop.to];
  }
  [[nodiscard]] bool is_wanted(const Hop& hop, uint32_t chunk) const {
    if (gets_.has(hop.to, chunk)) return false;
    return !enters_group(hop) || !group_gets_.has(network_.group[hop.to], chunk);
  }

  void expect(uint32_t rank, uint32_t chunk) {
    gets_.set(rank, chunk);
    --num_missing_[rank];
    if (network_.group[rank] != kNoGroup) group_gets_.set(network_.group[rank], chunk);
  }

  void arrive(uint32_t rank, uint32_t chunk) {
    has_.set(rank, chunk);
    for (uint32_t h = network_.first_out[rank]; h < network_.first_out[rank + 1]; ++h) {
      if (run_.is_idle(h) && is_wanted(network_.hops[h], chunk)) run_.wake(h);
    }
  }

  [[nodiscard]] uint32_t pick(const Hop& hop) {
    if (num_missing_[hop.to] == 0) return kNoChunk;
    const uint64_t* const has = has_.row(hop.from);
    const uint64_t* const gets = gets_.row(hop.to);
    const uint64_t* const others =
        enters_group(hop) ? group_gets_.row(network_.group[hop.to]) : gets;
    const size_t num_words = has_.num_words();
    const uint64_t start = run_.random().below(num_words * 64);
    const uint64_t high = ~uint64_t{0} << start % 64;
    uint32_t best = kNoChunk;
    uint32_t num_seen = 0;
    size_t w = start / 64;
    // The first word comes twice: its high bits at the beginning, its low ones at the end.
    for (size_t i = 0; i <= num_words; ++i, w = w + 1 == num_words ? 0 : w + 1) {
      uint64_t bits = has[w] & ~gets[w] & ~others[w];
      if (i == 0) bits &= high;
      if (i == num_words) bits &= ~high;
      for (; bits != 0; bits &= bits - 1) {
        const auto chunk =
            static_cast<uint32_t>(w * 64 + static_cast<size_t>(std::countr_zero(bits)));
        if (best == kNoChunk || num_copies_[chunk] < num_copies_[best]) best = chunk;
        if (++num_seen == kNumCompared) return best;
      }
    }
    return best;
  }

  // Starts transfers on the hop until its links are full or it has nothing to carry.
  void start_hop(uint32_t h) {
    const Hop& hop = network_.hops[h];
    for (;;) {
      const int64_t rate = run_.room().rate_or_wait(h);
      if (rate == 0) return;
      const uint32_t chunk = pick(hop);
      if (chunk == kNoChunk) {
        run_.rest(h);
        return;
      }
      expect(hop.to, chunk);
      ++num_copies_[chunk];
      run_.begin(h, {chunk}, rate);
      sink_({h, chunk});
    }
  }

  const Network& network_;
  const std::vector<uint32_t>& owner_;
  const TransferSink& sink_;
  GreedyRun run_;
  BitRows has_;         // by rank: arrived
  BitRows gets_;        // by rank: arrived or on its way
  BitRows group_gets_;  // by group: some rank of it has it or gets it
  std::vector<uint32_t> num_missing_;
  std::vector<uint32_t> num_copies_;  // by chunk
};

}  // namespace

Result<int64_t> spread(const Network& network, const std::vector<uint32_t>& owner,
                       const GreedyWork& work, const TransferSink& sink) {
  return Spreader(network, owner, work, sink).run();
}

}  // namespace tutti::plan::synth
