// The same small program for every library: four ranks make two all_reduces, A and B, and odd ranks
// begin with B. Every rank prints one line: right, or what is wrong.
//
// On one communicator A and B are calls on it; on two, A is of ranks 0, 1, 2 and B of ranks 1, 2,
// 3, so that ranks 1 and 2 are in both.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace peers {

enum Which { kA = 0, kB = 1 };

struct Scene {
  bool on_two = false;      // communicators
  bool is_blocking = true;  // or start both, then finish both
  std::array<size_t, 2> elems{};

  [[nodiscard]] std::vector<int> members(int which) const {
    if (!on_two) return {0, 1, 2, 3};
    return which == kA ? std::vector{0, 1, 2} : std::vector{1, 2, 3};
  }
  [[nodiscard]] bool has(int which, int rank) const {
    for (const int member : members(which)) {
      if (member == rank) return true;
    }
    return false;
  }
};

// one|two blocking|nonblocking ELEMS_A ELEMS_B
[[nodiscard]] inline Scene scene_from(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s one|two blocking|nonblocking ELEMS_A ELEMS_B\n", argv[0]);
    std::exit(2);
  }
  return {std::string_view(argv[1]) == "two",
          std::string_view(argv[2]) == "blocking",
          {std::stoull(argv[3]), std::stoull(argv[4])}};
}

[[nodiscard]] inline float contribution(int which, int rank) {
  return static_cast<float>((which == kA ? 1 : 100) * (rank + 1));
}

// A library has blocking(which, data), start(which, data) and finish().
template <class Library>
void play(const Scene& scene, int rank, Library& library) {
  std::array<std::vector<float>, 2> data;
  for (int which : {kA, kB}) {
    data[size_t(which)].assign(scene.elems[size_t(which)], contribution(which, rank));
  }
  std::array order{kA, kB};
  if (rank % 2 == 1) order = {kB, kA};
  for (const Which which : order) {
    if (!scene.has(which, rank)) continue;
    if (scene.is_blocking) {
      library.blocking(which, data[which]);
    } else {
      library.start(which, data[which]);
    }
  }
  if (!scene.is_blocking) library.finish();
  size_t wrong = 0;
  for (const Which which : {kA, kB}) {
    float expected = 0;
    for (const int member : scene.members(which)) expected += contribution(which, member);
    if (!scene.has(which, rank)) continue;
    for (const float value : data[which]) wrong += value != expected ? 1 : 0;
  }
  if (wrong == 0) {
    std::printf("rank %d: right\n", rank);
  } else {
    std::printf("rank %d: wrong, %zu elements\n", rank, wrong);
  }
  std::fflush(stdout);
}

}  // namespace peers
