#include "engine/cuda/stream.h"

#include <bit>

#include "base/try.h"

namespace tutti::engine::cuda {
namespace {

constexpr uint64_t kLeastStaging = uint64_t{1} << 20;

}  // namespace

Result<std::unique_ptr<Stream>> Stream::create(Device& device, Daemon& daemon, Watch& watch) {
  TUTTI_ASSIGN(std::byte* const words, device.allocate(sizeof(StreamWords)));
  TUTTI_ASSIGN(std::byte* const passed, device.allocate_shared(sizeof(uint32_t)));
  std::unique_ptr<Stream> out(new Stream(device, daemon, watch));
  out->words_ = reinterpret_cast<StreamWords*>(words);
  out->num_passed_ = reinterpret_cast<uint32_t*>(passed);
  return out;
}

Status Stream::submit(const Group& group) {
  const std::lock_guard lock(mutex_);
  TUTTI_TRY(copy_all(group.stream, group.before));
  if (!group.requests.empty()) TUTTI_TRY(submit_all(group));
  TUTTI_TRY(copy_all(group.stream, group.after));
  const bool ends_with_copies = group.requests.empty() || !group.after.empty();
  return ends_with_copies ? watch_copies(group) : Status();
}

// When operations are over the daemon says; when copies are, only the stream can.
Status Stream::watch_copies(const Group& group) {
  TUTTI_TRY(device_.write_word(group.stream, num_passed_, num_copying_ + 1));
  ++num_copying_;
  under_way_.add();
  if (group.ending != nullptr) group.ending->began_copies();
  watch_.add({.daemon = &daemon_,
              .ending = group.ending,
              .milestone = {num_passed_, num_copying_},
              .counter = &under_way_});
  return {};
}

Status Stream::submit_all(const Group& group) {
  // First: what the stream never comes to would never begin and never end.
  TUTTI_TRY(device_.write_word(group.stream, &words_->armed, num_groups_ + 1));
  const uint32_t value = ++num_groups_;
  if (group.on_taken) group.on_taken();
  Status status;
  for (DeviceRequest& request : group.requests) {
    request.stream = words_;
    request.stream_value = value;
    auto ticket = daemon_.submit(request);
    if (!ticket) {
      status = std::move(ticket.error());
      break;
    }
    ++num_operations_;
    under_way_.add();
    if (group.ending != nullptr) group.ending->began(request);
    watch_.add({.daemon = &daemon_,
                .ticket = *ticket,
                .operation = request.operation,
                .ending = group.ending,
                .counter = &under_way_});
  }
  // Also after an error, for what was submitted. Last: a daemon that is launched behind a stream
  // that waits for it may be held up by it.
  TUTTI_TRY(device_.hold(group.stream, words_, num_operations_));
  return status;
}

Status Stream::copy_all(StreamHandle stream, std::span<const Copy> copies) {
  for (const Copy& copy : copies) {
    if (copy.bytes != 0) TUTTI_TRY(device_.copy(stream, copy.to, copy.from, copy.bytes));
  }
  return {};
}

void Stream::begin_anew() {
  const std::lock_guard lock(mutex_);
  staging_ = nullptr;
  staging_bytes_ = 0;
}

// Grown by doubling, and what is too small is left: at most as much again as is used.
Result<std::byte*> Stream::staging(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > staging_bytes_) {
    const uint64_t size = std::bit_ceil(std::max(bytes, kLeastStaging));
    TUTTI_ASSIGN(staging_, device_.allocate(size));
    staging_bytes_ = size;
  }
  return staging_;
}

}  // namespace tutti::engine::cuda
