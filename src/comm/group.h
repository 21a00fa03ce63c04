// What a communicator is inside: members, names, programs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "comm/call_check.h"
#include "comm/node.h"
#include "comm/program_cache.h"
#include "tutti/communicator.h"
#include "tutti/result.h"

namespace tutti::comm {

class Group {
 public:
  // `members` are ranks of the node's endpoint; `id` is the same on all of them and unlike that of
  // any other group of the job.
  Group(std::shared_ptr<Node> node, uint64_t id, std::vector<Rank> members);

  [[nodiscard]] Rank self() const { return self_; }
  [[nodiscard]] const std::vector<Rank>& members() const { return members_; }
  [[nodiscard]] Node& node() const { return *node_; }

  Work submit(const Call& call);
  Result<std::shared_ptr<Group>> subset(std::span<const uint32_t> ranks);

 private:
  // What the next call of this name is matched by: the id is equal on all members, since the
  // i-th use of a name meets the i-th use.
  struct Key {
    uint64_t id;
    uint64_t number;  // which use of the name, or which unnamed call
  };
  Key next_key(std::string_view name);

  std::shared_ptr<Node> node_;
  uint64_t id_;
  std::vector<Rank> members_;
  Rank self_;  // place among the members

  std::mutex mutex_;  // guards what follows; held for lookups, never across a wait
  ProgramCache programs_;
  uint64_t num_unnamed_ = 0;
  std::map<std::string, uint64_t, std::less<>> uses_;  // of each name
  std::map<std::vector<uint32_t>, uint64_t> subsets_;  // how often each was made
};

// A good hash of two numbers; never 0.
[[nodiscard]] uint64_t mix(uint64_t a, uint64_t b);

}  // namespace tutti::comm
