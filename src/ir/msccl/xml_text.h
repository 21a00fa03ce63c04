// An Algo as XML and back. The writer keeps to what MSCCL's hand-written parser takes: one space
// between attributes, no declaration, no escapes, at most 16 attributes of at most 255 characters,
// ours last, where it ignores what it does not know.
#pragma once

#include <string>
#include <string_view>

#include "ir/msccl/algo.h"
#include "tutti/result.h"

namespace tutti::ir::msccl {

// kUnsupported when a list of dependencies or scratch sizes does not fit into attributes.
[[nodiscard]] Result<std::string> write_algo(const Algo& algo);

// Checks everything that MSCCL's parser would, and that what rows wait for exists.
[[nodiscard]] Result<Algo> read_algo(std::string_view text, std::string source);

}  // namespace tutti::ir::msccl
