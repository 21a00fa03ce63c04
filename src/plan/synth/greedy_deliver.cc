// Every chunk has one destination. It takes any hop that brings it nearer; of several the one on
// which it is expected to arrive first, reckoning with all that was given to the hop's links
// before. So it waits for one hop only, in a queue where the chunk with the longest way to go is
// first.
//
// Nearer is by time: latency and transfer of each hop. Every hop taken shortens what is left, so
// every chunk arrives.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

#include "base/check.h"
#include "base/try.h"
#include "plan/synth/greedy_run.h"

namespace tutti::plan::synth {
namespace {

constexpr float kUnreached = std::numeric_limits<float>::infinity();

// The least time from every rank to each destination, in ns, if links were empty.
class WaysToGo {
 public:
  WaysToGo(const Network& network, double chunk_bytes)
      : network_(network), back_(reversed(network)), ns_(size_t{num_ranks()} * num_ranks()) {
    cost_ns_.reserve(back_.hops.size());
    for (const Hop& hop : back_.hops) {
      const int64_t ps = hop.latency_ps + transfer_ps(chunk_bytes, hop.kb_per_s);
      cost_ns_.push_back(static_cast<float>(ps) * 1e-3F);
      least_cost_ns_ = std::min(least_cost_ns_, cost_ns_.back());
    }
  }

  // Stops when `progress` says so; then false.
  [[nodiscard]] bool find_all(const GreedyProgress& progress) {
    for (uint32_t to = 0; to < num_ranks(); ++to) {
      find(to);
      if (progress && to % 64 == 0 && !progress(0)) return false;
    }
    return true;
  }
  [[nodiscard]] float ns(uint32_t from, uint32_t to) const {
    return ns_[size_t{to} * num_ranks() + from];
  }
  // Of all pairs together, if each takes its quickest way.
  [[nodiscard]] uint64_t num_hops() const { return num_hops_; }

 private:
  struct Found {
    float ns;
    uint32_t num_hops;
    uint32_t rank;
    bool operator>(const Found& other) const { return ns > other.ns; }
  };

  [[nodiscard]] uint32_t num_ranks() const { return network_.num_ranks; }

  // Dijkstra's algorithm against the direction of the hops. It ends when nobody can be improved any
  // more: around a switch that is at once.
  void find(uint32_t to) {
    float* const ns = ns_.data() + size_t{to} * num_ranks();
    std::fill(ns, ns + num_ranks(), kUnreached);
    ns[to] = 0;
    heap_.push({0, 0, to});
    uint32_t num_unreached = num_ranks() - 1;
    float farthest = 0;
    while (!heap_.empty()) {
      const Found at = heap_.top();
      heap_.pop();
      if (at.ns > ns[at.rank]) continue;
      num_hops_ += at.num_hops;
      if (num_unreached == 0 && at.ns + least_cost_ns_ >= farthest) continue;
      for (uint32_t h = back_.first_out[at.rank]; h < back_.first_out[at.rank + 1]; ++h) {
        const uint32_t rank = back_.hops[h].to;
        const float through = at.ns + cost_ns_[h];
        if (through >= ns[rank]) continue;
        if (ns[rank] == kUnreached) --num_unreached;
        ns[rank] = through;
        farthest = std::max(farthest, through);
        heap_.push({through, at.num_hops + 1, rank});
      }
    }
  }

  const Network& network_;
  Network back_;
  std::vector<float> ns_;
  std::vector<float> cost_ns_;  // by hop of back_
  float least_cost_ns_ = kUnreached;
  uint64_t num_hops_ = 0;
  std::priority_queue<Found, std::vector<Found>, std::greater<>> heap_;
};

class Deliverer {
 public:
  Deliverer(const Network& network, uint32_t chunks_per_block, const GreedyWork& work,
            const TransferSink& sink)
      : network_(network),
        chunks_per_block_(chunks_per_block),
        work_(work),
        run_(network, work, sink),
        ways_(network, work.chunk_bytes),
        busy_until_ps_(network.link_kb_per_s.size(), 0),
        queues_(network.hops.size()) {}

  Result<int64_t> run() {
    TUTTI_TRY(prepare());
    const auto arrive = [this](const Hop& hop, uint32_t chunk) {
      if (destination(chunk) != hop.to) line_up(hop.to, chunk);
    };
    const auto start = [this](uint32_t h) { start_hop(h); };
    const auto collect = [this, &start](std::vector<uint32_t>&) { run_.room().try_waiting(start); };
    TUTTI_ASSIGN(const int64_t last_ps, run_.run(arrive, collect, start));
    TUTTI_CHECK(num_queued_ == 0, "every chunk arrives");
    return last_ps;
  }

 private:
  struct Waiting {
    float to_go_ns;
    uint32_t number;  // the first to come is the first to go among equals
    uint32_t chunk;
    bool operator<(const Waiting& other) const {
      return to_go_ns != other.to_go_ns ? to_go_ns < other.to_go_ns : number > other.number;
    }
  };

  [[nodiscard]] uint32_t destination(uint32_t chunk) const {
    return chunk / chunks_per_block_ % network_.num_ranks;
  }

  Status prepare() {
    if (!ways_.find_all(work_.progress)) return GreedyRun::stopped();
    const uint64_t total = ways_.num_hops() * chunks_per_block_;
    run_.expect(total);
    if (total > work_.max_transfers) {
      return Error{
          ErrorCode::kUnsupported,
          fmt::format("all_to_all over {} ranks needs {:.2g} messages here, each passed on {:.1f} "
                      "times on average; at most {:.2g} fit. Take fewer ranks or chunks",
                      network_.num_ranks, static_cast<double>(total),
                      static_cast<double>(ways_.num_hops()) /
                              (1.0 * network_.num_ranks * (network_.num_ranks - 1)) -
                          1,
                      static_cast<double>(work_.max_transfers))};
    }
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
          line_up(from, (from * p + to) * chunks_per_block_ + part);
        }
      }
    }
  }

  // Hops that lead nearer.
  [[nodiscard]] uint32_t num_ways_on(uint32_t from, uint32_t to) const {
    const float to_go_ns = ways_.ns(from, to);
    uint32_t count = 0;
    for (uint32_t h = network_.first_out[from]; h < network_.first_out[from + 1]; ++h) {
      count += ways_.ns(network_.hops[h].to, to) < to_go_ns ? 1 : 0;
    }
    return count;
  }

  // When the last of a hop's links would be done with one more chunk.
  [[nodiscard]] int64_t free_at_ps(const Hop& hop) const {
    int64_t at_ps = run_.now_ps();
    for (const uint32_t link : network_.links_of(hop)) {
      at_ps = std::max(at_ps, busy_until_ps_[link]);
    }
    return at_ps;
  }

  void line_up(uint32_t rank, uint32_t chunk) {
    const uint32_t to = destination(chunk);
    const float to_go_ns = ways_.ns(rank, to);
    uint32_t best = UINT32_MAX;
    double best_ns = 0;
    for (uint32_t h = network_.first_out[rank]; h < network_.first_out[rank + 1]; ++h) {
      const Hop& hop = network_.hops[h];
      const float rest_ns = ways_.ns(hop.to, to);
      if (rest_ns >= to_go_ns) continue;
      const int64_t here_ps =
          free_at_ps(hop) + hop.latency_ps + transfer_ps(work_.chunk_bytes, hop.kb_per_s);
      const double ns = static_cast<double>(here_ps) * 1e-3 + rest_ns;
      if (best != UINT32_MAX && ns >= best_ns) continue;
      best = h;
      best_ns = ns;
    }
    TUTTI_CHECK(best != UINT32_MAX, "some hop leads nearer to every destination");
    for (const uint32_t link : network_.links_of(network_.hops[best])) {
      busy_until_ps_[link] = std::max(busy_until_ps_[link], run_.now_ps()) +
                             transfer_ps(work_.chunk_bytes, network_.link_kb_per_s[link]);
    }
    queues_[best].push({to_go_ns, num_lined_up_++, chunk});
    ++num_queued_;
    run_.wake(best);
  }

  void start_hop(uint32_t h) {
    for (;;) {
      if (queues_[h].empty()) return run_.rest(h);
      const int64_t rate = run_.room().rate_or_wait(h);
      if (rate == 0) return;
      const uint32_t chunk = queues_[h].top().chunk;
      queues_[h].pop();
      --num_queued_;
      run_.begin(h, chunk, rate);
    }
  }

  const Network& network_;
  uint32_t chunks_per_block_;
  const GreedyWork& work_;
  GreedyRun run_;
  WaysToGo ways_;
  std::vector<int64_t> busy_until_ps_;                // by link, with all that is queued for it
  std::vector<std::priority_queue<Waiting>> queues_;  // by hop
  uint32_t num_lined_up_ = 0;
  uint64_t num_queued_ = 0;
};

}  // namespace

Result<int64_t> deliver(const Network& network, uint32_t chunks_per_block, const GreedyWork& work,
                        const TransferSink& sink) {
  return Deliverer(network, chunks_per_block, work, sink).run();
}

}  // namespace tutti::plan::synth
