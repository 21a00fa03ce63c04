# To be sourced: lets processes share a GPU at the same time, with NVIDIA's MPS, until the script
# ends. Ranks on one GPU wait for each other, so taking turns is not enough. Where a daemon runs
# already (CUDA_MPS_PIPE_DIRECTORY is set), it is used; where there is no MPS, that is said.
if [ -z "${CUDA_MPS_PIPE_DIRECTORY:-}" ]; then
  if command -v nvidia-cuda-mps-control > /dev/null; then
    mps_folder=$(mktemp -d)
    export CUDA_MPS_PIPE_DIRECTORY="$mps_folder/pipe" CUDA_MPS_LOG_DIRECTORY="$mps_folder/log"
    mkdir "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
    nvidia-cuda-mps-control -d
    trap 'echo quit | nvidia-cuda-mps-control > /dev/null; rm -rf "$mps_folder"' EXIT
  else
    echo "there is no nvidia-cuda-mps-control: processes will take turns on the GPU" >&2
  fi
fi
