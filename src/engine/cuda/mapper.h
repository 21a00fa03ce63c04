// Maps memory of ranks in other processes, in a thread of its own: the driver may hold it up until
// streams have come past operations, so nobody on whom an operation depends maps anything. What is
// exported (reach.h) is mapped without anybody asking for it.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "engine/cuda/daemon_state.h"
#include "engine/cuda/reach.h"

namespace tutti::engine::cuda {

class Mapper {
 public:
  // The imports outlive it. Without links it has no thread and does nothing.
  explicit Mapper(Imports& imports) : imports_(imports) {}
  ~Mapper();
  Mapper(const Mapper&) = delete;
  Mapper& operator=(const Mapper&) = delete;

  // A neighbour in another process, of which the first `num_known` regions are mapped. One thread
  // at a time.
  void link(uint32_t neighbour, const RegionLink& link, uint32_t num_known);
  // Any thread; neither waits. What a leader asked for (daemon_state.h); again is as good as once.
  void ask(uint32_t wanted);
  // Whether neighbours have exported anything new: a few loads, if they have not. Called while
  // operations are under way and when one has ended, since that is when they export.
  void look();

 private:
  struct Linked {
    uint32_t neighbour = 0;
    RegionLink link;
    std::atomic<uint32_t> num_seen{0};
    uint32_t num_mapped = 0;  // the thread's own
  };
  void run();
  void map_new(Linked& from);

  Imports& imports_;
  std::array<Linked, kMostRanks> links_;
  // Pairs with the acquire of whoever looks at them.
  std::atomic<uint32_t> num_links_{0};
  std::atomic<uint32_t> wanted_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_news_ = false;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace tutti::engine::cuda
