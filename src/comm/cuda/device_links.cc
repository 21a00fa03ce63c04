#include "comm/cuda/device_links.h"

#include <atomic>

namespace tutti::comm {
namespace {

using engine::cuda::LinkWords;

constexpr uint32_t kMostLinks = transport::kLinkBytes / sizeof(LinkWords);

// The first one counts places that were taken.
LinkWords* words_of(const transport::Endpoint& endpoint, Rank rank) {
  return reinterpret_cast<LinkWords*>(endpoint.links(rank));
}

}  // namespace

uint32_t take_link(const transport::Endpoint& endpoint) {
  std::atomic<uint32_t>& num_taken = words_of(endpoint, endpoint.self())->num_exported;
  uint32_t taken = num_taken.load(std::memory_order_relaxed);
  // Liveness: each time round another thread has taken one.
  while (taken + 1 < kMostLinks) {
    if (num_taken.compare_exchange_weak(taken, taken + 1, std::memory_order_relaxed)) {
      return taken + 1;
    }
  }
  return 0;
}

engine::cuda::RegionLink link_of(const transport::Endpoint& endpoint, const LinkEnds& ends) {
  if (ends.here == 0 || ends.there == 0 || ends.there >= kMostLinks) return {};
  return {words_of(endpoint, endpoint.self()) + ends.here,
          words_of(endpoint, ends.peer) + ends.there};
}

}  // namespace tutti::comm
