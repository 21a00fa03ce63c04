// TACCL's own files as published: a topology (figures of a node; the wiring follows from them) and
// a sketch. Its costs are microseconds a chunk, the chunk's size stands at the end of the
// topology's name ("NDv2_1MB"; without one it is 1 MB). Some files scale times up to whole numbers;
// they are taken as they stand, so all times then come out scaled.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plan/synth/sketch/sketch.h"
#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::plan::sketch {

// Whether the text is one of TACCL's rather than ours, by its fields.
[[nodiscard]] bool is_taccl_topology(std::string_view text);
[[nodiscard]] bool is_taccl_sketch(std::string_view text);

// kMalformed with line and field; kUnsupported for what has no counterpart here. `nodes` is how
// many nodes the sketch is for.
struct TacclSketch {
  Sketch sketch;  // ranks_per_node as given; the file does not tell
  uint32_t nodes = 1;
};
[[nodiscard]] Result<TacclSketch> taccl_sketch(std::string_view text, const std::string& source,
                                               uint32_t ranks_per_node);

// With several nodes they are joined by their NICs, GPUs shared out evenly among these. Wirings:
// with `links`, as that matrix says; with two betas, an NDv2 in TACCL's numbering; with one, all
// GPUs on one switch.
[[nodiscard]] Result<topo::Topology> taccl_topology(std::string_view text,
                                                    const std::string& source, uint32_t nodes);

// GPUs of a node, to read a sketch with.
[[nodiscard]] Result<uint32_t> taccl_ranks_per_node(std::string_view text,
                                                    const std::string& source);

}  // namespace tutti::plan::sketch
