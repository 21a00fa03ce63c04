// The last call of a communicator, ready to be issued again. Loops repeat their calls with the same
// buffers, and to check a small call and to find its program takes longer than to send it.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "engine/cpu/operation.h"
#include "tutti/communicator.h"

namespace tutti::comm {

class LastCall {
 public:
  // The use of it, if the new call differs in nothing but name, tag and deadline. One thread at a
  // time has it; the others do without, and wait for nobody.
  class Use {
   public:
    Use(LastCall& last, const Call& call) : last_(last.try_take() ? &last : nullptr) {
      if (last_ == nullptr || last_->is_like(call)) return;
      last_->give_back();
      last_ = nullptr;
    }
    ~Use() {
      if (last_ != nullptr) last_->give_back();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    explicit operator bool() const { return last_ != nullptr; }
    [[nodiscard]] engine::Request& request() const { return last_->request_; }

   private:
    LastCall* last_;
  };

  void remember(const Call& call, const engine::Request& request,
                std::shared_ptr<const engine::BoundProgram> program) {
    if (!try_take()) return;
    call_ = call;
    call_.options.name = {};  // it is the caller's, and may go
    request_ = request;
    program_ = std::move(program);
    give_back();
  }

 private:
  [[nodiscard]] bool is_like(const Call& call) const {
    return program_ != nullptr && call.kind == call_.kind && call.type == call_.type &&
           call.input == call_.input && call.input_elems == call_.input_elems &&
           call.output == call_.output && call.output_elems == call_.output_elems &&
           call.counts.empty() && call.options.op == call_.options.op &&
           call.options.root == call_.options.root && call.options.factor == call_.options.factor;
  }
  bool try_take() { return !is_taken_.exchange(true, std::memory_order_acquire); }
  void give_back() { is_taken_.store(false, std::memory_order_release); }

  std::atomic<bool> is_taken_{false};
  Call call_;
  engine::Request request_;
  std::shared_ptr<const engine::BoundProgram> program_;  // keeps it; null: there was no call yet
};

}  // namespace tutti::comm
