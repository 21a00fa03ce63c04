// Ranks in one process that have of each other what processes have: maps of their own, and no way
// to each other's memory but those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "transport/shm/shm.h"

namespace tutti::test {

// `begin` is called by each rank's thread before it connects.
[[nodiscard]] std::vector<std::shared_ptr<transport::Shm>> shm_ranks(
    uint32_t num_ranks, size_t segment_bytes = transport::ShmJob{}.segment_bytes,
    const std::function<void()>& begin = [] {});

}  // namespace tutti::test
