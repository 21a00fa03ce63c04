# cmake -DSOURCE=... -DFILES="a;b" -P embed.cmake: writes page_files() with the files in it.
set(arrays)
set(entries)
set(index 0)
foreach(file IN LISTS FILES)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${hex}")
  cmake_path(GET file FILENAME name)
  string(APPEND arrays "const char kFile${index}[] = {${bytes}};\n")
  string(APPEND entries "      {\"${name}\", {kFile${index}, sizeof kFile${index}}},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${SOURCE} "#include \"tools/view/page_files.h\"

namespace tutti::view {
namespace {

${arrays}
}  // namespace

std::span<const PageFile> page_files() {
  static const PageFile files[] = {
${entries}  };
  return files;
}

}  // namespace tutti::view
")
