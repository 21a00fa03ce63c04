#include "ir/step.h"

#include <array>
#include <cstddef>

namespace tutti::ir {
namespace {

constexpr std::array<std::string_view, kNumStepKinds> kStepNames = {"copy",
                                                                    "reduce",
                                                                    "send",
                                                                    "recv",
                                                                    "recv_reduce",
                                                                    "recv_copy_send",
                                                                    "recv_reduce_send",
                                                                    "recv_reduce_copy_send"};
constexpr std::array<std::string_view, kNumBuffers> kBufferNames = {"input", "output", "scratch"};

template <class Enum, size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view text) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(StepKind kind) noexcept { return kStepNames[static_cast<size_t>(kind)]; }

std::optional<StepKind> parse_step_kind(std::string_view text) noexcept {
  return find<StepKind>(kStepNames, text);
}

std::string_view to_string(Buffer buffer) noexcept {
  return kBufferNames[static_cast<size_t>(buffer)];
}

std::optional<Buffer> parse_buffer(std::string_view text) noexcept {
  return find<Buffer>(kBufferNames, text);
}

}  // namespace tutti::ir
