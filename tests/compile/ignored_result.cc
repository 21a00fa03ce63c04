// A Result that nobody looks at hides a failure.
// Refused: ignoring return(ed)? value
#include "tutti/result.h"

namespace {

tutti::Status fail() { return tutti::Error{tutti::ErrorCode::kIo, "the disk is full"}; }

}  // namespace

int main() {
#ifdef TUTTI_MUST_NOT_COMPILE
  fail();
#endif
  return fail().ok() ? 1 : 0;
}
