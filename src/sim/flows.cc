#include "sim/flows.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace tutti::sim {
namespace {

// Two rates closer than this are the same rate computed along two ways; leaving the old one keeps
// flows that nothing happened to at their exact end.
constexpr double kSameRate = 1e-14;

}  // namespace

Flows::Flows(const Links& links, uint32_t num_actors, EventQueue& queue)
    : links_(links.gbps.size()), flows_(num_actors), queue_(queue), rests_(links.gbps.size()) {
  for (size_t i = 0; i < links_.size(); ++i) {
    links_[i].gbps = links.gbps[i];
    links_[i].binds = links.binds[i];
  }
}

void Flows::Link::add(Hop hop) {
  if (num_hops++ == 0 || !binds) {
    first = hop;
    return;
  }
  if (others == nullptr) others = std::make_unique<std::vector<Hop>>();
  others->push_back(hop);
}

void Flows::note_change(uint32_t link) {
  if (links_[link].changed) return;
  links_[link].changed = true;
  changed_.push_back(link);
}

void Flows::start(uint32_t actor, std::span<const topo::LinkId> route, double bytes, double cap,
                  double now) {
  Flow& flow = flows_[actor];
  flow.route = route;
  flow.bytes = flow.left = bytes;
  flow.since = now;
  flow.rate = 0;
  flow.cap = cap;
  if (route.empty()) {
    queue_.set(actor, now + bytes / cap);
    return;
  }
  flow.places.clear();
  flow.new_rate = cap;
  for (const topo::LinkId id : route) {
    Link& link = links_[id.value];
    if (link.num_hops == 0) {
      link.busy_since = now;
    } else if (link.binds) {
      note_change(id.value);
    }
    if (link.binds) flow.places.push_back({id.value, link.num_hops});
    link.add({actor, static_cast<uint32_t>(flow.places.size()) - 1});
    flow.new_rate = std::min(flow.new_rate, link.gbps);
  }
  started_.push_back(actor);
}

// The last hop in the link's list takes this one's place.
void Flows::take_off(Place place) {
  Link& link = links_[place.link];
  const Hop last = link.hop(link.num_hops - 1);
  link.hop(place.index) = last;
  flows_[last.actor].places[last.index].index = place.index;
  if (link.num_hops > 1) link.others->pop_back();
}

void Flows::finish(uint32_t actor, double now) {
  Flow& flow = flows_[actor];
  auto place = flow.places.begin();
  for (const topo::LinkId id : flow.route) {
    Link& link = links_[id.value];
    if (link.binds) take_off(*place++);
    --link.num_hops;
    link.bytes += flow.bytes;
    if (link.num_hops == 0) {
      link.busy_ns += now - link.busy_since;
    } else if (link.binds) {
      note_change(id.value);
    }
  }
  flow.route = {};
}

void Flows::settle(double now) {
  ++visit_;
  for (const uint32_t link : changed_) {
    links_[link].changed = false;
    if (links_[link].visited == visit_ || links_[link].num_hops == 0) continue;
    collect_component(link);
    solve_component();
    for (const uint32_t actor : component_flows_) apply(actor, now);
  }
  // What no change has reached is alone on its links and gets the narrowest, as start() noted.
  for (const uint32_t actor : started_) {
    if (flows_[actor].visited != visit_) apply(actor, now);
  }
  changed_.clear();
  started_.clear();
}

// All flows and links that can be reached from this link by going from link to flow to link.
void Flows::collect_component(uint32_t link) {
  component_links_.assign(1, link);
  component_flows_.clear();
  links_[link].visited = visit_;
  for (size_t next = 0; next < component_links_.size(); ++next) {
    Link& at = links_[component_links_[next]];
    for (uint32_t i = 0; i < at.num_hops; ++i) {
      const uint32_t actor = at.hop(i).actor;
      Flow& flow = flows_[actor];
      if (flow.visited == visit_) continue;
      flow.visited = visit_;
      flow.new_rate = 0;
      component_flows_.push_back(actor);
      for (const Place& other : flow.places) {
        if (links_[other.link].visited == visit_) continue;
        links_[other.link].visited = visit_;
        component_links_.push_back(other.link);
      }
    }
  }
}

// Progressive filling: all flows rise together from 0. The first link to be full stops the flows on
// it; the first flow at its cap stops alone; the others rise on. A link's share, what each of its
// undecided hops would get, never falls meanwhile, so an outdated entry of the heap is only ever
// too small and is put back with its present value.
void Flows::solve_component() {
  shares_.clear();
  for (const uint32_t id : component_links_) {
    const Link& link = links_[id];
    rests_[id] = {link.gbps, link.num_hops};
    shares_.push_back({link.gbps / link.num_hops, id});
  }
  std::make_heap(shares_.begin(), shares_.end(), std::greater<>{});
  capped_.clear();
  for (const uint32_t actor : component_flows_) {
    if (flows_[actor].cap < kUnlimited) capped_.push_back(actor);
  }
  // The least cap last, and among equals the least actor.
  std::sort(capped_.begin(), capped_.end(), [&](uint32_t a, uint32_t b) {
    return flows_[a].cap != flows_[b].cap ? flows_[a].cap > flows_[b].cap : a > b;
  });

  double level = 0;
  while (!shares_.empty()) {
    std::pop_heap(shares_.begin(), shares_.end(), std::greater<>{});
    const Share top = shares_.back();
    shares_.pop_back();
    const Rest& rest = rests_[top.link];
    if (rest.undecided == 0) continue;
    const double share = std::max(level, rest.gbps / rest.undecided);
    while (!capped_.empty() && flows_[capped_.back()].new_rate > 0) capped_.pop_back();
    if (!capped_.empty() && flows_[capped_.back()].cap < top.rate) {
      level = std::max(level, flows_[capped_.back()].cap);
      decide(flows_[capped_.back()], flows_[capped_.back()].cap);
    } else if (share <= top.rate * (1 + kSameRate)) {
      level = share;
      Link& full = links_[top.link];
      for (uint32_t i = 0; i < full.num_hops; ++i) {
        Flow& flow = flows_[full.hop(i).actor];
        if (flow.new_rate == 0) decide(flow, share);
      }
      continue;
    }
    shares_.push_back({share, top.link});
    std::push_heap(shares_.begin(), shares_.end(), std::greater<>{});
  }
}

void Flows::decide(Flow& flow, double rate) {
  flow.new_rate = rate;
  for (const Place& place : flow.places) {
    Rest& rest = rests_[place.link];
    rest.gbps = std::max(0.0, rest.gbps - rate);
    --rest.undecided;
  }
}

void Flows::apply(uint32_t actor, double now) {
  Flow& flow = flows_[actor];
  if (std::abs(flow.new_rate - flow.rate) <= kSameRate * flow.new_rate) return;
  flow.left = std::max(0.0, flow.left - flow.rate * (now - flow.since));
  flow.since = now;
  flow.rate = flow.new_rate;
  queue_.set(actor, now + flow.left / flow.rate);
}

}  // namespace tutti::sim
