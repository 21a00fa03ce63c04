// Makes the device image of one rank's program and opens such an image safely.
// An opened image has been checked whole: every offset, index, peer and dependency lies inside, so
// a reader that follows it never leaves its tables. Whether the schedule is right, verify has said
// before the image was made.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/ids.h"
#include "ir/image_types.h"
#include "ir/schedule.h"
#include "tutti/result.h"

namespace tutti::ir {

// The schedule must be of good shape. kMalformed when a connection has no other end or is shared by
// two lanes; kUnsupported beyond 2^16 - 1 connections, 2^16 - 1 dependencies of a step or 4 GiB.
[[nodiscard]] Result<std::vector<std::byte>> make_image(const Schedule& schedule, Rank rank);

// Typed tables of an image. Refers to the bytes it was opened on.
class ImageView {
 public:
  [[nodiscard]] const ImageHeader& header() const { return at<ImageHeader>({0, 1})[0]; }
  [[nodiscard]] std::span<const LaneImage> lanes() const { return at<LaneImage>(header().lanes); }
  [[nodiscard]] std::span<const StepImage> steps() const { return at<StepImage>(header().steps); }
  [[nodiscard]] std::span<const DepImage> deps() const { return at<DepImage>(header().deps); }
  [[nodiscard]] std::span<const ConnectionImage> sends() const {
    return at<ConnectionImage>(header().sends);
  }
  [[nodiscard]] std::span<const ConnectionImage> recvs() const {
    return at<ConnectionImage>(header().recvs);
  }
  [[nodiscard]] std::span<const uint32_t> scratch() const { return at<uint32_t>(header().scratch); }

 private:
  friend Result<ImageView> open_image(std::span<const std::byte> bytes);
  explicit ImageView(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  [[nodiscard]] std::span<const T> at(TableImage table) const {
    return {reinterpret_cast<const T*>(bytes_.data() + table.offset), table.count};
  }

  std::span<const std::byte> bytes_;
};

// The bytes must stand on 16 bytes (as those of make_image do) and outlive the view. kMalformed
// names the table and the record that is wrong.
[[nodiscard]] Result<ImageView> open_image(std::span<const std::byte> bytes);

}  // namespace tutti::ir
