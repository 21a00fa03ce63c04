#include "engine/cpu/signature_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "tutti/collective.h"
#include "tutti/data_type.h"

namespace tutti::engine {
namespace {

size_t place_of(const Request& request, Rank rank) {
  const auto all = communicator_of(request);
  return static_cast<size_t>(std::find(all.begin(), all.end(), rank) - all.begin());
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
  if (kind == CollectiveKind::kSendRecv) return text + fmt::format(" from rank {}", s.root);
  if (is_rooted(kind)) text += fmt::format(", root {}", s.root);
  return text;
}

Error error_of(const Request& request, const Failure& failure,
               const transport::Signature& of_rank) {
  const size_t rank = place_of(request, Rank{failure.rank});
  const std::string what = to_string(of_rank);
  switch (static_cast<ErrorCode>(failure.code)) {
    case ErrorCode::kInvalidArgument:
      return {
          ErrorCode::kInvalidArgument,
          fmt::format("ranks disagree: rank {} called {}, rank {} called {}", rank, what,
                      place_of(request, Rank{failure.other}), to_string(failure.other_signature))};
    case ErrorCode::kDeadline:
      return {ErrorCode::kDeadline,
              fmt::format("rank {} gave up {}: its deadline passed", rank, what)};
    case ErrorCode::kPeerLost:
      return {ErrorCode::kPeerLost, fmt::format("rank {} is lost: {} cannot complete",
                                                place_of(request, Rank{failure.other}), what)};
    case ErrorCode::kIo:
      return {ErrorCode::kIo, fmt::format("rank {} cannot read the memory of rank {}: {} cannot "
                                          "complete",
                                          rank, place_of(request, Rank{failure.other}), what)};
    case ErrorCode::kMalformed:
      return {ErrorCode::kMalformed,
              fmt::format("rank {} heard nonsense from rank {}: {} cannot complete", rank,
                          place_of(request, Rank{failure.other}), what)};
    case ErrorCode::kUnsupported:
    case ErrorCode::kNotFound:
    case ErrorCode::kRefused:
    case ErrorCode::kAborted:
    case ErrorCode::kOutOfMemory: break;
  }
  return {ErrorCode::kAborted, fmt::format("rank {} aborted {}", rank, what)};
}

Error abort_error(const Request& request, Rank by) {
  return {ErrorCode::kAborted, fmt::format("rank {} aborted the communicator: {} cannot complete",
                                           place_of(request, by), to_string(request.signature))};
}

Error nonsense_error(const Request& request, Rank from, std::string_view what) {
  return {ErrorCode::kMalformed, fmt::format("rank {} sent {}", place_of(request, from), what)};
}

}  // namespace tutti::engine
