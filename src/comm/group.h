// What a communicator is inside: members, names, and how a call becomes an operation. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "comm/call_check.h"
#include "comm/call_numbers.h"
#include "comm/last_call.h"
#include "comm/node.h"
#include "comm/self_mail.h"
#include "tutti/communicator.h"
#include "tutti/result.h"

namespace tutti::comm {

class Group {
 public:
  // `members` are ranks of the node's endpoint; `id` is the same on all of them and unlike that of
  // any other group of the job. Without `tuning` its calls follow the node's table; those of
  // groups made of this one follow the same as its own.
  Group(std::shared_ptr<Node> node, uint64_t id, std::vector<Rank> members,
        std::shared_ptr<const TuningTable> tuning = nullptr);

  [[nodiscard]] Rank self() const { return self_; }
  [[nodiscard]] std::span<const Rank> members() const { return members_; }  // ranks of the job
  [[nodiscard]] uint32_t num_ranks() const { return static_cast<uint32_t>(members_.size()); }
  [[nodiscard]] Node& node() const { return *node_; }
  // For who may outlive the group.
  [[nodiscard]] std::shared_ptr<Node> share_node() const { return node_; }
  [[nodiscard]] SelfMail& self_mail() { return self_mail_; }
  // What its calls follow. Lives as long as the group and the node.
  [[nodiscard]] const TuningTable& tuning() const {
    return tuning_ == nullptr ? node_->shelf.tuning() : *tuning_;
  }

  Work submit(const Call& call);

  // As in tutti/communicator.h.
  Result<std::shared_ptr<Group>> subset(std::span<const uint32_t> ranks);
  Result<std::shared_ptr<Group>> split(int64_t color, int64_t key, const CallOptions& options);
  Result<std::shared_ptr<Group>> shrink(const CallOptions& options);
  // The same members, whose calls follow another table: to compare algorithms. All members call it,
  // in the same order, with tables that choose alike.
  std::shared_ptr<Group> tuned(TuningTable tuning);
  // As in tutti/communicator.h; also about a schedule that could not be loaded.
  Result<std::shared_ptr<Group>> with_schedule(Result<LoadedSchedule> loaded,
                                               const CallOptions& options);
  void abort();
  // Ends messages to oneself if a member has aborted the group; the engine knows, and has no part
  // in them.
  void notice_abort();

 private:
  class Survey;  // shrink.cc
  using Key = CallNumbers::Key;
  // Who takes part in an operation, under which number, with which programs.
  struct Route {
    Key key;
    uint64_t group;
    std::span<const Rank> members;
    Programs* programs;
  };
  Work start(const Call& call, const CheckedCall& checked, const Route& route);
  // Hands a request to the engine that says all but what differs from call to call.
  Work issue(engine::Request& request, const Call& call, Key key);
  // One end of a message to or from another rank; `group` as in engine::Request.
  Work start_end(const Call& call, Key key, uint64_t group);
  Work exchange(const Call& call);
  Work all_to_all_uneven(const Call& call);

  std::shared_ptr<Group> part(uint64_t id, std::span<const uint32_t> ranks) const;

  std::shared_ptr<Node> node_;
  std::shared_ptr<const TuningTable> tuning_;
  uint64_t id_;
  std::span<const Rank> members_;  // on the node's shelf, as are the programs
  Rank self_;                      // place among the members
  Programs* programs_;
  Programs* sender_programs_;
  Programs* receiver_programs_;
  SelfMail self_mail_;
  LastCall last_call_;
  CallNumbers numbers_{id_};
};

}  // namespace tutti::comm
