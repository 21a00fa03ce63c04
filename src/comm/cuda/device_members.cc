#include "comm/cuda/device_members.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <string>

#include "base/try.h"
#include "comm/cuda/device_links.h"
#include "comm/group.h"

namespace tutti::comm {
namespace {

using engine::cuda::Daemon;
using engine::cuda::Front;
using engine::cuda::SharedRegion;

constexpr std::string_view kName = "tutti: device communicator";

// What a rank says first.
struct Who {
  uint64_t process;
  uint64_t device;
  uint64_t id;  // for the communicator; that of rank 0 counts
  uint64_t pid;
};
// What it says when it has its daemon.
struct Where {
  uint64_t identity;  // of the node
  uint64_t num_workers;
  uint64_t front;        // in its process
  uint64_t number;       // of the region that the front is in
  uint64_t num_regions;  // that others map before they meet it
  SharedRegion region;
};

template <class T>
Result<std::vector<T>> gather(Communicator& comm, const T& own) {
  static_assert(sizeof(T) % sizeof(uint64_t) == 0);
  constexpr size_t kWords = sizeof(T) / sizeof(uint64_t);
  std::vector<uint64_t> words(kWords);
  std::memcpy(words.data(), &own, sizeof own);
  std::vector<uint64_t> all(kWords * comm.num_ranks());
  // Liveness: all members gather, or one is lost, or the deadline passes.
  TUTTI_TRY(
      comm.all_gather(std::span<const uint64_t>(words), std::span(all), {.name = kName}).wait());
  std::vector<T> out(comm.num_ranks());
  std::memcpy(out.data(), all.data(), all.size() * sizeof(uint64_t));
  return out;
}

Result<std::vector<uint32_t>> swap(Communicator& comm, const std::vector<uint32_t>& to_each) {
  std::vector<uint32_t> from_each(to_each.size());
  // Liveness: all members swap, or one is lost, or the deadline passes.
  TUTTI_TRY(
      comm.all_to_all(std::span<const uint32_t>(to_each), std::span(from_each), {.name = kName})
          .wait());
  return from_each;
}

Result<Where> where_is(DeviceNode& node, bool is_far) {
  Where where{};
  Front* const front = node.daemon().front();
  where.identity = node.identity();
  where.num_workers = node.daemon().num_workers();
  where.front = reinterpret_cast<uint64_t>(front);
  if (!is_far) return where;
  TUTTI_ASSIGN(where.num_regions, node.daemon().open());
  TUTTI_ASSIGN(const auto allocation, node.device().allocation_of(front));
  TUTTI_ASSIGN(where.region, node.device().share(allocation));
  TUTTI_ASSIGN(const uint64_t address, node.daemon().exports().address_of(front));
  where.number = engine::cuda::region_of(address);
  return where;
}

// Maps all that a rank in another process says must be known before it is met.
Result<Daemon::Acquaintance> acquaint_far(DeviceNode& node, const Where& where, uint32_t door) {
  TUTTI_ASSIGN(std::byte* const base, node.device().map(where.region));
  auto* const front = reinterpret_cast<Front*>(base + (where.front - where.region.base));
  Daemon::Acquaintance out{front, door, false};
  for (uint64_t number = 1; number <= where.num_regions; ++number) {
    if (number == where.number) {
      out.bases.push_back(base);
      continue;
    }
    SharedRegion region{};
    const auto* const there = reinterpret_cast<const std::byte*>(&front->regions[number]);
    TUTTI_TRY(node.device().read(&region, there, sizeof region));
    TUTTI_ASSIGN(const std::byte* const mapped, node.device().map(region));
    out.bases.push_back(mapped);
  }
  return out;
}

Error has_failed(uint32_t rank) {
  return {ErrorCode::kIo, fmt::format("rank {} could not begin on its GPU; it says why", rank)};
}

// How two nodes know each other, for the other one to compare with how it does. There are at most
// 64 neighbours.
uint32_t word_of(uint32_t here, uint32_t there) { return here << 16 | there; }

// Those who know each other stay with that. If one of two does not, or as another neighbour, both
// open new doors: one may have met the other in a communicator that the other is still making, and
// of two that threads make at once each may have made another one last.
Result<std::vector<uint32_t>> meet_all(Communicator& comm, DeviceNode& node,
                                       const std::vector<Who>& who,
                                       const std::vector<Where>& where) {
  const uint32_t self = comm.rank();
  std::vector<uint32_t> neighbours(where.size());
  std::vector<uint32_t> known(where.size());
  std::vector<uint32_t> mirrored(where.size());
  for (uint32_t r = 0; r < where.size(); ++r) {
    const DeviceNode::Met met = node.known(where[r].identity);
    neighbours[r] = met.here;
    known[r] = word_of(met.here, met.there);
    mirrored[r] = word_of(met.there, met.here);
  }
  TUTTI_ASSIGN(const std::vector<uint32_t> known_there, swap(comm, known));
  std::vector<uint32_t> doors(where.size());
  std::vector<uint32_t> links(where.size());
  const auto is_new = [&](uint32_t r) {
    return r != self && (known[r] == 0 || known_there[r] != mirrored[r]);
  };
  const auto is_near = [&](uint32_t r) { return who[r].process == who[self].process; };
  const transport::Endpoint& endpoint = comm.group()->node().engine.endpoint();
  Status status;
  for (uint32_t r = 0; r < where.size(); ++r) {
    if (!is_new(r) || !status) continue;
    const Result<uint32_t> door = node.daemon().expect_neighbour();
    if (!door) status = door.error();
    neighbours[r] = doors[r] = door ? *door : 0;
    if (!is_near(r)) links[r] = take_link(endpoint);
  }
  // Also after an error, so that nobody waits for this rank.
  TUTTI_ASSIGN(const std::vector<uint32_t> doors_there, swap(comm, doors));
  TUTTI_ASSIGN(const std::vector<uint32_t> links_there, swap(comm, links));
  TUTTI_TRY(status);
  for (uint32_t r = 0; r < where.size(); ++r) {
    if (!is_new(r)) continue;
    if (doors_there[r] == 0) return has_failed(r);
    Daemon::Acquaintance other{reinterpret_cast<Front*>(where[r].front), doors_there[r]};
    if (!is_near(r)) {
      TUTTI_ASSIGN(other, acquaint_far(node, where[r], doors_there[r]));
      other.link = link_of(endpoint, {links[r], comm.group()->members()[r], links_there[r]});
    }
    TUTTI_TRY(node.meet(where[r].identity, doors[r], other, comm.group()->node().memory));
  }
  return neighbours;
}

}  // namespace

Result<DeviceMembers> introduce(Communicator comm, DeviceHost& host) {
  const uint32_t self = comm.rank();
  std::random_device random;
  const Who own{host.facts().process, host.facts().identity, uint64_t{random()} << 32 | random(),
                static_cast<uint64_t>(getpid())};
  TUTTI_ASSIGN(const std::vector<Who> who, gather(comm, own));
  DeviceMembers out;
  out.id = who[0].id;
  uint32_t place = 0;
  for (uint32_t r = 0; r < who.size(); ++r) {
    if (who[r].device != own.device) {
      return Error{
          ErrorCode::kUnsupported,
          fmt::format("ranks {} and {} are on different GPUs: tutti cannot do that yet", self, r)};
    }
    const bool is_near = who[r].process == own.process;
    out.is_far = out.is_far || !is_near;
    if (!is_near) out.far.push_back({Rank{r}, static_cast<int>(who[r].pid)});
    if (is_near && r < self) ++place;
  }
  const uint32_t wanted_workers = comm.group()->node().settings.gpu_workers;
  Result<DeviceNode*> node = host.node(place, comm.num_ranks(), wanted_workers);
  Result<Where> own_place = node ? where_is(**node, out.is_far) : Result<Where>(node.error());
  // Also after an error, so that nobody waits for this rank.
  TUTTI_ASSIGN(const std::vector<Where> where, gather(comm, own_place ? *own_place : Where{}));
  TUTTI_TRY(own_place);
  for (uint32_t r = 0; r < where.size(); ++r) {
    if (where[r].num_workers == 0) return has_failed(r);
  }
  out.node = *node;
  const auto fewest = [](const Where& a, const Where& b) { return a.num_workers < b.num_workers; };
  out.num_workers =
      static_cast<uint32_t>(std::min_element(where.begin(), where.end(), fewest)->num_workers);
  TUTTI_ASSIGN(out.neighbours, meet_all(comm, *out.node, who, where));
  return out;
}

}  // namespace tutti::comm
