#include "comm/schedule_file.h"

#include <utility>

#include "base/file.h"
#include "base/try.h"
#include "ir/msccl/xml.h"
#include "ir/text.h"

namespace tutti::comm {

Result<ir::Schedule> read_schedule(const std::string& path) {
  TUTTI_ASSIGN(const std::string text, base::read_file(path));
  return parse_schedule(text, path == "-" ? "stdin" : path);
}

Result<ir::Schedule> parse_schedule(std::string_view text, std::string source) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_xml = first != std::string_view::npos && text[first] == '<';
  return is_xml ? ir::msccl::from_xml(text, std::move(source))
                : ir::from_text(text, std::move(source));
}

}  // namespace tutti::comm
