// Daemons on a GPU, several ranks sharing it: every collective, type and operator, in any order,
// with waits for the whole device in between.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <utility>

#include "bench/cuda/device_ranks.h"
#include "engine/cuda/stream.h"
#include "engine/cuda/watch.h"
#include "tests/support/any_order.h"
#include "tests/support/cluster.h"

namespace tutti::test {
namespace {

using bench::DeviceCall;
using bench::DeviceCollective;
using bench::DeviceRanks;
using engine::cuda::Daemon;
using engine::cuda::Presence;

// Memory of the GPU. Freeing it waits for the whole device, as it does in users' programs.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(uint64_t bytes) {
    TUTTI_CUDA_CHECK(cudaMalloc(&at_, std::max<uint64_t>(bytes, 1)));
  }
  ~DeviceBuffer() { cudaFree(at_); }
  DeviceBuffer(DeviceBuffer&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  [[nodiscard]] std::byte* at() const { return static_cast<std::byte*>(at_); }

 private:
  void* at_ = nullptr;
};

// --- types and operators ---

// Small whole numbers, whose sums and products every type holds exactly; even, so that halves are
// whole too.
std::vector<std::byte> small_numbers(DataType type, uint64_t elems, uint32_t rank) {
  std::vector<std::byte> out(elems * size_of(type));
  for (uint64_t i = 0; i < elems; ++i) {
    const double number = 2.0 * static_cast<double>((i + rank) % 3 + 1);
    engine::with_type(type, [&](auto zero) {
      using T = decltype(zero);
      engine::store_element(
          out.data() + i * sizeof(T),
          engine::to_element<T>(static_cast<decltype(engine::to_number(zero))>(number)));
    });
  }
  return out;
}

std::vector<std::byte> expected_of(const DeviceCall& call,
                                   const std::vector<std::vector<std::byte>>& inputs,
                                   double factor) {
  std::vector<std::byte> out(inputs[0].size());
  engine::Fold fold{};
  fold.num_sources = static_cast<uint8_t>(inputs.size());
  fold.num_dsts = 1;
  fold.dsts[0] = out.data();
  fold.bytes = out.size();
  fold.type = static_cast<uint8_t>(call.type);
  fold.op = static_cast<uint8_t>(call.op);
  fold.is_scaled = call.op == Op::kPremulSum ? 1 : 0;
  fold.divisor = call.op == Op::kAvg ? inputs.size() : 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    fold.sources[i] = inputs[i].data();
    fold.factors[i] = factor;
  }
  engine::fold_elements(fold, 0, 1);
  return out;
}

void check_all_reduce(DeviceRanks& ranks, const DeviceCall& call, bool in_place) {
  static uint64_t next_id = 1;
  const uint64_t id = next_id++;
  DeviceCollective what = ranks.load(call);
  const uint64_t bytes = call.elems * size_of(call.type);
  std::vector<std::vector<std::byte>> inputs;
  std::vector<DeviceBuffer> device_inputs;
  std::vector<DeviceBuffer> device_outputs;
  for (uint32_t r = 0; r < ranks.num_ranks(); ++r) {
    inputs.push_back(small_numbers(call.type, call.elems, r));
    device_inputs.emplace_back(bytes);
    device_outputs.emplace_back(bytes);
    TUTTI_CUDA_CHECK(
        cudaMemcpy(device_inputs[r].at(), inputs[r].data(), bytes, cudaMemcpyHostToDevice));
  }
  ranks.run([&](uint32_t r, std::barrier<>& /*all*/) {
    std::byte* const output = in_place ? device_inputs[r].at() : device_outputs[r].at();
    ranks.wait(r, ranks.submit(r, what, id, device_inputs[r].at(), output, 0.5));
  });
  const std::vector<std::byte> expected = expected_of(call, inputs, 0.5);
  for (uint32_t r = 0; r < ranks.num_ranks(); ++r) {
    const std::byte* const output = in_place ? device_inputs[r].at() : device_outputs[r].at();
    std::vector<std::byte> got(bytes);
    TUTTI_CUDA_CHECK(cudaMemcpy(got.data(), output, bytes, cudaMemcpyDeviceToHost));
    ASSERT_TRUE(got == expected) << to_string(call.type) << " " << to_string(call.op) << ", "
                                 << call.elems << " elements, rank " << r;
  }
}

TEST(DaemonOnDevice, ReducesEveryTypeWithEveryOperator) {
  DeviceRanks ranks(2, 4);
  for (int t = 0; t < kNumDataTypes; ++t) {
    for (int o = 0; o < kNumOps; ++o) {
      const auto type = static_cast<DataType>(t);
      const auto op = static_cast<Op>(o);
      if (!valid(type, op)) continue;
      check_all_reduce(ranks, {CollectiveKind::kAllReduce, "pull_all", 7, type, op}, true);
      // By one block of each rank, and by several.
      for (const uint64_t elems : {10'007ul, 1'000'003ul}) {
        check_all_reduce(ranks, {CollectiveKind::kAllReduce, "pull", elems, type, op}, t % 2 == 0);
      }
    }
  }
}

TEST(DaemonOnDevice, ReducesAnyNumberOfElementsOfAnyNumberOfRanks) {
  for (const uint32_t n : {1u, 2u, 3u, 5u, 8u}) {
    DeviceRanks ranks(n);
    for (const uint64_t elems : {1ul, 2ul, 27ul, 1023ul, 65'537ul, 3'000'001ul}) {
      for (const std::string_view algorithm : {"pull", "pull_all", "ring"}) {
        if (algorithm == "pull_all" && elems > 28) continue;  // not in place
        check_all_reduce(ranks, {CollectiveKind::kAllReduce, algorithm, elems}, elems % 2 == 0);
      }
    }
  }
}

// --- everything, in any order ---

// A test collective whose buffers lie on the device, in place where they do on the host.
class OnDevice {
 public:
  OnDevice(const TestCollective::Spec& spec, uint64_t id, uint32_t num_ranks, DeviceRanks& ranks)
      : collective_(spec, id, first_ranks(num_ranks)),
        what_(ranks.load(
            {spec.kind, spec.algorithm, spec.elems, DataType::kInt64, Op::kSum, spec.root})) {
    for (uint32_t r = 0; r < num_ranks; ++r) {
      const Bounds all = bounds(r);
      buffers_.emplace_back(all.bytes);
      TUTTI_CUDA_CHECK(cudaMemcpy(buffers_[r].at(), all.begin, all.bytes, cudaMemcpyHostToDevice));
    }
  }

  Daemon::Ticket submit(uint32_t rank, DeviceRanks& ranks) {
    const engine::Request request = collective_.request(rank);
    const std::byte* const begin = bounds(rank).begin;
    const auto moved = [&](const void* at) -> std::byte* {
      return at == nullptr ? nullptr
                           : buffers_[rank].at() + (static_cast<const std::byte*>(at) - begin);
    };
    return ranks.submit(rank, what_, collective_.id(), moved(request.input), moved(request.output));
  }

  [[nodiscard]] std::string difference() {
    for (uint32_t r = 0; r < buffers_.size(); ++r) {
      const engine::Request request = collective_.request(r);
      if (request.output == nullptr) continue;
      const auto* const output = static_cast<const std::byte*>(request.output);
      TUTTI_CUDA_CHECK(cudaMemcpy(request.output, buffers_[r].at() + (output - bounds(r).begin),
                                  what_.output_bytes[r], cudaMemcpyDeviceToHost));
    }
    return collective_.difference();
  }

 private:
  struct Bounds {
    const std::byte* begin;
    uint64_t bytes;
  };
  // From the first to the last byte of both buffers, as they lie on the host.
  Bounds bounds(uint32_t rank) {
    const engine::Request request = collective_.request(rank);
    const auto* input = static_cast<const std::byte*>(request.input);
    const auto* output = static_cast<const std::byte*>(request.output);
    if (input == nullptr) return {output, what_.output_bytes[rank]};
    if (output == nullptr) return {input, what_.input_bytes[rank]};
    const std::byte* const begin = std::min(input, output);
    const std::byte* const end =
        std::max(input + what_.input_bytes[rank], output + what_.output_bytes[rank]);
    return {begin, static_cast<uint64_t>(end - begin)};
  }

  TestCollective collective_;
  DeviceCollective what_;
  std::vector<DeviceBuffer> buffers_;
};

// What users do between two collectives, and what waits for everything on the device.
void disturb(uint64_t how) {
  void* memory = nullptr;
  switch (how % 8) {
    case 0: TUTTI_CUDA_CHECK(cudaDeviceSynchronize()); break;
    case 1:
      TUTTI_CUDA_CHECK(cudaMalloc(&memory, 4096));
      TUTTI_CUDA_CHECK(cudaMemset(memory, 0, 4096));  // on the default stream
      TUTTI_CUDA_CHECK(cudaFree(memory));
      break;
    default: break;
  }
}

void run_in_any_order(uint32_t num_ranks, uint64_t seed, const Presence& presence, bool disturbed) {
  DeviceRanks ranks(num_ranks, 8, presence);
  std::vector<std::unique_ptr<OnDevice>> collectives;
  for (const auto& spec : mixed_collectives()) {
    if (spec.root >= num_ranks || (spec.algorithm == "pull_all" && spec.in_place)) continue;
    collectives.push_back(
        std::make_unique<OnDevice>(spec, collectives.size() + 1, num_ranks, ranks));
  }
  ranks.run([&](uint32_t r, std::barrier<>& /*all*/) {
    std::mt19937_64 random(seed * 64 + r);
    std::vector<size_t> order(collectives.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    std::vector<Daemon::Ticket> tickets;
    for (const size_t i : order) {
      tickets.push_back(collectives[i]->submit(r, ranks));
      if (disturbed) disturb(random());
    }
    for (const Daemon::Ticket& ticket : tickets) ranks.wait(r, ticket);
  });
  for (const auto& collective : collectives) ASSERT_EQ(collective->difference(), "") << seed;
}

TEST(DaemonOnDevice, EveryCollectiveIsExactInAnyOrder) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    run_in_any_order(static_cast<uint32_t>(2 + seed % 3), seed, {}, false);
  }
}

TEST(DaemonOnDevice, WaitingForTheWholeDeviceNeverHangs) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Presence restless{.linger_ns = 20'000, .stay_ns = 100'000};
    run_in_any_order(static_cast<uint32_t>(2 + seed % 3), seed, restless, true);
  }
}

// --- streams ---

// Copies and collectives in one stream a rank, and no wait of the host until all is issued.
TEST(DaemonOnDevice, CollectivesOfAStreamComeInItsOrder) {
  constexpr uint64_t kElems = 5000;
  constexpr uint32_t kRounds = 40;
  for (const uint32_t n : {2u, 5u, 8u}) {
    DeviceRanks ranks(n, 4);
    engine::cuda::Watch watch;
    DeviceCollective what =
        ranks.load({CollectiveKind::kAllReduce, "pull", kElems, DataType::kInt64});
    std::atomic<uint64_t> wrong = 0;
    ranks.run([&](uint32_t r, std::barrier<>& /*all*/) {
      cudaStream_t stream = nullptr;
      TUTTI_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      ASSERT_TRUE(ranks.device().settle(stream).ok());
      auto ordered = engine::cuda::Stream::create(ranks.device(), ranks.daemon(r), watch).value();
      const DeviceBuffer buffer(kElems * sizeof(int64_t));
      int64_t* inputs = nullptr;  // pinned, so that copies are in the stream's order too
      int64_t* outputs = nullptr;
      TUTTI_CUDA_CHECK(cudaMallocHost(&inputs, kRounds * kElems * sizeof(int64_t)));
      TUTTI_CUDA_CHECK(cudaMallocHost(&outputs, kRounds * kElems * sizeof(int64_t)));
      for (uint64_t i = 0; i < kRounds * kElems; ++i) inputs[i] = static_cast<int64_t>(i * (r + 1));
      for (uint32_t round = 0; round < kRounds; ++round) {
        const uint64_t bytes = kElems * sizeof(int64_t);
        TUTTI_CUDA_CHECK(cudaMemcpyAsync(buffer.at(), inputs + round * kElems, bytes,
                                         cudaMemcpyHostToDevice, stream));
        auto request = DeviceRanks::request(r, what, round + 1, buffer.at(), buffer.at());
        ASSERT_TRUE(ordered->submit({.stream = stream, .requests = {&request, 1}}).ok());
        TUTTI_CUDA_CHECK(cudaMemcpyAsync(outputs + round * kElems, buffer.at(), bytes,
                                         cudaMemcpyDeviceToHost, stream));
      }
      TUTTI_CUDA_CHECK(cudaStreamSynchronize(stream));
      for (uint64_t i = 0; i < kRounds * kElems; ++i) {
        if (outputs[i] != static_cast<int64_t>(i * n * (n + 1) / 2)) ++wrong;
      }
      watch.wait_for_all();
      TUTTI_CUDA_CHECK(cudaFreeHost(inputs));
      TUTTI_CUDA_CHECK(cudaFreeHost(outputs));
      TUTTI_CUDA_CHECK(cudaStreamDestroy(stream));
    });
    EXPECT_EQ(wrong, 0u) << n << " ranks";
  }
}

}  // namespace
}  // namespace tutti::test
