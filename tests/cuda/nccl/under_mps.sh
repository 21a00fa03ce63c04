#!/usr/bin/env bash
# under_mps.sh COMMAND...: runs it with NVIDIA's MPS, where that is installed, until it ends.
set -u
. "$(dirname "$0")/mps.sh"
"$@"
