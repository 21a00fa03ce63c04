// Any text, read as a topology of ours, is refused with its place or is one that can be written.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/must.h"
#include "topo/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<topo::Topology> topology = topo::from_json(text, "input");
  if (!topology) {
    TUTTI_MUST(topology.error().message.starts_with("input:"));
    return 0;
  }
  const std::string written = topo::to_json(*topology);
  TUTTI_MUST(topo::to_json(topo::from_json(written, "again").value()) == written);
  return 0;
}
