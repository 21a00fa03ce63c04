#!/usr/bin/env bash
# What tutti does today, on a DGX-1V: choose, prove, time, refuse, exchange. Takes a few seconds.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
tutti=$PWD/build/tutti
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

bold='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then bold=$'\033[1m' plain=$'\033[0m'; fi
title() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
show() {
  printf '$ tutti %s\n' "$*"
  "$tutti" "$@"
}

title "Every all-reduce on a DGX-1V (8 GPUs, NVLink mesh), simulated, best first"
show plan all_reduce --topo dgx-1v --bytes 8K -o small.json
echo
show plan all_reduce --topo dgx-1v --bytes 64M -o large.json

title "The same question for two nodes of a DGX-A100, and for other collectives"
show plan all_reduce --topo 'dgx-a100*2' --bytes 256M -o nodes.json
echo
show plan broadcast --topo dgx-1v --bytes 64M -o broadcast.json
echo
show plan all_to_all --topo dgx-1v --bytes 1M -o exchange.json

title "The best all-reduce of 64 MiB, proved"
show verify large.json

title "... and timed: where the bytes go, who waits for whom"
show sim large.json --topo dgx-1v --bytes 64M

title "A ring that follows the NVLinks: the same algorithm, the ranks in another order"
order=0,3,2,1,5,6,7,4
show plan all_reduce --algo ring --topo dgx-1v --ranks "$order" -o ring.json
show sim ring.json --topo dgx-1v --ranks "$order" --bytes 64M

title "A broken schedule is refused: rank 1 sends chunk 2 where chunk 1 is due"
sed '0,/"src": "input\[1\]", "to": 2/s//"src": "input[2]", "to": 2/' ring.json >broken.json
show verify broken.json || printf '(exit code %d)\n' $?

title "The same ring for MSCCL"
"$tutti" convert ring.json --to msccl-xml -o ring.xml
head -n 5 ring.xml
"$tutti" convert ring.xml --to json | cmp - ring.json && echo "... and read back: the same schedule"

printf '\nNext: build/tutti --help, or docs/guide/01_first_schedule.md\n'
