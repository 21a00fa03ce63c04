// A sum that begins with the rank's own contribution and takes in the others' one by one, each
// added where the sum stands, without scratch. The order is that of the calls, whatever arrives
// first. Only for results that one rank calculates: another would begin with another.
#pragma once

#include <optional>

#include "ir/builder.h"

namespace tutti::plan {

class OwnFirst {
 public:
  // `result` may be the memory of `own`.
  OwnFirst(ir::Region own, ir::Region result) : own_(own), result_(result) {}

  // Adds the peer's next message on this lane's connection.
  ir::StepRef add(ir::LaneWriter lane, Rank peer) {
    last_ = last_ ? lane.recv_reduce(result_, result_, peer, {*last_})
                  : lane.recv_reduce(own_, result_, peer);
    return *last_;
  }

  // The step that completes the sum; of one contribution that is a copy.
  ir::StepRef finish(ir::LaneWriter lane) { return last_ ? *last_ : lane.copy(own_, result_); }

 private:
  ir::Region own_;
  ir::Region result_;
  std::optional<ir::StepRef> last_;
};

}  // namespace tutti::plan
