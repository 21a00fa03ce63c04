#include "comm/diagnosis/record_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/try.h"
#include "comm/diagnosis/report.h"
#include "trace/quoted.h"
#include "trace/trace.h"

namespace tutti::comm {
namespace {

using engine::FlightRecord;
using engine::FlightRecorder;
using engine::Outcome;

// A record with its name, as it was when the engine was asked.
struct Flight {
  uint64_t number = 0;
  FlightRecord record;
  engine::ShortName name;

  [[nodiscard]] BoardEntry facts() const {
    BoardEntry entry;
    entry.signature = record.signature;
    entry.number = record.number;
    entry.name = name;
    return entry;
  }
};

struct Flights {
  std::vector<Flight> all;  // oldest first
  uint64_t num_lost = 0;
  base::TickClock clock;
  base::TickClock::Rate rate;

  [[nodiscard]] uint64_t ns(uint64_t ticks) const { return clock.to_ns(ticks, rate); }
};

Flights flights_of(engine::Engine& engine) {
  Flights flights;
  engine.inspect([&](const auto& /*under_way*/, const FlightRecorder& recorder) {
    flights.clock = recorder.clock();
    flights.rate = recorder.clock().rate();
    flights.num_lost = recorder.first();
    for (uint64_t i = recorder.first(); i < recorder.num_issued(); ++i) {
      const FlightRecord& record = recorder.at(i);
      flights.all.push_back(
          {i, record, record.is_named ? recorder.name_at(i) : engine::ShortName{}});
    }
  });
  return flights;
}

const char* text_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kUnderWay: return "under way";
    case Outcome::kDone: return "completed";
    case Outcome::kFailed: return "failed";
  }
  return "";
}

std::string time_or_null(const Flights& flights, uint64_t ticks) {
  return ticks == 0 ? "null" : fmt::format("{}", flights.ns(ticks));
}

Status make_folder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return Error{ErrorCode::kIo, fmt::format("cannot make {}: {}", folder, std::strerror(errno))};
}

}  // namespace

Status write_flight_file(engine::Engine& engine, const std::string& folder,
                         std::string_view reason) {
  const Flights flights = flights_of(engine);
  const uint32_t rank = engine.endpoint().self().value;
  std::string out = fmt::format(
      "{{\"tutti_flight_recorder\":1,\"rank\":{},\"num_ranks\":{},\"process\":{},\"now_ns\":{},"
      "\"reason\":{},\"lost\":{},\"operations\":[",
      rank, engine.endpoint().num_ranks(), getpid(), base::now_ns(),
      trace::quoted(std::string(reason)), flights.num_lost);
  const char* before = "\n";
  for (const Flight& flight : flights.all) {
    const FlightRecord& record = flight.record;
    fmt::format_to(
        std::back_inserter(out),
        "{}{{\"call\":{},\"what\":{},\"id\":\"{:016x}\",\"state\":\"{}\",\"issued_ns\":{},"
        "\"first_heard_ns\":{},\"ended_ns\":{},\"num_members\":{},\"switches\":{}}}",
        before, flight.number, trace::quoted(describe(flight.facts())), record.id,
        text_of(record.outcome), time_or_null(flights, record.issued),
        time_or_null(flights, record.heard), time_or_null(flights, record.ended),
        record.num_members, record.switches);
    before = ",\n";
  }
  out += "\n]}\n";
  TUTTI_TRY(make_folder(folder));
  return base::write_file(fmt::format("{}/flight-{}.json", folder, rank), out);
}

Status write_trace_file(engine::Engine& engine, const std::string& folder) {
  const Flights flights = flights_of(engine);
  const uint32_t rank = engine.endpoint().self().value;
  trace::Trace trace;
  trace.source = trace::Source::kEngine;
  trace.schedule = "run";
  trace.num_ranks = engine.endpoint().num_ranks();
  trace::EventRing::Cursor cursor;
  if (engine.step_trace() != nullptr) engine.step_trace()->ring().collect(cursor, trace.events);
  for (trace::Event& event : trace.events) {
    event.begin = static_cast<int64_t>(flights.ns(static_cast<uint64_t>(event.begin)));
    event.end = static_cast<int64_t>(flights.ns(static_cast<uint64_t>(event.end)));
  }
  trace.num_lost = cursor.num_lost + flights.num_lost;
  for (const Flight& flight : flights.all) {
    const bool is_over = flight.record.outcome != Outcome::kUnderWay;
    trace.calls.push_back(
        {rank, static_cast<uint32_t>(flight.number),
         static_cast<int64_t>(flights.ns(flight.record.issued)),
         is_over ? static_cast<int64_t>(flights.ns(flight.record.ended)) : trace::kStillOpen,
         trace::plain_text(describe(flight.facts())), flight.record.id});
  }
  TUTTI_TRY(make_folder(folder));
  return base::write_file(fmt::format("{}/trace-{}.jsonl", folder, rank),
                          trace::to_json_lines(trace));
}

}  // namespace tutti::comm
