// The part of at_once.h that moves what does not fit into letters: passes over memory of all
// members (passes.h), whose letters say where it is. What it tells members, and waits for, are the
// words that any other way of running the operation writes and waits for: so each member may go its
// own.
//
// Of the lanes it needs, beside what at_once.h says: move(fold), by all threads of the block.
#pragma once

#include "engine/cuda/block.h"
#include "engine/cuda/letters.h"

namespace tutti::engine::cuda {

// All letters are here.
template <class Lanes>
class PassRun {
 public:
  TUTTI_BOTH PassRun(const LeaderState& own, const Submission& issued, const DeviceProgram& program,
                     Fold& tile, Lanes& lanes)
      : own_(own), issued_(issued), program_(program), tile_(tile), lanes_(lanes) {}

  // Whether all memory that letters speak of is mapped here.
  [[nodiscard]] TUTTI_BOTH bool can_reach() const {
    return lanes_.most(program_.num_members, [this](uint32_t m) {
      return m == program_.self || can_reach(m) ? 0U : 1U;
    }) == 0;
  }

  // For workers: the record, and its home as they find it once it has started, since whoever comes
  // late to it does as in any other operation.
  TUTTI_BOTH void write_record(uint32_t stamp) const {
    constexpr uint32_t kWords = sizeof(Submission) / sizeof(uint64_t);
    auto& home = *issued_.context;
    const uint32_t num_places = program_.num_places;
    lanes_.each(program_.num_members, [&](uint32_t m) { note_member(m); });
    lanes_.each(kWords + 1 + num_places + program_.num_notices, [&](uint32_t i) {
      if (i < kWords) {
        copy_words(&home.issued, &issued_, sizeof(Submission), i, kWords);
      } else if (i == kWords) {
        open_home(home, stamp);
      } else if (i - kWords <= num_places) {
        note_place(i - kWords - 1);
      } else {
        note_word(i - kWords - 1 - num_places);
      }
    });
  }

  TUTTI_BOTH void move() const {
    TUTTI_NO_UNROLL
    for (uint32_t i = 0; i < program_.num_passes; ++i) {
      const Pass& pass = program_.passes[i];
      lanes_.each(pass.num_sources + pass.num_dsts + 1, [&](uint32_t p) { fill(pass, p); });
      lanes_.first([this] { drop_idle(tile_); });
      if (tile_.num_dsts != 0) lanes_.move(tile_);
    }
    lanes_.each(program_.num_notices, [this](uint32_t i) {
      const Notice& notice = program_.notices[i];
      // Pairs with the acquire of whoever waits for it.
      fence_before_signals();
      auto* const words = reinterpret_cast<uint32_t*>(told(notice.member, kWordsAddress));
      store_signal(words + notice.word, notice.number);
    });
  }

  // Whether all members have told what is waited for here.
  [[nodiscard]] TUTTI_BOTH bool is_told() const {
    return lanes_.most(program_.num_words(), [this](uint32_t w) {
      const uint32_t wanted = program_.awaited[w];
      // Acquires what the member has written, or read.
      return wanted == 0 || (load_relaxed(words() + w) >= wanted && load_acquire(words() + w) != 0)
                 ? 0U
                 : 1U;
    }) == 0;
  }

  // kAvg: sums are divided where they lie, once all of them have come.
  TUTTI_BOTH void divide() const {
    const ProgramStep& output = program_.view.steps[program_.output_step];
    TUTTI_NO_UNROLL
    for (uint32_t i = 0; i < output.num_pieces; ++i) {
      const Piece& piece = program_.view.pieces[output.first_piece + i];
      lanes_.first([&] {
        prepare_sum(tile_, issued_.signature, program_.num_members);
        tile_.bytes = piece.bytes;
        tile_.num_sources = 1;
        tile_.sources[0] = tile_.dsts[0] = issued_.output + piece.dst;
      });
      lanes_.move(tile_);
    }
  }

  // For the next use of its home, when all that is to come has come.
  TUTTI_BOTH void clean() const {
    lanes_.each(program_.num_words(), [this](uint32_t w) { store_relaxed(words() + w, 0); });
  }

 private:
  static constexpr auto kInput = static_cast<uint32_t>(ir::Buffer::kInput);
  static constexpr auto kOutput = static_cast<uint32_t>(ir::Buffer::kOutput);

  [[nodiscard]] TUTTI_BOTH const Hello& letter_of(uint32_t m) const {
    return lanes_.seen_letter(program_.members[m]);
  }
  [[nodiscard]] TUTTI_BOTH const uint64_t* regions_of(uint32_t m) const {
    return own_.neighbours[program_.members[m]].regions;
  }
  [[nodiscard]] TUTTI_BOTH bool can_reach(uint32_t m) const {
    for (const uint64_t address : letter_of(m).addresses) {
      const uint32_t region = region_of(address);
      if (region == 0) continue;
      // Acquires what the host did before it wrote the entry: it has mapped the region.
      const uint64_t base = load_acquire(regions_of(m) + region);
      if (base == 0 || base == kUnreachableRegion) return false;
    }
    return true;
  }

  // What a member's letter says, as it is here.
  [[nodiscard]] TUTTI_BOTH std::byte* told(uint32_t m, uint32_t index) const {
    const uint64_t address = letter_of(m).addresses[index];
    const uint32_t region = region_of(address);
    const uint64_t base = region == 0 ? 0 : load_relaxed(regions_of(m) + region);
    return reinterpret_cast<std::byte*>(base + (address & kRegionMask));
  }
  [[nodiscard]] TUTTI_BOTH std::byte* at_home(uint32_t offset) const {
    return reinterpret_cast<std::byte*>(issued_.context) + offset;
  }
  [[nodiscard]] TUTTI_BOTH uint32_t* words() const {
    return reinterpret_cast<uint32_t*>(at_home(program_.homes.words));
  }
  [[nodiscard]] TUTTI_BOTH std::byte* buffer_of(uint32_t m, uint32_t buffer) const {
    if (m != program_.self) return told(m, buffer);
    if (buffer == kInput) return issued_.input;
    return buffer == kOutput ? issued_.output : at_home(program_.homes.scratch);
  }

  [[nodiscard]] TUTTI_BOTH uint64_t* record() const {
    return reinterpret_cast<uint64_t*>(at_home(program_.homes.record));
  }
  TUTTI_BOTH void open_home(Context& home, uint32_t stamp) const {
    home.home = &home;
    home.members = reinterpret_cast<PeerSide*>(at_home(program_.homes.members));
    home.stamp = stamp;
    home.outcome = static_cast<uint32_t>(Outcome::kUnderWay);
    auto& closing = *reinterpret_cast<Closing*>(at_home(program_.homes.closing));
    closing.parts_left = program_.num_parts;
    closing.num_late = 0;
    record()[0] = issued_.signature.type | uint64_t{issued_.signature.op} << 8;
  }
  TUTTI_BOTH void note_member(uint32_t m) const {
    if (m == program_.self) return;
    PeerSide& side = reinterpret_cast<PeerSide*>(at_home(program_.homes.members))[m];
    for (uint32_t b = 0; b < ir::kNumBuffers; ++b) side.buffers[b] = told(m, b);
    side.words = reinterpret_cast<uint32_t*>(told(m, kWordsAddress));
    side.words_stride = letter_of(m).words_stride;
    side.factor = letter_of(m).factor;
  }
  TUTTI_BOTH void note_place(uint32_t p) const {
    const PassPlace& place = program_.pass_places[p];
    uint64_t* const at = record() + 1 + p;
    *at = reinterpret_cast<uint64_t>(buffer_of(place.member, place.buffer) + place.at);
    const double factor = factor_of(place);
    copy_words(at + program_.num_places, &factor, sizeof factor);
  }
  TUTTI_BOTH void note_word(uint32_t n) const {
    const Notice& notice = program_.notices[n];
    uint64_t* const at = record() + 1 + 2 * program_.num_places + n;
    *at = reinterpret_cast<uint64_t>(told(notice.member, kWordsAddress)) +
          notice.word * sizeof(uint32_t);
    at[program_.num_notices] = letter_of(notice.member).words_stride;
  }
  [[nodiscard]] TUTTI_BOTH double factor_of(const PassPlace& place) const {
    if (place.buffer != kInput) return 1;
    return place.member == program_.self ? issued_.factor : letter_of(place.member).factor;
  }

  // One place of the tile, or all but its places.
  TUTTI_BOTH void fill(const Pass& pass, uint32_t p) const {
    if (p == pass.num_sources + pass.num_dsts) {
      prepare_sum(tile_, issued_.signature, 0);
      tile_.bytes = pass.bytes;
      tile_.num_sources = static_cast<uint8_t>(pass.num_sources);
      tile_.num_dsts = static_cast<uint8_t>(pass.num_dsts);
      return;
    }
    const PassPlace& place = program_.pass_places[pass.first_place + p];
    std::byte* const at = buffer_of(place.member, place.buffer) + place.at;
    if (p >= pass.num_sources) {
      tile_.dsts[p - pass.num_sources] = at;
      return;
    }
    tile_.sources[p] = at;
    tile_.factors[p] = factor_of(place);
  }

  const LeaderState& own_;
  const Submission& issued_;
  const DeviceProgram& program_;
  Fold& tile_;
  Lanes& lanes_;
};

}  // namespace tutti::engine::cuda
