#include "tools/launch/relay.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace tutti::tools::launch {
namespace {

// A write of PIPE_BUF bytes or less arrives as one, so a short unfinished line that is followed by
// nothing is meant to be seen: a prompt. A longer one arrives in pieces, and the next may only be
// late.
constexpr std::chrono::milliseconds kQuiet{100};
constexpr std::chrono::milliseconds kQuietInLongLine{1000};
constexpr size_t kReadBytes = size_t{64} << 10;  // what a pipe holds

}  // namespace

Relay::Relay(uint32_t num_ranks, Prefix out, Prefix err)
    : num_ranks_(num_ranks), buffer_(kReadBytes) {
  outlets_.emplace_back(STDOUT_FILENO, rank_prefixes(num_ranks, out));
  if (!same_file(STDOUT_FILENO, STDERR_FILENO)) {
    outlets_.emplace_back(STDERR_FILENO, rank_prefixes(num_ranks, err));
  }
}

void Relay::add_rank(Descriptor out, Descriptor err) {
  const size_t rank = streams_.size() / 2;
  const LineSplitter lines(max_held_bytes(num_ranks_));
  for (Descriptor* pipe : {&out, &err}) {
    set_nonblocking(*pipe);
    const size_t outlet = pipe == &out ? 0 : outlets_.size() - 1;
    streams_.push_back({std::move(*pipe), lines, rank, outlet});
  }
}

void Relay::say(std::string_view line) {
  outlets_.back().add(num_ranks_, fmt::format("tutti run: {}\n", line));
  outlets_.back().flush();
}

void Relay::want(PollSet& set) {
  outlet_entries_.clear();
  for (const Outlet& outlet : outlets_) {
    outlet_entries_.push_back(outlet.is_drained() ? PollSet::kNone : set.add(outlet.fd(), POLLOUT));
  }
  for (Stream& stream : streams_) {
    const bool wanted = stream.pipe.is_open() && outlets_[stream.outlet].has_room();
    stream.entry = wanted ? set.add(stream.pipe.get(), POLLIN) : PollSet::kNone;
  }
}

void Relay::serve(const PollSet& set, Time now) {
  for (size_t i = 0; i < outlets_.size(); ++i) {
    if (set.is_ready(outlet_entries_[i])) outlets_[i].flush();
  }
  for (Stream& stream : streams_) {
    const bool is_ready = set.is_ready(stream.entry);
    if (is_ready || stream.is_last) read_from(stream, now);
    // Quiet is what was listened to: while its outlet was full, nobody did.
    if (!is_ready && stream.entry != PollSet::kNone) flush_quiet(stream, now);
    if (stream.pipe.is_open() && outlets_[stream.outlet].is_closed()) end(stream);
  }
  for (Outlet& outlet : outlets_) outlet.flush();
}

bool Relay::read_from(Stream& stream, Time now) {
  Outlet& outlet = outlets_[stream.outlet];
  if (!outlet.has_room()) outlet.flush();
  if (!stream.pipe.is_open() || !outlet.has_room()) return false;
  const ssize_t got = read(stream.pipe.get(), buffer_.data(), buffer_.size());
  if (got > 0) {
    const std::string_view bytes(buffer_.data(), static_cast<size_t>(got));
    outlet.add(stream.source, stream.lines.add(bytes));
    stream.last_bytes = now;
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR) || stream.is_last) {
    end(stream);
  }
  return got > 0;
}

void Relay::end(Stream& stream) {
  outlets_[stream.outlet].add(stream.source, stream.lines.flush());
  stream.pipe.close();
}

Time Relay::quiet_after(const Stream& stream) {
  return stream.last_bytes + (stream.lines.num_held() > PIPE_BUF ? kQuietInLongLine : kQuiet);
}

void Relay::flush_quiet(Stream& stream, Time now) {
  if (stream.lines.num_held() == 0 || now < quiet_after(stream)) return;
  if (!outlets_[stream.outlet].has_room()) return;
  outlets_[stream.outlet].add(stream.source, stream.lines.flush());
}

void Relay::drain(uint32_t rank, Time now) {
  // A grandchild may write for ever, so what a pipe may hold and no more.
  constexpr int kMaxReads = 16;
  for (Stream& stream : streams_of(rank)) {
    for (int reads = 0; reads < kMaxReads && read_from(stream, now); ++reads) continue;
  }
}

void Relay::take_last(uint32_t rank, Time now) {
  for (Stream& stream : streams_of(rank)) {
    stream.is_last = true;
    read_from(stream, now);
  }
}

void Relay::abandon() {
  for (Outlet& outlet : outlets_) outlet.abandon();
}

std::optional<Time> Relay::deadline() const {
  std::optional<Time> next;
  for (const Stream& stream : streams_) {
    if (!outlets_[stream.outlet].has_room()) continue;  // room comes with a write
    if (stream.is_last && stream.pipe.is_open()) return Time::min();
    if (stream.lines.num_held() > 0) next = earlier(next, quiet_after(stream));
  }
  return next;
}

bool Relay::may_take_last(uint32_t rank) const {
  const auto streams = streams_of(rank);
  return std::any_of(streams.begin(), streams.end(), [&](const Stream& stream) {
    return stream.pipe.is_open() && !stream.is_last && outlets_[stream.outlet].has_room();
  });
}

bool Relay::is_silent(uint32_t rank) const {
  const auto streams = streams_of(rank);
  return std::none_of(streams.begin(), streams.end(),
                      [](const Stream& stream) { return stream.pipe.is_open(); });
}

bool Relay::is_drained() const {
  return std::all_of(outlets_.begin(), outlets_.end(),
                     [](const Outlet& outlet) { return outlet.is_drained(); });
}

std::optional<int> Relay::failure() const {
  for (const Outlet& outlet : outlets_) {
    if (outlet.failure()) return outlet.failure();
  }
  return std::nullopt;
}

}  // namespace tutti::tools::launch
