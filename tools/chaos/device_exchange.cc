#include "tools/chaos/device_exchange.h"

#include <functional>

#include "base/try.h"

namespace tutti::tools::chaos {
namespace {

uint64_t aligned(uint64_t bytes) {
  constexpr uint64_t kAlign = DeviceExchange::kAlign;
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

}  // namespace

uint64_t DeviceExchange::second_offset() const { return aligned(host_.first().size()); }

uint64_t DeviceExchange::bytes() const { return second_offset() + aligned(host_.second().size()); }

std::byte* DeviceExchange::there(const void* here) const {
  const auto* const byte = static_cast<const std::byte*>(here);
  const std::span<const std::byte> first = host_.first();
  const std::less<> is_before;
  const bool is_in_first =
      !is_before(byte, first.data()) && is_before(byte, first.data() + first.size());
  return is_in_first ? at_ + (byte - first.data())
                     : at_ + second_offset() + (byte - host_.second().data());
}

Status DeviceExchange::fill(Gpu& gpu) {
  host_.fill();
  TUTTI_TRY(gpu.write(at_, host_.first()));
  return gpu.write(at_ + second_offset(), host_.second());
}

Call DeviceExchange::call() const {
  Call call = host_.call();
  call.input = there(call.input);
  call.output = there(call.output);
  return call;
}

Result<uint64_t> DeviceExchange::count_wrong(Gpu& gpu) {
  const Call call = host_.call();
  const uint64_t bytes = call.output_elems * size_of(call.type);
  if (bytes == 0) return uint64_t{0};
  TUTTI_TRY(gpu.read({static_cast<std::byte*>(call.output), bytes}, there(call.output)));
  return host_.num_wrong();
}

}  // namespace tutti::tools::chaos
