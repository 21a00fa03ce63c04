// A rank of a real job of processes, for the tests of this folder: job_program SCENARIO.
#include <tutti/tutti.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/sanitized.h"

namespace {

using tutti::Communicator;
using tutti::Work;

[[noreturn]] void fail(const Communicator& comm, const std::string& what) {
  std::printf("rank %u: %s\n", comm.rank(), what.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

void expect(const Communicator& comm, bool holds, const char* what) {
  if (!holds) fail(comm, what);
}

// Ordinary memory or memory from the library.
struct Row {
  std::vector<int64_t> ordinary;
  tutti::Buffer<int64_t> shared;
  std::span<int64_t> elems;

  void make(const Communicator& comm, uint64_t num_elems, bool is_shared) {
    ordinary.resize(is_shared ? 0 : num_elems);
    shared = tutti::allocate<int64_t>(comm, is_shared ? num_elems : 0).value();
    elems = is_shared ? shared.span() : std::span(ordinary);
  }
};

// Every collective, from packets to large rows, issued in an order of this rank's own, in memory of
// this rank's own choice.
void exchange(Communicator& comm, uint64_t seed) {
  struct Call {
    std::string name;
    uint64_t elems;
    int kind;
    Row in, out;
  };
  const uint64_t n = comm.num_ranks();
  std::vector<Call> calls;
  for (const uint64_t elems : {1u, 59u, 60u, 1000u, 8193u, 200'000u}) {
    for (int kind = 0; kind < 4; ++kind) {
      calls.push_back({std::to_string(kind) + "/" + std::to_string(elems), elems, kind, {}, {}});
    }
  }
  std::mt19937_64 random(seed + comm.rank());
  std::shuffle(calls.begin(), calls.end(), random);
  std::vector<Work> works;
  for (Call& call : calls) {
    const bool split_in = call.kind == 2 || call.kind == 3;
    const bool split_out = call.kind == 1 || call.kind == 3;
    call.in.make(comm, call.elems * (split_in ? n : 1), random() % 2 == 0);
    call.out.make(comm, call.elems * (split_out ? n : 1), random() % 2 == 0);
    const std::span<const int64_t> in = call.in.elems;
    const std::span<int64_t> out = call.out.elems;
    std::iota(call.in.elems.begin(), call.in.elems.end(),
              static_cast<int64_t>(1'000'000 * comm.rank()));
    const tutti::CallOptions options{.name = call.name};
    if (call.kind == 0) works.push_back(comm.all_reduce(in, out, options));
    if (call.kind == 1) works.push_back(comm.all_gather(in, out, options));
    if (call.kind == 2) works.push_back(comm.reduce_scatter(in, out, options));
    if (call.kind == 3) works.push_back(comm.all_to_all(in, out, options));
  }
  for (Work& work : works) work.wait().value();
  const auto sum_of = [n](uint64_t place) {
    return static_cast<int64_t>(n * place + 1'000'000 * (n * (n - 1) / 2));
  };
  for (const Call& call : calls) {
    const std::span<const int64_t> out = call.out.elems;
    for (uint64_t i = 0; i < out.size(); ++i) {
      const uint64_t from = i / call.elems;
      const uint64_t own = comm.rank() * call.elems;
      int64_t want = 0;
      if (call.kind == 0) want = sum_of(i);
      if (call.kind == 1) want = static_cast<int64_t>(1'000'000 * from + i % call.elems);
      if (call.kind == 2) want = sum_of(own + i);
      if (call.kind == 3) want = static_cast<int64_t>(1'000'000 * from + own + i % call.elems);
      if (out[i] != want) fail(comm, call.name + " is wrong at " + std::to_string(i));
    }
  }
}

// Rank 1 dies while the others wait for it. They learn of it, and of nothing else.
void lose_a_rank(Communicator& comm) {
  comm.barrier().wait().value();
  if (comm.rank() == 1) _exit(0);
  std::vector<float> data(100'000, 1);
  const tutti::Status status = comm.all_reduce(std::span(data)).wait();
  expect(comm, !status.ok(), "completed without rank 1");
  std::printf("rank %u: %s\n", comm.rank(), status.error().message.c_str());
  const uint32_t survivors[] = {0, 2};
  Communicator rest = comm.subset(survivors).value();
  std::vector<int64_t> one(1000, 1);
  rest.all_reduce(std::span(one)).wait().value();
  expect(comm, one[999] == 2, "the survivors' sum is wrong");
  std::printf("rank %u: the survivors go on\n", comm.rank());
}

// Everybody sends to everybody, itself included, up to what is pulled out of other processes.
void messages(Communicator& comm) {
  const uint32_t n = comm.num_ranks();
  for (const uint64_t elems : {0u, 1u, 60u, 8193u, 200'000u}) {
    std::vector<int64_t> out(elems, comm.rank());
    std::vector<std::vector<int64_t>> in(n, std::vector<int64_t>(elems));
    Work all;
    for (uint32_t i = 0; i < n; ++i) {
      all += comm.recv(std::span(in[n - 1 - i]), n - 1 - i, {.tag = elems});
      all += comm.send(std::span(out), (comm.rank() + i) % n, {.tag = elems});
    }
    all.wait().value();
    for (uint32_t from = 0; from < n; ++from) {
      expect(comm, in[from] == std::vector<int64_t>(elems, from), "a message is wrong");
    }
  }
  std::printf("rank %u: all right\n", comm.rank());
}

// Rank 1 is dead before the others shrink; ranks 4 and 6 die at some moment of it.
void shrink(Communicator& comm) {
  comm.barrier().wait().value();
  if (comm.rank() == 1) _exit(0);
  const tutti::Status status = comm.barrier().wait();
  expect(comm, !status.ok() && status.error().code == tutti::ErrorCode::kPeerLost,
         "the barrier did not tell of rank 1");
  const bool dies = comm.rank() == 4 || comm.rank() == 6;
  if (dies) {
    const int64_t turns = static_cast<int64_t>(std::random_device{}() % 400'000);
    std::printf("rank %u: dies after %ld turns\n", comm.rank(), static_cast<long>(turns));
    std::fflush(stdout);
    std::thread([turns] {
      for (volatile int64_t left = turns; left > 0;) left = left - 1;
      _exit(0);
    }).detach();
  }
  Communicator rest = comm;
  std::vector<uint32_t> names;
  while (true) {
    rest = rest.shrink().value();
    if (dies) _exit(0);
    names.assign(rest.num_ranks(), 0);
    const uint32_t own = comm.rank();
    // Liveness: all that live do the same; the dead have no part in it, so it fails on all.
    if (rest.all_gather(std::span(&own, 1), std::span(names)).wait().ok()) break;
  }
  std::string text;
  for (const uint32_t name : names) text += " " + std::to_string(name);
  std::printf("rank %u: alive are%s.\n", comm.rank(), text.c_str());
}

// Rank 2 aborts what the others wait in; then all go on together.
void abort_all(Communicator& comm) {
  std::vector<float> data(100'000, 1);
  if (comm.rank() == 2) {
    comm.abort();
  } else {
    const tutti::Status status = comm.all_reduce(std::span(data)).wait();
    expect(comm, !status.ok(), "completed without rank 2");
    std::printf("rank %u: %s\n", comm.rank(), status.error().message.c_str());
  }
  Communicator again = comm.shrink().value();
  again.all_reduce(std::span(data)).wait().value();
  expect(comm, data[99'999] == static_cast<float>(comm.num_ranks()), "the sum is wrong");
  std::printf("rank %u: goes on\n", comm.rank());
}

void disagree(Communicator& comm) {
  std::vector<float> data(comm.rank() == 2 ? 5001 : 5000);
  const tutti::Status status = comm.all_reduce(std::span(data), {.name = "grad"}).wait();
  expect(comm, !status.ok(), "completed although the counts differ");
  std::printf("rank %u: %s\n", comm.rank(), status.error().message.c_str());
}

// This rank's own segment, which nobody else can write.
std::span<uint64_t> own_segment() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:tutti-segment") == std::string::npos) continue;
    uint64_t begin = 0;
    uint64_t end = 0;
    char access[5] = {};
    const int got = std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access);
    if (got == 3 && access[1] == 'w') {
      return {reinterpret_cast<uint64_t*>(begin), (end - begin) / sizeof(uint64_t)};
    }
  }
  return {};
}

// Writes nonsense into the rings, receipts, board and words of this rank, until the end of time.
[[noreturn]] void scribble(std::span<uint64_t> segment, uint64_t seed) {
  std::mt19937_64 random(seed);
  const uint64_t num_words = std::min<uint64_t>(segment.size(), 64 * 1024);
  while (true) {
    std::atomic_ref word(segment[random() % num_words]);
    const uint64_t values[] = {random(), word.load() ^ uint64_t{1} << random() % 64, random() % 64,
                               UINT64_MAX};
    word.store(values[random() % std::size(values)]);
  }
}

// Rank 1 goes mad. The others end every call with a result or an error, and go on without it.
void go_mad(Communicator& comm) {
  std::vector<uint32_t> sane;
  for (uint32_t r = 0; r < comm.num_ranks(); ++r) {
    if (r != 1) sane.push_back(r);
  }
  const auto calls = [&](int rounds) {
    int num_ok = 0;
    for (int i = 0; i < rounds; ++i) {
      for (const uint64_t elems : {1u, 100u, 5000u, 200'000u}) {
        std::vector<int64_t> data(elems, 1);
        const tutti::CallOptions options{.deadline = std::chrono::milliseconds(50)};
        num_ok += comm.all_reduce(std::span(data), options).wait().ok() ? 1 : 0;
        num_ok += comm.broadcast(std::span(data), options).wait().ok() ? 1 : 0;
      }
    }
    return num_ok;
  };
  // Whoever is late may hear no more of it than nonsense.
  (void)comm.barrier({.deadline = std::chrono::seconds(20)}).wait();
  if (comm.rank() == 1) {
    const std::span<uint64_t> segment = own_segment();
    expect(comm, !segment.empty(), "there is no segment to write");
    const uint64_t seed = std::random_device{}();
    std::printf("rank 1: goes mad with seed %lu\n", static_cast<unsigned long>(seed));
    std::fflush(stdout);
    std::thread([=] { scribble(segment, seed); }).detach();
    (void)calls(10);
    _exit(0);
  }
  (void)calls(10);
  Communicator rest = comm.subset(sane).value();
  for (const uint64_t elems : {1u, 100u, 5000u, 200'000u}) {
    std::vector<int64_t> data(elems, 1);
    rest.all_reduce(std::span(data)).wait().value();
    expect(comm, data[elems - 1] == static_cast<int64_t>(sane.size()), "the sane are wrong");
  }
  std::printf("rank %u: sane and well\n", comm.rank());
}

// Ranks 0 and 1 wait in a before they call b, and the other way around; the others call both. It
// ends when somebody ends it, or at the deadline.
void wait_in_a_ring(Communicator& comm) {
  const auto deadline = std::chrono::seconds(60);
  comm.barrier({.name = "start"}).wait().value();
  std::vector<float> a(1000, 1);
  std::vector<float> b(1000, 1);
  const auto issue = [&](std::vector<float>& data, const char* name) {
    return comm.all_reduce(std::span(data), {.name = name, .deadline = deadline});
  };
  if (comm.rank() == 0) (void)issue(a, "a").wait();
  if (comm.rank() == 1) (void)issue(b, "b").wait();
  if (comm.rank() < 2) return;
  Work first = issue(a, "a");
  Work second = issue(b, "b");
  (void)first.wait();
  (void)second.wait();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string scenario = argc > 1 ? argv[1] : "";
  Communicator comm = Communicator::from_environment().value();
  if (scenario == "exchange") {
    const uint64_t num_seeds = tutti::test::kSanitized ? 3 : 20;
    for (uint64_t seed = 0; seed < num_seeds; ++seed) exchange(comm, seed);
    std::printf("rank %u: all right\n", comm.rank());
  } else if (scenario == "lose_a_rank") {
    lose_a_rank(comm);
  } else if (scenario == "messages") {
    messages(comm);
  } else if (scenario == "shrink") {
    shrink(comm);
  } else if (scenario == "abort_all") {
    abort_all(comm);
  } else if (scenario == "disagree") {
    disagree(comm);
  } else if (scenario == "go_mad") {
    go_mad(comm);
  } else if (scenario == "wait_in_a_ring") {
    wait_in_a_ring(comm);
  } else {
    fail(comm, "no scenario " + scenario);
  }
}
