#include "tools/launch/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

namespace tutti::tools::launch {
namespace {

std::vector<uint32_t> sorted(std::vector<uint32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace

std::string signal_name(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

std::string describe(const Outcome& outcome) {
  if (outcome.signal == 0) return fmt::format("exited with code {}", outcome.exit_code);
  return fmt::format("was killed by {}{}", signal_name(outcome.signal),
                     outcome.dumped_core ? " (core dumped)" : "");
}

int exit_code_of(const Outcome& outcome) {
  return outcome.signal == 0 ? outcome.exit_code : 128 + outcome.signal;
}

std::string describe_ranks(const std::vector<uint32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (size_t begin = 0; begin < ranks.size();) {
    size_t end = begin + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += fmt::format("{}{}", begin == 0 ? ' ' : ',', ranks[begin]);
    if (end - begin > 1) text += fmt::format("-{}", ranks[end - 1]);
    begin = end;
  }
  return text;
}

std::optional<std::string> Verdict::add(const Ended& ended, Cause cause) {
  if (ended.outcome.succeeded() || cause == Cause::kLostReader) return std::nullopt;
  if (cause == Cause::kOurSigterm || cause == Cause::kOurSigkill) {
    (cause == Cause::kOurSigterm ? terminated_ : killed_).push_back(ended.rank);
    return std::nullopt;
  }
  const bool is_first = failed_.empty();
  end_with(exit_code_of(ended.outcome));
  failed_.push_back(ended.rank);
  if (cause == Cause::kPassedOnSignal && !is_first) return std::nullopt;
  if (++num_to_announce_ > kMaxAnnounced) return std::nullopt;
  return fmt::format("rank {} (pid {}) {} after {:.1f} s", ended.rank, ended.pid,
                     describe(ended.outcome), ended.seconds);
}

std::vector<std::string> Verdict::summary() const {
  std::vector<std::string> lines;
  if (num_to_announce_ > kMaxAnnounced) {
    lines.push_back(
        fmt::format("{} ranks failed: {}", failed_.size(), describe_ranks(sorted(failed_))));
  }
  if (!terminated_.empty()) {
    lines.push_back(fmt::format("ended with SIGTERM: {}", describe_ranks(sorted(terminated_))));
  }
  if (!killed_.empty()) {
    lines.push_back(fmt::format("had to be killed: {}", describe_ranks(sorted(killed_))));
  }
  return lines;
}

void Verdict::end_with(int exit_code) {
  if (!exit_code_) exit_code_ = exit_code;
}

}  // namespace tutti::tools::launch
