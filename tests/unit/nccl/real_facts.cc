// NVIDIA's interface. Compiled alone: the names are those of ours.
#include <nccl.h>

#include "tests/unit/nccl/facts.h"

namespace tutti::test {

Facts real_facts() { return {TUTTI_FACTS}; }
int real_version() { return NCCL_VERSION_CODE; }

}  // namespace tutti::test
