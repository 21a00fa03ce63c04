// Passes what is typed at the terminal on to rank 0. Ranks lead process groups of their own, so one
// that read the terminal itself would be stopped by SIGTTIN.
//
// Reads only in the foreground, and only while rank 0's pipe takes more. Input that is no terminal
// needs none of this: rank 0 gets it as it is.
#pragma once

#include <string>

#include "tools/launch/descriptor.h"
#include "tools/launch/poll_set.h"

namespace tutti::tools::launch {

class TerminalInput {
 public:
  // Takes the writing end of rank 0's standard input.
  void open(Descriptor to_rank);

  void want(PollSet& set);
  void serve(const PollSet& set);

 private:
  void read_terminal();
  void write_to_rank();

  Descriptor to_rank_;  // closed: there is nothing to pass on, or nobody to take it
  std::string pending_;
  size_t input_entry_ = PollSet::kNone;
  size_t rank_entry_ = PollSet::kNone;
};

}  // namespace tutti::tools::launch
