// How calls become operations of a daemon: first everything that can be refused is, and all is
// found that they need; they are numbered last, so that what is refused has used no number and the
// rank's next call still meets that of the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "comm/call_check.h"
#include "comm/call_numbers.h"
#include "comm/cuda/device_members.h"
#include "comm/cuda/device_programs.h"
#include "comm/diagnosis/board.h"
#include "engine/cuda/stream.h"
#include "tutti/communicator.h"
#include "tutti/result.h"

namespace tutti::comm {

// Calls that are enqueued together. One thread; the calls outlive it, and it lives until they are
// submitted: it keeps their programs.
class DeviceBatch {
 public:
  // Of the communicator.
  struct Parts {
    std::span<const Rank> ranks;  // of the job
    uint32_t self = 0;
    uint32_t group = 0;
    const DeviceMembers& members;
    DevicePrograms& programs;
  };
  // All outlive it.
  explicit DeviceBatch(const Parts& parts) : parts_(parts) {}

  [[nodiscard]] Status add(const Call& call);
  // Memory for copies of at most so many bytes.
  struct Staging {
    std::function<Result<std::byte*>(uint64_t bytes)> take;
    // What all members know from the beginning, for memory that they do not know yet; null: there
    // is not so much. Without it they are told of such memory, and the operation waits until they
    // have mapped it.
    std::function<std::byte*(uint64_t bytes)> take_at_hand = nullptr;
  };
  // After the last call: what concerns all of them.
  [[nodiscard]] Status complete(const Staging& staging);
  // After that: nothing is refused any more.
  void number(CallNumbers& numbers);

  [[nodiscard]] std::span<engine::cuda::DeviceRequest> requests() { return requests_; }
  [[nodiscard]] std::span<const engine::cuda::Stream::Copy> before() const { return before_; }
  [[nodiscard]] std::span<const engine::cuda::Stream::Copy> after() const { return after_; }
  // Of each request.
  [[nodiscard]] std::span<const LoadedPrograms::Program> programs() const { return programs_; }
  // Of each request, for people.
  [[nodiscard]] std::span<const BoardEntry> facts() const { return facts_; }

 private:
  // Where a request comes from.
  struct Origin {
    const Call* call;
    DevicePrograms::Ends ends;  // of messages, and of the parts of an exchange
  };
  // Of a buffer that others cannot reach, or not yet: what is copied to where they can, and back.
  struct Staged {
    size_t request;
    bool is_input;
    bool is_output;  // both: they are one
    bool must_be;    // others can never reach it
    uint64_t bytes;
  };
  [[nodiscard]] Status add_exchange(const Call& call);
  [[nodiscard]] Status add_request(const Call& call, const CheckedCall& checked,
                                   const Origin& origin);
  [[nodiscard]] Status add_message(const Call& call, const Origin& origin);
  [[nodiscard]] Status add_address(const Call& call, bool is_input);
  [[nodiscard]] Status match_own_ends();
  void stage_later(bool is_input, uint64_t bytes, bool must_be);
  [[nodiscard]] Status stage(const Staging& staging);
  [[nodiscard]] bool stage_at_hand(const Staging& staging);
  [[nodiscard]] Status stage_in(std::byte* memory);
  // All members of the request reach the region already, or never will.
  [[nodiscard]] bool is_known(uint64_t address, size_t request) const;
  [[nodiscard]] uint64_t staging_bytes() const;
  [[nodiscard]] Result<engine::cuda::Allocation> memory_at(const void* at) const;
  [[nodiscard]] BoardEntry facts_of(size_t request, CallNumbers::Key key) const;
  [[nodiscard]] uint32_t num_ranks() const { return static_cast<uint32_t>(parts_.ranks.size()); }

  Parts parts_;
  std::vector<engine::cuda::DeviceRequest> requests_;
  std::vector<LoadedPrograms::Program> programs_;  // of each
  std::vector<Origin> origins_;
  std::vector<BoardEntry> facts_;
  std::vector<engine::cuda::Stream::Copy> before_;
  std::vector<engine::cuda::Stream::Copy> after_;
  std::vector<Staged> staged_;
  std::vector<const Call*> own_ends_;  // of messages to oneself
};

}  // namespace tutti::comm
