#include "tests/simgrid/replay.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <simgrid/s4u.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "base/try.h"
#include "ir/layout.h"
#include "ir/matching.h"
#include "ir/sizes.h"
#include "topo/router.h"

namespace tutti::simgrid {
namespace {

namespace sg = ::simgrid::s4u;

// SimGrid reckons in seconds and drops what is below 1e-9 of them. A second there is this much
// here.
constexpr double kUnitNs = 1000;

// A connection under slots: its messages go one by one.
struct Connection {
  explicit Connection(uint32_t slots) : room(sg::Semaphore::create(slots)) {}
  sg::SemaphorePtr room;
  sg::SemaphorePtr given = sg::Semaphore::create(0);
  std::vector<ir::StepNumber> senders;
};

class Replay {
 public:
  Replay(const ir::Schedule& schedule, const topo::Topology& topology, const ReplayOptions& options)
      : schedule_(schedule),
        topology_(topology),
        options_(options),
        numbering_(schedule),
        matching_(ir::match_messages(schedule, numbering_).value()),
        layout_(ir::Layout::create(schedule.collective, schedule.chunks_per_block).value()),
        sizes_(ir::Sizes::even(layout_, options.bytes)) {}

  double run() {
    // The plain fluid model: no TCP window, no acknowledgements on the way back, no fudge factors.
    // Full: with its lazy updates SimGrid gives trees on one switch other times than without.
    std::vector<std::string> arguments = {
        "replay",
        "--cfg=network/model:CM02",
        "--cfg=network/crosstraffic:0",
        "--cfg=network/TCP-gamma:1e30",
        "--cfg=network/latency-factor:1",
        "--cfg=network/bandwidth-factor:1",
        "--cfg=network/weight-S:0",
        "--cfg=network/optim:Full",
        "--cfg=contexts/stack-size:64",
        "--log=root.thres:warning",
    };
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    int argc = static_cast<int>(argv.size());
    sg::Engine engine(&argc, argv.data());
    make_platform();
    make_semaphores();
    if (options_.handover == Handover::kSlots) make_connections();
    for (uint32_t r = 0; r < schedule_.ranks.size(); ++r) {
      for (uint32_t l = 0; l < schedule_.ranks[r].lanes.size(); ++l) {
        sg::Actor::create("lane", hosts_[r], [this, r, l] { play(Rank{r}, l); });
      }
    }
    engine.run();
    return finish_;
  }

 private:
  void make_platform() {
    sg::NetZone* zone = sg::create_full_zone("all");
    std::vector<sg::Link*> links;
    for (size_t l = 0; l < topology_.links.size(); ++l) {
      const topo::Link& link = topology_.links[l];
      sg::Link* made = zone->create_link("link" + std::to_string(l), link.gbps * kUnitNs);
      links.push_back(made->set_latency(latency_of(link.latency_ns, Latency::kOfLinks))->seal());
    }
    for (size_t r = 0; r < schedule_.ranks.size(); ++r) {
      hosts_.push_back(zone->create_host("rank" + std::to_string(r), 1.0)->seal());
    }
    topo::Router router(topology_);
    for (uint32_t a = 0; a < hosts_.size(); ++a) {
      for (uint32_t b = 0; b < hosts_.size(); ++b) {
        if (a == b) continue;
        std::vector<sg::LinkInRoute> route;
        const auto route = router.route(Rank{a}, Rank{b}).value();
        for (const topo::LinkId link : route) {
          route.emplace_back(links[link.value]);
          slept_[{a, b}] += latency_of(topology_.links[link.value].latency_ns, Latency::kSlept);
        }
        zone->add_route(hosts_[a]->get_netpoint(), hosts_[b]->get_netpoint(), nullptr, nullptr,
                        route, false);
      }
    }
    zone->seal();
  }

  [[nodiscard]] double latency_of(double ns, Latency where) const {
    return options_.latency == where ? ns / kUnitNs : 0;
  }

  // One permit for every step that depends on a step, given when that is complete.
  void make_semaphores() {
    num_dependents_.assign(numbering_.num_steps(), 0);
    for (uint32_t r = 0; r < schedule_.ranks.size(); ++r) {
      for (const ir::Lane& lane : schedule_.ranks[r].lanes) {
        for (const ir::Step& step : lane.steps) {
          for (const ir::StepRef dep : schedule_.ranks[r].deps_of(step)) {
            ++num_dependents_[numbering_.number(Rank{r}, dep)];
          }
        }
      }
    }
    for (uint32_t s = 0; s < numbering_.num_steps(); ++s) {
      complete_.push_back(sg::Semaphore::create(0));
      arrived_.push_back(sg::Semaphore::create(0));
      announced_.push_back(sg::Semaphore::create(0));
    }
  }

  void make_connections() {
    connection_of_.assign(numbering_.num_steps(), nullptr);
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Connection*> known;
    for (ir::StepNumber s = 0; s < numbering_.num_steps(); ++s) {
      if (matching_.taker[s] == ir::kNoStep) continue;
      const auto place = numbering_.place(s);
      const ir::Step& step = schedule_.step(place.rank, place.ref);
      const uint32_t channel = schedule_.ranks[place.rank.value].lanes[place.ref.lane].channel;
      Connection*& connection = known[{place.rank.value, step.send_peer.value, channel}];
      if (connection == nullptr) connection = new Connection(schedule_.slots);
      connection->senders.push_back(s);
      connection_of_[s] = connection;
    }
    for (const auto& [key, connection] : known) {
      sg::Host* from = hosts_[std::get<0>(key)];
      sg::Host* to = hosts_[std::get<1>(key)];
      sg::Actor::create("connection", from, [this, from, to, connection = connection] {
        for (const ir::StepNumber sender : connection->senders) {
          connection->given->acquire();
          move(sender);
          arrived_[sender]->release();
        }
      });
    }
  }

  // Of the message of a step that sends, or of what a local step reads.
  [[nodiscard]] uint64_t bytes_of(ir::StepNumber number) const {
    const auto place = numbering_.place(number);
    const ir::Step& step = schedule_.step(place.rank, place.ref);
    const ir::Region region = ir::reads_src(step.kind) ? step.src() : step.dst();
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < region.count; ++i) {
      const uint32_t index = region.index + i;
      bytes += sizes_.chunk_elems(region.buffer == ir::Buffer::kScratch
                                      ? schedule_.ranks[place.rank.value].scratch[index]
                                      : layout_.chunk_at(place.rank, region.buffer, index));
    }
    return bytes;
  }

  void move(ir::StepNumber sender) {
    const auto place = numbering_.place(sender);
    const uint32_t to = schedule_.step(place.rank, place.ref).send_peer.value;
    sg::this_actor::sleep_for(slept_[{place.rank.value, to}]);
    sg::Comm::sendto(hosts_[place.rank.value], hosts_[to], bytes_of(sender));
  }

  void complete(ir::StepNumber step) {
    for (uint32_t i = 0; i < num_dependents_[step]; ++i) complete_[step]->release();
  }

  void play(Rank rank, uint32_t lane) {
    const ir::RankProgram& program = schedule_.ranks[rank.value];
    const std::vector<ir::Step>& steps = program.lanes[lane].steps;
    for (uint32_t i = 0; i < steps.size(); ++i) {
      for (const ir::StepRef dep : program.deps_of(steps[i])) {
        complete_[numbering_.number(rank, dep)]->acquire();
      }
      const ir::StepNumber number = numbering_.number(rank, {lane, i});
      if (options_.handover == Handover::kLending) {
        play_lending(rank, steps[i], number);
      } else {
        play_slots(rank, steps[i], number);
      }
    }
    finish_ = std::max(finish_, sg::Engine::get_clock() * kUnitNs);
  }

  void work(Rank rank, const ir::Step& step, uint64_t bytes) {
    const double gbps = topology_.device_of(rank).reduce_gbps;
    if (!ir::reduces(step.kind) || gbps == 0) return;
    sg::this_actor::sleep_for(static_cast<double>(bytes) / gbps / kUnitNs);
  }

  void play_lending(Rank rank, const ir::Step& step, ir::StepNumber number) {
    if (step.kind == ir::StepKind::kReduce) work(rank, step, bytes_of(number));
    if (ir::receives(step.kind)) {
      const ir::StepNumber sender = matching_.sender[number];
      announced_[sender]->acquire();
      move(sender);
      complete(sender);
      work(rank, step, bytes_of(sender));
    }
    if (ir::sends(step.kind)) {
      announced_[number]->release();
    } else {
      complete(number);
    }
  }

  void play_slots(Rank rank, const ir::Step& step, ir::StepNumber number) {
    const ir::StepNumber sender = matching_.sender[number];
    if (step.kind == ir::StepKind::kReduce) work(rank, step, bytes_of(number));
    if (ir::receives(step.kind)) arrived_[sender]->acquire();
    if (ir::sends(step.kind)) connection_of_[number]->room->acquire();
    if (ir::receives(step.kind)) {
      work(rank, step, bytes_of(sender));
      connection_of_[sender]->room->release();
    }
    if (ir::sends(step.kind)) connection_of_[number]->given->release();
    complete(number);
  }

  const ir::Schedule& schedule_;
  const topo::Topology& topology_;
  ReplayOptions options_;
  ir::StepNumbering numbering_;
  ir::Matching matching_;
  ir::Layout layout_;
  ir::Sizes sizes_;
  std::vector<sg::Host*> hosts_;
  std::vector<uint32_t> num_dependents_;
  std::map<std::pair<uint32_t, uint32_t>, double> slept_;  // before a message, by its ranks
  std::vector<sg::SemaphorePtr> complete_;                 // by step
  std::vector<sg::SemaphorePtr> announced_;                // by sending step, under lending
  std::vector<sg::SemaphorePtr> arrived_;                  // by sending step, under slots
  std::vector<Connection*> connection_of_;                 // live as long as the child process
  double finish_ = 0;
};

}  // namespace

Result<double> replay(const ir::Schedule& schedule, const topo::Topology& topology,
                      const ReplayOptions& options) {
  int ends[2];
  if (pipe(ends) != 0) return Error{ErrorCode::kIo, "no pipe to the child process"};
  const pid_t child = fork();
  if (child < 0) return Error{ErrorCode::kIo, "no child process"};
  if (child == 0) {
    const double ns = Replay(schedule, topology, options).run();
    const bool sent = write(ends[1], &ns, sizeof ns) == sizeof ns;
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  double ns = 0;
  const bool got = read(ends[0], &ns, sizeof ns) == sizeof ns;
  close(ends[0]);
  int status = 0;
  // Liveness: SimGrid ends when no actor can move, with an error where some still wait.
  waitpid(child, &status, 0);
  if (got && status == 0) return ns;
  return Error{ErrorCode::kAborted, fmt::format("SimGrid's process ended with status {}", status)};
}

}  // namespace tutti::simgrid
