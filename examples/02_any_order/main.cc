// Every rank gives the same four gradients to all_reduce, each rank in an order of its own, and all
// of them complete: names decide what belongs together.
//
//   tutti run -n 4 -- ./any_order
#include <tutti/tutti.h>

#include <array>
#include <cstdio>
#include <vector>

int main() {
  auto comm = tutti::Communicator::from_environment().value();
  const std::array names{"embedding", "attention", "mlp", "head"};

  std::array<std::vector<float>, 4> gradients;
  std::vector<tutti::Work> works;
  for (size_t i = 0; i < names.size(); ++i) {
    const size_t which = (i + comm.rank()) % names.size();
    gradients[which].assign(1000 * (which + 1), 1.0f + static_cast<float>(comm.rank()));
    works.push_back(comm.all_reduce(std::span(gradients[which]),
                                    {.op = tutti::Op::kAvg, .name = names[which]}));
  }
  for (tutti::Work& work : works) work.wait().value();

  const float want = (1.0f + static_cast<float>(comm.num_ranks())) / 2;
  for (size_t i = 0; i < names.size(); ++i) {
    for (const float value : gradients[i]) {
      if (value != want) return 1;
    }
  }
  std::printf("rank %u of %u: all four averages are %g\n", comm.rank(), comm.num_ranks(),
              static_cast<double>(want));
}
