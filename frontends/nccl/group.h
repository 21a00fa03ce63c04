// What a thread has called between ncclGroupStart and ncclGroupEnd. Outside of a group every call
// is a group of its own. Nothing runs before the outermost end; there, in this order: communicators
// are made, all at once, each in a thread of its own; operations are enqueued, those of one
// communicator and stream together; communicators end, all at once. An error of any call is the
// group's, and keeps all from running but the ends.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "frontends/nccl/comm.h"
#include "frontends/nccl/nccl_abi.h"
#include "tutti/device.h"
#include "tutti/result.h"

namespace tutti::nccl {

class CallGroup {
 public:
  using Job = std::function<Status()>;

  [[nodiscard]] static CallGroup& of_thread();

  void start() { ++depth_; }
  Status end();
  [[nodiscard]] bool is_open() const { return depth_ > 0; }
  // How a call is answered that may have ended the group: whether something goes on behind it.
  [[nodiscard]] ncclResult_t answered(const Status& status) const;
  // Ends it, and forgets what was called.
  Status drop();

  // Each gives the call's own answer. The operations of a group that has failed already, and those
  // of a refused call, are not run.
  Status refuse(Error error);
  // `follows` is enqueued behind all of the group's calls of the communicator and stream.
  Status enqueue(ncclComm* comm, DeviceStream stream, const Call& call,
                 std::vector<Call> follows = {});
  // Calls that follow the group so far.
  [[nodiscard]] size_t num_following(const ncclComm* comm, DeviceStream stream) const;
  // Jobs of one parent run in the order they came in. Those of communicators that do not block go
  // on when the group has ended, and keep all that they need.
  Status open(const ncclComm* parent, ncclComm::Mode mode, Job job);
  Status close(ncclComm* comm, Job job);
  // The communicator ends at once: its calls are forgotten.
  void forget(const ncclComm* comm);

 private:
  struct Batch {
    ncclComm* comm;
    DeviceStream stream;
    std::vector<Call> calls;
    std::vector<Call> follows;
  };
  struct Chain {
    const ncclComm* parent;  // null: has none
    ncclComm::Mode mode;
    std::vector<Job> jobs;
  };
  struct Content {
    std::vector<Chain> openings;
    std::vector<Batch> batches;
    std::vector<Chain> closings;
    std::optional<Error> error;
  };

  static void add(std::vector<Chain>& chains, const ncclComm* parent, ncclComm::Mode mode, Job job);
  static Status run(std::span<Chain> chains);
  // Those that do not block; the others stay. Whether there were any.
  static bool run_aside(std::vector<Chain>& chains);
  static Status enqueue_all(const std::vector<Batch>& batches);
  Status end_if_alone();

  int depth_ = 0;
  bool goes_on_ = false;  // something of the group that ended last
  Content content_;
};

}  // namespace tutti::nccl
