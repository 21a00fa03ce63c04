// The last operations of a rank, always written down: what, when issued, when a peer was first
// heard of, when and how it ended. Fixed memory; one line of cache an operation. Belongs to the
// engine, whose turn guards it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "base/ticks.h"
#include "engine/cpu/operation.h"
#include "engine/cpu/short_name.h"

namespace tutti::engine {

enum class Outcome : uint8_t { kUnderWay, kDone, kFailed };

// Times are base::ticks; 0: not yet, or never.
struct FlightRecord {
  uint64_t id = 0;
  uint64_t issued = 0;
  uint64_t heard = 0;
  uint64_t ended = 0;
  transport::Signature signature;
  uint64_t number = 0;
  uint32_t num_members = 0;
  Outcome outcome = Outcome::kUnderWay;
  bool is_named = false;
  uint16_t switches = 0;  // Task::switches when it ended; 65535: or more
};
static_assert(sizeof(FlightRecord) == 64);

class FlightRecorder {
 public:
  static constexpr uint64_t kRecords = 1024;
  static constexpr uint64_t kTracedRecords = 1 << 16;  // 7 MiB

  explicit FlightRecorder(uint64_t capacity = kRecords)
      : capacity_(capacity),
        records_(std::make_unique<FlightRecord[]>(capacity)),
        names_(std::make_unique<ShortName[]>(capacity)) {}

  void issued(Operation& op) {
    op.flight = num_issued_++;
    op.issued = base::ticks();
    FlightRecord& record = records_[op.flight & (capacity_ - 1)];
    record.id = op.request.id;
    record.issued = op.issued;
    record.heard = record.ended = 0;
    record.signature = op.request.signature;
    record.number = op.request.number;
    record.num_members = static_cast<uint32_t>(op.request.members.size());
    record.outcome = Outcome::kUnderWay;
    record.switches = 0;
    record.is_named = op.name.size != 0;
    if (record.is_named) names_[op.flight & (capacity_ - 1)] = op.name;
    // The next ones will be written soon, and were last a whole round ago.
    __builtin_prefetch(&records_[(op.flight + 4) & (capacity_ - 1)], 1);
  }
  // Of operations that greet: reading the clock for each packet would cost as much as the packet.
  void heard(const Operation& op) {
    FlightRecord& record = records_[op.flight & (capacity_ - 1)];
    if (record.id == op.request.id && record.heard == 0) record.heard = base::ticks();
  }
  // Once; what is said later about the same operation is passed over.
  void ended(const Operation& op, Outcome outcome) {
    FlightRecord& record = records_[op.flight & (capacity_ - 1)];
    if (record.id != op.request.id || record.outcome != Outcome::kUnderWay) return;
    record.ended = base::ticks();
    record.outcome = outcome;
    record.switches = static_cast<uint16_t>(std::min<uint32_t>(op.switches, UINT16_MAX));
  }

  [[nodiscard]] uint64_t num_issued() const { return num_issued_; }
  [[nodiscard]] uint64_t first() const {  // the oldest that is still there
    return num_issued_ < capacity_ ? 0 : num_issued_ - capacity_;
  }
  [[nodiscard]] const FlightRecord& at(uint64_t flight) const {
    return records_[flight & (capacity_ - 1)];
  }
  [[nodiscard]] const ShortName& name_at(uint64_t flight) const {
    return names_[flight & (capacity_ - 1)];
  }
  [[nodiscard]] const base::TickClock& clock() const { return clock_; }

 private:
  base::TickClock clock_;
  uint64_t num_issued_ = 0;
  uint64_t capacity_;  // a power of two
  std::unique_ptr<FlightRecord[]> records_;
  std::unique_ptr<ShortName[]> names_;
};

}  // namespace tutti::engine
