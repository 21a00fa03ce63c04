#include "frontends/nccl/config.h"

#include <cstddef>

#include "frontends/nccl/errors.h"

namespace tutti::nccl {
namespace {

// The first version that had a config had this much of it.
constexpr size_t kLeastConfig = offsetof(ncclConfig_t, blocking) + sizeof(int);

class ConfigReader {
 public:
  explicit ConfigReader(const ncclConfig_t& config) : config_(config) {}

  // kUndefined where the program's version has no such field.
  [[nodiscard]] int number(size_t offset) const {
    if (offset + sizeof(int) > config_.size) return kUndefined;
    return *reinterpret_cast<const int*>(reinterpret_cast<const std::byte*>(&config_) + offset);
  }

 private:
  const ncclConfig_t& config_;
};

bool is_set(int number) { return number != kUndefined; }

}  // namespace

Status check_config(const ncclConfig_t* config) {
  if (config == nullptr) return {};
  if (config->magic != kConfigMagic || config->size < kLeastConfig) {
    return bad_argument("config was not initialised: begin with NCCL_CONFIG_INITIALIZER");
  }
  const ConfigReader reader(*config);
  const int blocking = reader.number(offsetof(ncclConfig_t, blocking));
  if (is_set(blocking) && blocking != 0 && blocking != 1) {
    return bad_argument("config.blocking must be 0 or 1");
  }
  const int cluster = reader.number(offsetof(ncclConfig_t, cgaClusterSize));
  if (is_set(cluster) && cluster < 0) {
    return bad_argument("config.cgaClusterSize must not be negative");
  }
  const int least = reader.number(offsetof(ncclConfig_t, minCTAs));
  const int most = reader.number(offsetof(ncclConfig_t, maxCTAs));
  if ((is_set(least) && least <= 0) || (is_set(most) && most <= 0) ||
      (is_set(least) && is_set(most) && least > most)) {
    return bad_argument("config.minCTAs and maxCTAs must be positive, the first not the larger");
  }
  return {};
}

ncclComm::Mode mode_of(const ncclConfig_t* config, ncclComm::Mode otherwise) {
  if (config == nullptr) return otherwise;
  const int blocking = ConfigReader(*config).number(offsetof(ncclConfig_t, blocking));
  return blocking == 0 ? ncclComm::Mode::kNonBlocking : ncclComm::Mode::kBlocking;
}

}  // namespace tutti::nccl
