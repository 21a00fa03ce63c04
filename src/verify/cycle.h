// The refusal of a schedule that can deadlock: its shortest cycle of waits, each with its reason.
#pragma once

#include <vector>

#include "verify/event_graph.h"

namespace tutti::verify {

// The waits of a shortest cycle: each is for an event that the next one's waiter is part of, and
// the last for the first's. Of equally short ones it is the one through the lowest step. Only in
// graphs so large that trying every start would take minutes may a later start have a shorter one.
// There must be a cycle.
[[nodiscard]] std::vector<Wait> find_shortest_cycle(const EventGraph& graph);

[[nodiscard]] Refusal refuse_cycle(const EventGraph& graph, const std::vector<Wait>& cycle);

}  // namespace tutti::verify
