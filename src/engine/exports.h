// Which messages of a rank can share one copy. A region of the input or the output may be sent to
// several peers; where it must be copied to be readable, one copy serves all sends that see the
// same contents: those that come after every step that writes there.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "engine/program.h"
#include "engine/rank_view.h"
#include "ir/schedule.h"

namespace tutti::engine {

class Exports {
 public:
  // `view` outlives it.
  explicit Exports(const RankView& view);

  // The export that the message of this step is, by number. The message lies at `region`, whose
  // fields are in bytes; kNoLink when it lies in scratch.
  uint16_t number_of(ir::StepRef step, const Export& region);

  [[nodiscard]] std::vector<Export> take() && { return std::move(exports_); }

 private:
  // Whether all other steps that write into the region come before the step.
  [[nodiscard]] bool is_written_before(ir::StepRef step, ir::Region region) const;
  [[nodiscard]] bool precedes(ir::StepRef first, ir::StepRef second) const;

  const ir::RankProgram& program_;
  std::vector<ir::StepRef> output_writers_;
  std::map<std::tuple<uint32_t, uint64_t, uint64_t>, uint16_t> shared_;
  std::vector<Export> exports_;
};

}  // namespace tutti::engine
