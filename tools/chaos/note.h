// What a rank tells the launcher about a death: a small file in a folder that the launcher reads
// when all have ended. Exit codes would not do: there is one for all ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tutti::tools::chaos {

inline constexpr const char* kNotesVariable = "TUTTI_CHAOS_NOTES";

struct Note {
  uint64_t ns = 0;       // when the rank died, or learned of it; base/clock.h
  bool is_ok = false;    // all was as it must be
  bool went_on = false;  // the survivors worked together afterwards
  std::string message;   // the first error, or what was wrong
};

// Without a folder the note goes to standard error.
void leave_note(uint32_t rank, const Note& note);
[[nodiscard]] std::optional<Note> read_note(const std::string& folder, uint32_t rank);

}  // namespace tutti::tools::chaos
