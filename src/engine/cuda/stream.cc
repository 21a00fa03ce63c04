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

// First the stream, since it may refuse; but when it waits the daemon must be there: launched
// behind a stream that waits for it, a daemon may be held up by that.
Status Stream::submit_all(const Group& group) {
  TUTTI_TRY(take_places(group));
  if (Status status = arm(group); !status) {
    for (const Daemon::Ticket& ticket : tickets_) Daemon::give_back(ticket);
    return status;
  }
  if (group.on_taken) group.on_taken();
  Status status;
  for (size_t i = 0; i < group.requests.size() && status; ++i) {
    status = hand_over(group, group.requests[i], tickets_[i]);
  }
  daemon_.expect_no_more();
  return status;
}

Status Stream::take_places(const Group& group) {
  tickets_.clear();
  for (DeviceRequest& request : group.requests) {
    request.stream = words_;
    request.stream_value = num_groups_ + 1;
    auto ticket = daemon_.take_place(request);
    if (!ticket) {
      for (const Daemon::Ticket& taken : tickets_) Daemon::give_back(taken);
      return std::move(ticket.error());
    }
    tickets_.push_back(*ticket);
  }
  return {};
}

// If the stream takes it, the daemon stays until it is told that nothing more comes.
Status Stream::arm(const Group& group) {
  const auto num = static_cast<uint32_t>(group.requests.size());
  TUTTI_TRY(daemon_.expect());
  Status status = device_.arm(group.stream, words_, num_groups_ + 1, num_operations_ + num);
  if (!status) {
    daemon_.expect_no_more();
    return status;
  }
  ++num_groups_;
  num_operations_ += num;
  return {};
}

Status Stream::hand_over(const Group& group, const DeviceRequest& request,
                         const Daemon::Ticket& ticket) {
  TUTTI_TRY(daemon_.hand_over(request, ticket));
  under_way_.add();
  if (group.ending != nullptr) group.ending->began(request);
  watch_.add({.daemon = &daemon_,
              .ticket = ticket,
              .operation = request.operation,
              .ending = group.ending,
              .counter = &under_way_});
  return {};
}

Status Stream::copy_all(StreamHandle stream, std::span<const Copy> copies) {
  for (const Copy& copy : copies) {
    if (copy.bytes != 0) TUTTI_TRY(device_.copy(stream, copy.to, copy.from, copy.bytes));
  }
  return {};
}

void Stream::begin_anew() {
  const std::lock_guard lock(mutex_);
  piece_.abandon();
  staging_ = nullptr;
  staging_bytes_ = 0;
}

Result<std::byte*> Stream::staging(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > staging_bytes_ && !grow_at_hand(bytes)) {
    const uint64_t size = std::bit_ceil(std::max(bytes, kLeastStaging));
    TUTTI_ASSIGN(staging_, device_.allocate(size));
    piece_.abandon();
    staging_bytes_ = size;
  }
  return staging_;
}

std::byte* Stream::staging_at_hand(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return bytes <= staging_bytes_ || grow_at_hand(bytes) ? staging_ : nullptr;
}

// Where it is, if it can grow there; what is left behind may be in use. By doubling, while there is
// room for that.
bool Stream::grow_at_hand(uint64_t bytes) {
  const uint64_t doubled = std::bit_ceil(std::max(bytes, kLeastStaging));
  if (piece_.extend(doubled) || piece_.extend(bytes)) {
    staging_bytes_ = piece_.bytes();
    return true;
  }
  for (const uint64_t size : {doubled, bytes}) {
    auto piece = daemon_.staging().take_at_hand(size);
    if (!piece) continue;
    piece_.abandon();
    piece_ = *std::move(piece);
    staging_ = piece_.at();
    staging_bytes_ = piece_.bytes();
    return true;
  }
  return false;
}

}  // namespace tutti::engine::cuda
