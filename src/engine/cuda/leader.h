// The first block of a daemon. It takes what the host submits, meets peers, starts operations when
// all their members have issued them, and runs the small ones itself; when it leaves is told in
// run_leader.h.
//
// No deadlock: an operation that waits for members holds nothing but its own memory. The leader
// waits for nobody, but for the moment of at_once.h, which has an end: a full mailbox or an
// operation that is not there yet is looked at again in the next round. Who waits for members reads
// every letter, because it is kept in the sender's memory; hence its mailboxes empty while its
// daemon runs, and every daemon with something under way is launched again and again (daemon.h).
#pragma once

#include "engine/cuda/at_once.h"
#include "engine/cuda/block.h"
#include "engine/cuda/crew.h"
#include "engine/cuda/letters.h"
#include "engine/cuda/stream_calls.h"

namespace tutti::engine::cuda {

template <class Machine>
class Leader {
 public:
  TUTTI_BOTH Leader(DaemonState& state, Machine& machine)
      : state_(state),
        own_(machine.leader()),
        desk_(machine.desk()),
        block_(state, 0, machine),
        machine_(machine) {}

  // One round of everything. Whether anything has moved.
  TUTTI_BOTH bool round() {
    bool moved = false;
    while (const Submission* const submission = next_call()) {
      machine_.mark(Stage::kTake);
      begin(*submission);
      moved = true;
    }
    if (own_.to_greet != nullptr) moved = greet_all() || moved;
    for (uint32_t i = 0; i < state_.num_ranks; ++i) {
      if (i != state_.self) moved = read_mail(i) || moved;
    }
    while (own_.ready != nullptr) {
      Context& context = *own_.ready;
      own_.ready = context.greet_next;
      start(context);
      moved = true;
    }
    if (own_.waiting != nullptr) moved = start_wide() || moved;
    return block_.turn() == Turn::kMoved || moved;
  }

  [[nodiscard]] TUTTI_BOTH bool is_idle() const {
    return own_.num_pending == 0 && block_.is_idle() && !has_wide() && !has_streamed();
  }
  // A stream waits for the daemon, or will: nobody may be able to launch it again by then.
  [[nodiscard]] TUTTI_BOTH bool has_streamed() const {
    return own_.num_streamed != load_relaxed(&state_.num_streamed_over);
  }
  [[nodiscard]] TUTTI_BOTH bool has_wide() const { return crew().has_work(); }
  // By value: what is called at several places would else keep all of the leader in memory.
  [[nodiscard]] TUTTI_BOTH Crew<Machine> crew() const { return {state_, machine_}; }
  TUTTI_BOTH void watch_crew(uint64_t now_ns) { crew().watch(now_ns, block_); }

  // What waits for members in vain: operations whose time is over, or whose group is aborted.
  TUTTI_BOTH void end_late(uint64_t now_ns) {
    if (own_.num_pending == 0) return;
    for (uint32_t i = 0; i < kBuckets; ++i) {
      for (Context** link = &own_.operations[i]; *link != nullptr;) {
        Context& context = **link;
        const bool is_aborted = load_relaxed(&state_.aborted[context.issued.group]) != 0;
        if (is_given_up(context) || (!is_aborted && now_ns < context.deadline_ns)) {
          link = &context.next;
          continue;
        }
        *link = give_up(context, is_aborted ? Outcome::kAborted : Outcome::kDeadline);
      }
    }
  }

  // At the end of a launch: what waits for members is looked at in the next. First all contents go
  // home, then the lists are those of homes.
  TUTTI_BOTH void put_down() {
    for (uint32_t i = 0; i < kBuckets; ++i) {
      for (const Context* at = own_.operations[i]; at != nullptr; at = at->next) {
        bring_home(*at, machine_.near(at->issued), machine_);
      }
    }
    for (uint32_t i = 0; i < kBuckets; ++i) {
      for (Context** link = &own_.operations[i]; *link != nullptr; link = &(*link)->next) {
        *link = (*link)->home;
      }
    }
    for (Context** link = &own_.to_greet; *link != nullptr; link = &(*link)->greet_next) {
      *link = (*link)->home;
    }
    block_.put_down();
  }

 private:
  static constexpr uint8_t kRoundsToWait = 48;
  static constexpr uint32_t kMostSkipped = 6;  // as a power of two

  // What begins now: of a stream that has come to it, or as it is submitted or triggered. Stays
  // where it is until the next one is asked for.
  TUTTI_BOTH const Submission* next_call() {
    StreamCalls waiting(own_);
    if (const Submission* const come = waiting.next()) return come;
    while (Submission* const submission = machine_.next()) {
      if (submission->prepared != nullptr) {
        if (begin_triggered(own_, *submission)) return submission;
        continue;
      }
      ++own_.num_submitted;
      if (submission->stream != nullptr) ++own_.num_streamed;
      // So that the host knows what room there is. A hint: late is as good.
      if (own_.num_submitted % 16 == 0) store_relaxed(&state_.host->num_taken, own_.num_submitted);
      if (submission->stream == nullptr || StreamCalls::has_come(*submission)) return submission;
      waiting.add(*submission);
    }
    return nullptr;
  }

  // By the shortest way, if that may be open.
  TUTTI_BOTH void begin(const Submission& submission) {
    const DeviceProgram& program = machine_.near(submission);
    const uint32_t stamp = own_.clock.issue();
    AtOnce outcome = AtOnce::kNo;
    if (may_be_at_once(submission, program)) {
      outcome = machine_.run_at_once(submission, program, stamp, state_.presence.meet_ns);
      learn(outcome == AtOnce::kDone || outcome == AtOnce::kReady);
    }
    if (outcome == AtOnce::kReady) return publish_passed(submission);
    if (outcome != AtOnce::kDone) issue(submission, stamp, outcome);
  }

  // Nothing else is under way here, or it would wait meanwhile; and no letter of it was put aside.
  [[nodiscard]] TUTTI_BOTH bool may_be_at_once(const Submission& submission,
                                               const DeviceProgram& program) {
    if (program.is_summed == 0 && program.is_passed == 0) return false;
    if (program.num_members > kAtOnceMembers) return false;
    // Workers that are on their way are waited for elsewhere.
    if (program.num_parts > 1 && own_.has_workers == 0) return false;
    if (own_.num_to_skip != 0) {
      --own_.num_to_skip;
      return false;
    }
    return own_.num_pending == 0 && own_.to_greet == nullptr && own_.ready == nullptr &&
           block_.is_idle() && own_.early[bucket_of(submission.operation)] == nullptr;
  }
  // Where ranks call in different orders it is tried ever more rarely.
  TUTTI_BOTH void learn(bool was_at_once) {
    if (was_at_once) {
      ++own_.num_at_once;
      own_.num_vain_at_once = 0;
      return;
    }
    own_.num_to_skip = (1U << own_.num_vain_at_once) - 1;
    if (own_.num_vain_at_once < kMostSkipped) ++own_.num_vain_at_once;
  }

  // `tried`: how far it has come already.
  TUTTI_BOTH void issue(const Submission& submission, uint32_t stamp, AtOnce tried) {
    const bool is_told = tried != AtOnce::kNo;
    ++own_.num_pending;
    const DeviceProgram& program = machine_.near(submission);
    DeskSlot* const slot = desk_.take(program);
    Context& context = slot != nullptr ? slot->context : *submission.context;
    copy_words(&context.issued, &submission, sizeof submission);
    context.home = submission.context;
    context.members =
        slot != nullptr ? slot->members : at_home<PeerSide>(context, program.homes.members);
    context.deadline_ns = machine_.now_ns() + submission.budget_ns;
    context.num_unheard = program.num_members - 1;
    context.num_greeted = is_told ? program.num_members - 1 : 0;
    context.outcome = static_cast<uint32_t>(Outcome::kUnderWay);
    context.stamp = stamp;
    context.is_moved = tried == AtOnce::kMoved ? 1 : 0;
    for (uint32_t i = 0; i < program.num_members; ++i) context.members[i].is_heard = 0;
    if (program.is_inline != 0) {
      copy_input(context.members[program.self].input, submission.input,
                 static_cast<uint32_t>(program.input_bytes));
    }
    Context*& bucket = own_.operations[bucket_of(context.issued.operation)];
    context.next = bucket;
    bucket = &context;
    if (!is_told) {
      context.greet_next = own_.to_greet;
      own_.to_greet = &context;
    }
    hear_early(context);
    machine_.mark(Stage::kIssue);
  }

  // --- word to peers ---

  // Tells members that were not told yet. False: a mailbox is full.
  TUTTI_BOTH bool greet(Context& context) {
    const DeviceProgram& program = machine_.near(context.issued);
    if (context.num_greeted + 1 >= program.num_members) return true;
    Hello hello;
    write_hello(hello, context, program);
    const uint64_t nodes = context.issued.context_there + program.homes.nodes;
    // In order from the next one on, so that not all ranks write to the same one first.
    TUTTI_NO_UNROLL
    for (; context.num_greeted + 1 < program.num_members; ++context.num_greeted) {
      uint32_t member = program.self + 1 + context.num_greeted;
      if (member >= program.num_members) member -= program.num_members;
      Neighbour& to = own_.neighbours[program.members[member]];
      if (to.num_written - to.num_known >= kLetters) to.num_known = load_relaxed(to.read_there);
      if (to.num_written - to.num_known >= kLetters) return false;
      hello.node = nodes + member * sizeof(EarlyNode);
      Unit* const letter = to.mailbox_there + uint64_t{to.num_written % kLetters} * kHelloUnits;
      write_units(letter, hello, ++to.num_written, hello.num_units);
    }
    return true;
  }

  TUTTI_BOTH bool greet_all() {
    bool moved = false;
    for (Context** link = &own_.to_greet; *link != nullptr;) {
      Context& context = **link;
      const uint32_t before = context.num_greeted;
      const bool done = greet(context);
      moved = moved || context.num_greeted != before;
      if (!done) {
        link = &context.greet_next;
        continue;
      }
      *link = context.greet_next;
      note_if_ready(context);
    }
    machine_.mark(Stage::kGreet);
    return moved;
  }

  // --- word from peers ---

  TUTTI_BOTH bool read_mail(uint32_t rank) {
    bool moved = false;
    // The machine keeps a letter until it is asked for the next one.
    while (const Hello* const hello = machine_.next_letter(rank)) {
      machine_.mark(Stage::kLook);
      if (!sort(rank, *hello)) {
        machine_.keep_letter();
        return moved;
      }
      Neighbour& from = own_.neighbours[rank];
      ++from.num_read;
      // Some at once: the sender asks only when the mailbox seems full.
      if (from.num_read % (kLetters / 4) == 0) store_relaxed(from.read_by_us, from.num_read);
      machine_.mark(Stage::kHear);
      moved = true;
    }
    return moved;
  }

  // False: the letter is to be kept where it is, and looked at in the next round. Ranks that call
  // together are some microseconds apart, and what is filed cannot be over at once; so a quick
  // letter stays while nothing waits here, which might need one behind it.
  TUTTI_BOTH bool sort(uint32_t rank, const Hello& hello) {
    if (region_of(hello.node) != 0 && !can_reach(rank, hello)) return false;
    uint8_t& num_waited = own_.num_waited[rank];
    for (Context* at = own_.operations[bucket_of(hello.operation)]; at != nullptr; at = at->next) {
      if (at->issued.operation != hello.operation) continue;
      num_waited = 0;
      hear(*at, rank, hello);
      note_if_ready(*at);
      return true;
    }
    if (hello.is_quick != 0 && may_stay(num_waited)) return false;
    // Where it would be kept is out of reach: it stays in the mailbox, and what its sender writes
    // behind it waits too, until the operation is issued here and fails.
    if (base_of(rank, hello.node) == kUnreachableRegion) return false;
    EarlyNode& node = *reach<EarlyNode>(rank, hello.node);
    EarlyNode*& bucket = own_.early[bucket_of(hello.operation)];
    copy_words(&node.hello, &hello, sizeof hello);
    node.from = rank;
    node.next = bucket;
    bucket = &node;
    return true;
  }

  // Else the call here has a moment to come, unless the sender's last letter has waited in vain.
  TUTTI_BOTH bool may_stay(uint8_t& num_waited) {
    if (num_waited >= kRoundsToWait) return own_.num_pending == 0;
    ++num_waited;
    return true;
  }

  // Where a neighbour's memory is here.
  template <class T>
  [[nodiscard]] TUTTI_BOTH T* reach(uint32_t rank, uint64_t address) const {
    return reinterpret_cast<T*>(base_of(rank, address) + (address & kRegionMask));
  }
  [[nodiscard]] TUTTI_BOTH uint64_t base_of(uint32_t rank, uint64_t address) const {
    const uint32_t region = region_of(address);
    return region == 0 ? 0 : load_relaxed(own_.neighbours[rank].regions + region);
  }
  // Of a neighbour in another process. What the host has not mapped yet it is asked for; what it
  // could not map is known too.
  [[nodiscard]] TUTTI_BOTH bool can_reach(uint32_t rank, const Hello& hello) {
    const uint32_t num_addresses = hello.inline_bytes == kNotInline ? kNumAddresses : 0;
    uint32_t region = region_of(hello.node);
    for (uint32_t i = 0;; ++i) {
      // Acquires what the host did before it wrote the entry: it has mapped the region.
      const bool is_here = region == 0 || load_acquire(own_.neighbours[rank].regions + region) != 0;
      if (!is_here) {
        // Pairs with the acquire in Daemon::serve, which reads what the letter's sender wrote
        // before.
        store_release_host(&state_.host->wanted, wanted_word(rank, region));
        return false;
      }
      if (i == num_addresses) return true;
      region = region_of(hello.addresses[i]);
    }
  }

  TUTTI_BOTH void hear_early(Context& context) {
    for (EarlyNode** link = &own_.early[bucket_of(context.issued.operation)]; *link != nullptr;) {
      EarlyNode& node = **link;
      if (node.hello.operation != context.issued.operation) {
        link = &node.next;
        continue;
      }
      *link = node.next;
      hear(context, node.from, node.hello);
    }
  }

  TUTTI_BOTH void hear(Context& context, uint32_t rank, const Hello& hello) {
    const DeviceProgram& program = machine_.near(context.issued);
    const uint32_t member = hello.member;
    // Word of a rank that is not this member, or for the second time, is no word.
    if (member >= program.num_members || program.members[member] != rank ||
        context.members[member].is_heard != 0) {
      return;
    }
    PeerSide& side = context.members[member];
    side.is_heard = 1;
    --context.num_unheard;
    own_.clock.hear(hello.stamp);
    if (is_given_up(context)) return;
    if (is_earlier(context.stamp, hello.stamp)) context.stamp = hello.stamp;
    const bool is_inline = hello.inline_bytes != kNotInline;
    // First: who calls something else says other things where these would be looked for.
    if (!(hello.signature == context.issued.signature) || is_inline != (program.is_inline != 0)) {
      context.outcome = static_cast<uint32_t>(Outcome::kMismatch);
      context.failed_member = member;
      context.failed_signature = hello.signature;
      return;
    }
    side.factor = hello.factor;
    if (is_inline) {
      copy_words(
          side.input, hello.input,
          hello.inline_bytes < kInlineBytes ? whole_words(hello.inline_bytes) : kInlineBytes);
      return;
    }
    for (const uint64_t address : hello.addresses) {
      if (base_of(rank, address) != kUnreachableRegion) continue;
      context.outcome = static_cast<uint32_t>(Outcome::kUnreachable);
      context.failed_member = member;
      return;
    }
    for (int b = 0; b < ir::kNumBuffers; ++b) {
      side.buffers[b] = reach<std::byte>(rank, hello.addresses[b]);
    }
    side.words = reach<uint32_t>(rank, hello.addresses[kWordsAddress]);
    side.words_stride = hello.words_stride;
  }

  // --- what starts ---

  // All members have issued it, and were told: it leaves the table, since nothing more will be
  // heard of it.
  TUTTI_BOTH void note_if_ready(Context& context) {
    const bool is_over = is_given_up(context);
    const uint32_t num_members = machine_.near(context.issued).num_members;
    if (context.num_unheard != 0) return;
    if (!is_over && context.num_greeted + 1 < num_members) return;
    Context** link = &own_.operations[bucket_of(context.issued.operation)];
    while (*link != &context) link = &(*link)->next;
    *link = context.next;
    if (is_over) return;
    --own_.num_pending;
    context.greet_next = own_.ready;
    own_.ready = &context;
  }

  TUTTI_BOTH void start(Context& context) {
    const DeviceProgram& program = machine_.near(context.issued);
    const auto outcome = static_cast<Outcome>(context.outcome);
    if (outcome != Outcome::kUnderWay) {
      complete(state_, context, outcome, 0);
      return leave_desk(context);
    }
    if (program.is_summed != 0) return run_sums(context, program);
    if (program.num_parts == 1) {
      Part& part = open_part(context, program, 0, desk_.slot_of(context));
      if (context.is_moved != 0) skip_moved(part, program);
      return block_.add(part);
    }
    bring_home(context, program, machine_);
    Closing& closing = closing_of(context, program);
    closing.parts_left = program.num_parts;
    closing.num_late = 0;
    Context& home = *context.home;
    leave_desk(context);
    if (own_.waiting == nullptr) own_.waiting_since_ns = machine_.now_ns();
    home.greet_next = own_.waiting;
    own_.waiting = &home;
    if (own_.has_workers == 0) crew().call();
  }

  // Whether anything was started.
  TUTTI_BOTH bool start_wide() {
    const bool is_alone = !crew().is_here();
    if (is_alone && machine_.now_ns() - own_.waiting_since_ns < state_.presence.patience_ns) {
      return false;
    }
    while (own_.waiting != nullptr) {
      Context& home = *own_.waiting;
      own_.waiting = home.greet_next;
      ++own_.num_started;
      if (is_alone) {
        run_all_parts(home);
      } else {
        publish({&home, machine_.near(home.issued).num_parts, 0});
      }
    }
    return true;
  }

  // What workers would do, one after the other: slow, and never stuck.
  TUTTI_BOTH void run_all_parts(Context& home) {
    const DeviceProgram& program = machine_.near(home.issued);
    for (uint32_t i = 0; i < program.num_parts; ++i) {
      block_.add(open_part(home, program, i, nullptr));
    }
  }

  TUTTI_BOTH void run_sums(Context& context, const DeviceProgram& program) {
    const transport::Signature& signature = context.issued.signature;
    context.members[program.self].factor = context.issued.factor;
    Fold& tile = machine_.tile();
    prepare_sum(tile, signature, program.num_members);
    TUTTI_NO_UNROLL
    for (uint32_t i = 0; i < program.num_sums; ++i) {
      const Sum sum = program.sums[i];
      tile.bytes = sum.bytes;
      tile.dsts[0] = context.issued.output + sum.dst;
      tile.num_sources = static_cast<uint8_t>(sum.num_sources);
      TUTTI_NO_UNROLL
      for (uint32_t j = 0; j < sum.num_sources; ++j) {
        const SumSource source = program.sum_sources[sum.first_source + j];
        const PeerSide& side = context.members[source.member];
        tile.sources[j] = side.input + source.at;
        if (tile.is_scaled != 0) tile.factors[j] = side.factor;
      }
      machine_.fold();
    }
    machine_.mark(Stage::kFold);
    complete(state_, context, Outcome::kDone, 0);
    leave_desk(context);
    machine_.mark(Stage::kEnd);
  }

  // Its home is as workers want it, but for the deadline.
  TUTTI_BOTH void publish_passed(const Submission& submission) {
    Context& home = *submission.context;
    home.deadline_ns = machine_.now_ns() + submission.budget_ns;
    ++own_.num_started;
    publish({&home, machine_.near(submission).num_parts, 1});
  }

  TUTTI_BOTH void publish(const Published& it) {
    // Liveness: workers take in what is published whatever else they do.
    while (!has_room_for_wide()) machine_.pause();
    state_.published[state_.num_published % kPublished] = it;
    // Pairs with the acquire of the workers.
    store_release(&state_.num_published, state_.num_published + 1);
  }

  [[nodiscard]] TUTTI_BOTH bool has_room_for_wide() {
    if (state_.num_published - own_.num_known_taken < kPublished) return true;
    uint32_t least = state_.num_published;
    for (uint32_t i = 1; i < state_.num_blocks; ++i) {
      const uint32_t taken = load_acquire(&state_.num_taken_in[i]);
      if (state_.num_published - taken > state_.num_published - least) least = taken;
    }
    own_.num_known_taken = least;
    return state_.num_published - least < kPublished;
  }

  TUTTI_BOTH void leave_desk(const Context& context) {
    if (DeskSlot* const slot = desk_.slot_of(context)) slot->is_used = 0;
  }

  // What takes its place in the table: itself, at home, while letters are to come. They are kept in
  // memory of members for whom the operation may be over, and who use it again: so they must be
  // known, and dropped. Its own memory is never used again.
  TUTTI_BOTH Context* give_up(Context& context, Outcome outcome) {
    const DeviceProgram& program = machine_.near(context.issued);
    --own_.num_pending;
    // The first of those that are missing.
    for (uint32_t i = program.num_members; i-- > 0;) {
      if (i != program.self && context.members[i].is_heard == 0) context.failed_member = i;
    }
    for (Context** link = &own_.to_greet; *link != nullptr; link = &(*link)->greet_next) {
      if (*link != &context) continue;
      *link = context.greet_next;
      break;
    }
    context.outcome = static_cast<uint32_t>(outcome);
    bring_home(context, program, machine_);
    complete(state_, context, outcome, 0);
    Context* const next = context.num_unheard != 0 ? context.home : context.next;
    leave_desk(context);
    return next;
  }

  DaemonState& state_;
  LeaderState& own_;
  Desk& desk_;
  Block<Machine> block_;
  Machine& machine_;
};

}  // namespace tutti::engine::cuda
