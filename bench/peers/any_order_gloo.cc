// Two all_reduces in opposite orders: Gloo, whose calls all block. Started by `tutti run`.
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "bench/peers/any_order.h"

namespace {

int number_from(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

class Gloo {
 public:
  Gloo(const peers::Scene& scene, int rank) {
    for (const int which : {peers::kA, peers::kB}) {
      if (!scene.has(which, rank)) continue;
      const bool is_first = which == peers::kA || scene.on_two;
      contexts_[size_t(which)] =
          is_first ? connect(scene.members(which), which, rank) : contexts_[peers::kA];
    }
  }

  void blocking(int which, std::vector<float>& data) {
    gloo::AllreduceOptions options(contexts_[size_t(which)]);
    options.setOutput(data.data(), data.size());
    options.setReduceFunction([](void* to, const void* a, const void* b, size_t count) {
      gloo::sum<float>(to, a, b, count);
    });
    gloo::allreduce(options);
  }
  void start(int /*which*/, std::vector<float>& /*data*/) { std::exit(2); }
  void finish() {}

 private:
  using Context = std::shared_ptr<gloo::rendezvous::Context>;

  static Context connect(const std::vector<int>& members, int which, int rank) {
    gloo::transport::tcp::attr where;
    where.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(where);
    gloo::rendezvous::FileStore files(std::getenv("TUTTI_JOB_DIR"));
    gloo::rendezvous::PrefixStore store(which == peers::kA ? "A" : "B", files);
    const auto place = std::find(members.begin(), members.end(), rank) - members.begin();
    auto context = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(place),
                                                               static_cast<int>(members.size()));
    context->setTimeout(std::chrono::seconds(3));
    context->connectFullMesh(store, device);
    return context;
  }

  std::array<Context, 2> contexts_;
};

}  // namespace

int main(int argc, char** argv) {
  const peers::Scene scene = peers::scene_from(argc, argv);
  const int rank = number_from("TUTTI_RANK");
  try {
    Gloo library(scene, rank);
    peers::play(scene, rank, library);
  } catch (const std::exception& error) {
    std::printf("error: %s\n", error.what());
    std::fflush(stdout);
    std::_Exit(1);
  }
}
