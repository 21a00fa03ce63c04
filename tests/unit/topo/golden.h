// Files that readers are tested with and outputs are compared with: tests/golden/topo.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/file.h"

namespace tutti::topo {

inline std::string golden_path(const std::string& name) {
  return fmt::format("{}/{}", TUTTI_GOLDEN_DIR, name);
}
inline std::string golden_text(const std::string& name) {
  return base::read_file(golden_path(name)).value();
}

}  // namespace tutti::topo
