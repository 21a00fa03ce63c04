// Makes one rank of a job out of what is known about the job: where its ranks meet, and who comes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "comm/node.h"
#include "transport/shm/shm.h"
#include "tutti/result.h"

namespace tutti::comm {

// A rank and its job. A job of one rank needs no place.
struct Seat {
  Rank rank;
  uint32_t num_ranks = 1;
  std::string directory;  // private to the user; exists
  std::string id;         // differs from run to run
  uint64_t timeout_ns = transport::ShmJob{}.timeout_ns;
};

// The group of all ranks of a job, on each of them.
inline constexpr uint64_t kWorldGroup = 1;
[[nodiscard]] std::vector<Rank> all_ranks(uint32_t num_ranks);

// A folder that nobody but this user may enter; it may be there already, its parent must be. kIo.
[[nodiscard]] Status make_private_directory(const std::string& path);

// Waits for all ranks; kDeadline names those that did not come.
[[nodiscard]] Result<std::shared_ptr<Node>> join(const Seat& seat);

}  // namespace tutti::comm
