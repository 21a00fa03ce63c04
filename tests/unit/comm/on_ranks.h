// A thread for each rank of a job, as a user of Communicator::threads has them.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "tutti/communicator.h"

namespace tutti::test {

// Runs `body` on every rank and waits for all.
inline void on_ranks(std::vector<Communicator> ranks,
                     const std::function<void(Communicator&)>& body) {
  std::vector<std::thread> threads;
  for (Communicator& comm : ranks) threads.emplace_back([&] { body(comm); });
  for (std::thread& thread : threads) thread.join();
}

inline void on_ranks(uint32_t num_ranks, const std::function<void(Communicator&)>& body) {
  on_ranks(Communicator::threads(num_ranks).value(), body);
}

// first, first + 1, ...
inline std::vector<int64_t> numbers(uint64_t count, int64_t first) {
  std::vector<int64_t> row(count);
  std::iota(row.begin(), row.end(), first);
  return row;
}

}  // namespace tutti::test
