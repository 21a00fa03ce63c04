// How many bytes a step moves. A region of input, output or sized scratch has the size of the
// chunks that lie there. What lies in scratch of any size is known only while running: it is
// followed from write to write, and a position nobody wrote counts as the largest chunk.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/layout.h"
#include "ir/sizes.h"
#include "sim/options.h"
#include "sim/program.h"
#include "tutti/result.h"

namespace tutti::sim {

class Payload {
 public:
  // kInvalidArgument for sizes that cannot be. The program must outlive this.
  static Result<Payload> create(const Program& program, const Options& options);

  [[nodiscard]] const ir::Layout& layout() const { return layout_; }
  [[nodiscard]] const ir::Sizes& sizes() const { return sizes_; }

  // Of a copy or reduce that begins now.
  [[nodiscard]] double local_bytes(StepNumber step) const;
  // Of the message of a step that sends; after sent() and before written() of its taker.
  [[nodiscard]] double message_bytes(StepNumber sender) const;

  // The step hands its message over: what lies there now is what will be taken.
  void sent(StepNumber sender) {
    if (follows_) remember(sender);
  }
  // The step, a copy or one that receives, has written its dst.
  void written(StepNumber step) {
    if (follows_) follow(step);
  }

 private:
  Payload(const Program& program, ir::Layout layout, ir::Sizes sizes, uint32_t elem_bytes);

  [[nodiscard]] uint64_t elems(Rank rank, ir::Region region) const;
  [[nodiscard]] uint64_t scratch_elems(Rank rank, ir::Region region) const;
  [[nodiscard]] uint64_t run_elems(uint64_t first_chunk, uint64_t num_chunks) const;
  [[nodiscard]] ChunkId chunk_in(Rank rank, ir::Region region, uint32_t i) const;
  [[nodiscard]] bool is_any(Rank rank, ir::Region region) const;
  void remember(StepNumber sender);
  void follow(StepNumber step);

  const Program* program_;
  ir::Layout layout_;
  ir::Sizes sizes_;
  double elem_bytes_;
  std::vector<uint64_t> first_elem_;  // running sums over chunk ids; empty when there are too many
  bool follows_ = false;              // some scratch is of any size
  std::vector<std::vector<ChunkId>> held_;  // what lies in each scratch position of each rank
  std::unordered_map<StepNumber, std::vector<ChunkId>> on_the_way_;  // by sender
};

}  // namespace tutti::sim
