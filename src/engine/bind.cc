#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "engine/bound_program.h"
#include "engine/exports.h"
#include "engine/rank_view.h"

namespace tutti::engine {
namespace {

using ir::Buffer;
using ir::Step;
using ir::StepRef;

class Binder {
 public:
  Binder(const ir::Schedule& schedule, Rank self, const ir::Sizes& sizes, uint32_t elem_bytes,
         Pieces pieces)
      : schedule_(schedule),
        layout_(ir::Layout::create(schedule.collective, schedule.chunks_per_block).value()),
        elem_bytes_(elem_bytes),
        pieces_(pieces),
        self_(self) {
    for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
      ranks_.emplace_back(schedule, layout_, sizes, Rank{r});
    }
  }

  BoundProgram bind() && {
    out_.collective = schedule_.collective;
    out_.self = self_;
    out_.may_be_in_place = schedule_.placement != ir::Placement::kOutOfPlace;
    out_.input_bytes = bytes(own().total(Buffer::kInput));
    out_.output_bytes = bytes(own().total(Buffer::kOutput));
    out_.scratch_bytes = bytes(own().total(Buffer::kScratch));
    Exports exports(own());
    exports_ = &exports;
    find_peers();
    out_.extents.resize(out_.peers.size());
    add_links();
    for (const ir::Lane& lane : own().program().lanes) add_lane(lane);
    out_.exports = std::move(exports).take();
    measure_messages();
    return std::move(out_);
  }

 private:
  [[nodiscard]] const RankView& own() const { return ranks_[self_.value]; }
  [[nodiscard]] uint64_t bytes(uint64_t elems) const { return elems * elem_bytes_; }

  void find_peers() {
    for (const auto* links : {&own().ins(), &own().outs()}) {
      for (const auto& [key, steps] : *links) out_.peers.emplace_back(key.first);
    }
    std::sort(out_.peers.begin(), out_.peers.end());
    out_.peers.erase(std::unique(out_.peers.begin(), out_.peers.end()), out_.peers.end());
  }

  [[nodiscard]] uint32_t peer_index(uint32_t rank) const {
    const auto found = std::lower_bound(out_.peers.begin(), out_.peers.end(), Rank{rank});
    return static_cast<uint32_t>(found - out_.peers.begin());
  }

  void add_links() {
    for (const auto& [key, steps] : own().ins()) {
      const uint32_t there =
          RankView::number_of(ranks_[key.first].outs(), {self_.value, key.second});
      add_link(out_.ins, {peer_index(key.first), there, there, size32(steps)});
    }
    for (const auto& [key, steps] : own().outs()) {
      const RankView& peer = ranks_[key.first];
      const uint32_t there = RankView::number_of(peer.ins(), {self_.value, key.second});
      const uint32_t word = size32(peer.outs()) + there;
      add_link(out_.outs, {peer_index(key.first), there, word, size32(steps)});
    }
  }

  void add_link(std::vector<Link>& links, const Link& link) {
    links.push_back(link);
    uint32_t& num_words = out_.extents[link.peer].num_words;
    num_words = std::max(num_words, link.word_there + 1);
  }

  static uint32_t size32(const auto& container) { return static_cast<uint32_t>(container.size()); }

  void add_lane(const ir::Lane& lane) {
    out_.lanes.push_back({size32(out_.steps), size32(lane.steps)});
    for (const Step& step : lane.steps) add_step(step, lane.channel);
  }

  void add_step(const Step& step, uint32_t channel) {
    ProgramStep bound{};
    bound.kind = static_cast<uint8_t>(step.kind);
    bound.src_buffer = static_cast<uint8_t>(step.src_buffer);
    bound.dst_buffer = static_cast<uint8_t>(step.dst_buffer);
    bound.in = bound.out = bound.exported = kNoLink;
    const Step* sender = nullptr;
    StepRef other_end{};
    if (ir::sends(step.kind)) {
      const LinkKey key{step.send_peer.value, channel};
      bound.out = static_cast<uint16_t>(RankView::number_of(own().outs(), key));
      bound.out_number = next_out_[key]++;
      other_end = ranks_[key.first].ins().at({self_.value, channel})[bound.out_number].place;
    }
    if (ir::receives(step.kind)) {
      const LinkKey key{step.recv_peer.value, channel};
      bound.in = static_cast<uint16_t>(RankView::number_of(own().ins(), key));
      bound.in_number = next_in_[key]++;
      const auto& its = ranks_[key.first].outs().at({self_.value, channel})[bound.in_number];
      sender = its.step;
      other_end = its.place;
    }
    out_.other_ends.push_back(other_end);
    add_pieces(step, sender, bound);
    add_deps(step, bound);
    out_.steps.push_back(bound);
  }

  // A chunk moves with as many elements as fit every position that it touches: in a position sized
  // for any chunk that is more than the chunk has, and what is moved beyond it nobody looks at.
  void add_pieces(const Step& step, const Step* sender, ProgramStep& bound) {
    bound.first_piece = size32(out_.pieces);
    RankView::Source from{};
    if (sender != nullptr) from = ranks_[step.recv_peer.value].source(*sender);
    bound.peer_buffer = static_cast<uint8_t>(from.buffer);
    bound.in_at = bytes(from.elem);
    const bool keeps_sum = step.kind == ir::StepKind::kRecvReduceSend;
    uint64_t sum_elem = 0;
    if (ir::sends(step.kind)) {
      const RankView::Source message = own().source(step);
      if (message.buffer == Buffer::kInput) out_.input_is_read = true;
      if (message.buffer == Buffer::kOutput) out_.output_is_read = true;
      bound.out_buffer = static_cast<uint8_t>(message.buffer);
      bound.out_at = bytes(message.elem);
      for (const uint64_t size : message.sizes) bound.out_bytes += bytes(size);
      const StepRef here{size32(out_.lanes) - 1, size32(out_.steps) - out_.lanes.back().first_step};
      bound.exported = exports_->number_of(
          here, {bound.out_at, bound.out_bytes, static_cast<uint32_t>(bound.out_buffer), 0});
      if (keeps_sum) sum_elem = message.elem;
    }
    if (keeps_sum) bound.dst_buffer = static_cast<uint8_t>(Buffer::kScratch);
    uint64_t from_elem = from.elem;
    for (uint32_t i = 0; i < step.num_chunks; ++i) {
      uint64_t elems = UINT64_MAX;
      Piece piece{};
      if (sender != nullptr) {
        elems = std::min(elems, from.sizes[i]);
        piece.peer = bytes(from_elem);
        from_elem += from.sizes[i];
      }
      if (ir::reads_src(step.kind)) {
        elems = std::min(elems, own().size(step.src_buffer, step.src_index + i));
        piece.src = bytes(own().begin(step.src_buffer, step.src_index + i));
      }
      if (keeps_sum) {
        piece.dst = bytes(sum_elem);
        sum_elem += own().size(step.src_buffer, step.src_index + i);
      } else if (ir::writes_dst(step.kind)) {
        elems = std::min(elems, own().size(step.dst_buffer, step.dst_index + i));
        piece.dst = bytes(own().begin(step.dst_buffer, step.dst_index + i));
      }
      piece.bytes = bytes(elems);
      append(piece, step, bound);
    }
    bound.num_pieces = size32(out_.pieces) - bound.first_piece;
    extend(bound);
  }

  // Joins what lies one behind the other in every buffer.
  void append(const Piece& piece, const Step& step, const ProgramStep& bound) {
    if (piece.bytes == 0) return;
    if (pieces_ == Pieces::kJoined && out_.pieces.size() > bound.first_piece) {
      Piece& last = out_.pieces.back();
      const bool writes = bound.out == kNoLink || step.kind != ir::StepKind::kSend;
      const bool joins = (!ir::reads_src(step.kind) || last.src + last.bytes == piece.src) &&
                         (!writes || last.dst + last.bytes == piece.dst) &&
                         (bound.in == kNoLink || last.peer + last.bytes == piece.peer);
      if (joins) {
        last.bytes += piece.bytes;
        return;
      }
    }
    out_.pieces.push_back(piece);
  }

  void extend(const ProgramStep& step) {
    if (step.in == kNoLink) return;
    uint64_t& end = out_.extents[out_.ins[step.in].peer].bytes[step.peer_buffer];
    for (uint32_t i = 0; i < step.num_pieces; ++i) {
      const Piece& piece = out_.pieces[step.first_piece + i];
      end = std::max(end, piece.peer + piece.bytes);
    }
  }

  void add_deps(const Step& step, ProgramStep& bound) {
    bound.first_dep = size32(out_.deps);
    bound.num_deps = step.num_deps;
    for (const StepRef ref : own().program().deps_of(step)) {
      out_.deps.push_back({ref.lane, ref.step, 0, kNoLink, kNoLink});
    }
  }

  // Dependencies may name steps that are bound later, so their messages are filled in at the end;
  // and what a message is at most is asked over all ranks, so that all decide alike.
  void measure_messages() {
    for (ProgramDep& dep : out_.deps) {
      const ProgramStep& step = out_.steps[out_.lanes[dep.lane].first_step + dep.step];
      dep.out = step.out;
      dep.number = step.out_number;
      dep.exported = step.exported;
    }
    std::vector<uint64_t> received(ranks_.size());
    for (const RankView& rank : ranks_) {
      out_.largest_buffer = std::max({out_.largest_buffer, bytes(rank.total(Buffer::kInput)),
                                      bytes(rank.total(Buffer::kOutput))});
      out_.most_carried = std::max(out_.most_carried, measure_sent(rank, received));
    }
    for (const uint64_t all : received) out_.most_carried = std::max(out_.most_carried, all);
  }

  // What a rank sends, in bytes. Adds to what each of the others receives.
  uint64_t measure_sent(const RankView& rank, std::vector<uint64_t>& received) {
    uint64_t sent = 0;
    std::set<std::pair<uint64_t, uint64_t>> of_input;  // first element, bytes
    for (const auto& [key, steps] : rank.outs()) {
      out_.most_messages = std::max(out_.most_messages, size32(steps));
      for (const RankView::LinkStep& its : steps) {
        const RankView::Source source = rank.source(*its.step);
        uint64_t message = 0;
        for (const uint64_t size : source.sizes) message += bytes(size);
        out_.largest_message = std::max(out_.largest_message, message);
        received[key.first] += message;
        const bool is_new =
            source.buffer != Buffer::kInput || of_input.emplace(source.elem, message).second;
        if (is_new) sent += message;
      }
    }
    return sent;
  }

  const ir::Schedule& schedule_;
  ir::Layout layout_;
  uint32_t elem_bytes_;
  Pieces pieces_;
  Rank self_;
  std::vector<RankView> ranks_;
  BoundProgram out_;
  Exports* exports_ = nullptr;  // while it binds
  std::map<LinkKey, uint32_t> next_in_;
  std::map<LinkKey, uint32_t> next_out_;
};

// Whether every lane begins with a message, or behind another lane.
bool waits_first(const BoundProgram& program) {
  for (const ProgramLane& lane : program.lanes) {
    if (lane.num_steps == 0) return false;
    const ProgramStep& first = program.steps[lane.first_step];
    if (first.in == kNoLink && first.num_deps == 0) return false;
  }
  return !program.lanes.empty();
}

template <class T>
size_t bytes_in(const std::vector<T>& table) {
  return table.capacity() * sizeof(T);
}

}  // namespace

size_t bytes_of(const BoundProgram& program) {
  return sizeof program + bytes_in(program.lanes) + bytes_in(program.steps) +
         bytes_in(program.deps) + bytes_in(program.pieces) + bytes_in(program.exports) +
         bytes_in(program.ins) + bytes_in(program.outs) + bytes_in(program.peers) +
         bytes_in(program.extents) + bytes_in(program.other_ends);
}

BoundProgram bind(const verify::VerifiedSchedule& schedule, Rank self, const ir::Sizes& sizes,
                  uint32_t elem_bytes, Pieces pieces) {
  TUTTI_CHECK(self.value < schedule.schedule().ranks.size(), "a rank of the schedule");
  BoundProgram program = Binder(schedule.schedule(), self, sizes, elem_bytes, pieces).bind();
  program.waits_first = waits_first(program);
  return program;
}

}  // namespace tutti::engine
