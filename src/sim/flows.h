// Bytes on links. A flow is the payload of one message on its way; flows that share a link share
// its rate max-min fairly: no flow can get more without taking from one that has no more than it.
// The sharing is exact at every moment; rates change when flows come and go.
//
// Flows are named by the actor that owns them in the event queue, where a flow's end is kept up to
// date. start and finish only note what changed; settle computes the new rates, once for all
// changes of the same moment and only for flows that are joined to a change by shared links. A flow
// that shares no link costs no more than its route is long.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "sim/event_queue.h"
#include "topo/topology.h"

namespace tutti::sim {

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

class Flows {
 public:
  struct LinkTotals {
    double bytes = 0;
    double busy_ns = 0;
  };

  // `binds`, by link: whether it can hold flows back (sim/binding.h).
  struct Links {
    std::vector<double> gbps;
    std::vector<bool> binds;
  };

  // One flow an actor at a time. The queue must outlive this.
  Flows(const Links& links, uint32_t num_actors, EventQueue& queue);

  // The route may name a link twice (the flow then takes twice its rate there) and must stay valid
  // until the flow is finished. `bytes` > 0; `cap` is the most this flow can get, in bytes a ns,
  // and must be finite when the route is empty.
  void start(uint32_t actor, std::span<const topo::LinkId> route, double bytes, double cap,
             double now);
  // The actor's time came: the flow is over.
  void finish(uint32_t actor, double now);
  // Gives every flow that is affected by what was started and finished its rate and its end.
  void settle(double now);

  [[nodiscard]] LinkTotals totals(topo::LinkId link) const {
    return {links_[link.value].bytes, links_[link.value].busy_ns};
  }

 private:
  struct Place {
    uint32_t link;
    uint32_t index;  // in the link's list of hops
  };
  struct Flow {
    std::span<const topo::LinkId> route;
    std::vector<Place> places;  // on the links of the route that bind
    double bytes = 0;
    double left = 0;   // bytes not yet moved at time `since`
    double since = 0;  // when the rate was last changed
    double rate = 0;
    double cap = kUnlimited;
    double new_rate = 0;  // while settling; 0: not decided
    uint32_t visited = 0;
  };
  struct Hop {
    uint32_t actor;
    uint32_t index;  // of the link among the flow's places
  };
  // A flow touches all its links twice, so they have a cache line each: the hop of a flow that is
  // alone lies in it, further ones elsewhere. Where a link does not bind, hops are only counted.
  struct Link {
    double gbps = 0;
    double bytes = 0;
    double busy_ns = 0;
    double busy_since = 0;
    Hop first = {};
    std::unique_ptr<std::vector<Hop>> others;  // made when there are any
    uint32_t num_hops = 0;
    uint32_t visited = 0;
    bool changed = false;  // flows that share it came or went
    bool binds = true;

    Hop& hop(uint32_t place) { return place == 0 ? first : (*others)[place - 1]; }
    void add(Hop hop);
  };
  static_assert(sizeof(Link) <= 64);
  // While solving: what of a link is not given away yet, and the hops of flows without a rate.
  struct Rest {
    double gbps = 0;
    uint32_t undecided = 0;
  };
  struct Share {
    double rate;
    uint32_t link;
    friend bool operator>(const Share& a, const Share& b) {
      return a.rate > b.rate || (a.rate == b.rate && a.link > b.link);
    }
  };

  void note_change(uint32_t link);
  void take_off(Place place);
  void collect_component(uint32_t link);
  void solve_component();
  void decide(Flow& flow, double rate);
  void apply(uint32_t actor, double now);

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  EventQueue& queue_;
  std::vector<uint32_t> started_;  // flows that have no rate yet
  std::vector<uint32_t> changed_;  // links
  uint32_t visit_ = 0;
  // The component being solved; kept to reuse their memory.
  std::vector<uint32_t> component_links_;
  std::vector<uint32_t> component_flows_;
  std::vector<uint32_t> capped_;
  std::vector<Share> shares_;
  std::vector<Rest> rests_;  // by link
};

}  // namespace tutti::sim
