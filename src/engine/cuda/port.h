// How a lane of an operation in a daemon reaches its peers: everything lies in memory that all can
// read and write, and every rank waits on words of its own. See engine/step.h for what a port is.
//
// A Machine is who runs a block: threads of a GPU, or one of the host in tests:
//   Fold& tile()             what it moves next
//   void fold()              moves it, and returns when it is moved
//   uint64_t now_ns()
//   void pause()             between two looks
//   Desk& desk(), TaskQueue& queue(), void copy(to, from, bytes)   of this launch
//   void mark(Stage)         a stage has ended
//   near_record(at, bytes)   words that are read, likewise
//   near(issued)             its program, where reading it is fast, until the next one
#pragma once

#include "engine/cuda/daemon_state.h"
#include "engine/cuda/fold.h"
#include "tutti/data_type.h"

namespace tutti::engine::cuda {

// Destination bytes that a block moves before others have a turn: tens of microseconds, against
// about one for the turn.
inline constexpr uint64_t kTileBytes = uint64_t{512} * 1024;

template <class Machine>
class Port {
 public:
  TUTTI_BOTH Port(Part& part, const DeviceProgram& program, Machine& machine)
      : context_(*part.context), program_(program), part_(part), machine_(machine) {}

  [[nodiscard]] TUTTI_BOTH bool arrived(uint16_t in, uint32_t number) const {
    if (number < program_.ins[in].implied) return true;
    return is_beyond(part_.words + program_.num_outs + in, number);
  }
  [[nodiscard]] TUTTI_BOTH bool released(const ProgramDep& dep) const {
    const uint32_t step = program_.view.lanes[dep.lane].first_step + dep.step;
    return program_.is_inline != 0 || program_.fusions[step].is_pushed != 0 ||
           is_beyond(part_.words + dep.out, dep.number);
  }
  // What was pushed is sent once it is made.
  [[nodiscard]] TUTTI_BOTH bool has_room(const ProgramStep& step) const {
    const StepFusion& fusion = fusion_of(step);
    return fusion.is_pushed == 0 || part_.cursors[fusion.giver_lane].step > fusion.giver_step;
  }
  // An operation starts when all signatures are known.
  [[nodiscard]] TUTTI_BOTH static bool may_write(const ProgramStep& /*step*/) { return true; }

  [[nodiscard]] TUTTI_BOTH bool move(const ProgramStep& step, Cursor& cursor) const {
    const StepFusion& fusion = fusion_of(step);
    const bool is_send = step.kind == static_cast<uint8_t>(ir::StepKind::kSend);
    if (is_send || fusion.is_deferred != 0 || fusion.is_given != 0) return true;
    return move_pieces(step, cursor, [&](Fold& fold, uint32_t i, uint64_t at) {
      gather(step, i, at, fold);
      const Piece& piece = program_.view.pieces[step.first_piece + i];
      if (fusion.is_unkept == 0) add_dst(fold, base(step.dst_buffer) + piece.dst + at);
      for (uint32_t p = 0; p < fusion.num_pushes; ++p) {
        const Push& push = program_.pushes[fusion.first_push + p];
        add_dst(fold, peer(push.peer).buffers[kOutput] + push.at + at);
      }
    });
  }

  TUTTI_BOTH void finish(const ProgramStep& step) const {
    const StepFusion& fusion = fusion_of(step);
    if (fusion.is_deferred != 0 || program_.is_inline != 0) return;
    const bool sends = step.out != kNoLink && fusion.is_implied == 0 && fusion.is_pushed == 0;
    const bool takes = fusion.is_given == 0 && (step.in != kNoLink || follows_deferred(step));
    if (!sends && !takes && fusion.num_pushes == 0) return;
    // Pairs with the acquire in is_beyond.
    fence_before_signals();
    for (const ProgramStep* it = &step; takes; --it) {
      if (it->in != kNoLink) signal(program_.ins[it->in], it->in_number + 1);
      if (!follows_deferred(*it)) break;
    }
    for (uint32_t i = 0; i < fusion.num_pushes; ++i) {
      const Push& push = program_.pushes[fusion.first_push + i];
      signal(program_.outs[push.out], push.number + 1);
    }
    if (sends) signal(program_.outs[step.out], step.out_number + 1);
  }

  [[nodiscard]] TUTTI_BOTH bool all_is_taken() const {
    if (program_.is_inline != 0) return true;
    for (uint16_t out = 0; out < program_.num_outs; ++out) {
      const uint32_t owed = program_.outs[out].owed;
      if (owed != 0 && !is_beyond(part_.words + out, owed - 1)) return false;
    }
    return true;
  }

  // kAvg: the sum is divided where it lies, by the block that has seen its part arrive.
  [[nodiscard]] TUTTI_BOTH bool divide(const ProgramStep& output, Cursor& cursor) const {
    return move_pieces(output, cursor, [&](Fold& fold, uint32_t i, uint64_t at) {
      const Piece& piece = program_.view.pieces[output.first_piece + i];
      std::byte* const there = base(kOutput) + piece.dst + at;
      add_source(fold, there, 1);
      add_dst(fold, there);
      fold.divisor = program_.num_members;
    });
  }

 private:
  static constexpr auto kInput = static_cast<uint8_t>(ir::Buffer::kInput);
  static constexpr auto kOutput = static_cast<uint8_t>(ir::Buffer::kOutput);

  // Looks first, and acquires what it has seen: most looks are in vain.
  [[nodiscard]] TUTTI_BOTH static bool is_beyond(const uint32_t* word, uint32_t number) {
    return load_relaxed(word) > number && load_acquire(word) > number;
  }
  [[nodiscard]] TUTTI_BOTH const StepFusion& fusion_of(const ProgramStep& step) const {
    return program_.fusions[&step - program_.view.steps];
  }
  // Steps of a lane lie one behind the other, and the last one of a lane is never deferred.
  [[nodiscard]] TUTTI_BOTH bool follows_deferred(const ProgramStep& step) const {
    return &step != program_.view.steps && fusion_of(*(&step - 1)).is_deferred != 0;
  }
  [[nodiscard]] TUTTI_BOTH const PeerSide& peer(uint32_t index) const {
    return context_.members[program_.peer_members[index]];
  }
  // Small input is read from the copy that the peers have: then it does not matter what the
  // caller's output overwrites.
  [[nodiscard]] TUTTI_BOTH std::byte* base(uint8_t buffer) const {
    if (buffer == kInput) {
      return program_.is_inline != 0 ? context_.members[program_.self].input
                                     : context_.issued.input;
    }
    return buffer == kOutput ? context_.issued.output : scratch_of(context_, program_);
  }

  TUTTI_BOTH void signal(const DeviceLink& link, uint32_t count) const {
    const PeerSide& to = peer(link.peer);
    store_signal(to.words + uint64_t{part_.index} * to.words_stride + link.word, count);
  }

  // The next tile of this block's part of the pieces. Whether all of them are moved.
  template <class Fill>
  TUTTI_BOTH bool move_pieces(const ProgramStep& step, Cursor& cursor, Fill fill) const {
    for (; cursor.piece < step.num_pieces; cursor = {cursor.step, cursor.piece + 1, 0}) {
      const Piece& piece = program_.view.pieces[step.first_piece + cursor.piece];
      const uint64_t begin = part_.index * program_.part_bytes;
      const uint64_t end = begin + program_.part_bytes;
      const uint64_t last = end < piece.bytes ? end : piece.bytes;
      if (begin + cursor.bytes >= last) continue;
      const uint64_t left = last - begin - cursor.bytes;
      Fold& fold = machine_.tile();
      fold.num_sources = fold.num_dsts = 0;
      fold.divisor = 0;
      fold.type = context_.issued.signature.type;
      fold.op = context_.issued.signature.op;
      fold.is_scaled = fold.op == static_cast<uint8_t>(Op::kPremulSum) ? 1 : 0;
      fold.bytes = left < kTileBytes ? left : kTileBytes;
      fill(fold, cursor.piece, begin + cursor.bytes);
      drop_idle(fold);
      machine_.mark(Stage::kRun);
      if (fold.num_dsts != 0) machine_.fold();
      machine_.mark(Stage::kFold);
      cursor.bytes += fold.bytes;
      return cursor.bytes >= last - begin && is_last(step, cursor.piece);
    }
    return true;
  }
  // Whether nothing of the pieces behind is this block's.
  [[nodiscard]] TUTTI_BOTH bool is_last(const ProgramStep& step, uint32_t piece) const {
    while (++piece < step.num_pieces) {
      if (program_.view.pieces[step.first_piece + piece].bytes >
          part_.index * program_.part_bytes) {
        return false;
      }
    }
    return true;
  }

  // The sources of a step: its own, behind those of the steps deferred into it.
  TUTTI_BOTH void gather(const ProgramStep& step, uint32_t piece, uint64_t at, Fold& fold) const {
    const ProgramStep* first = &step;
    while (follows_deferred(*first)) --first;
    for (const ProgramStep* it = first; it <= &step; ++it) {
      add_sources(*it, it == first, piece, at, fold);
    }
  }

  TUTTI_BOTH void add_sources(const ProgramStep& step, bool is_first, uint32_t i, uint64_t at,
                              Fold& fold) const {
    const Piece& piece = program_.view.pieces[step.first_piece + i];
    const auto kind = static_cast<ir::StepKind>(step.kind);
    if (kind == ir::StepKind::kReduce) {
      if (is_first) add_source(fold, base(step.dst_buffer) + piece.dst + at, 1);
      add_own(step, piece, at, fold);
      return;
    }
    if (ir::reads_src(kind) && is_first) add_own(step, piece, at, fold);
    if (step.in == kNoLink) return;
    const PeerSide& from = peer(program_.ins[step.in].peer);
    const bool is_input = step.peer_buffer == kInput;
    const std::byte* const message =
        is_input && program_.is_inline != 0 ? from.input : from.buffers[step.peer_buffer];
    add_source(fold, message + piece.peer + at, is_input ? from.factor : 1);
  }
  TUTTI_BOTH void add_own(const ProgramStep& step, const Piece& piece, uint64_t at,
                          Fold& fold) const {
    const double factor = step.src_buffer == kInput ? context_.issued.factor : 1;
    add_source(fold, base(step.src_buffer) + piece.src + at, factor);
  }
  TUTTI_BOTH static void add_source(Fold& fold, const std::byte* from, double factor) {
    fold.sources[fold.num_sources] = from;
    fold.factors[fold.num_sources++] = factor;
  }
  TUTTI_BOTH static void add_dst(Fold& fold, std::byte* to) { fold.dsts[fold.num_dsts++] = to; }

  Context& context_;
  const DeviceProgram& program_;
  Part& part_;
  Machine& machine_;
};

}  // namespace tutti::engine::cuda
