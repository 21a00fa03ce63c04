// Findings in words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/diagnosis/findings.h"

namespace tutti::comm {

// `all_reduce "layer3.weight" of 1024 float32, sum`; with a number where there is no name, and with
// who runs and begins it where that is not the host.
[[nodiscard]] std::string describe(const BoardEntry& entry);
// Without its size: `all_reduce "layer3.weight"`.
[[nodiscard]] std::string describe_shortly(const BoardEntry& entry);
// "rank 3", "ranks 0-2, 5".
[[nodiscard]] std::string describe_ranks(std::span<const uint32_t> ranks);
// "1.2 s", "35 ms"; from `then` until `now`.
[[nodiscard]] std::string describe_time(uint64_t then_ns, uint64_t now_ns);
// What a rank is in, and what it did last.
[[nodiscard]] std::string describe_rank(const Findings& findings, uint32_t rank);
// "rank 0 waits in all_reduce "a" for rank 1, rank 1 waits in all_reduce "b" for rank 0"
[[nodiscard]] std::string describe_ring(const Findings& findings);
// "all_reduce "a" is behind all_reduce "b" on rank 1, all_reduce "b" is behind all_reduce "a" on
// rank 0"
[[nodiscard]] std::string describe_stream_ring(const Findings& findings);

// What is known of all that graphs or kernels have begun; a line for each state that ranks are in.
[[nodiscard]] std::vector<std::string> describe_begun(const Findings& findings);

// "process 77 (ranks 0-3) has 20 streams with operations under way: ..."
[[nodiscard]] std::string describe_crowd(const Crowd& crowd);

// The operations that have stood for `still_ns` or longer, each with who is missing and what those
// ranks do instead; then the ring.
[[nodiscard]] std::string wait_report(const Findings& findings, uint64_t still_ns);

}  // namespace tutti::comm
