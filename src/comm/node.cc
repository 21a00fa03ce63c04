#include "comm/node.h"

#include <fmt/format.h>

#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "comm/diagnosis/record_files.h"
#include "comm/tuning.h"
#include "tutti/version.h"

namespace tutti::comm {
namespace {

constexpr uint64_t kBetweenFlightFilesNs = 1'000'000'000;

void announce(const TuningTable& tuning) {
  if (!base::logs(base::LogLevel::kWarn)) return;
  base::log(base::LogLevel::kInfo, 0,
            tuning.source.empty()
                ? "algorithms: by the built-in rules"
                : fmt::format("algorithms: by the {} rules of {}, then by the built-in ones",
                              tuning.rules.size(), tuning.source));
  for (const LoadedSchedule& loaded : tuning.schedules) {
    base::log(base::LogLevel::kInfo, 0,
              fmt::format("before them by the schedule {}", describe(loaded)));
  }
  const TuningMachine here = this_machine();
  if (tuning.source.empty() || tuning.machine == here) return;
  base::log(
      base::LogLevel::kWarn, 0,
      fmt::format("{} was measured on {} with {} cores; this is {} with {} cores", tuning.source,
                  tuning.machine.cpu, tuning.machine.cores, here.cpu, here.cores));
}

// All ranks are set alike: rank 0 speaks for them.
void announce(const base::Settings& settings, const transport::Endpoint& endpoint,
              const TuningTable& tuning) {
  const uint32_t rank = endpoint.self().value;
  if (rank == 0) {
    for (const std::string& complaint : settings.complaints) {
      base::write_to_stderr(fmt::format("tutti: {}\n", complaint));
    }
    base::log(base::LogLevel::kVersion, rank, fmt::format("version {}", version()));
    announce(tuning);
  }
  base::log(base::LogLevel::kInfo, rank,
            fmt::format("joined a job of {} ranks", endpoint.num_ranks()));
  if (!endpoint.can_pull()) {
    base::log(base::LogLevel::kInfo, rank,
              "the system refuses process_vm_readv: what is sent is always copied first");
  }
}

void warn_if_failed(const Status& status, uint32_t rank) {
  if (status) return;
  base::write_to_stderr(fmt::format("tutti: rank {}: {}\n", rank, status.error().message));
}

}  // namespace

Node::Node(std::shared_ptr<void> kept, transport::Endpoint endpoint, TuningTable tuning,
           Write write)
    : memory(std::move(kept)),
      shelf(endpoint.self(), endpoint.num_ranks(), std::move(tuning)),
      settings(base::read_settings()),
      policy(engine::WaitPolicy::for_ranks(endpoint.num_ranks())),
      engine(std::move(endpoint)),
      caller_memory(engine) {
  base::set_log_level(settings.debug);
  announce(settings, engine.endpoint(), shelf.tuning());
  if (!settings.trace.empty()) engine.start_trace();
  if (engine.endpoint().num_ranks() == 1) return;
  reporter =
      std::make_unique<Reporter>(engine, elsewhere, settings.report_after_ns, std::move(write));
  ProgressThread::Options options;
  options.drives = settings.progress_thread;
  options.tick_ns = reporter->period_ns();
  options.tick = [this] { reporter->tick(); };
  options.is_idle_elsewhere = [this] { return elsewhere.is_idle(); };
  progress = std::make_unique<ProgressThread>(engine, std::move(options));
}

Node::~Node() {
  if (settings.trace.empty()) return;
  warn_if_failed(write_trace_file(engine, settings.trace), engine.endpoint().self().value);
}

void Node::note_failure(const Error& error) {
  const uint32_t rank = engine.endpoint().self().value;
  base::log(base::LogLevel::kWarn, rank, error.message);
  if (settings.flight_recorder.empty()) return;
  const uint64_t now = base::now_ns();
  uint64_t due = next_flight_file_ns.load(std::memory_order_relaxed);
  const bool is_ours =
      now >= due && next_flight_file_ns.compare_exchange_strong(due, now + kBetweenFlightFilesNs);
  if (!is_ours) return;
  warn_if_failed(write_flight_file(engine, settings.flight_recorder, error.message), rank);
}

}  // namespace tutti::comm
