#include "comm/diagnosis/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/cpu/signature_text.h"

namespace tutti::comm {
namespace {

// What a person reads before they have understood.
constexpr size_t kMostOperations = 8;
constexpr size_t kMostAbsentNamed = 8;

std::string printable(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return text;
}

std::string label_of(const BoardEntry& entry) {
  if (entry.name.size == 0) return fmt::format("#{}", entry.number);
  const std::string use = entry.number == 0 ? "" : fmt::format(" #{}", entry.number);
  return fmt::format("\"{}\"{}", printable(entry.name.view()), use);
}

std::vector<uint32_t> members_of(const OperationFinding& operation) {
  std::vector<uint32_t> all;
  for (const auto* part : {&operation.inside, &operation.queued, &operation.finished,
                           &operation.absent, &operation.unsure}) {
    all.insert(all.end(), part->begin(), part->end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

// Not the whole job.
bool is_subset(const OperationFinding& operation, size_t num_ranks) {
  return members_of(operation).size() < std::min<size_t>(num_ranks, kMaxShownRanks);
}

class Writer {
 public:
  explicit Writer(const Findings& findings) : findings_(findings) {}

  void operation(const OperationFinding& op) {
    line("  {}: no progress for {}", describe(op.facts),
         describe_time(op.moved_ns, findings_.now_ns));
    if (is_subset(op, findings_.boards.size())) {
      line("    among {}", describe_ranks(members_of(op)));
    }
    line("    called by {}{}", describe_ranks(op.inside),
         op.absent.empty() && op.unsure.empty() && op.queued.empty() ? ", all that have to" : "");
    if (!op.queued.empty()) {
      line("    in a stream of {}, behind others", describe_ranks(op.queued));
    }
    if (!op.finished.empty()) line("    finished on {}", describe_ranks(op.finished));
    if (!op.absent.empty()) line("    not called by {}", describe_ranks(op.absent));
    ranks(op.absent);
    if (!op.unsure.empty()) {
      line("    cannot tell of {}: too much has happened there since", describe_ranks(op.unsure));
    }
  }

  // What is known of all that graphs or kernels began; then what they may begin, unless they have
  // not.
  void prepared() {
    const auto& all = findings_.prepared;
    if (all.empty()) return;
    for (const std::string& text : describe_begun(findings_)) line("  {}", text);
    if (findings_.begun.under_way.empty() && findings_.begun.unsure.empty()) return;
    for (size_t i = 0; i < std::min(all.size(), kMostOperations); ++i) prepared(all[i]);
    if (all.size() > kMostOperations) {
      line("  and {} prepared operations more", all.size() - kMostOperations);
    }
  }

  void crowds() {
    for (const Crowd& crowd : findings_.crowds) line("  {}", describe_crowd(crowd));
  }

  void silent_ranks() {
    for (const uint32_t rank : findings_.silent) {
      line("  rank {} (process {}) has given no sign of life for {}: is it stopped?", rank,
           findings_.boards[rank]->process,
           describe_time(findings_.boards[rank]->published_ns, findings_.now_ns));
    }
  }

  void ring() {
    if (!findings_.ring.empty()) {
      line("  ranks wait for each other in a ring: {}", describe_ring(findings_));
    }
    if (!findings_.stream_ring.empty()) {
      line("  streams wait for each other in a ring: {}", describe_stream_ring(findings_));
    }
  }

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  void prepared(const PreparedFinding& prepared) {
    line("  {}", describe(prepared.facts));
    line("    prepared by {}", describe_ranks(prepared.inside));
    if (!prepared.failed.empty()) line("    has failed on {}", describe_ranks(prepared.failed));
    if (!prepared.absent.empty()) {
      line("    not prepared by {}", describe_ranks(prepared.absent));
    }
    if (!prepared.unsure.empty()) line("    cannot tell of {}", describe_ranks(prepared.unsure));
  }
  void ranks(const std::vector<uint32_t>& absent) {
    for (size_t i = 0; i < std::min(absent.size(), kMostAbsentNamed); ++i) {
      line("      rank {} {}", absent[i], describe_rank(findings_, absent[i]));
    }
    if (absent.size() > kMostAbsentNamed)
      line("      and {} more", absent.size() - kMostAbsentNamed);
  }

  const Findings& findings_;
  std::string text_;
};

}  // namespace

std::string describe(const BoardEntry& entry) {
  const std::string whole = engine::to_string(entry.signature);
  const size_t kind_end = std::min(whole.find(' '), whole.size());
  return whole.substr(0, kind_end) + " " + label_of(entry) + whole.substr(kind_end) +
         (entry.is_on_gpu != 0 ? ", on the GPU" : "") +
         (entry.is_prepared != 0 ? ", prepared: begun by graphs or kernels" : "");
}

std::string describe_shortly(const BoardEntry& entry) {
  const std::string whole = engine::to_string(entry.signature);
  return whole.substr(0, whole.find(' ')) + " " + label_of(entry);
}

std::string describe_ranks(std::span<const uint32_t> ranks) {
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  const char* between = " ";
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += fmt::format("{}{}", between, ranks[i]);
    if (last > i) text += fmt::format("{}{}", last == i + 1 ? ", " : "-", ranks[last]);
    between = ", ";
    i = last + 1;
  }
  return text;
}

std::string describe_time(uint64_t then_ns, uint64_t now_ns) {
  const double seconds = now_ns > then_ns ? static_cast<double>(now_ns - then_ns) / 1e9 : 0;
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  return fmt::format("{:.1f} s", seconds);
}

std::string describe_rank(const Findings& findings, uint32_t rank) {
  const auto& board = findings.boards[rank];
  if (!board) return "has said nothing yet";
  const auto* const end = board->under_way.begin() + board->num_shown;
  const auto* const waited = std::find_if(board->under_way.begin(), end,
                                          [](const BoardEntry& e) { return e.is_waited != 0; });
  std::string text;
  if (waited != end) {
    text = fmt::format("has waited in {} for {}", describe_shortly(*waited),
                       describe_time(waited->issued_ns, findings.now_ns));
    if (board->num_under_way > 1) {
      text += fmt::format(", one of {} operations under way", board->num_under_way);
    }
  } else if (board->num_under_way != 0) {
    text = fmt::format("computes, with {} operation{} under way", board->num_under_way,
                       board->num_under_way == 1 ? "" : "s");
  } else {
    text = board->launch != 0 ? "is in no operation that its host began" : "is in no operation";
  }
  if (board->num_recent == 0) return text + "; it has completed none";
  const BoardEntry& last = board->recent[0];
  return text + fmt::format("; last {} {}, {} ago",
                            last.outcome == engine::Outcome::kDone ? "completed" : "failed",
                            describe_shortly(last), describe_time(last.ended_ns, findings.now_ns));
}

std::string describe_ring(const Findings& findings) {
  std::string text;
  for (const WaitLink& link : findings.ring) {
    text += fmt::format("{}rank {} waits in {} for rank {}", text.empty() ? "" : ", ", link.rank,
                        describe_shortly(findings.operations[link.operation].facts), link.other);
  }
  return text;
}

std::string describe_stream_ring(const Findings& findings) {
  std::string text;
  for (const StreamLink& link : findings.stream_ring) {
    text += fmt::format("{}{} is behind {} on rank {}", text.empty() ? "" : ", ",
                        describe_shortly(findings.operations[link.operation].facts),
                        describe_shortly(findings.operations[link.behind].facts), link.rank);
  }
  return text;
}

std::vector<std::string> describe_begun(const Findings& findings) {
  const Begun& begun = findings.begun;
  std::vector<std::string> lines;
  if (!begun.under_way.empty()) {
    lines.push_back(fmt::format(
        "graphs or kernels began something that is not over on {}, without a pause for {}; or the "
        "GPU has no room for what is to run it",
        describe_ranks(begun.under_way), describe_time(begun.since_ns, findings.now_ns)));
  }
  if (!begun.at_rest.empty()) {
    lines.push_back(fmt::format("nothing that graphs or kernels began is under way on {}",
                                describe_ranks(begun.at_rest)));
  }
  if (!begun.unsure.empty()) {
    lines.push_back(fmt::format(
        "whether anything that graphs or kernels began is under way on {} cannot be told",
        describe_ranks(begun.unsure)));
  }
  return lines;
}

std::string describe_crowd(const Crowd& crowd) {
  return fmt::format(
      "process {} ({}) has {} streams with operations under way: streams beyond the connections to "
      "the GPU (CUDA_DEVICE_MAX_CONNECTIONS) can hold each other up",
      crowd.process, describe_ranks(crowd.ranks), crowd.num_streams);
}

std::string wait_report(const Findings& findings, uint64_t still_ns) {
  std::vector<const OperationFinding*> still;
  for (const OperationFinding& operation : findings.operations) {
    // What is behind others everywhere waits for its turn.
    if (operation.inside.empty()) continue;
    if (operation.moved_ns + still_ns <= findings.now_ns) still.push_back(&operation);
  }
  Writer writer(findings);
  if (still.empty() && !findings.begun.under_way.empty()) {
    writer.line("tutti: operations that graphs or kernels began make no progress");
  } else {
    writer.line("tutti: {} operation{} of the job make{} no progress", still.size(),
                still.size() == 1 ? "" : "s", still.size() == 1 ? "s" : "");
  }
  for (size_t i = 0; i < std::min(still.size(), kMostOperations); ++i) writer.operation(*still[i]);
  if (still.size() > kMostOperations) {
    writer.line("  and {} operations more", still.size() - kMostOperations);
  }
  writer.prepared();
  writer.crowds();
  writer.silent_ranks();
  writer.ring();
  return std::move(writer).take();
}

}  // namespace tutti::comm
