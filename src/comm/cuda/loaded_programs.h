// Programs on a device of all communicators of a rank. Bounded: what was not asked for the longest
// and has no operation under way is forgotten, and loaded again when it is asked for again.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "comm/program_cache.h"
#include "engine/cuda/loaded_program.h"

namespace tutti::comm {

// Any thread.
class LoadedPrograms {
 public:
  // Of small calls a program and the memory of one operation take 3 to 10 KiB, of calls that all
  // blocks share up to 100 KiB.
  static constexpr uint64_t kMostBytes = uint64_t{16} << 20;

  explicit LoadedPrograms(uint64_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  // Of a message, from whom and to whom; of other calls nothing.
  struct Ends {
    uint32_t from = 0;
    uint32_t to = 0;
    friend auto operator<=>(const Ends&, const Ends&) = default;
  };
  struct Key {
    const void* owner = nullptr;  // the communicator
    ProgramKey call;
    Ends ends;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using Program = std::shared_ptr<engine::cuda::LoadedProgram>;

  // Null: it is not here. The caller keeps the pointer until its operation is submitted; from then
  // on that keeps the program here.
  [[nodiscard]] Program find(const Key& key);
  // If another thread was faster, its one is kept.
  [[nodiscard]] Program add(const Key& key, engine::cuda::LoadedProgram program);
  // None of its programs is in use.
  void forget(const void* owner);

  // At most `most_bytes`, and beyond it what is in use and the program added last.
  [[nodiscard]] uint64_t bytes();
  [[nodiscard]] size_t num_programs();

 private:
  struct Entry {
    const Key* key;  // in the map
    Program program;
  };
  using Entries = std::list<Entry>;

  // With the lock. What is forgotten, to be destroyed without it.
  [[nodiscard]] Entries forget_oldest();
  [[nodiscard]] uint64_t sum_bytes() const;

  const uint64_t most_bytes_;
  std::mutex mutex_;  // guards what follows
  Entries by_use_;    // the one asked for last comes first
  std::map<Key, Entries::iterator> programs_;
};

}  // namespace tutti::comm
