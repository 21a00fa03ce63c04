#include "tests/support/daemon_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <thread>

#include "engine/cuda/fold.h"
#include "engine/cuda/fusion.h"
#include "ir/sizes.h"
#include "plan/algorithm.h"
#include "verify/check.h"

namespace tutti::test {

// Against hangs only.
constexpr uint64_t kHangNs = 60'000'000'000;

using engine::cuda::Completion;
using engine::cuda::Daemon;
using engine::cuda::DeviceRequest;
using engine::cuda::LoadedProgram;
using engine::cuda::Outcome;

DaemonRanks::DaemonRanks(uint32_t num_ranks, const engine::cuda::DaemonOptions& options)
    : daemons_(Daemon::create_all(device_, num_ranks, options).value()), orders_(num_ranks) {}

void DaemonRanks::add(const TestCollective::Spec& spec, std::vector<Rank> members) {
  const uint64_t id = (collectives_.size() + 1) * 0x9E3779B97F4A7C15U;
  const Collective collective{spec.kind, static_cast<uint32_t>(members.size()), spec.root,
                              spec.kind == CollectiveKind::kSendRecv ? 1 - spec.root : 0};
  const auto schedule =
      verify::check(plan::make(collective, spec.algorithm, {}).value()).schedule();
  const auto layout = ir::Layout::create(collective, schedule.schedule().chunks_per_block).value();
  const auto fused = engine::cuda::fuse(schedule, ir::Sizes::even(layout, spec.elems),
                                        sizeof(int64_t), engine::kMostSources);
  auto issued = std::make_unique<Issued>();
  std::vector<uint32_t> ranks;
  for (const Rank member : members) ranks.push_back(member.value);
  for (uint32_t place = 0; place < members.size(); ++place) {
    const uint32_t workers = daemons_[0]->num_workers();
    issued->programs.push_back(
        LoadedProgram::load(daemons_[members[place].value]->memory(), fused[place], ranks, workers)
            .value());
    orders_[members[place].value].push_back(collectives_.size());
  }
  issued->collective = std::make_unique<TestCollective>(spec, id, std::move(members));
  collectives_.push_back(std::move(issued));
}

void DaemonRanks::shuffle(uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::vector<size_t>& order : orders_) std::shuffle(order.begin(), order.end(), random);
}

std::string DaemonRanks::run(const std::function<void(uint32_t)>& between) {
  std::vector<std::string> said(daemons_.size());
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < daemons_.size(); ++rank) {
    threads.emplace_back([this, rank, &said, &between] { said[rank] = run_rank(rank, between); });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::string& text : said) {
    if (!text.empty()) return std::move(text);
  }
  return "";
}

std::string DaemonRanks::run_rank(uint32_t rank, const std::function<void(uint32_t)>& between) {
  Daemon& daemon = *daemons_[rank];
  std::vector<Daemon::Ticket> tickets;
  for (const size_t c : orders_[rank]) {
    Issued& issued = *collectives_[c];
    const std::vector<Rank>& members = issued.collective->members();
    const auto place = static_cast<uint32_t>(std::find(members.begin(), members.end(), Rank{rank}) -
                                             members.begin());
    const engine::Request request = issued.collective->request(place);
    auto ticket = daemon.submit({.operation = request.id,
                                 .signature = request.signature,
                                 .program = &issued.programs[place],
                                 .input = request.input,
                                 .output = request.output});
    if (!ticket) return ticket.error().message;
    tickets.push_back(*ticket);
    if (between) between(rank);
  }
  for (size_t i = 0; i < tickets.size(); ++i) {
    const Completion how = daemon.wait(tickets[i], kHangNs);
    if (how.outcome != static_cast<uint32_t>(Outcome::kDone)) {
      return fmt::format("rank {} collective {}: outcome {}", rank, orders_[rank][i], how.outcome);
    }
  }
  return "";
}

std::string DaemonRanks::difference() const {
  for (const auto& issued : collectives_) {
    if (std::string text = issued->collective->difference(); !text.empty()) return text;
    if (std::string text = issued->collective->damage(); !text.empty()) return text;
  }
  return "";
}

uint32_t DaemonRanks::num_launches() const {
  uint32_t num = 0;
  for (const auto& daemon : daemons_) num += daemon->num_launches();
  return num;
}

}  // namespace tutti::test
