#include "tools/status_json.h"

#include <nlohmann/json.hpp>

#include "tutti/collective.h"
#include "tutti/data_type.h"

namespace tutti::tools {
namespace {

using comm::Board;
using comm::BoardEntry;
using comm::Findings;
using comm::OperationFinding;
using nlohmann::ordered_json;

const char* text_of(engine::Outcome outcome) {
  switch (outcome) {
    case engine::Outcome::kUnderWay: return "under way";
    case engine::Outcome::kDone: return "completed";
    case engine::Outcome::kFailed: return "failed";
  }
  return "under way";
}

// Seconds before `now`; null for what has not happened.
ordered_json age(uint64_t then_ns, uint64_t now_ns) {
  if (then_ns == 0) return nullptr;
  return now_ns > then_ns ? static_cast<double>(now_ns - then_ns) / 1e9 : 0.0;
}

ordered_json signature_of(const BoardEntry& entry) {
  const transport::Signature& s = entry.signature;
  ordered_json json;
  const bool is_known =
      s.collective < kNumCollectiveKinds && s.type < kNumDataTypes && s.op < kNumOps;
  if (!is_known) return json;
  const auto kind = static_cast<CollectiveKind>(s.collective);
  json["collective"] = to_string(kind);
  json["name"] = entry.name.view();
  json["number"] = entry.number;
  if (kind == CollectiveKind::kBarrier) return json;
  json["count"] = s.uneven != 0 ? ordered_json(nullptr) : ordered_json(s.count);
  json["type"] = to_string(static_cast<DataType>(s.type));
  if (entry.is_on_gpu != 0) json["on_gpu"] = true;
  if (is_reducing(kind)) json["op"] = to_string(static_cast<Op>(s.op));
  if (is_rooted(kind)) json["root"] = s.root;
  return json;
}

ordered_json event_of(const BoardEntry& entry, uint64_t now_ns) {
  ordered_json json = signature_of(entry);
  json["state"] = text_of(entry.outcome);
  json["issued_s_ago"] = age(entry.issued_ns, now_ns);
  json["first_heard_s_ago"] = age(entry.heard_ns, now_ns);
  if (entry.outcome == engine::Outcome::kUnderWay) {
    json["moved_s_ago"] = age(entry.moved_ns, now_ns);
    json["is_waited_for"] = entry.is_waited != 0;
    json["is_queued"] = entry.behind != 0;
  } else {
    json["ended_s_ago"] = age(entry.ended_ns, now_ns);
  }
  return json;
}

// Of a rank where something is prepared: null: that cannot be told.
ordered_json begun_of(const Board& board, uint64_t now_ns) {
  if (board.launch == 0) return {{"is_under_way", false}};
  if (!comm::is_begun_under_way(board)) return {{"is_under_way", nullptr}};
  return {{"is_under_way", true}, {"since_s_ago", age(board.here_since_ns, now_ns)}};
}

ordered_json rank_of(uint32_t rank, const std::optional<Board>& board, uint64_t now_ns) {
  ordered_json json{{"rank", rank}};
  if (!board) return json;
  json["process"] = board->process;
  json["published_s_ago"] = age(board->published_ns, now_ns);
  json["num_issued"] = board->num_issued;
  json["num_under_way"] = board->num_under_way;
  ordered_json& under_way = json["under_way"] = ordered_json::array();
  for (uint32_t i = 0; i < board->num_shown; ++i) {
    under_way.push_back(event_of(board->under_way[i], now_ns));
  }
  ordered_json& recent = json["recent"] = ordered_json::array();
  for (uint32_t i = 0; i < board->num_recent; ++i) {
    recent.push_back(event_of(board->recent[i], now_ns));
  }
  json["num_streams"] = board->num_streams;
  json["num_prepared"] = board->num_prepared;
  if (board->num_prepared != 0) json["begun"] = begun_of(*board, now_ns);
  return json;
}

ordered_json operation_of(const OperationFinding& operation, uint64_t now_ns) {
  ordered_json json = signature_of(operation.facts);
  json["issued_s_ago"] = age(operation.issued_ns, now_ns);
  json["moved_s_ago"] = age(operation.moved_ns, now_ns);
  json["called_by"] = operation.inside;
  json["queued_on"] = operation.queued;
  json["finished_on"] = operation.finished;
  json["not_called_by"] = operation.absent;
  json["unknown"] = operation.unsure;
  return json;
}

ordered_json prepared_of(const comm::PreparedFinding& prepared, uint64_t now_ns) {
  ordered_json json = signature_of(prepared.facts);
  json["prepared_s_ago"] = age(prepared.facts.issued_ns, now_ns);
  json["prepared_by"] = prepared.inside;
  json["not_prepared_by"] = prepared.absent;
  json["unknown"] = prepared.unsure;
  json["failed_on"] = prepared.failed;
  return json;
}

ordered_json job_of(const JobFindings& job) {
  const Findings& f = job.findings;
  ordered_json json{{"directory", job.directory}, {"num_ranks", f.boards.size()}};
  ordered_json& ranks = json["ranks"] = ordered_json::array();
  for (uint32_t rank = 0; rank < f.boards.size(); ++rank) {
    ranks.push_back(rank_of(rank, f.boards[rank], f.now_ns));
  }
  ordered_json& operations = json["operations"] = ordered_json::array();
  for (const OperationFinding& operation : f.operations) {
    operations.push_back(operation_of(operation, f.now_ns));
  }
  ordered_json& prepared = json["prepared"] = ordered_json::array();
  for (const comm::PreparedFinding& one : f.prepared)
    prepared.push_back(prepared_of(one, f.now_ns));
  json["silent_ranks"] = f.silent;
  ordered_json& ring = json["ring"] = ordered_json::array();
  for (const comm::WaitLink& link : f.ring) {
    ring.push_back({{"rank", link.rank}, {"waits_for", link.other}, {"operation", link.operation}});
  }
  ordered_json& stream_ring = json["stream_ring"] = ordered_json::array();
  for (const comm::StreamLink& link : f.stream_ring) {
    stream_ring.push_back(
        {{"operation", link.operation}, {"rank", link.rank}, {"behind", link.behind}});
  }
  return json;
}

}  // namespace

std::string to_json(std::span<const JobFindings> jobs) {
  ordered_json json{{"tutti_status", 1}};
  ordered_json& list = json["jobs"] = ordered_json::array();
  for (const JobFindings& job : jobs) list.push_back(job_of(job));
  // A name need not be UTF-8.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tutti::tools
