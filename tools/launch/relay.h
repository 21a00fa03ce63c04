// Passes on what ranks write: whole lines, never mixed, standard output to standard output and
// error to error. A line that stays unfinished goes out after a moment of quiet.
//
// Nothing is lost and nothing grows: a rank is read only while its outlet has room. When nobody
// reads an outlet any more, the ranks' pipes into it are closed and they learn it as they would
// from any reader.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tools/launch/descriptor.h"
#include "tools/launch/line_splitter.h"
#include "tools/launch/outlet.h"
#include "tools/launch/poll_set.h"

namespace tutti::tools::launch {

class Relay {
 public:
  Relay(uint32_t num_ranks, Prefix out, Prefix err);

  // The reading ends of a new rank's standard output and error. Ranks come in order.
  void add_rank(Descriptor out, Descriptor err);
  // A line of the launcher's own, to standard error.
  void say(std::string_view line);

  void want(PollSet& set);
  void serve(const PollSet& set, Time now);
  // Takes what the rank has written so far.
  void drain(uint32_t rank, Time now);
  // What is in the rank's pipes now is all that will come: someone may hold them open for ever.
  void take_last(uint32_t rank, Time now);
  // Whether that can be done now and has not been: a stream is open, and its outlet has room.
  [[nodiscard]] bool may_take_last(uint32_t rank) const;
  // Forgets what was not yet written.
  void abandon();

  [[nodiscard]] std::optional<Time> deadline() const;
  [[nodiscard]] bool is_silent(uint32_t rank) const;  // both its streams have ended
  [[nodiscard]] bool is_drained() const;
  // Of the first outlet that could not be written to.
  [[nodiscard]] std::optional<int> failure() const;

 private:
  struct Stream {
    Descriptor pipe;
    LineSplitter lines;
    size_t source;
    size_t outlet;
    Time last_bytes{};
    bool is_last = false;  // to be closed when empty
    size_t entry = PollSet::kNone;
  };

  [[nodiscard]] std::span<Stream> streams_of(uint32_t rank) {
    return std::span(streams_).subspan(size_t{2} * rank, 2);
  }
  [[nodiscard]] std::span<const Stream> streams_of(uint32_t rank) const {
    return std::span(streams_).subspan(size_t{2} * rank, 2);
  }
  bool read_from(Stream& stream, Time now);  // whether it gave bytes
  void end(Stream& stream);
  [[nodiscard]] static Time quiet_after(const Stream& stream);
  void flush_quiet(Stream& stream, Time now);

  uint32_t num_ranks_;
  std::vector<Outlet> outlets_;  // one when output and error lead to the same place
  std::vector<size_t> outlet_entries_;
  std::vector<Stream> streams_;  // output and error of rank 0, of rank 1, ...
  std::vector<char> buffer_;
};

}  // namespace tutti::tools::launch
