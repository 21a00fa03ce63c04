// How a small call reaches its peers while it is being made: it takes their packets out of the
// rings itself, from the front and in the order in which its steps want them, so that nothing is
// looked up, kept or copied first. Whatever else is at the front is left to the engine, and the
// call becomes an operation like any other.
#pragma once

#include "engine/cpu/ports.h"

namespace tutti::engine {

class StraightPort : public PacketPort {
 public:
  StraightPort(Operation& op, transport::Endpoint& endpoint)
      : PacketPort(op, endpoint), op_(op), endpoint_(endpoint) {}

  [[nodiscard]] bool arrived(uint16_t in, uint32_t number) {
    const transport::RingReader& ring = endpoint_.from(sender(in));
    const auto kind = ring.peek();
    if (!kind) return false;
    if (*kind != transport::RecordKind::kPacket && *kind != transport::RecordKind::kWide) {
      return false;
    }
    const transport::RecordHeader header = ring.record().header;
    if (header.operation != op_.request.id || header.signature != op_.request.signature ||
        header.connection != in || header.message != number) {
      return false;
    }
    kind_ = *kind;
    message_ = ring.payload(*kind);
    return true;
  }

  // A message is no longer than kWideBytes, which can be read even if less was sent.
  [[nodiscard]] bool move(const ProgramStep& step, Cursor& /*cursor*/) const {
    if (kind_of(step) == ir::StepKind::kSend) return true;
    move_pieces(step, message_);
    return true;
  }

  void finish(const ProgramStep& step) const {
    if (step.in != kNoLink) {
      const Rank peer = sender(step.in);
      ++op_.in_counts[step.in];
      if (endpoint_.from(peer).pop(kind_)) endpoint_.wake(peer);
    }
    PacketPort::finish(step);
  }

 private:
  [[nodiscard]] Rank sender(uint16_t in) const {
    const BoundProgram& program = *op_.request.program;
    return op_.request.members[program.peers[program.ins[in].peer].value];
  }

  Operation& op_;
  transport::Endpoint& endpoint_;
  // Of the step that is under way.
  transport::RecordKind kind_ = transport::RecordKind::kPacket;
  const std::byte* message_ = nullptr;
};

}  // namespace tutti::engine
