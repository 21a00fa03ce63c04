// A matrix product of bf16, 8192 by 8192 by 8192 (cuBLAS), beside daemons that have left, daemons
// that stay though they have nothing to do, and an all_reduce that is called again and again: how
// much longer either takes. Cases alternate, medians are compared.
//
// usage: interference_bench RANKS [SECONDS]
#include "bench/cuda/rank_data.h"

#if defined(TUTTI_HAS_CUBLAS)
#include <cublas_v2.h>

namespace tutti::bench {
namespace {

constexpr int kN = 8192;
constexpr uint32_t kBatch = 8;
constexpr uint64_t kSmallBytes = 8;
constexpr uint64_t kLargeBytes = uint64_t{64} << 20;

void blas_check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    die(std::string(what) + ": " + cublasGetStatusString(status));
}

// 1 and -1 in no order: what a GPU does with zeros is faster.
__global__ void fill_signs(uint16_t* at, uint64_t num) {
  constexpr uint16_t kOne = 0x3f80;  // of bf16
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < num;
       i += uint64_t{gridDim.x} * blockDim.x) {
    const uint64_t mixed = i * 0x9E3779B97F4A7C15U;
    at[i] = static_cast<uint16_t>(kOne | (mixed >> 48 & 0x8000U));
  }
}

class Product {
 public:
  Product() {
    TUTTI_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (cudaEvent_t& event : events_) TUTTI_CUDA_CHECK(cudaEventCreate(&event));
    for (uint16_t*& matrix : matrices_) {
      TUTTI_CUDA_CHECK(cudaMalloc(&matrix, kElems * sizeof(uint16_t)));
      fill_signs<<<264, 256, 0, stream_>>>(matrix, kElems);
      TUTTI_CUDA_CHECK(cudaGetLastError());
    }
    blas_check(cublasCreate(&blas_), "cublasCreate");
    blas_check(cublasSetStream(blas_, stream_), "cublasSetStream");
    std::vector<double> warm_up;
    for (int i = 0; i < 3; ++i) run_batch(warm_up);
  }
  ~Product() {
    cublasDestroy(blas_);
    for (uint16_t* matrix : matrices_) cudaFree(matrix);
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
    cudaStreamDestroy(stream_);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  // Products one behind the other for so long: times of each, in us.
  void run(double seconds, std::vector<double>& times) {
    const double end = now_us() + seconds * 1e6;
    while (now_us() < end) run_batch(times);
  }

 private:
  static constexpr uint64_t kElems = uint64_t{kN} * kN;

  void run_batch(std::vector<double>& times) {
    const float one = 1;
    const float zero = 0;
    for (uint32_t i = 0; i <= kBatch; ++i) {
      blas_check(cublasGemmEx(blas_, CUBLAS_OP_N, CUBLAS_OP_N, kN, kN, kN, &one, matrices_[0],
                              CUDA_R_16BF, kN, matrices_[1], CUDA_R_16BF, kN, &zero, matrices_[2],
                              CUDA_R_16BF, kN, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                 "cublasGemmEx");
      TUTTI_CUDA_CHECK(cudaEventRecord(events_[i], stream_));
    }
    TUTTI_CUDA_CHECK(cudaStreamSynchronize(stream_));
    // The first one of a batch is launched while nothing runs: only the others follow closely.
    for (uint32_t i = 0; i < kBatch; ++i) {
      float ms = 0;
      TUTTI_CUDA_CHECK(cudaEventElapsedTime(&ms, events_[i], events_[i + 1]));
      times.push_back(double{ms} * 1e3);
    }
  }

  cublasHandle_t blas_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t events_[kBatch + 1] = {};
  uint16_t* matrices_[3] = {};
};

// An all_reduce again and again, on threads of its own, until it is told to stop.
class Loop {
 public:
  Loop(DeviceRanks& ranks, uint64_t bytes)
      : ranks_(ranks),
        what_(ranks.load({CollectiveKind::kAllReduce, bytes <= 64 ? "pull_all" : "pull",
                          bytes / sizeof(float)})),
        data_(data_of_ranks(ranks.num_ranks(), bytes / sizeof(float))),
        thread_([this] { ranks_.run([this](uint32_t r, std::barrier<>&) { be_rank(r); }); }) {
    // Liveness: the ranks call; and the program has an alarm.
    while (num_done_.load() < kWarmUp) std::this_thread::yield();
  }
  ~Loop() { stop(); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void stop() {
    is_wanted_ = false;
    if (thread_.joinable()) thread_.join();
  }
  // After the end. Of the first rank, in us, the warm-up aside.
  [[nodiscard]] const std::vector<double>& times() const { return times_; }
  [[nodiscard]] uint64_t num_wrong() const { return num_wrong_of(data_); }

 private:
  static constexpr uint64_t kWarmUp = 5;

  // The first rank says one call ahead which is the last: nobody is beyond it, since nobody ends a
  // call that the first rank has not issued.
  void be_rank(uint32_t rank) {
    for (uint64_t i = 0; i < end_.load(); ++i) {
      if (rank == 0 && !is_wanted_.load() && end_.load() == UINT64_MAX) end_ = i + 1;
      const double begin = now_us();
      ranks_.wait(rank,
                  ranks_.submit(rank, what_, i + 1, data_[rank]->input(), data_[rank]->output()));
      if (rank != 0) continue;
      if (i >= kWarmUp) times_.push_back(now_us() - begin);
      num_done_ = i + 1;
    }
  }

  DeviceRanks& ranks_;
  DeviceCollective what_;
  std::vector<std::unique_ptr<RankData>> data_;
  std::atomic<bool> is_wanted_{true};
  std::atomic<uint64_t> end_{UINT64_MAX};
  std::atomic<uint64_t> num_done_{0};
  std::vector<double> times_;
  std::thread thread_;  // begins last
};

struct Case {
  const char* name;
  bool has_product;
  bool has_daemons;
  bool stay;       // daemons, with nothing to do
  uint64_t bytes;  // of the loop; 0: none
};
constexpr Case kCases[] = {
    {"product alone", true, false, false, 0},
    {"product, daemons that have left", true, true, false, 0},
    {"product, daemons that stay idle", true, true, true, 0},
    {"8 B all_reduces alone", false, true, false, kSmallBytes},
    {"product, 8 B all_reduces", true, true, false, kSmallBytes},
    {"64 MiB all_reduces alone", false, true, false, kLargeBytes},
    {"product, 64 MiB all_reduces", true, true, false, kLargeBytes},
};
constexpr size_t kAloneCase = 0;
constexpr size_t kSmallCase = 3;
constexpr size_t kLargeCase = 5;

struct Measured {
  std::vector<double> product_us;
  std::vector<double> call_us;
  uint64_t num_wrong = 0;
};

// Makes all daemons come, which then stay as long as they are wont to.
void call_once(DeviceRanks& ranks) {
  Loop loop(ranks, kSmallBytes);
  loop.stop();
}

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

void measure(const Case& one, uint32_t num_ranks, Product& product, double seconds,
             Measured& measured) {
  begin_phase(one.name);
  if (!one.has_daemons) return product.run(seconds, measured.product_us);
  // Those that stay: until they are told to leave; as a bound, a few times as long as they are
  // needed.
  engine::cuda::Presence presence;
  if (one.stay) presence.linger_ns = presence.stay_ns = static_cast<uint64_t>(4e9 * seconds) + 1;
  DeviceRanks ranks(num_ranks, 0, presence);
  if (one.bytes == 0) {
    call_once(ranks);
    if (!one.stay) sleep_for(0.005);
    product.run(seconds, measured.product_us);
  } else {
    Loop loop(ranks, one.bytes);
    if (one.has_product) {
      product.run(seconds, measured.product_us);
    } else {
      sleep_for(seconds);
    }
    loop.stop();
    measured.call_us.insert(measured.call_us.end(), loop.times().begin(), loop.times().end());
    measured.num_wrong += loop.num_wrong();
  }
  for (uint32_t r = 0; r < num_ranks; ++r) ranks.daemon(r).leave();
}

void print(const Case& one, const Measured& measured, const Measured* alone,
           const Measured* calls_alone) {
  std::printf("%-34s", one.name);
  if (measured.product_us.empty()) {
    std::printf(" %10s %9s", "-", "-");
  } else {
    const double us = median(measured.product_us);
    std::printf(" %10.1f %9.3f", us, us / median(alone->product_us));
  }
  if (calls_alone == nullptr || measured.call_us.empty()) {
    std::printf(" %8s %10s %10s %9s %6s\n", "-", "-", "-", "-", "-");
    return;
  }
  const Times times = times_of(measured.call_us);
  std::printf(" %8zu %10.2f %10.2f %9.3f %6lu\n", measured.call_us.size(), times.p50, times.p99,
              times.p50 / median(calls_alone->call_us), measured.num_wrong);
}

int run(const Options& options) {
  begin_phase("making cuBLAS");
  TUTTI_CUDA_CHECK(cudaSetDevice(0));
  Product product;
  constexpr uint32_t kTurns = 3;
  Measured measured[std::size(kCases)];
  for (uint32_t turn = 0; turn < kTurns; ++turn) {
    for (size_t i = 0; i < std::size(kCases); ++i) {
      measure(kCases[i], options.num_ranks, product, options.seconds / (kTurns * std::size(kCases)),
              measured[i]);
    }
  }
  std::printf("bf16 product of %d, %u ranks (threads); medians in us, and times as long as alone\n",
              kN, options.num_ranks);
  std::printf("%-34s %10s %9s %8s %10s %10s %9s %6s\n", "", "product", "longer", "calls", "p50",
              "p99", "longer", "#wrong");
  uint64_t num_wrong = 0;
  for (size_t i = 0; i < std::size(kCases); ++i) {
    const Case& one = kCases[i];
    const Measured* const calls_alone = one.bytes == kSmallBytes   ? &measured[kSmallCase]
                                        : one.bytes == kLargeBytes ? &measured[kLargeCase]
                                                                   : nullptr;
    print(one, measured[i], &measured[kAloneCase], calls_alone);
    num_wrong += measured[i].num_wrong;
  }
  begin_phase("the end");
  return num_wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  return tutti::bench::run(tutti::bench::begin(argc, argv, {.seconds = 3}));
}

#else

int main(int argc, char** argv) {
  tutti::bench::begin(argc, argv, {});
  std::printf("interference_bench: built without cuBLAS, so there is nothing to run beside\n");
}

#endif
