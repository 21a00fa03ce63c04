// One rank's input and output of an all_reduce on the GPU, and what must come out, exactly.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
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
    const uint64_t chunk = std::min(elems, kChunk);
    std::vector<float> values(chunk);
    expected_.resize(chunk);
    for (uint64_t i = 0; i < chunk; ++i) {
      values[i] = value(rank, salt, i);
      for (uint32_t r = 0; r < num_ranks; ++r) expected_[i] += value(r, salt, i);
    }
    TUTTI_CUDA_CHECK(
        cudaMemcpy(input_, values.data(), chunk * sizeof(float), cudaMemcpyHostToDevice));
    for (uint64_t done = chunk; done < elems; done *= 2) {
      TUTTI_CUDA_CHECK(cudaMemcpy(input_ + done, input_,
                                  std::min(done, elems - done) * sizeof(float),
                                  cudaMemcpyDeviceToDevice));
    }
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
    uint64_t wrong = 0;
    std::vector<float> values(expected_.size());
    for (uint64_t at = 0; at < elems_; at += kChunk) {
      const uint64_t num = std::min(elems_ - at, kChunk);
      TUTTI_CUDA_CHECK(
          cudaMemcpy(values.data(), output_ + at, num * sizeof(float), cudaMemcpyDeviceToHost));
      for (uint64_t i = 0; i < num; ++i) wrong += values[i] == expected_[i] ? 0 : 1;
    }
    return wrong;
  }

 private:
  // Values come again after so many, and chunks begin with the first one: one chunk is like the
  // next.
  static constexpr uint64_t kPeriod = 101;
  static constexpr uint64_t kChunk = kPeriod * 16384;
  // Small whole numbers: every sum is exact.
  static float value(uint32_t rank, uint32_t salt, uint64_t i) {
    return static_cast<float>((i * 7 + rank * 13 + salt * 29) % kPeriod);
  }

  uint64_t elems_;
  float* input_ = nullptr;
  float* output_ = nullptr;
  std::vector<float> expected_;  // of a chunk
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
