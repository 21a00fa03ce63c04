#include "comm/cuda/device_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/try.h"

namespace tutti::comm {
namespace {

using engine::cuda::DeviceRequest;

constexpr uint64_t kStagingAlign = 256;

uint64_t bytes_of(const Call& call, bool is_input) {
  return (is_input ? call.input_elems : call.output_elems) * size_of(call.type);
}

uint64_t in_whole(uint64_t bytes) {
  return (bytes + kStagingAlign - 1) / kStagingAlign * kStagingAlign;
}

// Messages of a rank to itself never leave it, so they have no numbers: those of one batch under
// one name and tag are matched in their order.
bool is_answered_by(const Call& end, const Call& other) {
  return end.receives != other.receives && end.options.name == other.options.name &&
         end.options.tag == other.options.tag;
}

}  // namespace

Status DeviceBatch::add(const Call& call) {
  TUTTI_ASSIGN(const CheckedCall checked, check_call(call, num_ranks(), Rank{parts_.self}));
  if (call.kind == CollectiveKind::kAllToAll && !call.counts.empty()) return add_exchange(call);
  if (call.kind != CollectiveKind::kSendRecv) return add_request(call, checked, {&call, {}});
  if (call.peer == parts_.self) {
    if (bytes_of(call, !call.receives) != 0) {
      TUTTI_TRY(memory_at(call.receives ? call.output : call.input));
    }
    own_ends_.push_back(&call);
    return {};
  }
  const DevicePrograms::Ends out{parts_.self, call.peer};
  const DevicePrograms::Ends in{call.peer, parts_.self};
  return add_request(call, checked, {&call, call.receives ? in : out});
}

// A rank knows what it sends and what it gets and no more: as many messages as there are pairs.
Status DeviceBatch::add_exchange(const Call& call) {
  const auto* input = static_cast<const std::byte*>(call.input);
  auto* output = static_cast<std::byte*>(call.output);
  for (uint32_t r = 0; r < num_ranks(); ++r) {
    const uint64_t sent = call.counts[r] * size_of(call.type);
    const uint64_t received = call.output_counts[r] * size_of(call.type);
    if (r == parts_.self) {
      if (sent != 0) TUTTI_TRY(memory_at(input));
      if (sent != 0) TUTTI_TRY(memory_at(output));
      before_.push_back({output, input, sent});
    } else {
      Call message{.kind = CollectiveKind::kSendRecv,
                   .type = call.type,
                   .input = input,
                   .input_elems = call.counts[r],
                   .peer = r,
                   .options = call.options};
      TUTTI_TRY(add_message(message, {&call, {parts_.self, r}}));
      message.input = nullptr;
      message.input_elems = 0;
      message.output = output;
      message.output_elems = call.output_counts[r];
      message.receives = true;
      TUTTI_TRY(add_message(message, {&call, {r, parts_.self}}));
    }
    input += sent;
    output += received;
  }
  return {};
}

Status DeviceBatch::add_message(const Call& call, const Origin& origin) {
  TUTTI_ASSIGN(const CheckedCall checked, check_call(call, num_ranks(), Rank{parts_.self}));
  return add_request(call, checked, origin);
}

Status DeviceBatch::add_request(const Call& call, const CheckedCall& checked,
                                const Origin& origin) {
  TUTTI_ASSIGN(LoadedPrograms::Program program, parts_.programs.find(checked.key, origin.ends));
  DeviceRequest request;
  request.signature = checked.signature;
  request.program = program.get();
  request.input = call.input;
  request.output = call.output;
  request.factor = call.options.factor;
  request.budget_ns = static_cast<uint64_t>(std::max<int64_t>(call.options.deadline.count(), 0));
  request.group = parts_.group;
  programs_.push_back(std::move(program));
  requests_.push_back(request);
  origins_.push_back(origin);
  TUTTI_TRY(add_address(call, true));
  return add_address(call, false);
}

// A daemon that reads what is no memory of its GPU ends the process's context: better to ask.
Result<engine::cuda::Allocation> DeviceBatch::memory_at(const void* at) const {
  auto allocation = parts_.members.node->device().allocation_of(at);
  if (allocation) return allocation;
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{} {}", fmt::ptr(at), allocation.error().message)};
}

Status DeviceBatch::add_address(const Call& call, bool is_input) {
  DeviceRequest& request = requests_.back();
  const uint64_t bytes = bytes_of(call, is_input);
  const void* const at = is_input ? call.input : call.output;
  if (bytes == 0) {
    // Nothing is read or written there; nobody is told.
    if (is_input) request.input = nullptr;
    if (!is_input) request.output = nullptr;
    return {};
  }
  TUTTI_ASSIGN(const engine::cuda::Allocation allocation, memory_at(at));
  if (!parts_.members.is_far) return {};
  auto address = parts_.members.node->daemon().exports().address_of(at, allocation);
  if (address) {
    (is_input ? request.input_there : request.output_there) = *address;
    // What travels with the call is told nobody's address.
    const bool is_told = !request.program->is_inline();
    if (is_told && !is_known(*address, requests_.size() - 1)) stage_later(is_input, bytes, false);
    return {};
  }
  if (address.error().code != ErrorCode::kUnsupported) return std::move(address.error());
  stage_later(is_input, bytes, true);
  return {};
}

bool DeviceBatch::is_known(uint64_t address, size_t request) const {
  const engine::cuda::Exports& exports = parts_.members.node->daemon().exports();
  const DevicePrograms::Ends& ends = origins_[request].ends;
  const bool is_pair = ends != DevicePrograms::Ends{};
  const auto& far = parts_.members.far;
  return std::all_of(far.begin(), far.end(), [&](const Watch::Process& other) {
    const uint32_t rank = other.rank.value;
    if (is_pair && rank != ends.from && rank != ends.to) return true;
    return exports.is_known_to(parts_.members.neighbours[rank], engine::cuda::region_of(address));
  });
}

// Input and output that are one stay so, if the program can do with that.
void DeviceBatch::stage_later(bool is_input, uint64_t bytes, bool must_be) {
  const size_t index = requests_.size() - 1;
  const DeviceRequest& request = requests_[index];
  const bool is_one = !is_input && request.input == request.output && !staged_.empty() &&
                      staged_.back().request == index && request.program->may_be_in_place();
  if (is_one) {
    staged_.back().is_output = true;
    staged_.back().bytes = std::max(staged_.back().bytes, bytes);
  } else {
    staged_.push_back({index, is_input, !is_input, must_be, bytes});
  }
}

Status DeviceBatch::complete(const Staging& staging) {
  TUTTI_TRY(match_own_ends());
  TUTTI_TRY(stage(staging));
  for (const DeviceRequest& request : requests_) TUTTI_TRY(engine::cuda::check_places(request));
  return {};
}

Status DeviceBatch::match_own_ends() {
  auto& ends = own_ends_;
  for (size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] == nullptr) continue;
    const auto is_other = [&](const Call* end) {
      return end != nullptr && is_answered_by(*ends[i], *end);
    };
    const auto found =
        std::find_if(ends.begin() + static_cast<ptrdiff_t>(i) + 1, ends.end(), is_other);
    if (found == ends.end()) {
      return Error{ErrorCode::kInvalidArgument,
                   "a message of a rank to itself must be enqueued together with its receipt"};
    }
    const Call& send = ends[i]->receives ? **found : *ends[i];
    const Call& receive = ends[i]->receives ? *ends[i] : **found;
    if (send.type != receive.type || send.input_elems != receive.output_elems) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("a rank sends {} elements to itself and receives {}",
                               send.input_elems, receive.output_elems)};
    }
    before_.push_back({receive.output, send.input, bytes_of(send, true)});
    ends[i] = *found = nullptr;
  }
  return {};
}

Status DeviceBatch::stage(const Staging& staging) {
  if (staged_.empty() || stage_at_hand(staging)) return {};
  // Members are told of all that they can reach, and map it when they hear of it.
  std::erase_if(staged_, [](const Staged& staged) { return !staged.must_be; });
  if (staged_.empty()) return {};
  TUTTI_ASSIGN(std::byte* const memory, staging.take(staging_bytes()));
  return stage_in(memory);
}

// False: nothing was staged.
bool DeviceBatch::stage_at_hand(const Staging& staging) {
  if (staging.take_at_hand == nullptr) return false;
  std::byte* const memory = staging.take_at_hand(staging_bytes());
  if (memory == nullptr) return false;
  const auto there = parts_.members.node->daemon().exports().address_of(memory);
  if (!there) return false;
  const bool is_of_use = std::all_of(staged_.begin(), staged_.end(), [&](const Staged& staged) {
    return is_known(*there, staged.request);
  });
  return is_of_use && stage_in(memory).ok();
}

uint64_t DeviceBatch::staging_bytes() const {
  uint64_t bytes = 0;
  for (const Staged& staged : staged_) bytes += in_whole(staged.bytes);
  return bytes;
}

Status DeviceBatch::stage_in(std::byte* memory) {
  // It is all in one region.
  TUTTI_ASSIGN(uint64_t there, parts_.members.node->daemon().exports().address_of(memory));
  for (const Staged& staged : staged_) {
    DeviceRequest& request = requests_[staged.request];
    // There and back, so that what is not written, after an error or on ranks that get nothing, is
    // as it was.
    before_.push_back({memory, staged.is_input ? request.input : request.output, staged.bytes});
    if (staged.is_output) {
      after_.push_back({request.output, memory, staged.bytes});
      request.output = memory;
      request.output_there = there;
    }
    if (staged.is_input) {
      request.input = memory;
      request.input_there = there;
    }
    memory += in_whole(staged.bytes);
    there += in_whole(staged.bytes);
  }
  return {};
}

void DeviceBatch::number(CallNumbers& numbers) {
  CallNumbers::Key exchange;
  for (size_t i = 0; i < requests_.size(); ++i) {
    const auto& [call, ends] = origins_[i];
    CallNumbers::Key key;
    if (call->kind == CollectiveKind::kSendRecv) {
      key = numbers.next({ends.from, ends.to, call->receives}, call->options);
    } else if (ends == DevicePrograms::Ends{}) {
      key = numbers.next(call->options);
    } else {
      // The messages of one exchange share its number.
      const bool is_first = i == 0 || origins_[i - 1].call != call;
      if (is_first) exchange = numbers.next(call->options);
      key = {CallNumbers::pair_key(exchange.id, ends.from, ends.to), exchange.number};
    }
    requests_[i].operation = key.id;
    facts_.push_back(facts_of(i, key));
  }
}

// As people are to read it.
BoardEntry DeviceBatch::facts_of(size_t request, CallNumbers::Key key) const {
  const auto& [call, ends] = origins_[request];
  BoardEntry facts;
  facts.id = key.id;
  facts.number = key.number;
  facts.signature = requests_[request].signature;
  facts.name.assign(call->options.name);
  facts.is_on_gpu = 1;
  const bool is_pair = ends != DevicePrograms::Ends{};
  for (uint32_t r = 0; r < num_ranks(); ++r) {
    if (!is_pair || r == ends.from || r == ends.to) facts.members.add(parts_.ranks[r].value);
  }
  return facts;
}

}  // namespace tutti::comm
