#include "engine/cpu/signature_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "tutti/collective.h"
#include "tutti/data_type.h"

namespace tutti::engine {
namespace {

size_t place_of(const Request& request, Rank rank) {
  const auto found = std::find(request.members.begin(), request.members.end(), rank);
  return static_cast<size_t>(found - request.members.begin());
}

}  // namespace

// The numbers came from another rank and may be anything.
std::string to_string(const transport::Signature& s) {
  if (s.collective >= kNumCollectiveKinds || s.type >= kNumDataTypes || s.op >= kNumOps) {
    return "no operation at all";
  }
  const auto kind = static_cast<CollectiveKind>(s.collective);
  if (kind == CollectiveKind::kBarrier) return "barrier";
  std::string text = fmt::format("{} of ", tutti::to_string(kind));
  text += s.uneven != 0 ? fmt::format("uneven counts (digest {:016x}) of ", s.count)
                        : fmt::format("{} ", s.count);
  text += tutti::to_string(static_cast<DataType>(s.type));
  if (is_reducing(kind)) text += fmt::format(", {}", tutti::to_string(static_cast<Op>(s.op)));
  if (is_rooted(kind)) text += fmt::format(", root {}", s.root);
  return text;
}

Error mismatch_error(const Request& request, Rank a, const transport::Signature& of_a, Rank b,
                     const transport::Signature& of_b) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("ranks disagree: rank {} called {}, rank {} called {}", place_of(request, a),
                      to_string(of_a), place_of(request, b), to_string(of_b))};
}

Error nonsense_error(const Request& request, Rank from, std::string_view what) {
  return {ErrorCode::kMalformed, fmt::format("rank {} sent {}", place_of(request, from), what)};
}

}  // namespace tutti::engine
