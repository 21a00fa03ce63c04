#pragma once

#include <string>

#include "topo/open.h"

namespace tutti::plan::packing {

inline topo::Topology machine(const std::string& name) { return topo::open(name).value(); }

}  // namespace tutti::plan::packing
