// Two all_reduces in opposite orders: any MPI.
#include <mpi.h>

#include "bench/peers/any_order.h"

namespace {

class Mpi {
 public:
  explicit Mpi(const peers::Scene& scene) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (const int which : {peers::kA, peers::kB}) {
      comms_[size_t(which)] = MPI_COMM_WORLD;
      if (scene.on_two) {
        MPI_Comm_split(MPI_COMM_WORLD, scene.has(which, rank) ? 0 : MPI_UNDEFINED, rank,
                       &comms_[size_t(which)]);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void blocking(int which, std::vector<float>& data) {
    MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM,
                  comms_[size_t(which)]);
  }
  void start(int which, std::vector<float>& data) {
    MPI_Iallreduce(MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM,
                   comms_[size_t(which)], &requests_.emplace_back());
  }
  void finish() {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  std::array<MPI_Comm, 2> comms_{};
  std::vector<MPI_Request> requests_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const peers::Scene scene = peers::scene_from(argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Mpi library(scene);
  peers::play(scene, rank, library);
  MPI_Finalize();
}
