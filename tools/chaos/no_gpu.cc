// In programs that were built without CUDA; cuda/cuda_gpu.cu is in the others.
#include "tools/chaos/gpu.h"

namespace tutti::tools::chaos {

Status check_has_gpus() {
  return Error{ErrorCode::kUnsupported,
               "--device cuda: this tutti was built without CUDA; build it with the preset cuda "
               "(./dev test --cuda does), and run build/cuda/tools/tutti"};
}

Result<std::unique_ptr<Gpu>> open_gpu() { return check_has_gpus().error(); }

}  // namespace tutti::tools::chaos
