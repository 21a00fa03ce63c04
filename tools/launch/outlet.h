// One of the launcher's own outputs: merges what ranks write into it and writes without ever
// blocking the launcher, so that a reader that does not read cannot keep it from its signals.
//
// Holds a bounded amount; a full outlet takes no more until its reader has read, and then neither
// do the ranks' pipes. A reader that is gone breaks the outlet: nothing more goes out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/launch/descriptor.h"
#include "tools/launch/line_merger.h"

namespace tutti::tools::launch {

class Outlet {
 public:
  // The descriptor stays its owner's.
  Outlet(int fd, std::vector<std::string> prefixes);

  void add(size_t source, std::string_view piece);
  // Writes as much as goes without blocking.
  void flush();
  // Forgets what was not written, and all that comes: nobody wants it.
  void abandon();

  [[nodiscard]] bool has_room() const { return pending_.size() - num_written_ < kMaxPendingBytes; }
  [[nodiscard]] bool is_drained() const { return pending_.size() == num_written_; }
  [[nodiscard]] int fd() const { return own_.is_open() ? own_.get() : fd_; }
  // What the system said when a write failed: EPIPE, ENOSPC, ...
  [[nodiscard]] std::optional<int> failure() const { return failure_; }
  [[nodiscard]] bool is_closed() const { return closed_; }

 private:
  static constexpr size_t kMaxPendingBytes = size_t{1} << 20;

  enum class Kind { kReopened, kFile, kSocket, kOther };

  [[nodiscard]] long write_some(std::string_view bytes) const;

  int fd_;
  Kind kind_ = Kind::kOther;
  Descriptor own_;  // the same file, opened again as non-blocking; closed where that cannot be
  LineMerger merger_;
  std::string pending_;
  size_t num_written_ = 0;  // of pending_
  std::optional<int> failure_;
  bool closed_ = false;
};

// Whether two descriptors lead to the same terminal, pipe or file.
[[nodiscard]] bool same_file(int fd, int other);

}  // namespace tutti::tools::launch
