// Where a daemon finds what was prepared for it (triggers.h): the host's side. One thread at a
// time, but for what says otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cuda/daemon_state.h"
#include "engine/cuda/device.h"
#include "engine/cuda/triggers.h"
#include "tutti/result.h"

namespace tutti::engine::cuda {

// What begins a prepared operation and what tells that it is over. Whoever triggers it writes 1
// into `arm`, then 1 into `triggered`; waits until `done` is 1; and writes 0 there.
struct TriggerWords {
  uint32_t* arm = nullptr;
  uint32_t* done = nullptr;
  uint32_t* triggered = nullptr;  // in memory of the host: the daemon may have left
};

class Preparations {
 public:
  // The device outlives it; `state` is in its memory, `host` in memory that it shares.
  Preparations(Device& device, DaemonState* state, HostWords* host)
      : device_(device), state_(state), host_(host) {}

  // A place for an operation, which can be triggered from now on.
  [[nodiscard]] Result<uint32_t> add(const Submission& submission);
  // What the numbers of its triggers are made of. Before the first one.
  [[nodiscard]] Status number(uint32_t place, uint64_t operation);
  // It is not under way, and nobody triggers it any more.
  void remove(uint32_t place) { free_.push_back(place); }

  [[nodiscard]] TriggerWords words(uint32_t place) const {
    return {&table_->arms[place], &table_->operations[place].done, &host_->triggered};
  }
  [[nodiscard]] size_t size() const { return num_places_ - free_.size(); }

  // How the first trigger ended that failed; kUnderWay: none has. Any thread.
  [[nodiscard]] static Completion failure_of(const Completion& told);
  // Whether its memory can be used again. Any thread.
  [[nodiscard]] static bool is_clean(const Completion& told) {
    return (load_acquire(&told.outcome) & kBroken) == 0;
  }

 private:
  [[nodiscard]] Status make_table();
  [[nodiscard]] Status grow();
  template <class T>
  [[nodiscard]] Status write(const T* field, const T& value) {
    auto* const at = reinterpret_cast<std::byte*>(const_cast<T*>(field));
    return device_.write(at, &value, sizeof value);
  }

  Device& device_;
  DaemonState* state_;
  HostWords* host_;
  PreparedTable* table_ = nullptr;
  uint32_t num_places_ = 0;  // that were ever in use: the daemon looks at so many
  std::vector<uint32_t> free_;
};

}  // namespace tutti::engine::cuda
