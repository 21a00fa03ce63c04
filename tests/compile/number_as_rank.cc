// A bare number does not say what it counts, so it becomes a Rank only by name.
// Refused: could not convert|no matching function for call to 'peer_of'
#include "base/ids.h"

namespace {

uint32_t peer_of(tutti::Rank rank) { return rank.value ^ 1; }

}  // namespace

int main() {
#ifdef TUTTI_MUST_NOT_COMPILE
  return static_cast<int>(peer_of(1u));
#endif
  return static_cast<int>(peer_of(tutti::Rank{1u}));
}
