#!/usr/bin/env bash
# nccl_tests.sh PROGRAMS LIBRARY [RANKS...]: NVIDIA's nccl-tests over our libnccl.so.2.
#
# PROGRAMS is the folder with all_reduce_perf and the others, built with MPI=1; LIBRARY the folder
# with our libnccl.so.2. For each number of ranks (2 4 unless given) every program runs with as many
# processes on GPU 0, with all types and, where it reduces, all operators, and checks every element.
# The last line adds up what was wrong; the exit code is 1 if anything was, or if a program failed.
#
# Set to change: SIZES ("-b 8 -e 64M -f 8"), ITERATIONS ("-w 1 -n 3"), LIMIT (seconds a program, 600).
set -u
programs=$(realpath "${1:?the folder with all_reduce_perf}")
library=$(realpath "${2:?the folder with libnccl.so.2}")
shift 2
ranks=${*:-2 4}
sizes=${SIZES:--b 8 -e 64M -f 8} iterations=${ITERATIONS:--w 1 -n 3} limit=${LIMIT:-600}
. "$(dirname "$0")/mps.sh"

export NCCL_TESTS_DEVICE=0  # all processes use this GPU; without it each would want its own
export LD_LIBRARY_PATH="$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
if ! ldd "$programs/all_reduce_perf" | grep -q "libnccl.so.2 => $library/"; then
  echo "$programs/all_reduce_perf does not take libnccl.so.2 from $library" >&2
  exit 1
fi

total_checked=0 total_wrong=0 total_failed=0
run() {  # run NUM_RANKS PROGRAM ARGUMENTS...
  local num=$1 program=$2 output code counts
  shift 2
  # shellcheck disable=SC2086  # these are lists of words
  output=$(timeout -k 10 "$limit" mpirun --allow-run-as-root --oversubscribe --bind-to none -np "$num" \
             -x LD_LIBRARY_PATH -x NCCL_TESTS_DEVICE "$programs/${program}_perf" -g 1 $sizes $iterations -c 1 "$@" 2>&1)
  code=$?
  # Columns 9 and 13 are wrong elements, out of place and in place; N/A where that is not checked.
  counts=$(awk '$1 ~ /^[0-9]+$/ && NF >= 13 { for (i = 9; i <= 13; i += 4) if ($i != "N/A") { n++; wrong += $i } }
                END { printf "%d %d", n, wrong }' <<< "$output")
  read -r checked wrong <<< "$counts"
  printf '%-16s %2d ranks: exit code %d, %d results checked, %d elements wrong\n' "$program" "$num" "$code" \
         "$checked" "$wrong"
  if [ "$code" != 0 ] || [ "$checked" = 0 ]; then
    total_failed=$((total_failed + 1))
    tail -n 15 <<< "$output"
  fi
  total_checked=$((total_checked + checked)) total_wrong=$((total_wrong + wrong))
}

for num in $ranks; do
  run "$num" all_reduce -d all -o all
  run "$num" reduce_scatter -d all -o all
  run "$num" reduce -d all -o all -r -1
  run "$num" broadcast -d all -r -1
  run "$num" all_gather -d all
  run "$num" alltoall -d all
  run "$num" sendrecv -d all
done
echo "in all: $total_checked results checked, $total_wrong elements wrong, $total_failed programs failed"
[ "$total_wrong" = 0 ] && [ "$total_failed" = 0 ] && [ "$total_checked" != 0 ]
