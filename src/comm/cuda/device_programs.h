// Programs of a communicator's calls, on its device. Training repeats its calls, so after the first
// step every call finds its program here.
#pragma once

#include <cstdint>

#include "comm/choose.h"
#include "comm/cuda/device_members.h"
#include "comm/cuda/loaded_programs.h"
#include "comm/program_cache.h"
#include "comm/tuning.h"
#include "engine/cuda/loaded_program.h"
#include "tutti/result.h"

namespace tutti::comm {

// Which algorithm serves a call when ranks share a device: there every rank's blocks should work,
// and every byte should be read and written once. These are the built-in rules. A table that a
// program gave the communicator comes before them; one of a file was measured on CPUs and does not.
[[nodiscard]] Choice choose_device_algorithm(const Collective& collective, uint64_t row_bytes);
[[nodiscard]] Choice choose_device_algorithm(const TuningTable& tuning,
                                             const Collective& collective, uint64_t row_bytes);

// Any thread.
class DevicePrograms {
 public:
  // `members` and `tuning` outlive it.
  DevicePrograms(const DeviceMembers& members, uint32_t self, const TuningTable& tuning)
      : members_(members), self_(self), tuning_(tuning) {}
  ~DevicePrograms() { loaded().forget(this); }
  DevicePrograms(const DevicePrograms&) = delete;
  DevicePrograms& operator=(const DevicePrograms&) = delete;

  using Ends = LoadedPrograms::Ends;
  // The caller keeps it until its operation is submitted.
  [[nodiscard]] Result<LoadedPrograms::Program> find(const ProgramKey& key, const Ends& ends);

 private:
  [[nodiscard]] Result<engine::cuda::LoadedProgram> make(const LoadedPrograms::Key& key) const;
  [[nodiscard]] LoadedPrograms& loaded() const { return members_.node->programs(); }

  const DeviceMembers& members_;
  uint32_t self_;
  const TuningTable& tuning_;
};

}  // namespace tutti::comm
