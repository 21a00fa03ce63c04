#include "ir/msccl/pairing.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace tutti::ir::msccl {
namespace {

struct Peers {
  std::vector<int32_t> recvs;  // in order of first use
  std::vector<int32_t> sends;
  std::map<std::pair<int32_t, int32_t>, uint32_t> fused;  // (recv, send) -> steps
};

void add_once(std::vector<int32_t>& peers, std::set<int32_t>& seen, int32_t peer) {
  if (seen.insert(peer).second) peers.push_back(peer);
}

Peers peers_of(const Lane& lane) {
  Peers peers;
  std::set<int32_t> recvs;
  std::set<int32_t> sends_to;
  for (const Step& step : lane.steps) {
    const auto recv = static_cast<int32_t>(step.recv_peer.value);
    const auto send = static_cast<int32_t>(step.send_peer.value);
    if (receives(step.kind)) add_once(peers.recvs, recvs, recv);
    if (sends(step.kind)) add_once(peers.sends, sends_to, send);
    if (receives(step.kind) && sends(step.kind)) ++peers.fused[{recv, send}];
  }
  return peers;
}

}  // namespace

std::vector<PeerPair> pair_peers(const Lane& lane) {
  const Peers peers = peers_of(lane);
  std::vector<std::pair<std::pair<int32_t, int32_t>, uint32_t>> fused(peers.fused.begin(),
                                                                      peers.fused.end());
  std::stable_sort(fused.begin(), fused.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::set<int32_t> free_recvs(peers.recvs.begin(), peers.recvs.end());
  std::set<int32_t> free_sends(peers.sends.begin(), peers.sends.end());
  std::vector<PeerPair> pairs;
  const auto take = [&](int32_t recv, int32_t send) {
    free_recvs.erase(recv);
    free_sends.erase(send);
    pairs.push_back({recv, send});
  };
  for (const auto& [pair, count] : fused) {
    if (free_recvs.contains(pair.first) && free_sends.contains(pair.second)) {
      take(pair.first, pair.second);
    }
  }
  for (int32_t send : peers.sends) {
    if (free_sends.contains(send) && free_recvs.contains(send)) take(send, send);
  }
  for (int32_t send : peers.sends) {
    if (free_sends.contains(send)) take(free_recvs.empty() ? -1 : *free_recvs.begin(), send);
  }
  for (int32_t recv : peers.recvs) {
    if (free_recvs.contains(recv)) take(recv, -1);
  }
  if (pairs.empty()) pairs.push_back({});
  return pairs;
}

}  // namespace tutti::ir::msccl
