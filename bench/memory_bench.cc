// What a rank keeps, in resident bytes: as a member of a job, for each communicator, each operation
// under way and each program. Prints the tables of docs/reference/memory.md.
#include <fmt/core.h>
#include <sys/wait.h>
#include <tutti/tutti.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <fstream>
#include <memory>
#include <vector>

#include "comm/group.h"
#include "comm/node.h"
#include "comm/program_cache.h"
#include "transport/loopback/loopback.h"

namespace tutti {
namespace {

size_t resident_bytes() {
  size_t all_pages = 0;
  size_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> all_pages >> resident_pages;
  return resident_pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Ranks that see of each other what threads see, or no more than processes do.
struct Ranks {
  Ranks(uint32_t num_ranks, bool are_processes) {
    const auto loopback = transport::Loopback::create(num_ranks).value();
    std::vector<transport::RankMemory> memory = loopback->ranks();
    for (auto& one : memory) one.process = are_processes ? getpid() : 0;
    std::vector<Rank> members;
    for (uint32_t r = 0; r < num_ranks; ++r) members.emplace_back(r);
    for (uint32_t r = 0; r < num_ranks; ++r) {
      auto node = std::make_shared<comm::Node>(loopback, transport::Endpoint(Rank{r}, memory));
      groups.push_back(std::make_shared<comm::Group>(std::move(node), 1, members));
      comms.emplace_back(groups.back());
    }
  }

  std::vector<std::shared_ptr<comm::Group>> groups;
  std::vector<Communicator> comms;
};

const char* name_of(bool are_processes) { return are_processes ? "processes" : "threads"; }

void show_job(uint32_t num_ranks, bool are_processes) {
  const size_t before = resident_bytes();
  Ranks ranks(num_ranks, are_processes);
  const size_t made = resident_bytes();
  constexpr size_t kMany = 1000;
  std::vector<Communicator> more;
  for (size_t i = 0; i < kMany; ++i) {
    for (Communicator& comm : ranks.comms) more.push_back(comm.duplicate().value());
  }
  const size_t duplicated = resident_bytes();
  fmt::print("{:>5} {:<10} {:>12} {:>16}\n", num_ranks, name_of(are_processes),
             (made - before) / num_ranks, (duplicated - made) / kMany / num_ranks);
}

// Rank 0 calls and its peers do not, so all of it stays under way.
void show_operations(uint64_t bytes, bool are_processes) {
  const size_t num = bytes <= 4096 ? 10'000 : (uint64_t{256} << 20) / bytes;
  Ranks ranks(2, are_processes);
  std::vector<std::byte> data(bytes, std::byte{1});
  std::deque<Work> works;
  const CallOptions options{.deadline = std::chrono::hours(1)};
  const auto call = [&] {
    return ranks.comms[0].all_reduce(std::span(reinterpret_cast<uint8_t*>(data.data()), bytes),
                                     options);
  };
  works.push_back(call());
  const size_t before = resident_bytes();
  for (size_t i = 0; i < num; ++i) {
    works.push_back(call());
    ranks.groups[1]->node().engine.progress();
  }
  const size_t after = resident_bytes();
  const engine::EngineStock peer = ranks.groups[1]->node().engine.stock();
  fmt::print("{:>9} {:<10} {:>8} {:>14} {:>15}\n", bytes, name_of(are_processes), num,
             (after - before) / num, peer.early_records_held);
  ranks.comms[0].abort();
  for (Work& work : works) (void)work.wait();  // Liveness: aborted, so they are over.
}

void show_program(const char* name, const comm::ProgramKey& key, uint32_t num_ranks) {
  const comm::TuningTable built_in;
  comm::ProgramCache cache(num_ranks, Rank{0}, built_in);
  (void)cache.find(key).value();
  fmt::print("{:<24} {:>5} {:>9}\n", name, num_ranks, cache.bytes());
}

// In a process of its own: what was freed before would be used again and not be seen.
template <class Show, class... Values>
void apart(Show show, Values... values) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    show(values...);
    std::fflush(stdout);
    _exit(0);
  }
  // Liveness: the child shows one line and ends.
  waitpid(child, nullptr, 0);
}

}  // namespace

void show_all() {
  fmt::print("ranks of          bytes a rank   bytes a rank\n");
  fmt::print("a job                            and communicator\n");
  for (const uint32_t num_ranks : {2u, 8u}) {
    for (const bool are_processes : {false, true}) apart(show_job, num_ranks, are_processes);
  }
  fmt::print("\nall_reduce            under way   bytes of one  records at peer\n");
  for (const uint64_t bytes : {8u, 256u, 4096u, 65'536u, 1'048'576u}) {
    for (const bool are_processes : {false, true}) apart(show_operations, bytes, are_processes);
  }
  fmt::print("\nprogram                  ranks     bytes\n");
  for (const uint32_t num_ranks : {2u, 8u}) {
    for (const uint64_t elems : {1u, 4096u, 16'777'216u}) {
      const auto name = fmt::format("all_reduce of {}", elems * 4);
      show_program(name.c_str(), {CollectiveKind::kAllReduce, 4, 0, elems, {}}, num_ranks);
    }
    show_program("barrier", {}, num_ranks);
    show_program("broadcast of 4096", {CollectiveKind::kBroadcast, 4, 0, 1024, {}}, num_ranks);
  }
}

}  // namespace tutti

int main() { tutti::show_all(); }
