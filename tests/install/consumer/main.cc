// A user's program: sees the public headers only, and needs the library to link.
#include <tutti/collective.h>
#include <tutti/result.h>

#include <cstdio>

int main() {
  const auto kind = tutti::parse_collective_kind("all_gather");
  if (kind != tutti::CollectiveKind::kAllGather) return 1;
  std::printf("%s, %s\n", tutti::to_string(*kind).data(),
              tutti::to_string(tutti::ErrorCode::kMalformed));
  return 0;
}
