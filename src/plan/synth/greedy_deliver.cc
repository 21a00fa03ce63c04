// Every chunk has one destination. It takes any hop that brings it nearer; of several the one on
// which it is expected to arrive first, reckoning with all that was given to the hop's links
// before. So it waits for one hop only, in a queue where the farthest destination is first.
//
// Ten thousand ranks have blocks that are passed on 5 x 10^9 times. There, chunks that wait for the
// same hop and go to the same rank go on together: the more are under way, the fewer are the
// messages to look at.
//
// Nearer is by time: latency and transfer of each hop. Every hop taken shortens what is left, so
// every chunk arrives.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <queue>

#include "base/check.h"
#include "base/try.h"
#include "plan/synth/greedy_bundles.h"
#include "plan/synth/greedy_run.h"
#include "plan/synth/greedy_ways.h"

namespace tutti::plan::synth {
namespace {

constexpr uint32_t kNoHop = UINT32_MAX;

class Deliverer {
 public:
  Deliverer(const Network& network, uint32_t chunks_per_block, const GreedyWork& work,
            const TransferSink& sink)
      : network_(network),
        chunks_per_block_(chunks_per_block),
        num_targets_(network.num_ranks * chunks_per_block),
        work_(work),
        sink_(sink),
        run_(network, work),
        ways_(network, work.chunk_bytes),
        busy_until_ps_(network.link_kb_per_s.size(), 0),
        queues_(network.hops.size()) {}

  Result<int64_t> run() {
    TUTTI_TRY(prepare());
    const auto arrive = [this](const Hop& hop, const GreedyEvent& event) {
      if (destination(event.chunk) == hop.to) return;
      line_up(hop.to, {event.chunk, event.num_chunks});
    };
    const auto start = [this](uint32_t h) { start_hop(h); };
    const auto collect = [this, &start](std::vector<uint32_t>&) { run_.room().try_waiting(start); };
    TUTTI_ASSIGN(const int64_t last_ps, run_.run(arrive, collect, start));
    TUTTI_CHECK(num_waiting_ == 0, "every chunk arrives");
    return last_ps;
  }

 private:
  struct Waiting {
    float to_go_ns;
    uint32_t number;  // the first to come is the first to go among equals
    uint32_t item;    // a bundle; a chunk where each goes alone
    bool operator<(const Waiting& other) const {
      return to_go_ns != other.to_go_ns ? to_go_ns < other.to_go_ns : number > other.number;
    }
  };

  [[nodiscard]] uint32_t destination(uint32_t chunk) const {
    return chunk % num_targets_ / chunks_per_block_;
  }

  Status prepare() {
    if (!ways_.find_all(work_.progress)) return GreedyRun::stopped();
    const uint64_t total = ways_.num_hops() * chunks_per_block_;
    run_.expect(total);
    const uint32_t p = network_.num_ranks;
    if (total > work_.max_transfers) {
      return Error{
          ErrorCode::kUnsupported,
          fmt::format("all_to_all over {} ranks needs {:.2g} messages here, each passed on {:.1f} "
                      "times on average; at most {:.2g} fit. Take fewer ranks or chunks",
                      p, static_cast<double>(total),
                      static_cast<double>(ways_.num_hops()) / (1.0 * p * (p - 1)) - 1,
                      static_cast<double>(work_.max_transfers))};
    }
    if (total > work_.max_transfers_alone) bundles_.emplace(p, num_targets_);
    // Those without a choice first, so that the others can even out what they leave.
    line_up_all([this](uint32_t from, uint32_t to) { return num_ways_on(from, to) == 1; });
    line_up_all([this](uint32_t from, uint32_t to) { return num_ways_on(from, to) > 1; });
    return {};
  }

  template <class Counts>
  void line_up_all(Counts counts) {
    const uint32_t p = network_.num_ranks;
    for (uint32_t distance = 1; distance < p; ++distance) {
      for (uint32_t from = 0; from < p; ++from) {
        const uint32_t to = (from + distance) % p;
        if (!counts(from, to)) continue;
        for (uint32_t part = 0; part < chunks_per_block_; ++part) {
          line_up(from, {(from * p + to) * chunks_per_block_ + part, 1});
        }
      }
    }
  }

  [[nodiscard]] uint32_t num_ways_on(uint32_t from, uint32_t to) const {
    uint32_t count = 0;
    ways_.each_hop_nearer(from, to, [&](uint32_t) { ++count; });
    return count;
  }

  // When the last of a hop's links would be done with what was given to them.
  [[nodiscard]] int64_t free_at_ps(const Hop& hop) const {
    int64_t at_ps = run_.now_ps();
    for (const uint32_t link : network_.links_of(hop)) {
      at_ps = std::max(at_ps, busy_until_ps_[link]);
    }
    return at_ps;
  }

  [[nodiscard]] uint32_t best_hop(uint32_t rank, uint32_t to) const {
    uint32_t best = kNoHop;
    double best_ns = 0;
    ways_.each_hop_nearer(rank, to, [&](uint32_t h) {
      const Hop& hop = network_.hops[h];
      const int64_t here_ps =
          free_at_ps(hop) + hop.latency_ps + transfer_ps(work_.chunk_bytes, hop.kb_per_s);
      const double ns = static_cast<double>(here_ps) * 1e-3 + ways_.ns(hop.to, to);
      if (best != kNoHop && ns >= best_ns) return;
      best = h;
      best_ns = ns;
    });
    TUTTI_CHECK(best != kNoHop, "some hop leads nearer to every destination");
    return best;
  }

  void line_up(uint32_t rank, Load load) {
    const uint32_t to = destination(load.chunk);
    const uint32_t h = best_hop(rank, to);
    const double bytes = work_.chunk_bytes * load.num_chunks;
    for (const uint32_t link : network_.links_of(network_.hops[h])) {
      busy_until_ps_[link] = std::max(busy_until_ps_[link], run_.now_ps()) +
                             transfer_ps(bytes, network_.link_kb_per_s[link]);
    }
    num_waiting_ += load.num_chunks;
    Bundles::Added added{load.chunk, true};
    if (bundles_) added = bundles_->add(rank, h, load);
    if (!added.is_new) return;
    queues_[h].push({ways_.ns(rank, to), num_lined_up_++, added.bundle});
    run_.wake(h);
  }

  void start_hop(uint32_t h) {
    for (;;) {
      if (queues_[h].empty()) return run_.rest(h);
      const int64_t rate = run_.room().rate_or_wait(h);
      if (rate == 0) return;
      const uint32_t item = queues_[h].top().item;
      queues_[h].pop();
      const Load load = bundles_ ? bundles_->take(network_.hops[h].from, item) : Load{item};
      num_waiting_ -= load.num_chunks;
      run_.begin(h, load, rate);
      sink_({h, load.chunk, load.num_chunks});
    }
  }

  const Network& network_;
  uint32_t chunks_per_block_;
  uint32_t num_targets_;  // a destination and a part of its blocks: destination * parts + part
  const GreedyWork& work_;
  const TransferSink& sink_;
  GreedyRun run_;
  WaysToGo ways_;
  std::vector<int64_t> busy_until_ps_;                // by link, with all that is queued for it
  std::optional<Bundles> bundles_;                    // where chunks go on together
  std::vector<std::priority_queue<Waiting>> queues_;  // by hop
  uint32_t num_lined_up_ = 0;
  uint64_t num_waiting_ = 0;
};

}  // namespace

Result<int64_t> deliver(const Network& network, uint32_t chunks_per_block, const GreedyWork& work,
                        const TransferSink& sink) {
  const uint64_t p = network.num_ranks;
  if (p * p * chunks_per_block > UINT32_MAX) {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("all_to_all over {} ranks in {} chunks of a block has more than {:.1g} "
                    "chunks. Take fewer ranks or chunks",
                    p, chunks_per_block, static_cast<double>(UINT32_MAX))};
  }
  return Deliverer(network, chunks_per_block, work, sink).run();
}

}  // namespace tutti::plan::synth
