#!/usr/bin/env bash
# Plans a few all-reduces for one machine, proves each, and shows how long each would take there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tutti=build/tutti
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for algorithm in ring recursive_doubling rabenseifner double_tree; do
  printf '\n== all_reduce, 8 ranks, %s\n' "$algorithm"
  "$tutti" plan all_reduce --ranks 8 --algo "$algorithm" -o "$work/schedule.json"
  "$tutti" verify "$work/schedule.json"
  "$tutti" sim "$work/schedule.json" --topo dgx-1v --bytes 64M
done
