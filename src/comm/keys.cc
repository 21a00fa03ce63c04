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

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9E3779B97F4A7C15u + b + 0x632BE59BD9B4E019u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  x ^= x >> 31;
  return x == 0 ? 1 : x;
}

uint64_t key_of(uint64_t scope, const CallOptions& options) {
  return mix(mix(scope, hash_text(options.name)), options.tag);
}

}  // namespace tutti::comm
