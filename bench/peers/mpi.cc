// Any MPI; compiled once with each that is installed, and started by its own mpirun.
#include <mpi.h>

#include "bench/peers/loop.h"

namespace {

using peers::What;

class Mpi {
 public:
  static constexpr bool kScattersToBlock = false;

  Mpi(int* argc, char*** argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks_);
  }
  ~Mpi() { MPI_Finalize(); }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int num_ranks() const { return num_ranks_; }
  [[nodiscard]] bool offers(What what, bool in_place) const {
    return what != What::kBroadcast || in_place;
  }

  auto prepare(const peers::Call& call) {
    return [this, call] { make(call); };
  }

  void max_of_all(std::span<double> values) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
  }

 private:
  void make(const peers::Call& call) const {
    const int elems = static_cast<int>(call.elems);
    const int part = static_cast<int>(call.part);
    const void* const in = call.in_place ? MPI_IN_PLACE : call.input;
    switch (call.what) {
      case What::kAllReduce:
        MPI_Allreduce(in, call.output, elems, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        return;
      case What::kReduce:  // only the root may say that it is in place
        MPI_Reduce(rank_ == 0 ? in : call.input, call.output, elems, MPI_FLOAT, MPI_SUM, 0,
                   MPI_COMM_WORLD);
        return;
      case What::kBroadcast: MPI_Bcast(call.output, elems, MPI_FLOAT, 0, MPI_COMM_WORLD); return;
      case What::kAllGather:
        MPI_Allgather(in, part, MPI_FLOAT, call.output, part, MPI_FLOAT, MPI_COMM_WORLD);
        return;
      case What::kReduceScatter:
        MPI_Reduce_scatter_block(in, call.output, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        return;
      case What::kAllToAll:
        MPI_Alltoall(in, part, MPI_FLOAT, call.output, part, MPI_FLOAT, MPI_COMM_WORLD);
        return;
    }
  }

  int rank_ = 0;
  int num_ranks_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  Mpi library(&argc, &argv);
  const peers::Options options = peers::options_from(argc, argv);
  peers::run(library, options);
}
