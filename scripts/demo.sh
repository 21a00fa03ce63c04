#!/usr/bin/env bash
# What tutti does, in under a minute: eight ranks in random orders, how fast it is here, a rank that
# is killed on purpose, and a schedule that is planned, proved and refused.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
tutti=$PWD/build/tutti
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

bold='' dim='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then bold=$'\033[1m' dim=$'\033[2m' plain=$'\033[0m'; fi
title() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
show() {
  printf '%s$ tutti %s%s\n' "$dim" "$*" "$plain"
  "$tutti" "$@"
}

title "Any order: eight ranks issue the same collectives, each in a random order of its own"
show chaos -n 8 --collectives 40 --rounds 20

title "Two communicators, all_to_all and all_reduce in opposite orders on half of the ranks"
show chaos -n 4 --pattern torchrec --collectives 16 --rounds 20

title "How fast: all_reduce of two ranks on this machine, in the columns of nccl-tests"
show bench all_reduce -n 2 -b 8 -e 4M -f 8

title "A rank is killed on purpose: the others say who it was, and go on"
show chaos -n 8 --kill --groups 1 --collectives 40 --rounds 10

title "A collective is data: chosen for a DGX-1V by simulation, best first"
show plan all_reduce --topo dgx-1v --bytes 64M -o best.json

title "... proved before it runs"
show verify best.json

title "... and refused when it is wrong: here rank 1 of a ring sends chunk 2 where chunk 1 is due"
"$tutti" plan all_reduce --algo ring --ranks 8 -o ring.json
sed '0,/"src": "input\[1\]", "to": 2/s//"src": "input[2]", "to": 2/' ring.json >broken.json
show verify broken.json || printf '(exit code %d)\n' $?

printf '\nNext: build/tutti --help, docs/guide/01_first_schedule.md, ./dev bench peers --quick\n'
