// The last lines that a solver printed, for the error that says it gave no answer.
#pragma once

#include <deque>
#include <string>
#include <string_view>

namespace tutti::plan::solver {

class LastWords {
 public:
  void hear(std::string_view line) {
    if (!line.empty()) lines_.emplace_back(line);
    if (lines_.size() > kMostLines) lines_.pop_front();
  }
  [[nodiscard]] std::string quoted() const {
    std::string quote;
    for (const std::string& line : lines_) quote += "\n  " + line;
    return quote;
  }

 private:
  static constexpr size_t kMostLines = 6;
  std::deque<std::string> lines_;
};

}  // namespace tutti::plan::solver
