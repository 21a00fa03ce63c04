// Any text is refused with its place, or is a schedule of good shape; if MSCCL can say that
// schedule, it comes back from its own file. What can be planned for MSCCL++ is, without harm.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ir/msccl/plan_json.h"
#include "ir/msccl/xml.h"
#include "ir/shape.h"
#include "tests/fuzz/must.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<ir::Schedule> schedule = ir::msccl::from_xml(text, "input");
  if (!schedule) {
    TUTTI_MUST(schedule.error().message.starts_with("input:"));
    return 0;
  }
  TUTTI_MUST(ir::check_shape(*schedule));
  if (const Result<std::string> xml = ir::msccl::to_xml(*schedule)) {
    TUTTI_MUST(ir::msccl::from_xml(*xml, "again").value() == *schedule);
  }
  static_cast<void>(ir::msccl::to_plan_json(*schedule).ok());
  return 0;
}
