// Runs a program to its end, with a wall-clock limit, and hands on what it prints line by line.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/result.h"

namespace tutti::plan::solver {

struct ChildOptions {
  // After `seconds` the child is interrupted (SIGINT), and killed `grace_seconds` later.
  double seconds = 60;
  double grace_seconds = 5;
  std::function<void(std::string_view)> line = {};
  std::function<bool()> stop = {};     // true: interrupt it now
  std::function<bool()> abandon = {};  // true: kill it now
};

struct ChildEnd {
  int exit_code = -1;  // meaningless when it was killed
  int signal = 0;      // that killed it, ours or another
  bool was_interrupted = false;
  bool was_abandoned = false;
  bool was_killed = false;
  double seconds = 0;
};

// `arguments[0]` is the program's path. Standard output and error are both read, standard input is
// empty. It runs in a process group of its own, so Ctrl-C reaches it only through `stop`. It never
// outlives the call, nor the thread that calls, however that ends. kIo when it cannot be started.
[[nodiscard]] Result<ChildEnd> run_child(const std::vector<std::string>& arguments,
                                         const ChildOptions& options);

// A folder that only we can read; gone with its owner.
class PrivateFolder {
 public:
  static Result<PrivateFolder> make();
  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  ~PrivateFolder();

  [[nodiscard]] std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  explicit PrivateFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace tutti::plan::solver
