// Puts the page together. Modules name each other as "tutti/NAME", and an import map in the page
// says where these are: beside the page when it is served, inside it when it is exported.
#pragma once

#include <string>
#include <string_view>

#include "tools/view/shelf.h"
#include "tutti/result.h"

namespace tutti::view {

// The page as the server sends it; `nonce` lets its one inline script, the map, run.
[[nodiscard]] std::string served_page(std::string_view nonce);

struct ExportOptions {
  uint32_t ranks = 8;
};

// One file with everything inside: all algorithms at that many ranks on the shelf's machine or
// the plain model, and the files of the shelf.
[[nodiscard]] Result<std::string> exported_page(const Shelf& shelf, const ExportOptions& options);

}  // namespace tutti::view
