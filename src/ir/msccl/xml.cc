#include "ir/msccl/xml.h"

#include "base/try.h"
#include "ir/msccl/import.h"
#include "ir/msccl/legalise.h"
#include "ir/msccl/xml_text.h"

namespace tutti::ir::msccl {

Result<std::string> to_xml(const Schedule& schedule) {
  TUTTI_ASSIGN(const Algo algo, legalise(schedule));
  return write_algo(algo);
}

Result<Schedule> from_xml(std::string_view text, std::string source) {
  TUTTI_ASSIGN(const Algo algo, read_algo(text, std::move(source)));
  if (auto schedule = reassemble(algo)) return *std::move(schedule);
  return import_plainly(algo);
}

}  // namespace tutti::ir::msccl
