#!/usr/bin/env bash
# beside_nccl.sh PROGRAMS OURS THEIRS [RANKS...]: nccl-tests over both libraries, by turns.
#
# PROGRAMS is the folder with all_reduce_perf, built with MPI=1; OURS and THEIRS are folders with a
# libnccl.so.2 each. For each number of ranks (2 4 8 unless given), as processes on GPU 0 under MPS,
# prints for every size the median of the rounds: a call and the wait for its stream, and the mean of
# calls one behind the other. NVIDIA's library lets ranks share a GPU from 2.30 on.
#
# Set to change: PROGRAM (all_reduce), SIZES ("-b 8 -e 256M -f 8"), ITERATIONS ("-w 20 -n 100"),
# ROUNDS (3), LIMIT (seconds a run, 60).
set -u
programs=$(realpath "${1:?the folder with all_reduce_perf}")
ours=$(realpath "${2:?the folder with our libnccl.so.2}")
theirs=$(realpath "${3:?the folder with their libnccl.so.2}")
shift 3
ranks=${*:-2 4 8}
program=${PROGRAM:-all_reduce} sizes=${SIZES:--b 8 -e 256M -f 8} iterations=${ITERATIONS:--w 20 -n 100}
rounds=${ROUNDS:-3} limit=${LIMIT:-60}
. "$(dirname "$0")/../../tests/cuda/nccl/mps.sh"
export NCCL_TESTS_DEVICE=0 NCCL_MULTI_RANK_GPU_ENABLE=1

run() {  # run NUM_RANKS FOLDER WHOSE BLOCKING: a line "whose blocking bytes us" for each size
  # Blocks of NVIDIA's library wait for each other: those of all ranks must have room together.
  local ctas=$((64 / $1))
  # shellcheck disable=SC2086  # these are lists of words
  NCCL_MAX_CTAS=$((ctas > 32 ? 32 : ctas)) LD_LIBRARY_PATH=$2${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
    timeout -k 5 "$limit" mpirun --allow-run-as-root --oversubscribe --bind-to none -np "$1" \
    -x LD_LIBRARY_PATH -x NCCL_TESTS_DEVICE -x NCCL_MULTI_RANK_GPU_ENABLE -x NCCL_MAX_CTAS \
    "$programs/${program}_perf" -g 1 $sizes $iterations -c 0 -z "$4" 2>&1 |
    awk -v whose="$3" -v blocking="$4" '$1 ~ /^[0-9]+$/ && NF >= 12 { print whose, blocking, $1, $10 }'
}

for num in $ranks; do
  results=
  for ((round = 0; round < rounds; ++round)); do
    for blocking in 1 0; do
      results+=$(run "$num" "$ours" ours $blocking)$'\n'
      results+=$(run "$num" "$theirs" theirs $blocking)$'\n'
    done
  done
  printf '\n%s, %s processes: median of %s rounds, us\n' "$program" "$num" "$rounds"
  python3 -c '
import collections, statistics, sys
times = collections.defaultdict(list)
for line in filter(str.strip, sys.stdin):
    whose, blocking, size, us = line.split()
    times[whose, blocking, int(size)].append(float(us))
print("%10s | %9s %9s %6s | %9s %9s %6s" % ("bytes", "call+wait", "theirs", "ratio", "behind", "theirs", "ratio"))
for size in sorted({key[2] for key in times}):
    row = []
    for blocking in "10":
        pair = [statistics.median(times[w, blocking, size]) if times[w, blocking, size] else float("nan") for w in ("ours", "theirs")]
        row += [*pair, pair[1] / pair[0]]
    print("%10d | %9.1f %9.1f %6.2f | %9.1f %9.1f %6.2f" % (size, *row))
' <<< "$results"
done
