// A rank of the job: its engine, the memory it shares with the others, and the threads that look
// after both. All communicators of the rank are groups of ranks of this one job and run on this one
// engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/settings.h"
#include "comm/caller_memory.h"
#include "comm/diagnosis/elsewhere.h"
#include "comm/diagnosis/reporter.h"
#include "comm/progress_thread.h"
#include "comm/shelf.h"
#include "comm/watch.h"
#include "engine/cpu/engine.h"
#include "engine/cpu/wait.h"
#include "transport/endpoint.h"
#include "tutti/result.h"

namespace tutti::comm {

struct Node {
  using Write = std::function<void(std::string_view)>;

  // `memory` keeps alive what the endpoint refers to. All ranks' `tuning` chooses alike. `write`
  // takes reports of operations that make no progress, from any thread.
  Node(std::shared_ptr<void> kept, transport::Endpoint endpoint, TuningTable tuning = {},
       Write write = base::write_to_stderr);
  // Writes the trace, if one was asked for.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // After an operation was issued.
  void notice() {
    if (progress != nullptr) progress->notice();
  }

  // An operation has failed. Leaves the flight recorder's file, if one was asked for; at most one a
  // second.
  void note_failure(const Error& error);

  std::shared_ptr<void> memory;
  Shelf shelf;  // outlives the engine, whose operations refer to it
  base::Settings settings;
  engine::WaitPolicy policy;
  engine::Engine engine;
  CallerMemory caller_memory;
  Elsewhere elsewhere;
  std::atomic<uint64_t> next_flight_file_ns{0};
  // These end before the engine, last first.
  std::unique_ptr<Watch> watch;              // of the other processes
  std::unique_ptr<Reporter> reporter;        // run by the progress thread
  std::unique_ptr<ProgressThread> progress;  // null where a rank is alone
};

}  // namespace tutti::comm
