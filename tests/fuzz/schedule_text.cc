// Any text is refused with its place, or is a schedule of good shape that comes back from its own
// text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ir/shape.h"
#include "ir/text.h"
#include "tests/fuzz/must.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<ir::Schedule> schedule = ir::from_text(text, "input");
  if (!schedule) {
    TUTTI_MUST(schedule.error().message.starts_with("input:"));
    return 0;
  }
  TUTTI_MUST(ir::check_shape(*schedule));
  TUTTI_MUST(ir::from_text(ir::to_text(*schedule), "again").value() == *schedule);
  return 0;
}
