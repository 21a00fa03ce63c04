// `tutti chaos` with a GPU whose blocks are threads of the host: what its ranks do on a GPU, as
// threads and as processes, from the command line to the report.
#include <CLI/CLI.hpp>

#include "tests/support/host_device/host_gpu.h"
#include "tools/verb.h"

namespace tutti::tools::chaos {

Status check_has_gpus() { return {}; }

Result<std::unique_ptr<Gpu>> open_gpu() {
  // As a process's GPU: never closed.
  static auto& process = *new test::HostGpu::Process;
  return Result<std::unique_ptr<Gpu>>(std::make_unique<test::HostGpu>(process));
}

}  // namespace tutti::tools::chaos

int main(int argc, char** argv) {
  CLI::App app("chaos on threads of the host");
  tutti::tools::Action action;
  tutti::tools::add_chaos(app, action);
  CLI11_PARSE(app, argc, argv);
  return action();
}
