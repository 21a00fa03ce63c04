// What a rank with a device communicator does in tests on a GPU, be it a thread or a process:
// collectives of many sizes under names, each rank in an order of its own on several streams; every
// element is compared.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/cuda/device_ranks.h"
#include "tutti/device.h"

namespace tutti::test {

// Of rank r: value i is r + i, small enough for every sum to be exact.
inline std::vector<float> rank_values(uint32_t rank, uint64_t elems) {
  std::vector<float> out(elems);
  for (uint64_t i = 0; i < elems; ++i) out[i] = static_cast<float>(rank + i % 64);
  return out;
}

class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<float>& values) : elems_(values.size()) {
    TUTTI_CUDA_CHECK(cudaMalloc(&at_, std::max<uint64_t>(elems_, 1) * sizeof(float)));
    TUTTI_CUDA_CHECK(
        cudaMemcpy(at_, values.data(), elems_ * sizeof(float), cudaMemcpyHostToDevice));
  }
  ~DeviceArray() { cudaFree(at_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  [[nodiscard]] std::span<float> data() const { return {static_cast<float*>(at_), elems_}; }
  [[nodiscard]] std::vector<float> values() const {
    std::vector<float> out(elems_);
    TUTTI_CUDA_CHECK(cudaMemcpy(out.data(), at_, elems_ * sizeof(float), cudaMemcpyDeviceToHost));
    return out;
  }

 private:
  void* at_ = nullptr;
  uint64_t elems_;
};

class DeviceJobRank {
 public:
  DeviceJobRank(DeviceCommunicator gpu, uint64_t seed)
      : gpu_(std::move(gpu)), seed_(seed), random_(seed * 1000 + gpu_.rank()), streams_(3) {
    for (cudaStream_t& stream : streams_) {
      TUTTI_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    }
  }
  ~DeviceJobRank() {
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
  }
  DeviceJobRank(const DeviceJobRank&) = delete;
  DeviceJobRank& operator=(const DeviceJobRank&) = delete;

  // Memory for all rounds is taken before the first and given back after the last: in one process,
  // taking and freeing memory waits for all streams, and they for collectives of other ranks.
  void prepare(uint32_t num_rounds, uint32_t num_calls, uint64_t most_elems) {
    std::mt19937_64 common(seed_);
    rounds_.resize(num_rounds);
    for (auto& round : rounds_) {
      for (uint32_t i = 0; i < num_calls; ++i) round.push_back(next_call(common, most_elems));
    }
  }

  // Within a stream calls wait for those before: each stream has its calls in one order on all
  // ranks, and which stream's comes next is each rank's own affair.
  void run(bool waits_for_device) {
    for (size_t r = 0; r < rounds_.size(); ++r) {
      std::vector<size_t> next(streams_.size());
      for (size_t left = rounds_[r].size(); left > 0; --left) {
        size_t s = random_() % streams_.size();
        while (next[s] * streams_.size() + s >= rounds_[r].size()) s = (s + 1) % streams_.size();
        enqueue(r, next[s]++ * streams_.size() + s, streams_[s]);
      }
      if (waits_for_device && random_() % 2 == 0) TUTTI_CUDA_CHECK(cudaDeviceSynchronize());
    }
    for (cudaStream_t stream : streams_) TUTTI_CUDA_CHECK(cudaStreamSynchronize(stream));
  }

  // How many calls came out wrong.
  uint64_t num_wrong() {
    const Status status = gpu_.finish();
    if (!status) {
      std::fprintf(stderr, "rank %u: %s\n", gpu_.rank(), status.error().message.c_str());
      return UINT64_MAX;
    }
    uint64_t wrong = 0;
    for (const auto& round : rounds_) {
      for (const auto& call : round) wrong += call->output->values() != call->expected ? 1 : 0;
    }
    return wrong;
  }

 private:
  struct Made {
    CollectiveKind kind;
    uint32_t root;
    std::unique_ptr<DeviceArray> input;
    std::unique_ptr<DeviceArray> output;
    std::vector<float> expected;
  };

  std::unique_ptr<Made> next_call(std::mt19937_64& common, uint64_t most_elems) const {
    constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllReduce,     CollectiveKind::kBroadcast,
                                         CollectiveKind::kAllGather,     CollectiveKind::kReduce,
                                         CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll};
    const CollectiveKind kind = kKinds[common() % 6];
    // As many small ones as large ones.
    const uint64_t elems = 1 + common() % (common() % 2 == 0 ? 30 : most_elems);
    return make_call(kind, elems, static_cast<uint32_t>(common() % gpu_.num_ranks()));
  }

  std::unique_ptr<Made> make_call(CollectiveKind kind, uint64_t elems, uint32_t root) const {
    const uint32_t n = gpu_.num_ranks();
    const uint32_t self = gpu_.rank();
    const bool has_row_in =
        kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kAllToAll;
    const bool has_row_out =
        kind == CollectiveKind::kAllGather || kind == CollectiveKind::kAllToAll;
    const uint64_t in = has_row_in ? elems * n : elems;
    const uint64_t out = has_row_out ? elems * n : elems;
    auto made = std::make_unique<Made>();
    made->kind = kind;
    made->root = root;
    made->input = std::make_unique<DeviceArray>(rank_values(self, in));
    const std::vector<float> untouched(out, -1);
    made->output = std::make_unique<DeviceArray>(untouched);
    made->expected = untouched;
    std::vector<std::vector<float>> all;
    for (uint32_t r = 0; r < n; ++r) all.push_back(rank_values(r, in));
    for (uint64_t i = 0; i < out; ++i) {
      float sum = 0;
      for (uint32_t r = 0; r < n; ++r) {
        sum += all[r][kind == CollectiveKind::kReduceScatter ? self * elems + i : i % in];
      }
      switch (kind) {
        case CollectiveKind::kAllReduce:
        case CollectiveKind::kReduceScatter: made->expected[i] = sum; break;
        case CollectiveKind::kReduce:
          if (self == root) made->expected[i] = sum;
          break;
        case CollectiveKind::kBroadcast: made->expected[i] = all[root][i]; break;
        case CollectiveKind::kAllGather: made->expected[i] = all[i / elems][i % elems]; break;
        case CollectiveKind::kAllToAll:
          made->expected[i] = all[i / elems][self * elems + i % elems];
          break;
        case CollectiveKind::kGather:
        case CollectiveKind::kScatter:
        case CollectiveKind::kBarrier:
        case CollectiveKind::kSendRecv: break;
      }
    }
    return made;
  }

  void enqueue(size_t round, size_t index, cudaStream_t stream) {
    const Made& made = *rounds_[round][index];
    const std::string name = "call " + std::to_string(index);
    const Status status = gpu_.enqueue({.kind = made.kind,
                                        .type = DataType::kFloat32,
                                        .input = made.input->data().data(),
                                        .input_elems = made.input->data().size(),
                                        .output = made.output->data().data(),
                                        .output_elems = made.output->data().size(),
                                        .options = {.root = made.root, .name = name}},
                                       stream);
    if (status) return;
    std::fprintf(stderr, "rank %u: %s\n", gpu_.rank(), status.error().message.c_str());
    std::_Exit(1);
  }

  DeviceCommunicator gpu_;
  uint64_t seed_;
  std::mt19937_64 random_;
  std::vector<cudaStream_t> streams_;
  std::vector<std::vector<std::unique_ptr<Made>>> rounds_;
};

}  // namespace tutti::test
