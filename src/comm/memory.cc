#include "tutti/memory.h"

#include "base/try.h"
#include "comm/group.h"

namespace tutti {

Memory::~Memory() {
  if (data_ != nullptr) node_->caller_memory.free(data_, bytes_);
}

Result<Memory> allocate_bytes(const Communicator& comm, uint64_t bytes) {
  Memory memory;
  if (bytes == 0) return memory;
  memory.node_ = comm.group_->share_node();
  TUTTI_ASSIGN(memory.data_, memory.node_->caller_memory.allocate(bytes));
  memory.bytes_ = bytes;
  return memory;
}

}  // namespace tutti
