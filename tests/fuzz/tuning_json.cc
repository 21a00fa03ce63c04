// Any text, read as a tuning table, is refused with its place or is one that can be written and
// asked.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "comm/tuning_file.h"
#include "tests/fuzz/must.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<comm::TuningTable> table = comm::tuning_from_json(text, "input");
  if (!table) {
    TUTTI_MUST(table.error().message.starts_with("input:"));
    return 0;
  }
  const std::string written = comm::to_json(*table);
  const auto again = comm::tuning_from_json(written, "again").value();
  TUTTI_MUST(comm::to_json(again) == written);
  TUTTI_MUST(comm::digest(again) == comm::digest(*table));
  for (const comm::TuningRule& rule : table->rules) {
    const Collective collective{rule.kind, rule.num_ranks, 0, 0};
    const comm::Choice choice = comm::choose_algorithm(*table, collective, rule.max_bytes);
    TUTTI_MUST(!rule.choice || choice == *rule.choice);
  }
  return 0;
}
