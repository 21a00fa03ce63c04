// What the layers above want every rank to know of every other when they meet. Carried, not read.
#pragma once

#include <array>
#include <cstddef>

namespace tutti::transport {

using Remark = std::array<std::byte, 512>;

}  // namespace tutti::transport
