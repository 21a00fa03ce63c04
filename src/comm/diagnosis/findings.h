// What the boards of all ranks say together: who is in which operation, who is missing there, and
// where ranks wait for each other in a ring. Pure: the same boards give the same findings, on
// every rank and in `tutti status`.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "comm/diagnosis/board.h"

namespace tutti::comm {

// Ranks are those of the job.
struct OperationFinding {
  BoardEntry facts;                // of the lowest rank that is in it
  std::vector<uint32_t> inside;    // have called it and are not done
  std::vector<uint32_t> queued;    // have called it, but their streams are in others still
  std::vector<uint32_t> finished;  // are done
  std::vector<uint32_t> absent;    // have not called it
  std::vector<uint32_t> unsure;    // their boards do not tell
  uint64_t issued_ns = 0;          // by the first that is in it
  uint64_t moved_ns = 0;           // when any of them last got on
};

// What graphs or kernels may begin, any number of times, without a word to anybody.
struct PreparedFinding {
  BoardEntry facts;              // of the lowest rank that has prepared it
  std::vector<uint32_t> inside;  // have prepared it
  std::vector<uint32_t> failed;  // of those, where one has failed that was begun
  std::vector<uint32_t> absent;  // have not
  std::vector<uint32_t> unsure;  // their boards do not tell
};

// What ranks' boards tell of all that graphs or kernels have begun.
struct Begun {
  std::vector<uint32_t> at_rest;    // nothing of it is under way
  std::vector<uint32_t> under_way;  // something is
  uint64_t since_ns = 0;            // on each of those, without a pause
  std::vector<uint32_t> unsure;     // streams are in operations there too, or it is too early
};

// So many streams of a process have operations under way that they may hold each other up: those
// that share a connection to the GPU do.
struct Crowd {
  uint32_t process = 0;
  uint32_t num_streams = 0;
  std::vector<uint32_t> ranks;  // whose streams they are
};
// There are 32 connections at most, and 8 where tutti did not ask for more; 24 streams that wait
// held up none of 32 others (docs/design/gpu.md).
inline constexpr uint32_t kCrowd = 16;

// `rank` waits in the operation for `other`, which has not called it.
struct WaitLink {
  uint32_t rank = 0;
  uint32_t other = 0;
  size_t operation = 0;  // index into the findings
};

// The operation cannot begin on `rank`, whose stream is in `behind`.
struct StreamLink {
  size_t operation = 0;  // index into the findings, as is the other
  uint32_t rank = 0;
  size_t behind = 0;
};

struct Findings {
  uint64_t now_ns = 0;
  std::vector<std::optional<Board>> boards;  // by rank
  std::vector<OperationFinding> operations;  // the one that stands longest first
  std::vector<PreparedFinding> prepared;     // oldest first
  Begun begun;                               // of ranks where something is prepared
  std::vector<Crowd> crowds;                 // by their lowest ranks
  std::vector<WaitLink> ring;                // each waits for the next, the last for the first
  std::vector<StreamLink> stream_ring;       // each is behind the next, the last behind the first
  std::vector<uint32_t> silent;              // in operations, yet their boards are old: stopped?
};

// Whether something is under way on a rank that graphs or kernels have begun, for as long as the
// board says. False: it is not, or that cannot be told.
[[nodiscard]] bool is_begun_under_way(const Board& board);
[[nodiscard]] Findings find(std::vector<std::optional<Board>> boards, uint64_t now_ns);

}  // namespace tutti::comm
