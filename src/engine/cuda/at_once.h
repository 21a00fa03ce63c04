// The shortest way through a daemon: an operation that all members call at about the same time,
// while nothing else is under way here, and that is small, or comes to a few passes over memory.
// Letters are written and read, and small ones added up, by a warp of the leader's block, and
// nothing is entered anywhere. When the others' letters are not all there in time, or speak of
// something else, the operation goes on as any other does; nothing is lost, for letters stay where
// they are until all is over.
//
// Lanes are a warp, or one thread of the host that does what each of them would:
//   each(n, f)              f(i) for all i below n; then all see what each has written
//   first(f)                f(), once; likewise
//   most(n, f)              the greatest f(i), known to all
//   agreed(f)               f(), asked once: lanes must not decide differently
//   load_beside(n, load, f, store)  store(i, load(i)) for all i below n, at most 32, and f() once:
//                           loads are under way meanwhile
//   const Hello* letter(r)  the next letter of neighbour r, if it is there; it stays there
//   const Hello& seen_letter(r)  the same, which has been seen to be there
//   drop_letter(r)          it is used up
//   has_other_calls(stream)  of another stream than that, or of none
//   now_ns(), pause(), sum(fold), move(fold), mark(stage)
#pragma once

#include "engine/cuda/at_once_passes.h"
#include "engine/cuda/block.h"
#include "engine/cuda/letters.h"

namespace tutti::engine::cuda {

inline constexpr uint32_t kAtOnceMembers = kMostSources;

enum class AtOnce : uint8_t {
  kNo,     // a mailbox is full: nothing has happened
  kSent,   // all members were told, and no letter was taken
  kMoved,  // the same, and all is moved that is moved here; members have not told all that they
           // will
  kReady,  // all letters were taken, and what workers need is written down
  kDone,   // it is over
};

// What the leader lends it.
struct AtOnceDesk {
  Hello letter;  // to the others
  const Submission* issued;
  const DeviceProgram* program;
  uint64_t limit_ns;  // how long it waits for the others
  uint32_t stamp;
  AtOnce outcome;
};

template <class Lanes>
class AtOnceRun {
 public:
  TUTTI_BOTH AtOnceRun(DaemonState& state, LeaderState& own, AtOnceDesk& desk, Fold& tile,
                       Lanes& lanes)
      : state_(state), own_(own), desk_(desk), tile_(tile), lanes_(lanes) {}

  TUTTI_BOTH AtOnce run() {
    if (lanes_.most(num_members(), [this](uint32_t m) { return is_full(m) ? 1U : 0U; }) != 0) {
      return AtOnce::kNo;
    }
    write();
    lanes_.mark(Stage::kIssue);
    send();
    lanes_.mark(Stage::kGreet);
    if (!hear()) return AtOnce::kSent;
    lanes_.mark(Stage::kHear);
    AtOnce outcome = AtOnce::kDone;
    if (program().is_passed == 0) {
      add_up();
    } else {
      outcome = pass();
      if (outcome == AtOnce::kSent || outcome == AtOnce::kMoved) return outcome;
    }
    lanes_.mark(Stage::kFold);
    if (outcome == AtOnce::kDone) lanes_.first([this] { complete_well(state_, issued()); });
    const uint32_t ahead = lanes_.most(num_members(), [this](uint32_t m) { return lead_of(m); });
    lanes_.each(num_members() + 1, [&](uint32_t m) {
      if (m < num_members()) return take_letter(m);
      own_.clock.hear(desk_.stamp + ahead);
    });
    lanes_.mark(Stage::kEnd);
    return outcome;
  }

 private:
  enum Heard : uint32_t { kHere, kMissing, kOther };
  static constexpr uint32_t kWordsOfHello = sizeof(Hello) / 4;
  static constexpr uint32_t kNodeWord = offsetof(Hello, node) / 4;

  [[nodiscard]] TUTTI_BOTH const Submission& issued() const { return *desk_.issued; }
  [[nodiscard]] TUTTI_BOTH const DeviceProgram& program() const { return *desk_.program; }
  [[nodiscard]] TUTTI_BOTH uint32_t num_members() const { return program().num_members; }
  [[nodiscard]] TUTTI_BOTH bool is_self(uint32_t m) const { return m == program().self; }
  [[nodiscard]] TUTTI_BOTH uint32_t rank_of(uint32_t m) const { return program().members[m]; }

  [[nodiscard]] TUTTI_BOTH bool is_full(uint32_t m) const {
    if (is_self(m)) return false;
    Neighbour& to = own_.neighbours[rank_of(m)];
    if (to.num_written - to.num_known >= kLetters) to.num_known = load_relaxed(to.read_there);
    return to.num_written - to.num_known >= kLetters;
  }

  TUTTI_BOTH void write() const {
    const bool is_inline = program().is_inline != 0;
    const auto bytes = is_inline ? static_cast<uint32_t>(program().input_bytes) : 0;
    lanes_.load_beside((bytes + 3) / 4,
                       [&](uint32_t i) { return load_input(issued().input, bytes, i); },
                       [&] {
                         Hello& letter = desk_.letter;
                         write_head(letter, issued(), program());
                         letter.stamp = desk_.stamp;
                         if (!is_inline) write_addresses(letter, issued(), program());
                       },
                       [this](uint32_t i, uint32_t word) {
                         reinterpret_cast<uint32_t*>(desk_.letter.input)[i] = word;
                       });
  }

  // A unit of a letter for each lane.
  TUTTI_BOTH void send() const {
    const uint32_t num_units = desk_.letter.num_units;
    lanes_.each((num_members() - 1) * num_units, [&](uint32_t i) {
      uint32_t m = program().self + 1 + i / num_units;
      if (m >= num_members()) m -= num_members();
      send_unit(m, i % num_units);
    });
    lanes_.each(num_members(), [this](uint32_t m) {
      if (!is_self(m)) ++own_.neighbours[rank_of(m)].num_written;
    });
  }
  TUTTI_BOTH void send_unit(uint32_t m, uint32_t index) const {
    const Neighbour& to = own_.neighbours[rank_of(m)];
    const uint64_t node =
        issued().context_there + program().homes.nodes + m * uint64_t{sizeof(EarlyNode)};
    const auto* const words = reinterpret_cast<const uint32_t*>(&desk_.letter);
    Unit unit{};
    for (uint32_t w = 0; w < 3; ++w) {
      const uint32_t at = 3 * index + w;
      unit.words[w] = at == kNodeWord       ? static_cast<uint32_t>(node)
                      : at == kNodeWord + 1 ? static_cast<uint32_t>(node >> 32)
                                            : words[at];
    }
    unit.words[3] = to.num_written + 1;
    store_unit(to.mailbox_there + uint64_t{to.num_written % kLetters} * kHelloUnits + index, unit);
  }

  // Whether all others have said the same.
  [[nodiscard]] TUTTI_BOTH bool hear() const {
    uint32_t worst = kMissing;
    comes_true([&] {
      worst = lanes_.most(num_members(), [this](uint32_t m) { return uint32_t{look(m)}; });
      return worst != kMissing;
    });
    return worst == kHere;
  }
  // Gives up when it has been long enough.
  template <class F>
  TUTTI_BOTH bool comes_true(F is_so) const {
    const uint64_t begin = lanes_.now_ns();
    // Liveness: it ends with the time.
    while (!is_so()) {
      if (lanes_.agreed([&] { return is_late(lanes_.now_ns() - begin); })) return false;
      lanes_.pause();
    }
    return true;
  }
  // Who has something else to do, and has just waited in vain, waits less: ranks may call in
  // different orders.
  [[nodiscard]] TUTTI_BOTH bool is_late(uint64_t waited_ns) const {
    if (waited_ns <= desk_.limit_ns / 16) return false;
    return waited_ns > desk_.limit_ns || (own_.num_vain_at_once != 0 && has_other_calls());
  }
  // What is behind it in its stream cannot begin before it is over.
  [[nodiscard]] TUTTI_BOTH bool has_other_calls() const {
    const StreamWords* const stream = issued().stream;
    for (uint32_t i = 0; i < kParked; ++i) {
      if ((own_.parked_mask >> i & 1) != 0 && own_.parked[i].stream != stream) return true;
    }
    for (const StreamWords* it = own_.streams; it != nullptr; it = it->next) {
      if (it != stream) return true;
    }
    return lanes_.has_other_calls(stream);
  }
  [[nodiscard]] TUTTI_BOTH Heard look(uint32_t m) const {
    if (is_self(m)) return kHere;
    const Hello* const hello = lanes_.letter(rank_of(m));
    if (hello == nullptr) return kMissing;
    const bool is_inline = hello->inline_bytes != kNotInline;
    const bool is_same = hello->operation == issued().operation && hello->member == m &&
                         is_inline == (program().is_inline != 0) &&
                         hello->signature == issued().signature;
    return is_same ? kHere : kOther;
  }

  [[nodiscard]] TUTTI_BOTH AtOnce pass() const {
    const PassRun<Lanes> passes(own_, issued(), program(), tile_, lanes_);
    if (!passes.can_reach()) return AtOnce::kSent;
    if (program().num_parts > 1) {
      const uint32_t ahead = lanes_.most(num_members(), [this](uint32_t m) { return lead_of(m); });
      passes.write_record(desk_.stamp + ahead);
      return AtOnce::kReady;
    }
    passes.move();
    lanes_.mark(Stage::kRun);
    if (!comes_true([&] { return passes.is_told(); })) return AtOnce::kMoved;
    if (issued().signature.op == static_cast<uint8_t>(Op::kAvg)) passes.divide();
    passes.clean();
    return AtOnce::kDone;
  }

  TUTTI_BOTH void add_up() const {
    const transport::Signature& signature = issued().signature;
    TUTTI_NO_UNROLL
    for (uint32_t i = 0; i < program().num_sums; ++i) {
      const Sum& sum = program().sums[i];
      if (add_plainly(sum)) continue;
      lanes_.each(sum.num_sources + 1, [&](uint32_t j) {
        if (j < sum.num_sources) return set_source(sum, j);
        prepare_sum(tile_, signature, program().num_members);
        tile_.bytes = sum.bytes;
        tile_.dsts[0] = issued().output + sum.dst;
        tile_.num_sources = static_cast<uint8_t>(sum.num_sources);
      });
      lanes_.sum(tile_);
    }
  }
  // What comes most often, without much ado. Whether it was that.
  [[nodiscard]] TUTTI_BOTH bool add_plainly(const Sum& sum) const {
    if (issued().signature.op != static_cast<uint8_t>(Op::kSum)) return false;
    // Bytes are copied as they are.
    if (sum.num_sources == 1) return add_as<uint32_t>(sum);
    switch (static_cast<DataType>(issued().signature.type)) {
      case DataType::kFloat32: return add_as<float>(sum);
      case DataType::kFloat64: return add_as<double>(sum);
      case DataType::kFloat16: return add_as<Float16>(sum);
      case DataType::kBFloat16: return add_as<BFloat16>(sum);
      case DataType::kInt32: return add_as<int32_t>(sum);
      case DataType::kInt64: return add_as<int64_t>(sum);
      case DataType::kInt8:
      case DataType::kUint8:
      case DataType::kInt16:
      case DataType::kUint16:
      case DataType::kUint32:
      case DataType::kUint64:
      case DataType::kFloat8E4M3:
      case DataType::kFloat8E5M2: break;
    }
    return false;
  }
  template <class T>
  [[nodiscard]] TUTTI_BOTH bool add_as(const Sum& sum) const {
    std::byte* const to = issued().output + sum.dst;
    if (sum.bytes % sizeof(T) != 0 || reinterpret_cast<uintptr_t>(to) % sizeof(T) != 0) {
      return false;
    }
    lanes_.each(sum.bytes / static_cast<uint32_t>(sizeof(T)), [&](uint32_t i) {
      const uint64_t at = i * sizeof(T);
      NumberOf<T> total = to_number(load_element<T>(input_of(sum, 0) + at));
      TUTTI_NO_UNROLL
      for (uint32_t j = 1; j < sum.num_sources; ++j) {
        const T next = load_element<T>(input_of(sum, j) + at);
        total = combined(Op::kSum, total, to_number(next));
      }
      store_element(to + at, to_element<T>(total));
    });
    return true;
  }
  [[nodiscard]] TUTTI_BOTH const std::byte* input_of(const Sum& sum, uint32_t j) const {
    const SumSource& source = program().sum_sources[sum.first_source + j];
    return letter_of(source.member).input + source.at;
  }
  [[nodiscard]] TUTTI_BOTH const Hello& letter_of(uint32_t m) const {
    return is_self(m) ? desk_.letter : lanes_.seen_letter(rank_of(m));
  }
  TUTTI_BOTH void set_source(const Sum& sum, uint32_t j) const {
    const Hello& hello = letter_of(program().sum_sources[sum.first_source + j].member);
    tile_.sources[j] = input_of(sum, j);
    tile_.factors[j] = hello.factor;
  }

  // By how much a member's clock is ahead of the one here.
  [[nodiscard]] TUTTI_BOTH uint32_t lead_of(uint32_t m) const {
    if (is_self(m)) return 0;
    const uint32_t stamp = lanes_.seen_letter(rank_of(m)).stamp;
    return is_earlier(desk_.stamp, stamp) ? stamp - desk_.stamp : 0;
  }
  TUTTI_BOTH void take_letter(uint32_t m) const {
    if (is_self(m)) return;
    const uint32_t rank = rank_of(m);
    Neighbour& from = own_.neighbours[rank];
    lanes_.drop_letter(rank);
    if (++from.num_read % (kLetters / 4) == 0) store_relaxed(from.read_by_us, from.num_read);
    own_.num_waited[rank] = 0;
  }

  DaemonState& state_;
  LeaderState& own_;
  AtOnceDesk& desk_;
  Fold& tile_;
  Lanes& lanes_;
};

}  // namespace tutti::engine::cuda
