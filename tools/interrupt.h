// Long work of a verb: Ctrl-C ends it at its next look, and a terminal shows how far it is.
#pragma once

#include <array>
#include <csignal>
#include <string>
#include <string_view>

namespace tutti::tools {

// While it lives, the first few of SIGINT, SIGTERM and SIGHUP are only noted; the next ends the
// program as usual. A signal that was ignored stays so. At most one at a time.
class Interrupt {
 public:
  explicit Interrupt(int num_noted = 1);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  [[nodiscard]] bool came() const { return count() > 0; }
  [[nodiscard]] int count() const;

 private:
  std::array<struct sigaction, 3> before_ = {};
};

// A line on standard error that is written over, if that is a terminal; gone when it ends.
class ProgressLine {
 public:
  // `what` stands before percentages.
  explicit ProgressLine(std::string what = "");
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show_part(double done);  // "synthesis 42 %"
  void show(std::string_view text);
  void clear();

 private:
  std::string what_;
  bool is_terminal_;
  int shown_ = -1;  // percent
  bool was_written_ = false;
};

}  // namespace tutti::tools
