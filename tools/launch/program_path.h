// Finds the program to run before any rank is started, so that a mistake is told once.
#pragma once

#include <string>

#include "tutti/result.h"

namespace tutti::tools::launch {

// As shells have it.
inline constexpr int kCannotRun = 126;
inline constexpr int kNoSuchProgram = 127;

// The file that a shell would run: the name itself if it has a slash, else the first executable of
// that name along $PATH. kNotFound, or kUnsupported if it is there and cannot be run.
[[nodiscard]] Result<std::string> find_program(const std::string& name);

// What to say when the system refused to run it, for an errno of exec.
[[nodiscard]] Error cannot_run(const std::string& path, int error);
// 126 or 127 for the errors above.
[[nodiscard]] int exit_code_of(const Error& error);

}  // namespace tutti::tools::launch
