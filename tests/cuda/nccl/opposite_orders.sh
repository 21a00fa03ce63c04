#!/usr/bin/env bash
# opposite_orders.sh LIBRARY...: two ranks that use two communicators in opposite orders, over each
# libnccl.so.2 in the folders given: ours must end, NVIDIA's is expected to hang. NVIDIA's wants a GPU for each rank,
# so it needs two; ours has both ranks on one if there is no other.
#
# Set to change: LIMIT (seconds until a program counts as hanging, 60), CUDA (where nvcc is,
# /usr/local/cuda), NCCL_HEADER (the folder with nccl.h, where CUDA's has none).
set -u
[ $# -gt 0 ] || { echo "usage: $0 LIBRARY..." >&2; exit 2; }
root=$(realpath "$(dirname "$0")/../../..")
cuda=${CUDA:-/usr/local/cuda} limit=${LIMIT:-60}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

code=0
for library in "$@"; do
  library=$(realpath "$library")
  "$cuda/bin/nvcc" -std=c++20 -x cu -DTUTTI_WITH_CUDA ${NCCL_HEADER:+-I"$NCCL_HEADER"} \
    "$root/tests/jobs/opposite_orders.cc" -o "$folder/program" "$library/libnccl.so.2" -Xlinker -rpath -Xlinker "$library" ||
    exit 1
  timeout -k 5 "$limit" "$folder/program"
  ended=$?
  case $ended in
    0) echo "$library: ended" ;;
    124 | 137) echo "$library: hangs (ended after $limit s)"; code=1 ;;
    *) echo "$library: failed with exit code $ended"; code=1 ;;
  esac
done
exit $code
