#!/usr/bin/env bash
# opposite_orders.sh OURS [OTHER...]: two ranks that use two communicators in opposite orders, over each
# libnccl.so.2 in the folders given. Ours must end, and the exit code says whether it did. What others do is told:
# NVIDIA's is expected to hang, and is ended after LIMIT seconds.
#
# Both ranks use one GPU where there is no other. NVIDIA's library refuses that before 2.30, and then ends at
# once; from 2.30 on NCCL_MULTI_RANK_GPU_ENABLE lets it.
#
# Set to change: LIMIT (20), CUDA (where nvcc is, /usr/local/cuda), NCCL_HEADER (the folder with nccl.h, where
# CUDA's has none).
set -u
[ $# -gt 0 ] || { echo "usage: $0 OURS [OTHER...]" >&2; exit 2; }
root=$(realpath "$(dirname "$0")/../../..")
cuda=${CUDA:-/usr/local/cuda} limit=${LIMIT:-20}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export NCCL_MULTI_RANK_GPU_ENABLE=1

# The interface is the same: compiled once, and linked with each.
timeout 120 "$cuda/bin/nvcc" -std=c++20 -x cu -DTUTTI_WITH_CUDA ${NCCL_HEADER:+-I"$NCCL_HEADER"} \
  -c "$root/tests/jobs/opposite_orders.cc" -o "$folder/program.o" || exit 1
code=0 is_ours=1
for library in "$@"; do
  library=$(realpath "$library")
  ln -sfn "$library/libnccl.so.2" "$folder/libnccl.so"
  timeout 120 "$cuda/bin/nvcc" "$folder/program.o" -o "$folder/program" -L"$folder" -lnccl || exit 1
  # It says itself where its ranks stand when it is told to end.
  LD_LIBRARY_PATH="$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" timeout -k 5 "$limit" "$folder/program"
  ended=$?
  case $ended in
    0) echo "$library: ended" ;;
    124 | 137) echo "$library: hangs (ended after $limit s)" ;;
    *) echo "$library: failed with exit code $ended" ;;
  esac
  [ "$ended" = 0 ] || [ $is_ours = 0 ] || code=1
  is_ours=0
done
exit $code
