// Runs a schedule on a modelled topology and says how long it takes and why. No bytes move; the
// rules of when a step runs are those of docs/reference/schedule.md, the rules of how long it
// takes those of docs/reference/simulator.md. Deterministic: the same input gives the same bits.
//
// Not proved schedules are welcome: one that cannot finish gets an error, not a hang. Whether the
// result would be right is not looked at; that is verify's question.
#pragma once

#include "ir/schedule.h"
#include "sim/options.h"
#include "sim/report.h"
#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::sim {

// Rank i of the schedule runs on rank i of the topology, which may have more. Thread-safe for
// different traces. Errors: those of ir::check_shape, ir::match_messages, topo::check and
// topo::Router; kInvalidArgument for options that cannot be; kRefused, naming who waits for whom,
// when the schedule cannot finish under the discipline asked for.
[[nodiscard]] Result<Report> simulate(const ir::Schedule& schedule, const topo::Topology& topology,
                                      const Options& options);

}  // namespace tutti::sim
