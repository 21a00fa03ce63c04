#include "comm/tuning_agreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/invalid.h"

namespace tutti::comm {
namespace {

struct Said {
  uint64_t digest = 0;
  uint32_t is_usable = 0;
  uint32_t length = 0;
  char text[496] = {};  // the table's file, or what is wrong with it

  [[nodiscard]] std::string_view words() const {
    return {text, std::min<size_t>(length, sizeof text)};
  }
};
static_assert(std::is_trivially_copyable_v<Said> && sizeof(Said) == sizeof(transport::Remark));

Said heard(const transport::Remark& remark) {
  Said said;
  std::memcpy(&said, remark.data(), sizeof said);
  return said;
}

std::string name_of(const Said& said) {
  if (said.digest == 0 && said.length == 0) return "no table";
  return fmt::format("{} (choices {:016x})", said.words(), said.digest);
}

transport::Remark remark(Said said, std::string_view text) {
  said.length = static_cast<uint32_t>(std::min(text.size(), sizeof said.text));
  std::memcpy(said.text, text.data(), said.length);
  transport::Remark remark;
  std::memcpy(remark.data(), &said, sizeof said);
  return remark;
}

}  // namespace

transport::Remark remark_on(const Result<TuningTable>& table) {
  if (!table) return remark({}, table.error().message);
  std::string text = table->source;
  for (const LoadedSchedule& loaded : table->schedules) {
    text += fmt::format("{}{}", text.empty() ? "" : " with ", describe(loaded));
  }
  return remark({.digest = digest(*table), .is_usable = 1}, text);
}

transport::Remark remark_on(const Result<LoadedSchedule>& loaded) {
  if (!loaded) return remark({}, loaded.error().message);
  const ByteRange& sizes = loaded->sizes;
  std::string text = describe(*loaded);
  if (sizes.min_bytes != 0) text += fmt::format(", from {} bytes", sizes.min_bytes);
  if (sizes.max_bytes != UINT64_MAX) text += fmt::format(", up to {} bytes", sizes.max_bytes);
  TuningTable table;
  table.schedules = {*loaded};
  return remark({.digest = digest(table), .is_usable = 1}, text);
}

Status check_agreement(std::span<const transport::Remark> remarks, const Dispute& dispute) {
  std::map<std::string, std::vector<size_t>> ranks_of;  // by the name of their table
  bool are_alike = true;
  for (size_t rank = 0; rank < remarks.size(); ++rank) {
    const Said said = heard(remarks[rank]);
    if (said.is_usable == 0) {
      return invalid(fmt::format("rank {}: {}", rank, said.words()));
    }
    are_alike = are_alike && said.digest == heard(remarks[0]).digest;
    ranks_of[name_of(said)].push_back(rank);
  }
  if (are_alike) return {};
  std::vector<std::string> parts;
  for (const auto& [name, ranks] : ranks_of) {
    parts.push_back(fmt::format("{} {}: {}", ranks.size() == 1 ? "rank" : "ranks",
                                fmt::join(ranks, ", "), name));
  }
  return invalid(fmt::format("{}: {}; {}", dispute.what, fmt::join(parts, "; "), dispute.advice));
}

}  // namespace tutti::comm
