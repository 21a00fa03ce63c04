// One rank of a schedule with sizes: where its positions lie, which connections it has, and which
// of its steps send and take the messages of each. Bind looks through it at itself and at peers.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "ir/layout.h"
#include "ir/schedule.h"
#include "ir/sizes.h"

namespace tutti::engine {

// The other rank and the channel: names a connection among those of one rank in one direction.
using LinkKey = std::pair<uint32_t, uint32_t>;

class RankView {
 public:
  RankView(const ir::Schedule& schedule, const ir::Layout& layout, const ir::Sizes& sizes,
           Rank rank);

  [[nodiscard]] const ir::RankProgram& program() const { return *program_; }

  // In elements.
  [[nodiscard]] uint64_t begin(ir::Buffer buffer, uint32_t index) const {
    return begin_[static_cast<size_t>(buffer)][index];
  }
  [[nodiscard]] uint64_t size(ir::Buffer buffer, uint32_t index) const {
    return begin(buffer, index + 1) - begin(buffer, index);
  }
  [[nodiscard]] uint64_t total(ir::Buffer buffer) const {
    return begin_[static_cast<size_t>(buffer)].back();
  }

  // Where the message of a step that sends lies. A recv_reduce_send keeps its sum nowhere, so the
  // engine gives it room behind the scratch: `position` is then an element, not an index.
  struct Source {
    ir::Buffer buffer;
    uint64_t elem;                // of its first chunk
    std::vector<uint64_t> sizes;  // of each chunk position
  };
  [[nodiscard]] Source source(const ir::Step& step) const;

  // Connections sorted by peer and channel: the position is the link's number. The steps are those
  // that send on it (or receive from it), in order.
  struct LinkStep {
    const ir::Step* step;
    ir::StepRef place;
  };
  using Links = std::map<LinkKey, std::vector<LinkStep>>;
  [[nodiscard]] const Links& outs() const { return outs_; }
  [[nodiscard]] const Links& ins() const { return ins_; }
  [[nodiscard]] static uint32_t number_of(const Links& links, LinkKey key) {
    return static_cast<uint32_t>(std::distance(links.begin(), links.find(key)));
  }

 private:
  void collect_links();

  const ir::RankProgram* program_;
  std::vector<uint64_t> begin_[ir::kNumBuffers];  // of each position, and the end
  std::map<const ir::Step*, uint64_t> sum_at_;    // of each recv_reduce_send: its room
  Links outs_;
  Links ins_;
};

}  // namespace tutti::engine
