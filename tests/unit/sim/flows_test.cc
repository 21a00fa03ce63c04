#include "sim/flows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "sim/binding.h"

namespace tutti::sim {
namespace {

std::vector<topo::LinkId> links(std::initializer_list<uint32_t> ids) {
  std::vector<topo::LinkId> route;
  for (const uint32_t id : ids) route.emplace_back(id);
  return route;
}

Flows::Links all_bind(const std::vector<double>& gbps) {
  return {gbps, std::vector<bool>(gbps.size(), true)};
}

// Runs the queue until it is empty and returns when each actor's flow was over.
std::vector<double> run_to_the_end(Flows& flows, EventQueue& queue, uint32_t num_actors) {
  std::vector<double> ends(num_actors, -1);
  double now = 0;
  flows.settle(now);
  while (!queue.empty()) {
    now = queue.next_time();
    const uint32_t actor = queue.pop();
    flows.finish(actor, now);
    ends[actor] = now;
    flows.settle(now);
  }
  return ends;
}

TEST(Flows, AloneGetTheNarrowestLinkOfTheirRoute) {
  EventQueue queue(1);
  Flows flows(all_bind({10, 4, 7}), 1, queue);
  const auto route = links({0, 1, 2});
  flows.start(0, route, 100, kUnlimited, 0);
  EXPECT_EQ(run_to_the_end(flows, queue, 1), std::vector<double>{25});
  EXPECT_EQ(flows.totals(topo::LinkId{0}).bytes, 100);
  EXPECT_EQ(flows.totals(topo::LinkId{0}).busy_ns, 25);
}

TEST(Flows, OnOneLinkShareItEquallyAndSpeedUpWhenOneIsOver) {
  EventQueue queue(2);
  Flows flows(all_bind({10}), 2, queue);
  const auto route = links({0});
  flows.start(0, route, 100, kUnlimited, 0);
  flows.start(1, route, 50, kUnlimited, 0);
  // 5 each until time 10; then the first has 50 left at 10 a ns.
  EXPECT_EQ(run_to_the_end(flows, queue, 2), (std::vector<double>{15, 10}));
  EXPECT_EQ(flows.totals(topo::LinkId{0}).bytes, 150);
  EXPECT_EQ(flows.totals(topo::LinkId{0}).busy_ns, 15);
}

TEST(Flows, TakeWhatANarrowerLinkKeepsOthersFromTaking) {
  EventQueue queue(3);
  Flows flows(all_bind({10, 2}), 3, queue);
  const auto narrow = links({0, 1});
  const auto wide = links({0});
  flows.start(0, narrow, 20, kUnlimited, 0);  // 2 a ns
  flows.start(1, wide, 40, kUnlimited, 0);    // 4
  flows.start(2, wide, 40, kUnlimited, 0);    // 4
  EXPECT_EQ(run_to_the_end(flows, queue, 3), (std::vector<double>{10, 10, 10}));
}

TEST(Flows, StopAtTheirCapAndLeaveTheRest) {
  EventQueue queue(2);
  Flows flows(all_bind({10}), 2, queue);
  const auto route = links({0});
  flows.start(0, route, 10, 1, 0);
  flows.start(1, route, 90, kUnlimited, 0);
  EXPECT_EQ(run_to_the_end(flows, queue, 2), (std::vector<double>{10, 10}));
}

TEST(Flows, WithoutLinksMoveAtTheirCap) {
  EventQueue queue(1);
  Flows flows(all_bind({}), 1, queue);
  flows.start(0, {}, 10, 4, 0);
  EXPECT_EQ(run_to_the_end(flows, queue, 1), std::vector<double>{2.5});
}

TEST(Flows, ThatCrossALinkTwiceTakeItTwice) {
  EventQueue queue(2);
  Flows flows(all_bind({9}), 2, queue);
  const auto twice = links({0, 0});
  const auto once = links({0});
  flows.start(0, twice, 9, kUnlimited, 0);
  flows.start(1, once, 9, kUnlimited, 0);
  EXPECT_EQ(run_to_the_end(flows, queue, 2), (std::vector<double>{3, 3}));
}

TEST(Flows, ThatShareNothingDoNotMoveEachOther) {
  EventQueue queue(2);
  Flows flows(all_bind({1, 3}), 2, queue);
  const auto a = links({0});
  const auto b = links({1});
  flows.start(0, a, 7, kUnlimited, 0);
  flows.settle(0);
  flows.start(1, b, 1, kUnlimited, 0);
  flows.settle(0);
  EXPECT_EQ(queue.next_time(), 1.0 / 3.0);
  queue.pop();
  flows.finish(1, 1.0 / 3.0);
  flows.settle(1.0 / 3.0);
  EXPECT_EQ(queue.next_time(), 7);
}

// The rates that max-min fairness gives, by its definition: raise all rates together in small
// exact steps of "the next thing to be full", looking at everything each time.
std::vector<double> slow_rates(const std::vector<double>& gbps,
                               const std::vector<std::vector<topo::LinkId>>& routes,
                               const std::vector<double>& caps) {
  std::vector<double> rate(routes.size(), -1);
  while (true) {
    double next = kUnlimited;
    for (size_t f = 0; f < routes.size(); ++f) {
      if (rate[f] < 0) next = std::min(next, caps[f]);
    }
    std::vector<double> share(gbps.size(), kUnlimited);
    for (uint32_t l = 0; l < gbps.size(); ++l) {
      double used = 0;
      double open = 0;
      for (size_t f = 0; f < routes.size(); ++f) {
        const auto hops =
            static_cast<double>(std::count(routes[f].begin(), routes[f].end(), topo::LinkId{l}));
        rate[f] < 0 ? open += hops : used += hops * rate[f];
      }
      if (open > 0) share[l] = (gbps[l] - used) / open;
      next = std::min(next, share[l]);
    }
    if (next == kUnlimited) return rate;
    for (size_t f = 0; f < routes.size(); ++f) {
      const bool full = std::any_of(routes[f].begin(), routes[f].end(), [&](topo::LinkId l) {
        return share[l.value] <= next * (1 + 1e-12);
      });
      if (rate[f] < 0 && (full || caps[f] <= next)) rate[f] = next;
    }
  }
}

struct RandomNetwork {
  std::vector<double> gbps;
  std::vector<std::vector<topo::LinkId>> routes;
  std::vector<double> caps;
  std::vector<double> bytes;
  std::vector<double> starts;
};

RandomNetwork random_network(std::mt19937_64& random) {
  const auto below = [&](uint64_t n) { return static_cast<uint32_t>(random() % n); };
  RandomNetwork net;
  const uint32_t num_links = 1 + below(8);
  for (uint32_t l = 0; l < num_links; ++l) net.gbps.push_back(1 + below(20));
  net.routes.resize(1 + below(12));
  for (auto& route : net.routes) {
    const uint32_t hops = 1 + below(4);
    for (uint32_t h = 0; h < hops; ++h) route.emplace_back(below(num_links));
    net.caps.push_back(below(3) == 0 ? 0.5 + below(6) : kUnlimited);
    net.bytes.push_back(1 + below(1000));
    net.starts.push_back(below(4) * 25);
  }
  return net;
}

// When each flow is over, with the rates of the definition between any two events.
std::vector<double> slow_ends(const RandomNetwork& net) {
  const size_t num_flows = net.routes.size();
  std::vector<double> left = net.bytes;
  std::vector<double> ends(num_flows, -1);
  double now = 0;
  while (std::count(ends.begin(), ends.end(), -1) > 0) {
    std::vector<size_t> active;
    double next = kUnlimited;
    for (size_t f = 0; f < num_flows; ++f) {
      if (ends[f] >= 0) continue;
      if (net.starts[f] <= now) active.push_back(f);
      if (net.starts[f] > now) next = std::min(next, net.starts[f]);
    }
    std::vector<std::vector<topo::LinkId>> routes;
    std::vector<double> caps;
    for (const size_t f : active) {
      routes.push_back(net.routes[f]);
      caps.push_back(net.caps[f]);
    }
    const std::vector<double> rates = slow_rates(net.gbps, routes, caps);
    for (size_t i = 0; i < active.size(); ++i) {
      next = std::min(next, now + left[active[i]] / rates[i]);
    }
    for (size_t i = 0; i < active.size(); ++i) {
      const size_t f = active[i];
      left[f] -= rates[i] * (next - now);
      if (left[f] < 1e-9) ends[f] = next;
    }
    now = next;
  }
  return ends;
}

// Starts flows at their times and ends them when the queue says so; all changes of a moment are
// settled together.
std::vector<double> fast_ends(const RandomNetwork& net) {
  const auto num_flows = static_cast<uint32_t>(net.routes.size());
  EventQueue queue(num_flows);
  BindingLinks binding(net.gbps);
  for (const auto& route : net.routes) binding.add_route(route);
  Flows flows({net.gbps, binding.find()}, num_flows, queue);
  std::vector<double> ends(num_flows, -1);
  EventQueue starts(num_flows);
  for (uint32_t f = 0; f < num_flows; ++f) starts.set(f, net.starts[f]);
  while (!starts.empty() || !queue.empty()) {
    const double next_start = starts.empty() ? kUnlimited : starts.next_time();
    const double next_end = queue.empty() ? kUnlimited : queue.next_time();
    const double now = std::min(next_start, next_end);
    while (!queue.empty() && queue.next_time() == now) {
      const uint32_t f = queue.pop();
      flows.finish(f, now);
      ends[f] = now;
    }
    while (!starts.empty() && starts.next_time() == now) {
      const uint32_t f = starts.pop();
      flows.start(f, net.routes[f], net.bytes[f], net.caps[f], now);
    }
    flows.settle(now);
  }
  return ends;
}

TEST(Flows, ComeAndGoOnRandomNetworksAsTheDefinitionSays) {
  const char* text = std::getenv("TUTTI_SEED");
  const uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
  SCOPED_TRACE("TUTTI_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    const RandomNetwork net = random_network(random);
    const std::vector<double> expected = slow_ends(net);
    const std::vector<double> ends = fast_ends(net);
    for (size_t f = 0; f < ends.size(); ++f) {
      ASSERT_NEAR(ends[f], expected[f], 1e-9 * expected[f]) << "round " << round << " flow " << f;
    }
  }
}

}  // namespace
}  // namespace tutti::sim
