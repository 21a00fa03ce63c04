// Two all_reduces in opposite orders: tutti.
#include <chrono>
#include <optional>

#include "bench/peers/any_order.h"
#include "tutti/tutti.h"

namespace {

class Tutti {
 public:
  explicit Tutti(const peers::Scene& scene) {
    for (const int which : {peers::kA, peers::kB}) {
      if (!scene.has(which, static_cast<int>(world_.rank()))) continue;
      std::vector<uint32_t> ranks;
      for (const int member : scene.members(which)) ranks.push_back(static_cast<uint32_t>(member));
      comms_[size_t(which)] = scene.on_two ? world_.subset(ranks).value() : world_;
    }
  }

  [[nodiscard]] int rank() const { return static_cast<int>(world_.rank()); }

  void blocking(int which, std::vector<float>& data) { take(begin(which, data)); }
  void start(int which, std::vector<float>& data) { works_.push_back(begin(which, data)); }
  void finish() {
    for (tutti::Work& work : works_) take(std::move(work));
  }

 private:
  tutti::Work begin(int which, std::vector<float>& data) {
    return comms_[size_t(which)]->all_reduce(
        std::span(data),
        {.name = which == peers::kA ? "A" : "B", .deadline = std::chrono::seconds(3)});
  }
  static void take(tutti::Work work) {
    const tutti::Status status = work.wait();
    if (status) return;
    std::printf("error: %s\n", status.error().message.c_str());
    std::fflush(stdout);
    std::_Exit(1);
  }

  tutti::Communicator world_ = tutti::Communicator::from_environment().value();
  std::array<std::optional<tutti::Communicator>, 2> comms_;
  std::vector<tutti::Work> works_;
};

}  // namespace

int main(int argc, char** argv) {
  const peers::Scene scene = peers::scene_from(argc, argv);
  Tutti library(scene);
  peers::play(scene, library.rank(), library);
}
