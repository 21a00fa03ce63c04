// What the program answers to the shell.
#pragma once

namespace tutti::tools {

enum ExitCode : int {
  kYes = 0,     // done, or proved
  kNo = 1,      // a negative answer: refuted, deadlocks
  kBadUse = 2,  // wrong arguments, unreadable or malformed files
};

}  // namespace tutti::tools
