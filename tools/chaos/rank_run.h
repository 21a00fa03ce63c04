// A rank's run through all rounds: issues every task of a round in its own order or in the common
// one, waits in another order, checks every element. Rounds of both kinds alternate.
//
// A wrong result is counted and the run goes on; an operation that fails ends it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/chaos/device_plan.h"
#include "tools/chaos/exchange.h"
#include "tools/chaos/settings.h"
#include "tools/chaos/workload.h"
#include "tutti/communicator.h"
#include "tutti/result.h"

namespace tutti::tools::chaos {

// What running operations in turns took on a rank, up to now: engine/cpu/engine.h.
struct Switches {
  uint64_t all = 0;
  uint64_t looks = 0;
  uint64_t most = 0;  // of one operation
  uint64_t operations = 0;
};
// Empty where the rank cannot tell.
using ReadSwitches = std::function<std::optional<Switches>()>;

// What rounds of one kind were like.
struct OrderTally {
  std::vector<double> round_us;  // of this rank
  uint64_t switches = 0;
  uint64_t looks = 0;
  uint64_t operations = 0;
};

struct RankTally {
  OrderTally any;
  OrderTally one;
  uint64_t most_switches = 0;
  bool has_switches = false;
  uint64_t num_wrong = 0;   // elements
  std::string first_wrong;  // which task, in which round
  // For the whole device, by DeviceWait.
  std::array<uint64_t, std::size(kDeviceWaits)> waits{};
};

class RankRun {
 public:
  // Makes the groups and buffers.
  static Result<std::unique_ptr<RankRun>> prepare(const Settings& settings,
                                                  const Communicator& world);

  // Called before each task is issued, with its round and how many were issued in it before.
  using Hook = std::function<void(uint64_t round, uint32_t position)>;
  // Called with a task that ended in an error, and whether the run may go on to the others.
  using OnError = std::function<bool(const Task& task, const Error& error)>;

  void set_hook(Hook hook) { hook_ = std::move(hook); }
  void set_on_error(OnError on_error) { on_error_ = std::move(on_error); }
  void set_read_switches(ReadSwitches read) { read_switches_ = std::move(read); }

  [[nodiscard]] Status run();
  [[nodiscard]] const RankTally& tally() const { return tally_; }
  [[nodiscard]] const Workload& workload() const { return workload_; }

 private:
  RankRun(const Settings& settings, const Communicator& world)
      : settings_(settings), world_(world), workload_(make_workload(settings)) {}

  Status run_round(uint64_t round, Order order);
  Status run_batch(const Batch& batch);
  Status issue_and_wait(const Batch& batch, const std::vector<uint32_t>& order, uint32_t issuer);
  void pause_sometimes(const Batch& batch, uint32_t position) const;
  void check(uint64_t round, Order order);

  const Settings& settings_;
  Communicator world_;
  Workload workload_;
  std::vector<std::optional<Communicator>> groups_;   // those that this rank is in
  std::vector<std::unique_ptr<Exchange>> exchanges_;  // by task; null: not in its group
  std::vector<char> failed_;                          // by task, in this round
  Hook hook_;
  OnError on_error_;
  ReadSwitches read_switches_;
  RankTally tally_;
};

}  // namespace tutti::tools::chaos
