// What calls on a communicator are matched by: numbers that are equal on all members without a word
// between them, since the i-th use of a name or tag meets the i-th use. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "comm/keys.h"
#include "tutti/communicator.h"

namespace tutti::comm {

class CallNumbers {
 public:
  struct Key {
    uint64_t id = 0;
    uint64_t number = 0;  // which use, or which unnamed call
  };

  // `id` is equal on all members, and unlike that of any other communicator.
  explicit CallNumbers(uint64_t id) : id_(id) {}

  [[nodiscard]] uint64_t id() const { return id_; }
  [[nodiscard]] Key next(const CallOptions& options) {
    if (options.name.empty() && options.tag == 0) {
      const uint64_t number = num_unnamed_.fetch_add(1, std::memory_order_relaxed);
      return {mix(id_, number), number};
    }
    const uint64_t key = key_of(mix(id_, kNamed), options);
    const uint64_t number = next_use(key);
    return {mix(key, number), number};
  }
  [[nodiscard]] uint64_t next_use(uint64_t key) {
    const std::lock_guard lock(mutex_);
    return uses_[key]++;
  }

  // One end of a message: the i-th to a rank, under a name or without, meets the i-th from it.
  struct Message {
    uint32_t from = 0;
    uint32_t to = 0;
    bool receives = false;
  };
  [[nodiscard]] Key next(const Message& message, const CallOptions& options) {
    const uint64_t key = key_of(pair_key(mix(id_, kPair), message.from, message.to), options);
    // Counted for each end on its own: to oneself both ends are called on this rank.
    const uint64_t number = next_use(mix(key, message.receives ? 1 : 0));
    return {mix(key, number), number};
  }
  [[nodiscard]] static uint64_t pair_key(uint64_t scope, uint32_t from, uint32_t to) {
    return mix(scope, uint64_t{from} << 32 | to);
  }

 private:
  uint64_t id_;
  std::atomic<uint64_t> num_unnamed_{0};
  std::mutex mutex_;                             // guards what follows; never held across a wait
  std::unordered_map<uint64_t, uint64_t> uses_;  // of each key
};

}  // namespace tutti::comm
