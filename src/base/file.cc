#include "base/file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/try.h"

namespace tutti::base {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FileHandle = std::unique_ptr<std::FILE, CloseFile>;

Error io_error(const char* verb, const std::string& path) {
  const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
  return {code, fmt::format("cannot {} {}: {}", verb, path, std::strerror(errno))};
}

Result<std::string> read_stream(std::FILE* file, const std::string& path) {
  std::string text;
  char piece[1 << 16];
  size_t got = 0;
  while ((got = std::fread(piece, 1, sizeof piece, file)) > 0) text.append(piece, got);
  if (std::ferror(file)) return io_error("read", path);
  return text;
}

Status write_stream(std::FILE* file, std::string_view text, const std::string& path) {
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (!written || std::fflush(file) != 0) return io_error("write", path);
  return {};
}

// Renaming onto /dev/null would replace the device: such targets are written to directly.
bool is_special(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  if (path == "-") return read_stream(stdin, "standard input");
  errno = 0;
  const FileHandle file(std::fopen(path.c_str(), "rb"));
  if (!file) return io_error("open", path);
  errno = 0;
  return read_stream(file.get(), path);
}

Status write_file(const std::string& path, std::string_view text) {
  errno = 0;
  if (path == "-") return write_stream(stdout, text, "standard output");
  const bool direct = is_special(path);
  const std::string temporary = direct ? path : fmt::format("{}.{}.tmp", path, getpid());
  FileHandle file(std::fopen(temporary.c_str(), "wb"));
  if (!file) return io_error("create", path);
  Status status = write_stream(file.get(), text, path);
  file.reset();
  if (direct) return status;
  if (status && std::rename(temporary.c_str(), path.c_str()) != 0) {
    status = io_error("write", path);
  }
  if (!status) std::remove(temporary.c_str());
  return status;
}

}  // namespace tutti::base
