// The command line that all measured programs share.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace peers {

enum class What { kAllReduce, kReduce, kBroadcast, kAllGather, kReduceScatter, kAllToAll };

inline constexpr What kAll[] = {What::kAllReduce, What::kReduce,        What::kBroadcast,
                                What::kAllGather, What::kReduceScatter, What::kAllToAll};

[[nodiscard]] constexpr const char* name_of(What what) {
  switch (what) {
    case What::kAllReduce: return "all_reduce";
    case What::kReduce: return "reduce";
    case What::kBroadcast: return "broadcast";
    case What::kAllGather: return "all_gather";
    case What::kReduceScatter: return "reduce_scatter";
    case What::kAllToAll: return "all_to_all";
  }
  return "";
}

struct Options {
  std::vector<What> collectives;
  std::vector<size_t> sizes;
  double seconds = 0.1;  // of timed calls, for each size
  size_t min_iterations = 10;
  double noise_percent = 0;
  bool out_of_place = true;
  bool in_place = true;
  bool pin = false;     // rank r to core r mod cores
  std::string variant;  // of a library that has several algorithms to ask for
};

namespace detail {

inline std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    words.emplace_back(text.substr(0, comma));
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return words;
}

[[noreturn]] inline void refuse(const std::string& why) {
  std::fprintf(
      stderr,
      "%s\nusage: --collectives NAME,... --sizes BYTES,... [--seconds S] "
      "[--min-iterations N] [--noise PERCENT] [--placing in|out|both] [--pin] [--variant NAME]\n",
      why.c_str());
  std::exit(2);
}

inline What what_from(const std::string& name) {
  for (const What what : kAll) {
    if (name == name_of(what)) return what;
  }
  refuse("no collective " + name);
}

}  // namespace detail

[[nodiscard]] inline Options options_from(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--pin") {
      options.pin = true;
      continue;
    }
    if (i + 1 == argc) detail::refuse("not understood: " + std::string(name));
    const char* const value = argv[++i];
    if (name == "--collectives") {
      for (const auto& word : detail::split(value)) {
        options.collectives.push_back(detail::what_from(word));
      }
    } else if (name == "--sizes") {
      for (const auto& word : detail::split(value)) options.sizes.push_back(std::stoull(word));
    } else if (name == "--seconds") {
      options.seconds = std::atof(value);
    } else if (name == "--min-iterations") {
      options.min_iterations = std::stoull(value);
    } else if (name == "--noise") {
      options.noise_percent = std::atof(value);
    } else if (name == "--placing") {
      options.out_of_place = std::string_view(value) != "in";
      options.in_place = std::string_view(value) != "out";
    } else if (name == "--variant") {
      options.variant = value;
    } else {
      detail::refuse("not understood: " + std::string(name));
    }
  }
  return options;
}

}  // namespace peers
