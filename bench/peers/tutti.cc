// tutti, as `tutti run` starts it.
#include "tutti/tutti.h"

#include "bench/peers/loop.h"

namespace {

using peers::What;

tutti::CollectiveKind kind_of(What what) {
  switch (what) {
    case What::kAllReduce: return tutti::CollectiveKind::kAllReduce;
    case What::kReduce: return tutti::CollectiveKind::kReduce;
    case What::kBroadcast: return tutti::CollectiveKind::kBroadcast;
    case What::kAllGather: return tutti::CollectiveKind::kAllGather;
    case What::kReduceScatter: return tutti::CollectiveKind::kReduceScatter;
    case What::kAllToAll: return tutti::CollectiveKind::kAllToAll;
  }
  return {};
}

class Tutti {
 public:
  static constexpr bool kScattersToBlock = true;

  [[nodiscard]] int rank() const { return static_cast<int>(comm_.rank()); }
  [[nodiscard]] int num_ranks() const { return static_cast<int>(comm_.num_ranks()); }
  [[nodiscard]] bool offers(What what, bool in_place) const {
    if (what == What::kBroadcast) return in_place;
    return what != What::kAllToAll || !in_place;
  }

  auto prepare(const peers::Call& c) {
    tutti::Call call{.kind = kind_of(c.what), .type = tutti::DataType::kFloat32};
    call.input = c.input;
    call.input_elems = c.what == What::kAllGather ? c.part : c.elems;
    call.output = c.output;
    call.output_elems = c.what == What::kReduceScatter ? c.part : c.elems;
    return [this, call] { comm_.submit(call).wait().value(); };
  }

  void max_of_all(std::span<double> values) {
    comm_.all_reduce(values, {.op = tutti::Op::kMax}).wait().value();
  }

 private:
  tutti::Communicator comm_ = tutti::Communicator::from_environment().value();
};

}  // namespace

int main(int argc, char** argv) {
  const peers::Options options = peers::options_from(argc, argv);
  Tutti library;
  peers::run(library, options);
}
