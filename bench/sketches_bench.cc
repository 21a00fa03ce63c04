// all_gather by packed trees, greedily and by sketches on two NDv2 and two DGX-2, as TE-CCL models
// these machines, beside what its authors published for TACCL and for TE-CCL. Rates are total
// output by simulated time; `filled` by the time that greedy synthesis planned, in which a link
// takes up one chunk after the other and latency only delays, as TE-CCL reckons.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/packed.h"
#include "plan/packing/certificate.h"
#include "plan/synth/greedy_plan.h"
#include "plan/synth/sketch/automatic.h"
#include "sim/simulate.h"
#include "topo/build.h"
#include "topo/topology.h"

namespace tutti {
namespace {

using topo::LinkClass;

// GPU 0 of each node sends to GPU 1 of the other.
topo::Topology ndv2() {
  constexpr int kWires[8][8] = {{0, 2, 1, 1, 2, 0, 0, 0}, {2, 0, 1, 2, 0, 1, 0, 0},
                                {1, 1, 0, 2, 0, 0, 2, 0}, {1, 2, 2, 0, 0, 0, 0, 1},
                                {2, 0, 0, 0, 0, 2, 1, 1}, {0, 1, 0, 0, 2, 0, 1, 2},
                                {0, 0, 2, 0, 1, 1, 0, 2}, {0, 0, 0, 1, 1, 2, 2, 0}};
  topo::Topology topology;
  topology.name = "2 x NDv2";
  std::vector<topo::NodeId> gpus;
  for (uint32_t r = 0; r < 16; ++r) {
    gpus.push_back(topo::add_rank(topology, fmt::format("gpu{}", r), 0));
    topology.nodes.back().machine = r / 8;
  }
  for (uint32_t a = 0; a < 16; ++a) {
    for (uint32_t b = 0; b < 16; ++b) {
      if (a / 8 != b / 8 || kWires[a % 8][b % 8] == 0) continue;
      topo::add_link(topology, gpus[a], gpus[b],
                     {LinkClass::kNvlink, 25.0 * kWires[a % 8][b % 8], 700});
    }
  }
  topo::add_link(topology, gpus[0], gpus[9], {LinkClass::kNetwork, 12.5, 1300});
  topo::add_link(topology, gpus[8], gpus[1], {LinkClass::kNetwork, 12.5, 1300});
  return topology;
}

// Odd GPUs send to the even GPU before them on the other node.
topo::Topology dgx2() {
  topo::Topology topology;
  topology.name = "2 x DGX-2";
  std::vector<topo::NodeId> gpus;
  for (uint32_t r = 0; r < 32; ++r) {
    gpus.push_back(topo::add_rank(topology, fmt::format("gpu{}", r), 0));
    topology.nodes.back().machine = r / 16;
  }
  for (uint32_t node = 0; node < 2; ++node) {
    const topo::NodeId hub =
        topo::add_node(topology, topo::NodeKind::kSwitch, fmt::format("switch{}", node));
    topology.nodes.back().machine = node;
    for (uint32_t g = 0; g < 16; ++g) {
      topo::connect(topology, gpus[16 * node + g], hub, {LinkClass::kNvlink, 125, 350});
      if (g % 2 == 0) continue;
      topo::add_link(topology, gpus[16 * node + g], gpus[16 * (1 - node) + g - 1],
                     {LinkClass::kNetwork, 12.5, 2600});
    }
  }
  return topology;
}

struct Published {
  const char* size;
  uint64_t bytes;
  double taccl;  // GB/s; 0: none
  double teccl;
};

// TE-CCL's sizes are decimal.
constexpr std::array<Published, 11> kNdv2 = {{{"1G", 1'000'000'000, 18.60, 22.86},
                                              {"256M", 256'000'000, 20.49, 22.86},
                                              {"64M", 64'000'000, 20.43, 22.86},
                                              {"16M", 16'000'000, 0, 22.86},
                                              {"4M", 4'000'000, 18.48, 21.05},
                                              {"1M", 1'000'000, 16.09, 20.51},
                                              {"256K", 256'000, 10.13, 17.39},
                                              {"64K", 64'000, 4.89, 10.53},
                                              {"16K", 16'000, 1.26, 3.60},
                                              {"4K", 4'000, 0.338, 0.956},
                                              {"1K", 1'000, 0.098, 0.242}}};
constexpr std::array<Published, 11> kDgx2 = {{{"1G", 1'000'000'000, 107.9, 129.0},
                                              {"256M", 256'000'000, 107.3, 129.0},
                                              {"64M", 64'000'000, 105.1, 129.0},
                                              {"16M", 16'000'000, 99.8, 129.0},
                                              {"4M", 4'000'000, 65.7, 121.2},
                                              {"1M", 1'000'000, 31.9, 93.0},
                                              {"256K", 256'000, 10.2, 47.6},
                                              {"64K", 64'000, 2.63, 14.8},
                                              {"16K", 16'000, 0.689, 3.92},
                                              {"4K", 4'000, 0.173, 0.992},
                                              {"1K", 1'000, 0.046, 0.250}}};

double rate_of(uint64_t bytes, double ns) { return ns > 0 ? static_cast<double>(bytes) / ns : 0; }

class Comparison {
 public:
  Comparison(const topo::Topology& topology, double seconds)
      : topology_(topology),
        seconds_(seconds),
        all_gather_{CollectiveKind::kAllGather, topology.num_ranks()} {}

  // False where nothing can be compared.
  bool show(std::span<const Published> rows) {
    auto solver = plan::solver::find_solver();
    auto packing = plan::pack_for(all_gather_, topology_, "packed");
    if (!solver || !packing) {
      fmt::print(stderr, "NOT RUN: {}\n", (solver ? packing.error() : solver.error()).message);
      return false;
    }
    fmt::print("{}; {}\n", topology_.name, plan::packing::summary(*packing));
    fmt::print("{:>5} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}  {}\n", "bytes",
               "TACCL", "TE-CCL", "filled", "packed", "quick", "greedy", "sketch", "best", "bound",
               "of it", "sketch used");
    for (const Published& row : rows) show_row(row, *packing, **solver);
    return true;
  }

 private:
  void show_row(const Published& row, const plan::packing::Packing& packing,
                plan::solver::Solver& solver) {
    plan::sketch::SynthesisOptions options;
    options.bytes = row.bytes;
    options.seconds = seconds_;
    const auto made =
        plan::sketch::synthesize_automatically(all_gather_, topology_, solver, options);
    const std::string used =
        made ? fmt::format("{}, pieces {}, {:.1f} s of solver", made->best.sketch.name,
                           made->best.pieces, made->best.solver_seconds)
             : made.error().message;
    const double packed = packed_rate(packing, row.bytes);
    const auto quick_plan = plan::plan_packed(all_gather_, topology_, "quick", 0, row.bytes);
    const double quick = quick_plan ? rate_of(row.bytes, quick_plan->ns) : 0;
    const auto [greedy, filled] = greedy_rates(row.bytes);
    const double sketch = made ? rate_of(row.bytes, made->best.ns) : 0;
    const double best = std::max({packed, quick, greedy, sketch});
    const auto simple = plan::sketch::least_ns(all_gather_, topology_, row.bytes);
    const double cut = plan::packing::least_ns(topology_, packing, row.bytes);
    const double bound = simple ? rate_of(row.bytes, std::max(*simple, cut)) : 0;
    fmt::print("{:>5} {:>9} {:>9.3f}", row.size,
               row.taccl == 0 ? "-" : fmt::format("{:.3f}", row.taccl), row.teccl);
    fmt::print(" {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>7.1f}%  {}\n",
               filled, packed, quick, greedy, sketch, best, bound, 100 * best / bound, used);
    std::fflush(stdout);
  }

  // With the pieces that simulate fastest, as plan_packed chooses; the trees are the same for all.
  [[nodiscard]] double packed_rate(const plan::packing::Packing& packing, uint64_t bytes) const {
    plan::PackedTrials trials(packing);
    sim::Options conditions;
    conditions.bytes = bytes;
    conditions.with_bound = conditions.with_critical_path = false;
    double best = 0;
    for (const uint32_t chunks : plan::packed_chunk_choices()) {
      if (!trials.refusal(chunks).empty()) break;
      const auto schedule = plan::make_packed(all_gather_, packing, "packed", chunks);
      const auto report = sim::simulate(schedule.value(), topology_, conditions);
      trials.note(report->total_ns);
      best = std::max(best, rate_of(bytes, report->total_ns));
    }
    return best;
  }

  struct GreedyRates {
    double simulated = 0;
    double filled = 0;
  };
  // As simulated, the best by simulation; as filled, the best of a few numbers of chunks.
  [[nodiscard]] GreedyRates greedy_rates(uint64_t bytes) const {
    plan::synth::GreedyOptions options;
    options.bytes = bytes;
    options.chunks = 0;
    GreedyRates rates;
    const auto plan = plan::synth::plan_greedy(all_gather_, topology_, options);
    if (plan) rates.simulated = rate_of(bytes, plan->ns());
    for (options.chunks = 1; options.chunks <= 128; options.chunks *= 2) {
      const auto count = plan::synth::count_greedy(all_gather_, topology_, options);
      if (count) rates.filled = std::max(rates.filled, rate_of(bytes, count->planned_ns));
    }
    return rates;
  }

  const topo::Topology& topology_;
  double seconds_;
  Collective all_gather_;
};

struct Machine {
  std::string_view name;
  topo::Topology (*make)();
  std::span<const Published> rows;
};
constexpr Machine kMachines[] = {{"ndv2", ndv2, kNdv2}, {"dgx2", dgx2, kDgx2}};

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  const std::string only = argc > 2 ? argv[2] : "";
  for (const tutti::Machine& machine : tutti::kMachines) {
    if (!only.empty() && only != machine.name) continue;
    const tutti::topo::Topology topology = machine.make();
    if (!tutti::Comparison(topology, seconds).show(machine.rows)) return 1;
  }
}
