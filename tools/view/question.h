// What the page asks: a name and parameters, as an address has them. Readers of parameters say what
// is wrong in words that the page shows as they are.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tutti/result.h"

namespace tutti::view {

struct Question {
  std::string name;  // "schedule", "simulation", ...
  std::map<std::string, std::string> parameters;
};

// "schedule?algorithm=ring&collective=all_reduce": parameters by name. An exported page finds its
// answers by this.
[[nodiscard]] std::string key_of(const Question& question);

// The parameter's text, or `otherwise` if it is not there.
[[nodiscard]] std::string text_of(const Question& question, const std::string& name,
                                  const std::string& otherwise = "");
// kInvalidArgument for what is no number between the limits; `otherwise` if it is not there.
struct Limits {
  uint64_t least = 0;
  uint64_t most = UINT32_MAX;
};
[[nodiscard]] Result<uint64_t> number_of(const Question& question, const std::string& name,
                                         uint64_t otherwise, Limits limits = {});
[[nodiscard]] Result<double> figure_of(const Question& question, const std::string& name,
                                       double otherwise, double most);

}  // namespace tutti::view
