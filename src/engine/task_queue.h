// Whose turn it is: the tasks of one runner, which is a thread that runs a rank's engine or a block
// of a GPU kernel. A task is an operation under way that wants turns; one that can only wait for
// word from a peer is not in the queue. Fixed memory, which is the tasks' own: the queue links them
// and allocates nothing. One thread at a time. docs/design/any-order.md says why it is so.
//
// Who has the turn keeps it for a *tenure*: while it moves, up to its patience. Then the others
// have theirs, in the order of the queue, again and again; and after each tenure that moved
// something the *favourite* has one out of turn: the task that the caller waits for, else the first
// one of the queue. Patience is doubled for a task that could have gone on, and halved for one that
// had to wait, from 1 up to a fixed most. So
// - no task starves: with n tasks in the queue, the next regular tenure of each is at most 2n
//   tenures away, and a tenure is at most `turns` * (1 + `looks`) turns; it is overtaken only by
//   tasks with an earlier stamp that join meanwhile, and stamps grow;
// - a task is left only when it waits or its patience is used up, and a turn in vain is no switch,
//   so it is switched at most once for each turn that moved it: a number that its program fixes,
//   however long it waits and however many others there are.
//
// The queue is in the *agreed order*, which is the same on all ranks without a message of its own:
// ranks stamp what they issue with a clock that runs ahead of all they have heard of (Lamport's),
// stamps travel with the word that an operation was issued, and the greatest stamp of its members
// is its place; ids, which are equal everywhere, decide between equal stamps. Tasks whose members
// were not all heard of yet stand behind, as they came.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/both.h"

namespace tutti::engine {

struct Task {
  Task* before = nullptr;
  Task* behind = nullptr;
  uint64_t id = 0;         // equal on all ranks
  uint32_t stamp = 0;      // the greatest heard of so far
  uint32_t switches = 0;   // how often another one moved before this one, which had moved, was over
  uint32_t patience = 1;   // turns of its next tenure
  bool is_agreed = false;  // the stamp is final
  bool is_in_line = false;
};
static_assert(sizeof(Task) == 40 && std::is_trivially_copyable_v<Task>);

// Stamps wrap around: what was issued is far less than half of them ahead of what is under way.
TUTTI_BOTH inline bool is_earlier(uint32_t a, uint32_t b) {
  return static_cast<int32_t>(a - b) < 0;
}

// A stamp is what a peer says: if it lies, the order suffers and nothing else.
class StampClock {
 public:
  TUTTI_BOTH uint32_t issue() { return ++now_; }
  TUTTI_BOTH void hear(uint32_t stamp) {
    if (is_earlier(now_, stamp)) now_ = stamp;
  }
  TUTTI_BOTH void hear(Task& task, uint32_t stamp) {
    hear(stamp);
    if (is_earlier(task.stamp, stamp)) task.stamp = stamp;
  }

 private:
  uint32_t now_ = 0;
};

// What a runner grants at most.
struct Patience {
  uint32_t turns;  // of a tenure, that move
  uint32_t looks;  // of a tenure, in vain, for each turn of the task's patience; the next leaves it
};

class TaskQueue {
 public:
  // A place in the agreed order is looked for among so many, from the end: tasks come nearly in
  // that order, and adding one takes bounded time.
  static constexpr uint32_t kLookBack = 32;

  TUTTI_BOTH explicit TaskQueue(Patience most) : most_(most) {}

  // Of an operation that is issued; it is not in the queue. Optimistic: it may have what it needs.
  TUTTI_BOTH void start(Task& task, uint64_t id, uint32_t stamp) const {
    task = {nullptr, nullptr, id, stamp, 0, most_.turns, false, false};
  }
  TUTTI_BOTH void add(Task& task) {
    link(task, task.is_agreed ? place_of(task) : nullptr);
    if (!task.is_agreed && first_open_ == nullptr) first_open_ = &task;
    if (size_ > 1) return;
    cursor_ = &task;
    pass_on();
  }
  TUTTI_BOTH void remove(Task& task) {
    if (cursor_ == &task) cursor_ = size_ > 1 ? after(task) : nullptr;
    if (first_open_ == &task) first_open_ = task.behind;
    if (wanted_ == &task) wanted_ = nullptr;
    unlink(task);
    if (holder_ == &task) pass_on();
  }
  // All members were heard of: the stamp is final.
  TUTTI_BOTH void agree(Task& task) {
    task.is_agreed = true;
    if (!task.is_in_line) return;
    if (cursor_ == &task && size_ > 1) cursor_ = after(task);
    if (first_open_ == &task) first_open_ = task.behind;
    unlink(task);
    link(task, place_of(task));
  }
  // The caller waits for it; null: for none.
  TUTTI_BOTH void want(Task* task) {
    wanted_ = task != nullptr && task->is_in_line ? task : nullptr;
  }
  // The operation is over, and not in the queue any more.
  TUTTI_BOTH void end(const Task& task) {
    if (mover_ == &task) mover_ = nullptr;
  }

  [[nodiscard]] TUTTI_BOTH uint32_t size() const { return size_; }
  // Who has the turn; null: the queue is empty.
  [[nodiscard]] TUTTI_BOTH Task* next() const { return holder_; }
  // The task has run, in its turn or because word came for it.
  TUTTI_BOTH void ran(Task& task, bool moved) {
    if (moved) count_switch(task);
    if (holder_ != &task) return;
    if (moved) {
      has_moved_ = true;
      if (--turns_left_ > 0) return;
      task.patience = 2 * task.patience < most_.turns ? 2 * task.patience : most_.turns;
    } else {
      if (looks_left_ > 0) {
        --looks_left_;
        return;
      }
      task.patience = task.patience > 1 ? task.patience / 2 : 1;
    }
    pass_on();
  }
  [[nodiscard]] TUTTI_BOTH uint64_t switches() const { return switches_; }
  // In the order of the queue, for whoever watches.
  [[nodiscard]] TUTTI_BOTH const Task* first() const { return first_; }

 private:
  [[nodiscard]] TUTTI_BOTH Task* after(const Task& task) const {
    return task.behind != nullptr ? task.behind : first_;
  }
  [[nodiscard]] TUTTI_BOTH Task* favourite() const {
    if (wanted_ != nullptr) return wanted_;
    return first_ != first_open_ ? first_ : nullptr;
  }

  // The holder's tenure is over, or it has left.
  TUTTI_BOTH void pass_on() {
    Task* const liked = has_moved_ ? favourite() : nullptr;
    if (liked != nullptr && liked != holder_) {
      holder_ = liked;
    } else {
      holder_ = cursor_;
      if (cursor_ != nullptr) cursor_ = after(*cursor_);
    }
    has_moved_ = false;
    if (holder_ == nullptr) return;
    turns_left_ = holder_->patience;
    looks_left_ = holder_->patience * most_.looks;
  }

  TUTTI_BOTH void count_switch(Task& task) {
    if (mover_ != nullptr && mover_ != &task) {
      ++mover_->switches;
      ++switches_;
    }
    mover_ = &task;
  }

  // Before whom an agreed task belongs; null: at the end.
  [[nodiscard]] TUTTI_BOTH Task* place_of(const Task& task) const {
    Task* at = first_open_;
    Task* other = at != nullptr ? at->before : last_;
    for (uint32_t i = 0; i < kLookBack && other != nullptr && comes_before(task, *other); ++i) {
      at = other;
      other = other->before;
    }
    return at;
  }
  [[nodiscard]] TUTTI_BOTH static bool comes_before(const Task& a, const Task& b) {
    return a.stamp != b.stamp ? is_earlier(a.stamp, b.stamp) : a.id < b.id;
  }
  TUTTI_BOTH void link(Task& task, Task* at) {
    task.behind = at;
    task.before = at != nullptr ? at->before : last_;
    (task.before != nullptr ? task.before->behind : first_) = &task;
    (at != nullptr ? at->before : last_) = &task;
    task.is_in_line = true;
    ++size_;
  }
  TUTTI_BOTH void unlink(Task& task) {
    (task.before != nullptr ? task.before->behind : first_) = task.behind;
    (task.behind != nullptr ? task.behind->before : last_) = task.before;
    task.before = task.behind = nullptr;
    task.is_in_line = false;
    --size_;
  }

  Patience most_;
  Task* first_ = nullptr;
  Task* last_ = nullptr;
  Task* first_open_ = nullptr;  // of those whose stamp is not final; they are all behind
  Task* holder_ = nullptr;      // has the turn
  Task* cursor_ = nullptr;      // has the next regular tenure
  Task* wanted_ = nullptr;
  Task* mover_ = nullptr;    // moved last, and is not over
  uint32_t turns_left_ = 0;  // of the tenure
  uint32_t looks_left_ = 0;
  uint32_t size_ = 0;
  bool has_moved_ = false;  // in the tenure
  uint64_t switches_ = 0;   // of all tasks
};

}  // namespace tutti::engine
