#include "comm/keys.h"

#include <string_view>

namespace tutti::comm {
namespace {

uint64_t hash_text(std::string_view text) {
  uint64_t hash = text.size();
  for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
  return hash;
}

}  // namespace

uint64_t key_of(uint64_t scope, const CallOptions& options) {
  return mix(mix(scope, hash_text(options.name)), options.tag);
}

}  // namespace tutti::comm
