// One rank's input and output of an all_reduce on the GPU, and what must come out, exactly.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/cuda/device_ranks.h"

namespace tutti::bench {

class RankData {
 public:
  // Data of another `salt` is other data, so that a mix-up is seen.
  RankData(uint32_t rank, uint32_t num_ranks, uint64_t elems, uint32_t salt = 0) : elems_(elems) {
    TUTTI_CUDA_CHECK(cudaMalloc(&input_, elems * sizeof(float)));
    TUTTI_CUDA_CHECK(cudaMalloc(&output_, elems * sizeof(float)));
    std::array<float, kPeriod> pattern{};
    for (uint32_t i = 0; i < kPeriod; ++i) {
      pattern[i] = value(rank, salt, i);
      for (uint32_t r = 0; r < num_ranks; ++r) expected_[i] += value(r, salt, i);
    }
    std::vector<float> values(elems);
    for (uint64_t i = 0; i < elems; ++i) values[i] = pattern[i % kPeriod];
    TUTTI_CUDA_CHECK(
        cudaMemcpy(input_, values.data(), elems * sizeof(float), cudaMemcpyHostToDevice));
    spoil();
  }
  ~RankData() {
    cudaFree(input_);
    cudaFree(output_);
  }
  RankData(const RankData&) = delete;
  RankData& operator=(const RankData&) = delete;

  [[nodiscard]] const float* input() const { return input_; }
  [[nodiscard]] float* output() const { return output_; }
  [[nodiscard]] uint64_t elems() const { return elems_; }

  // The output is nothing that could come out.
  void spoil() {
    TUTTI_CUDA_CHECK(cudaMemset(output_, 0xff, elems_ * sizeof(float)));
    TUTTI_CUDA_CHECK(cudaStreamSynchronize(nullptr));
  }
  [[nodiscard]] uint64_t num_wrong() const {
    std::vector<float> values(elems_);
    TUTTI_CUDA_CHECK(
        cudaMemcpy(values.data(), output_, elems_ * sizeof(float), cudaMemcpyDeviceToHost));
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < elems_; ++i) wrong += values[i] == expected_[i % kPeriod] ? 0 : 1;
    return wrong;
  }

 private:
  static constexpr uint32_t kPeriod = 101;
  // Small whole numbers: every sum is exact.
  static float value(uint32_t rank, uint32_t salt, uint32_t i) {
    return static_cast<float>((i * 7 + rank * 13 + salt * 29) % kPeriod);
  }

  uint64_t elems_;
  float* input_ = nullptr;
  float* output_ = nullptr;
  std::array<float, kPeriod> expected_{};
};

// Of ranks that are threads.
inline std::vector<std::unique_ptr<RankData>> data_of_ranks(uint32_t num_ranks, uint64_t elems,
                                                            uint32_t salt = 0) {
  std::vector<std::unique_ptr<RankData>> data;
  for (uint32_t r = 0; r < num_ranks; ++r) {
    data.push_back(std::make_unique<RankData>(r, num_ranks, elems, salt));
  }
  return data;
}
inline uint64_t num_wrong_of(const std::vector<std::unique_ptr<RankData>>& data) {
  uint64_t wrong = 0;
  for (const auto& one : data) wrong += one->num_wrong();
  return wrong;
}

}  // namespace tutti::bench
