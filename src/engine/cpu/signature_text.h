// What is said when ranks disagree on an operation.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"
#include "engine/cpu/hello.h"
#include "engine/cpu/operation.h"
#include "transport/record.h"
#include "tutti/result.h"

namespace tutti::engine {

// "all_reduce of 1024 float32, sum"
[[nodiscard]] std::string to_string(const transport::Signature& signature);

// What a failure means for whoever hears of it. `of_rank` is the signature of the rank that found
// out. The message names ranks by their place in the communicator.
[[nodiscard]] Error error_of(const Request& request, const Failure& failure,
                             const transport::Signature& of_rank);
// Its communicator was aborted.
[[nodiscard]] Error abort_error(const Request& request, Rank by);
// A peer said what no correct peer says.
[[nodiscard]] Error nonsense_error(const Request& request, Rank from, std::string_view what);

}  // namespace tutti::engine
