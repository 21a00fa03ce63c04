// What is said when ranks disagree on an operation.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"
#include "engine/cpu/operation.h"
#include "transport/record.h"
#include "tutti/result.h"

namespace tutti::engine {

// "all_reduce of 1024 float32, sum"
[[nodiscard]] std::string to_string(const transport::Signature& signature);

// Ranks are those of the endpoint; the message names them by their place in the communicator.
[[nodiscard]] Error mismatch_error(const Request& request, Rank a, const transport::Signature& of_a,
                                   Rank b, const transport::Signature& of_b);
// A peer said what no correct peer says.
[[nodiscard]] Error nonsense_error(const Request& request, Rank from, std::string_view what);

}  // namespace tutti::engine
