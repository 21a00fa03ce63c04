#include "tests/support/shm_ranks.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "base/check.h"

namespace tutti::test {

std::vector<std::shared_ptr<transport::Shm>> shm_ranks(uint32_t num_ranks, size_t segment_bytes,
                                                       const std::function<void()>& begin) {
  std::string directory = std::filesystem::temp_directory_path() / "tutti-ranks-XXXXXX";
  TUTTI_CHECK(mkdtemp(directory.data()) != nullptr, "there is a folder for temporary files");
  std::vector<std::shared_ptr<transport::Shm>> joined(num_ranks);
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < num_ranks; ++r) {
    threads.emplace_back([&, r] {
      begin();
      joined[r] = transport::Shm::connect({.rank = Rank{r},
                                           .num_ranks = num_ranks,
                                           .directory = directory,
                                           .id = "test",
                                           .segment_bytes = segment_bytes})
                      .value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  rmdir(directory.c_str());
  return joined;
}

}  // namespace tutti::test
