// The buffers of one rank for one size of one collective, with contents whose result is known
// exactly. In place, the smaller of the two is a part of the larger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/perf/measure.h"
#include "tutti/communicator.h"
#include "tutti/memory.h"
#include "tutti/result.h"

namespace tutti::tools::perf {

// Memory of the kind that a subject asks for.
class Bytes {
 public:
  Status make(const Communicator& comm, const Subject& subject, size_t bytes);
  [[nodiscard]] std::byte* data() {
    return shared_.data() != nullptr ? shared_.data() : ordinary_.data();
  }

 private:
  std::vector<std::byte> ordinary_;
  Memory shared_;
};

class Buffers {
 public:
  Buffers(const Communicator& comm, const Subject& subject, uint64_t elems);
  // Once, before all else.
  Status make(const Communicator& comm, Placing placing);
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  // The call on them; valid as long as they.
  [[nodiscard]] Call call() const;
  // Input anew, and an output that no call leaves.
  void fill();
  // How many elements of the output are not what they must be after fill() and the call.
  [[nodiscard]] uint64_t wrong() const;

 private:
  void share();
  [[nodiscard]] double value(uint32_t rank, uint64_t place) const;
  [[nodiscard]] double expected(uint64_t i) const;

  uint32_t rank_;
  uint32_t num_ranks_;
  Subject subject_;
  uint64_t row_;
  uint64_t part_;
  bool in_whole_ = false;
  bool out_whole_ = false;
  bool has_input_ = true;
  bool has_output_ = true;
  uint64_t in_elems_ = 0;
  uint64_t out_elems_ = 0;
  Bytes first_;
  Bytes second_;
  std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
};

}  // namespace tutti::tools::perf
