// MSCCL copies what it sends: there a send is done when it has run, here (lending) when its message
// was taken. So the waits of an MSCCL program mean less than dependencies here, and its order means
// more: it may overwrite at once what it has sent.
//
// Translated, a wait for a send becomes one for what the send itself comes after and that writes
// (order among reads does not matter), and a step that overwrites what an earlier step of the rank
// sends, earlier by MSCCL's order, depends on that send.
#pragma once

#include "ir/layout.h"
#include "ir/schedule.h"

namespace tutti::ir::msccl {

// The rank's program with its dependencies translated; they come in as MSCCL means them.
[[nodiscard]] RankProgram translate_waits(const Schedule& schedule, const Layout& layout,
                                          Rank rank);

}  // namespace tutti::ir::msccl
