// A rank of the job: its engine, and the memory it shares with the others. All communicators of the
// rank are groups of ranks of this one job and run on this one engine.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "comm/shelf.h"
#include "comm/watch.h"
#include "engine/cpu/engine.h"
#include "engine/cpu/wait.h"
#include "transport/endpoint.h"

namespace tutti::comm {

struct Node {
  // `memory` keeps alive what the endpoint refers to.
  Node(std::shared_ptr<void> kept, transport::Endpoint endpoint)
      : memory(std::move(kept)),
        shelf(endpoint.self(), endpoint.num_ranks()),
        policy(engine::WaitPolicy::for_ranks(endpoint.num_ranks())),
        engine(std::move(endpoint)) {}

  std::shared_ptr<void> memory;
  Shelf shelf;  // outlives the engine, whose operations refer to it
  engine::WaitPolicy policy;
  engine::Engine engine;
  std::unique_ptr<Watch> watch;  // of the other processes; ends before the engine
};

}  // namespace tutti::comm
