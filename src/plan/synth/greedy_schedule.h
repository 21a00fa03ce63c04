// Transfers as a schedule. What passes a port of a rank is done in the order in which the transfers
// begin, one at a time, or a few at once where latency would leave its links empty between two
// messages. No step waits for one that comes later in that order, hence no deadlock.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "ir/builder.h"
#include "plan/synth/greedy_network.h"
#include "plan/synth/greedy_transfers.h"

namespace tutti::plan::synth {

// How many lanes a port gets: enough that one message is on the wire while another's latency
// passes, four at most.
[[nodiscard]] uint32_t lanes_a_port(const Network& network, double chunk_bytes);

enum class Way : uint8_t {
  kForwards,   // messages go as hops do
  kBackwards,  // and against them, as sums go in the time reversal of a spread
};

// How a port has several messages under way.
enum class Turns : uint8_t {
  kLanes,   // in as many lanes, by turns at the receiving port; at the sending one some may crowd
  kWindow,  // each hop has lanes of its own; a message waits for the one so many places before it
};

// The lanes of all ranks' ports, made when they are needed.
class PortLanes {
 public:
  struct Shape {
    uint32_t lanes_a_port = 1;  // messages under way at once
    uint32_t first_channel = 0;
    Way way = Way::kForwards;
    Turns turns = Turns::kLanes;
  };
  PortLanes(ir::Builder& builder, const Network& network, const Shape& shape);

  // Lanes that one rank has at most, each way.
  [[nodiscard]] uint32_t most_lanes() const { return most_lanes_; }

  // Both ends of the next message over the hop, on one channel, and what each must wait for besides
  // its data. The next step written to either lane must be this message's.
  struct Ends {
    ir::LaneWriter send;
    ir::LaneWriter recv;
    std::vector<ir::StepRef> send_after = {};
    std::vector<ir::StepRef> recv_after = {};

    [[nodiscard]] ir::After send_when(std::optional<ir::StepRef> ready);
    [[nodiscard]] ir::After recv_when(std::optional<ir::StepRef> free);
  };
  Ends next(const Hop& hop);

 private:
  struct Side {
    std::vector<size_t> first_port;                    // by rank
    std::vector<std::optional<ir::LaneWriter>> lanes;  // by port (or hop) and channel
    std::vector<std::deque<ir::StepRef>> under_way;    // by port, where there are windows
  };
  [[nodiscard]] Side make_side(const std::vector<uint32_t>& num_ports) const;
  ir::LaneWriter lane(Side& side, uint32_t rank, size_t place, uint32_t turn);
  [[nodiscard]] std::vector<ir::StepRef> wait_in(Side& side, size_t port, ir::StepRef step) const;

  ir::Builder& builder_;
  Shape shape_;
  Side senders_;
  Side receivers_;
  const Hop* first_hop_;
  std::vector<uint32_t> num_received_;  // by receiving port, or by hop
  uint32_t most_lanes_ = 0;
};

// Scratch positions of all ranks, used again when what lay there was taken.
class ScratchPool {
 public:
  // A position is used again when `slack` others have been freed after it: a message that was only
  // just sent would hold up the next one into its place, and around a ring everyone.
  ScratchPool(ir::Builder& builder, uint32_t slack)
      : builder_(builder), slack_(slack), free_(builder.num_ranks()) {}

  struct Position {
    uint32_t index = 0;
    std::optional<ir::StepRef> taken = {};  // the step that must be complete before it is written
  };
  Position take(uint32_t rank);
  // It is free once `send` is complete.
  void give(uint32_t rank, uint32_t index, ir::StepRef send) {
    free_[rank].push_back({index, send});
  }

 private:
  ir::Builder& builder_;
  uint32_t slack_;
  std::vector<std::deque<Position>> free_;  // by rank, in the order of becoming free
};

// Where the chunks of a spread lie. `owner` is as spread() takes it.
struct SpreadLayout {
  std::vector<uint32_t> owner;
  uint32_t chunks_per_block = 1;
};

// Data goes from owners to all: all_gather and broadcast. Call with each transfer in order.
class SpreadWriter {
 public:
  // `ready`, of all_reduce: by chunk, the step after which its owner has the sum, in output.
  SpreadWriter(ir::Builder& builder, const Network& network, const SpreadLayout& layout,
               const PortLanes::Shape& shape, std::vector<ir::StepRef> ready = {});
  void write(const Transfer& transfer);

 private:
  [[nodiscard]] ir::StepRef& arrival(uint32_t rank, uint32_t chunk) {
    return arrivals_[size_t{rank} * layout_.owner.size() + chunk];
  }

  const Network& network_;
  const SpreadLayout& layout_;
  PortLanes lanes_;
  std::vector<ir::StepRef> ready_;
  uint32_t input_chunks_;  // of an owner: positions of its input
  std::vector<ir::StepRef> arrivals_;
};

// Sums go from all to owners: reduce_scatter, reduce, and the first half of all_reduce. Call with
// the transfers of a spread over the reversed network, the last first.
class SumWriter {
 public:
  SumWriter(ir::Builder& builder, const Network& network, const SpreadLayout& layout,
            const PortLanes::Shape& shape);
  void write(const Transfer& transfer);
  // By chunk: the step after which its owner has the whole sum.
  [[nodiscard]] std::vector<ir::StepRef> owners_sums() const;

 private:
  static constexpr uint32_t kNoPosition = UINT32_MAX;
  // A sum under way at a rank.
  struct Sum {
    ir::StepRef last = {};
    uint32_t position = kNoPosition;  // of scratch
    bool is_begun = false;
  };
  [[nodiscard]] Sum& sum(uint32_t rank, uint32_t chunk) {
    return sums_[size_t{rank} * layout_.owner.size() + chunk];
  }
  [[nodiscard]] ir::Region place(uint32_t rank, uint32_t chunk, const Sum& sum) const;

  const Network& network_;
  const SpreadLayout& layout_;
  CollectiveKind kind_;
  PortLanes lanes_;
  std::vector<Sum> sums_;
  ScratchPool scratch_;
};

// Blocks go from rank to rank: all_to_all.
class DeliverWriter {
 public:
  DeliverWriter(ir::Builder& builder, const Network& network, const PortLanes::Shape& shape);
  void write(const Transfer& transfer);

 private:
  // Where a chunk is, on its way.
  struct Place {
    ir::StepRef arrived = {};
    uint32_t position = 0;  // of scratch, where it is neither at its source nor destination
  };

  ir::Builder& builder_;
  const Network& network_;
  PortLanes lanes_;
  std::vector<Place> places_;  // by chunk
  ScratchPool scratch_;
};

}  // namespace tutti::plan::synth
