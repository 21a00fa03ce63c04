// What a rank leaves behind for people: the flight recorder's last operations (on failure) and the
// trace of the run (at its end). One file a rank, in the folder that the user named.
#pragma once

#include <string>
#include <string_view>

#include "engine/cpu/engine.h"
#include "tutti/result.h"

namespace tutti::comm {

// FOLDER/flight-RANK.json: docs/reference/flight_recorder.md. `reason` says why it is written.
[[nodiscard]] Status write_flight_file(engine::Engine& engine, const std::string& folder,
                                       std::string_view reason);

// FOLDER/trace-RANK.jsonl: docs/reference/trace.md. Of an engine that was told to trace.
[[nodiscard]] Status write_trace_file(engine::Engine& engine, const std::string& folder);

}  // namespace tutti::comm
