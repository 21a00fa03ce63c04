// The files of tools/view/page, inside the program. cmake/TuttiEmbed.cmake writes them there.
#pragma once

#include <span>
#include <string_view>

namespace tutti::view {

struct PageFile {
  std::string_view name;  // "app.js"
  std::string_view text;
};

[[nodiscard]] std::span<const PageFile> page_files();

}  // namespace tutti::view
