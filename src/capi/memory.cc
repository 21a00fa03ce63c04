// include/tutti.h: memory that all ranks of the host read where it lies.
#include "tutti/memory.h"

#include "capi/handles.h"

// NOLINTNEXTLINE(readability-identifier-naming): C names it
struct tutti_memory {
  explicit tutti_memory(tutti::Memory one) : memory(std::move(one)) {}

  tutti::Memory memory;
};

using tutti::ErrorCode;
using tutti::capi::failed;
using tutti::capi::hand_out;

extern "C" {

tutti_error tutti_memory_allocate(tutti_comm* comm, size_t bytes, tutti_memory** memory) {
  if (comm == nullptr || memory == nullptr) {
    return failed(ErrorCode::kInvalidArgument, "allocate: comm or memory is NULL");
  }
  *memory = nullptr;
  return hand_out(tutti::allocate_bytes(comm->comm, bytes), memory);
}

void* tutti_memory_data(const tutti_memory* memory) { return memory->memory.data(); }

void tutti_memory_free(tutti_memory* memory) { delete memory; }

}  // extern "C"
