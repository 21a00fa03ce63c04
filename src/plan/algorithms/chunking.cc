#include "plan/algorithms/chunking.h"

#include <fmt/format.h>

#include "base/try.h"
#include "ir/layout.h"

namespace tutti::plan {

Result<uint32_t> chunks_per_block(const Collective& collective, uint64_t wanted) {
  if (wanted > UINT32_MAX - 1) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} of {} ranks would be cut into {} chunks; 2^32 - 2 are possible, "
                             "so ask for fewer chunks",
                             to_string(collective.kind), collective.num_ranks, wanted)};
  }
  const auto chunks = static_cast<uint32_t>(wanted);
  TUTTI_TRY(ir::Layout::create(collective, chunks));
  return chunks;
}

}  // namespace tutti::plan
