// Operations that were submitted and whose streams have not come to them: some lie at hand, in fast
// memory, the rest in their homes, in the order of each stream.
#pragma once

#include "engine/cuda/context.h"
#include "engine/cuda/daemon_state.h"

namespace tutti::engine::cuda {

class StreamCalls {
 public:
  TUTTI_BOTH explicit StreamCalls(LeaderState& own) : own_(own) {}

  // The first look, which often finds the stream there. The acquire sees what it did before.
  [[nodiscard]] TUTTI_BOTH static bool has_come(const Submission& submission) {
    return !is_earlier(load_acquire(&submission.stream->armed), submission.stream_value);
  }

  TUTTI_BOTH void add(const Submission& submission) {
    if (!park(submission)) join_stream(submission);
  }

  // One that its stream has come to; null: there is none. Stays where it is until the next call.
  TUTTI_BOTH const Submission* next() {
    if (own_.parked_mask != 0) {
      if (const Submission* const parked = next_parked()) return parked;
    }
    if (own_.streams == nullptr) return nullptr;
    if (own_.parked_mask == kAllParked) return next_of_streams();
    park_first();
    return nullptr;
  }

 private:
  // In whatever order: those of one stream that it has come to begin together.
  [[nodiscard]] TUTTI_BOTH bool park(const Submission& submission) {
    TUTTI_NO_UNROLL
    for (uint32_t i = 0; i < kParked; ++i) {
      if ((own_.parked_mask >> i & 1) != 0) continue;
      fetch_submission(own_.parked[i], submission);
      own_.parked_mask |= 1U << i;
      return true;
    }
    return false;
  }
  // Nothing is parked before what it gives has begun. A look takes long, so a stream that has
  // several there is looked at once.
  TUTTI_BOTH const Submission* next_parked() {
    const StreamWords* stream = nullptr;
    uint32_t armed = 0;
    TUTTI_NO_UNROLL
    for (uint32_t i = 0; i < kParked; ++i) {
      if ((own_.parked_mask >> i & 1) == 0) continue;
      const Submission& issued = own_.parked[i];
      if (issued.stream != stream) {
        stream = issued.stream;
        armed = load_acquire(&stream->armed);
      }
      if (is_earlier(armed, issued.stream_value)) continue;
      own_.parked_mask &= ~(1U << i);
      return &issued;
    }
    return nullptr;
  }

  // Behind those of the same stream: they begin one after the other.
  TUTTI_BOTH void join_stream(const Submission& submission) {
    Context& home = *submission.context;
    StreamWords& stream = *submission.stream;
    copy_words(&home.issued, &submission, sizeof submission);
    home.next = nullptr;
    if (stream.first != nullptr) {
      stream.last->next = &home;
    } else {
      stream.first = &home;
      stream.first_value = submission.stream_value;
      stream.next = own_.streams;
      own_.streams = &stream;
    }
    stream.last = &home;
  }
  // Brings what lies at home to hand while there is time.
  TUTTI_BOTH void park_first() {
    static_cast<void>(park(own_.streams->first->issued));
    leave_stream(own_.streams);
  }
  // Streams of which nothing is at hand must be looked at too, or all that is at hand might wait
  // for what they have come to.
  TUTTI_BOTH const Submission* next_of_streams() {
    for (StreamWords** link = &own_.streams; *link != nullptr; link = &(*link)->next) {
      const StreamWords& stream = **link;
      if (is_earlier(load_acquire(&stream.armed), stream.first_value)) continue;
      fetch_submission(own_.from_home, stream.first->issued);
      leave_stream(*link);
      return &own_.from_home;
    }
    return nullptr;
  }
  // The first of a stream.
  TUTTI_BOTH static void leave_stream(StreamWords*& link) {
    StreamWords& stream = *link;
    stream.first = stream.first->next;
    if (stream.first != nullptr) {
      stream.first_value = stream.first->issued.stream_value;
    } else {
      link = stream.next;
    }
  }

  LeaderState& own_;
};

}  // namespace tutti::engine::cuda
