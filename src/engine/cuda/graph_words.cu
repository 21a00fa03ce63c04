#include <algorithm>
#include <utility>
#include <vector>

#include "base/try.h"
#include "engine/cuda/driver.h"
#include "engine/cuda/graph_words.h"
#include "engine/cuda/stream_words.h"

namespace tutti::engine::cuda {
namespace {

using AddNode = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                         const CUDA_BATCH_MEM_OP_NODE_PARAMS*);
using GetContext = CUresult(CUcontext*);

// The driver takes 256 at most.
constexpr size_t kMostInNode = 128;

// A stream's capture: the graph, and what the stream's next node comes behind.
struct Capture {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* behind = nullptr;
  size_t num_behind = 0;
};

Result<Capture> capture_of(cudaStream_t stream) {
  Capture out;
  unsigned long long id = 0;
  // Asked for, lest edges that say more are an error: here all come behind whole nodes.
  const cudaGraphEdgeData* edges = nullptr;
  TUTTI_TRY(checked(cudaStreamGetCaptureInfo(stream, &out.status, &id, &out.graph, &out.behind,
                                             &edges, &out.num_behind),
                    "looking at the capture of a stream"));
  if (out.status == cudaStreamCaptureStatusActive) return out;
  return Error{ErrorCode::kInvalidArgument, "the capture of the stream is over, or invalid"};
}

CUstreamBatchMemOpParams operation_of(const Device::WordStep& step) {
  CUstreamBatchMemOpParams out{};
  const auto address = reinterpret_cast<CUdeviceptr>(step.word);
  switch (step.kind) {
    case Device::WordStep::Kind::kWrite:
      out.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
      out.writeValue.address = address;
      out.writeValue.value = step.value;
      out.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
      break;
    case Device::WordStep::Kind::kAwait:
      out.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
      out.waitValue.address = address;
      out.waitValue.value = step.value;
      out.waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
      break;
  }
  return out;
}

Status add_node(cudaStream_t stream, std::span<CUstreamBatchMemOpParams> operations) {
  static const auto add = driver_function<AddNode>("cuGraphAddBatchMemOpNode");
  static const auto get_context = driver_function<GetContext>("cuCtxGetCurrent");
  TUTTI_TRY(add);
  TUTTI_TRY(get_context);
  TUTTI_ASSIGN(const Capture capture, capture_of(stream));
  CUDA_BATCH_MEM_OP_NODE_PARAMS params{};
  TUTTI_TRY(checked((*get_context)(&params.ctx), "asking for the context"));
  params.count = static_cast<unsigned int>(operations.size());
  params.paramArray = operations.data();
  cudaGraphNode_t node = nullptr;
  TUTTI_TRY(checked((*add)(&node, capture.graph, capture.behind, capture.num_behind, &params),
                    "adding a node to a graph"));
  return checked(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1,
                                                     cudaStreamSetCaptureDependencies),
                 "adding a node to a graph");
}

void drop(void* kept) { delete static_cast<std::shared_ptr<void>*>(kept); }

}  // namespace

Result<bool> is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status{};
  TUTTI_TRY(checked(cudaStreamIsCapturing(stream, &status), "looking at a stream"));
  if (status != cudaStreamCaptureStatusInvalidated) return status == cudaStreamCaptureStatusActive;
  return Error{ErrorCode::kInvalidArgument, "the capture of the stream is invalid"};
}

Status capture_words(cudaStream_t stream, std::span<const Device::WordStep> steps) {
  std::vector<CUstreamBatchMemOpParams> operations;
  operations.reserve(steps.size());
  for (const Device::WordStep& step : steps) operations.push_back(operation_of(step));
  for (size_t at = 0; at < operations.size(); at += kMostInNode) {
    const size_t count = std::min(kMostInNode, operations.size() - at);
    TUTTI_TRY(add_node(stream, std::span(operations).subspan(at, count)));
  }
  return {};
}

Status keep_for_graph(cudaStream_t stream, std::shared_ptr<void> what) {
  TUTTI_ASSIGN(const Capture capture, capture_of(stream));
  auto kept = std::make_unique<std::shared_ptr<void>>(std::move(what));
  cudaUserObject_t object = nullptr;
  TUTTI_TRY(
      checked(cudaUserObjectCreate(&object, kept.get(), drop, 1, cudaUserObjectNoDestructorSync),
              "giving a graph something to keep"));
  static_cast<void>(kept.release());  // it is the object's now
  const cudaError_t error =
      cudaGraphRetainUserObject(capture.graph, object, 1, cudaGraphUserObjectMove);
  if (error != cudaSuccess) cudaUserObjectRelease(object);
  return checked(error, "giving a graph something to keep");
}

}  // namespace tutti::engine::cuda
