// Programs that a block has at hand, in fast memory: the last ones it looked at. A program is known
// by where it is and by its number, since memory of programs that are forgotten is used again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/cuda/device_program.h"
#include "engine/cuda/wire.h"

namespace tutti::engine::cuda {

class NearPrograms {
 public:
  TUTTI_BOTH void clear() {
    next_ = 0;
    for (Known& known : known_) known = {};
  }

  // Null: it is not here.
  [[nodiscard]] TUTTI_BOTH const DeviceProgram* find(const Submission& issued) const {
    for (uint32_t i = 0; i <= kImages; ++i) {
      if (known_[i].original == issued.program && known_[i].number == issued.program_number) {
        return &programs_[i];
      }
    }
    return nullptr;
  }

  // Brings it here; the one that came first goes. The machine sees what the host has written.
  template <class Machine>
  TUTTI_BOTH const DeviceProgram& fetch(const Submission& issued, Machine& machine) {
    const DeviceProgram& original = *issued.program;
    const bool fits = original.image_bytes <= kImageBytes;
    const uint32_t i = fits ? next_ : kImages;
    known_[i] = {issued.program, issued.program_number};
    if (!fits) {
      programs_[i] = original;
      return programs_[i];
    }
    next_ = (i + 1) % kImages;
    machine.copy(images_[i], original.image, original.image_bytes);
    programs_[i] = moved(original, images_[i]);
    return programs_[i];
  }

 private:
  static constexpr uint32_t kImages = 2;
  static constexpr uint32_t kImageBytes = 6 * 1024;

  struct Known {
    const DeviceProgram* original;
    uint32_t number;
  };
  // One more than images: of those whose tables are too large and stay where they are.
  Known known_[kImages + 1];
  DeviceProgram programs_[kImages + 1];
  uint32_t next_;
  alignas(16) std::byte images_[kImages][kImageBytes];
};

}  // namespace tutti::engine::cuda
