// Gloo over TCP on this host; started by `tutti run`, whose job directory its ranks meet in.
// Variants of all_reduce: ring, bcube, halving_doubling (an object that is made once and run
// often), and busy_poll, which is halving_doubling on pairs without an event thread.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdlib>
#include <functional>

#include "bench/peers/loop.h"

namespace {

using peers::What;
using Context = std::shared_ptr<gloo::rendezvous::Context>;

int number_from(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) peers::detail::refuse("start it with: tutti run -n N --");
  return std::atoi(text);
}

class Gloo {
 public:
  static constexpr bool kScattersToBlock = false;

  explicit Gloo(std::string variant)
      : variant_(std::move(variant)),
        rank_(number_from("TUTTI_RANK")),
        num_ranks_(number_from("TUTTI_NUM_RANKS")),
        context_(connect("calls")),
        polled_(variant_ == "busy_poll" ? connect("polled") : context_) {
    for (int r = 0; variant_ == "busy_poll" && r < num_ranks_; ++r) {
      if (r != rank_) polled_->getPair(r)->setSync(true, true);
    }
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int num_ranks() const { return num_ranks_; }
  [[nodiscard]] bool offers(What what, bool in_place) const {
    const bool only_in_place =
        what == What::kAllReduce || what == What::kReduceScatter || what == What::kBroadcast;
    return in_place == only_in_place;
  }

  std::function<void()> prepare(const peers::Call& call) {
    switch (call.what) {
      case What::kAllReduce: return prepare_all_reduce(call);
      case What::kReduce:
        return [this, call] {
          gloo::ReduceOptions options(context_);
          options.setInput(call.input, call.elems);
          options.setOutput(call.output, call.elems);
          options.setRoot(0);
          options.setReduceFunction(sum());
          gloo::reduce(options);
        };
      case What::kBroadcast:
        return [this, call] {
          gloo::BroadcastOptions options(context_);
          options.setOutput(call.output, call.elems);
          options.setRoot(0);
          gloo::broadcast(options);
        };
      case What::kAllGather:
        return [this, call] {
          gloo::AllgatherOptions options(context_);
          options.setInput(call.input, call.part);
          options.setOutput(call.output, call.elems);
          gloo::allgather(options);
        };
      case What::kReduceScatter: {
        const std::vector<int> counts(static_cast<size_t>(num_ranks_), static_cast<int>(call.part));
        return runner(std::make_shared<gloo::ReduceScatterHalvingDoubling<float>>(
            polled_, std::vector<float*>{call.output}, static_cast<int>(call.elems), counts));
      }
      case What::kAllToAll:
        return [this, call] {
          gloo::AlltoallOptions options(context_);
          options.setInput(call.input, call.elems);
          options.setOutput(call.output, call.elems);
          gloo::alltoall(options);
        };
    }
    return {};
  }

  void max_of_all(std::span<double> values) {
    gloo::AllreduceOptions options(context_);
    options.setOutput(values.data(), values.size());
    options.setTag(kControlTag);
    options.setReduceFunction([](void* to, const void* a, const void* b, size_t count) {
      gloo::max<double>(to, a, b, count);
    });
    gloo::allreduce(options);
  }

 private:
  static constexpr uint32_t kControlTag = 7;
  using Reduce = std::function<void(void*, const void*, const void*, size_t)>;

  static Reduce sum() {
    return [](void* to, const void* a, const void* b, size_t count) {
      gloo::sum<float>(to, a, b, count);
    };
  }

  static std::function<void()> runner(std::shared_ptr<gloo::Algorithm> algorithm) {
    return [algorithm] { algorithm->run(); };
  }

  [[nodiscard]] Context connect(const std::string& name) const {
    gloo::transport::tcp::attr where;
    where.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(where);
    const char* const folder = std::getenv("TUTTI_JOB_DIR");
    gloo::rendezvous::FileStore files(folder == nullptr ? "." : folder);
    gloo::rendezvous::PrefixStore store(name, files);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank_, num_ranks_);
    context->setTimeout(std::chrono::seconds(60));
    context->connectFullMesh(store, device);
    return context;
  }

  std::function<void()> prepare_all_reduce(const peers::Call& call) {
    if (variant_ == "halving_doubling" || variant_ == "busy_poll") {
      return runner(std::make_shared<gloo::AllreduceHalvingDoubling<float>>(
          polled_, std::vector<float*>{call.output}, static_cast<int>(call.elems)));
    }
    const auto algorithm = variant_ == "bcube" ? gloo::AllreduceOptions::Algorithm::BCUBE
                                               : gloo::AllreduceOptions::Algorithm::RING;
    return [this, call, algorithm] {
      gloo::AllreduceOptions options(context_);
      options.setAlgorithm(algorithm);
      options.setOutput(call.output, call.elems);
      options.setReduceFunction(sum());
      gloo::allreduce(options);
    };
  }

  std::string variant_;
  int rank_;
  int num_ranks_;
  Context context_;
  Context polled_;
};

}  // namespace

int main(int argc, char** argv) {
  const peers::Options options = peers::options_from(argc, argv);
  try {
    Gloo library(options.variant);
    peers::run(library, options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gloo: %s\n", error.what());
    return 1;
  }
}
