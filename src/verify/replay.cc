#include "verify/replay.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "verify/mail.h"
#include "verify/memory.h"
#include "verify/report.h"

namespace tutti::verify {
namespace {

using ir::Region;
using ir::StepKind;

class Replay {
 public:
  Replay(const Case& of, ir::Placement placement);

  // Both return whether all went well; if not, there is a refusal.
  bool run_events();
  bool check_outputs();
  [[nodiscard]] std::optional<Refusal> refusal() && { return std::move(refusal_); }

 private:
  bool run_step(StepNumber step);
  bool check_overlap();
  bool add_operand(Region region, StepNumber until);
  bool store(Region region);
  bool lend(Region region, StepNumber until);

  bool check_fits(Region one, Value value);
  bool combine(Value& into, Value operand, Region from);
  [[nodiscard]] ChunkId sized_for(Region one) const;

  bool refuse(Rule rule, const std::string& what);
  bool refuse_hazard(const char* verb, Region one, StepNumber earlier);
  bool refuse_output(Rank rank, uint32_t index, Value value, ContributionSet wanted);
  [[nodiscard]] std::string this_case() const;
  [[nodiscard]] std::string name_of_sum(Value value) const;

  [[nodiscard]] uint64_t address(Region region) const {
    return memory_.address(rank_, region.buffer, region.index);
  }
  // The step that ends the reading of data that the current step sends.
  [[nodiscard]] StepNumber end_of_send() const {
    return graph_.discipline() == Discipline::kLending ? facts_.taker(step_) : step_;
  }

  const EventGraph& graph_;
  const Facts& facts_;
  const Order& order_;
  Reachability& reachability_;
  const RuleSet rules_;
  Witness* const witness_;
  const ir::Placement placement_;
  ContributionSets sets_;
  Memory memory_;
  Mail mail_;
  std::optional<Refusal> refusal_;

  StepNumber step_ = kNoStep;  // the one that runs
  Rank rank_;
  const ir::Step* its_ = nullptr;
  std::vector<Value> values_;  // what it has taken and combined so far, chunk by chunk
};

Replay::Replay(const Case& of, ir::Placement placement)
    : graph_(of.graph),
      facts_(of.graph.facts()),
      order_(of.order),
      reachability_(of.reachability),
      rules_(of.rules),
      witness_(of.witness),
      placement_(placement),
      sets_(facts_.schedule().collective.num_ranks),
      memory_(facts_, sets_, placement),
      mail_(facts_.num_steps()) {}

bool Replay::run_events() {
  std::vector<StepNumber> last_to_first;
  for (StepNumber event : order_.events) {
    last_to_first.clear();
    graph_.for_each_step(event, [&](StepNumber step) { last_to_first.push_back(step); });
    for (; !last_to_first.empty(); last_to_first.pop_back()) {
      if (!run_step(last_to_first.back())) return false;
      if (witness_ != nullptr) witness_->ran(step_, values_, sets_);
    }
  }
  return true;
}

bool Replay::run_step(StepNumber step) {
  step_ = step;
  rank_ = facts_.rank(step);
  its_ = &facts_.step(step);
  const StepKind kind = its_->kind;
  values_.clear();
  if (ir::receives(kind)) mail_.take(facts_.sender(step), its_->num_chunks, values_);
  if (ir::reads_src(kind) && ir::writes_dst(kind) && !check_overlap()) return false;
  if (ir::reads_src(kind)) {
    const StepNumber until = kind == StepKind::kSend ? end_of_send() : step;
    if (!add_operand(its_->src(), until)) return false;
  }
  // In place a copy can be onto itself; it then touches nothing.
  const bool is_nothing = kind == StepKind::kCopy && address(its_->src()) == address(its_->dst());
  if (kind == StepKind::kReduce && !add_operand(its_->dst(), step)) return false;
  if (ir::writes_dst(kind) && !is_nothing && !store(its_->dst())) return false;
  if (!ir::sends(kind)) return true;
  if (ir::writes_dst(kind) && !lend(its_->dst(), end_of_send())) return false;
  mail_.put(step, values_);
  return true;
}

// A step may work on one region in place, element by element. Regions that overlap in part have no
// meaning: what is read depends on how far the writing has come.
bool Replay::check_overlap() {
  const uint64_t src = address(its_->src());
  const uint64_t dst = address(its_->dst());
  const uint64_t distance = src > dst ? src - dst : dst - src;
  if (distance == 0 || distance >= its_->num_chunks || !rules_.has(Rule::kHazard)) return true;
  return refuse(Rule::kHazard,
                fmt::format("reads and writes regions that overlap in part{}", this_case()));
}

// Reads a region, as the first operand or combined with what is there.
bool Replay::add_operand(Region region, StepNumber until) {
  const bool is_first = values_.empty();
  const bool is_nothing =
      its_->kind == StepKind::kCopy && address(its_->src()) == address(its_->dst());
  for (uint32_t i = 0; i < region.count; ++i) {
    const Region one{region.buffer, region.index + i, 1};
    if (!memory_.is_initialised(address(one)) && rules_.has(Rule::kUninitialised)) {
      return refuse(Rule::kUninitialised, fmt::format("reads {} before anything is written there{}",
                                                      name_of(one), this_case()));
    }
    if (!is_nothing) {
      const StepNumber earlier = memory_.read(address(one), step_, until, reachability_);
      if (earlier != kNoStep && !refuse_hazard("reads", one, earlier)) return false;
    }
    const Value operand = memory_.value(address(one));
    if (is_first) {
      values_.push_back(operand);
    } else if (!combine(values_[i], operand, one)) {
      return false;
    }
  }
  return true;
}

bool Replay::combine(Value& into, Value operand, Region from) {
  const bool either_is_nothing = into.chunk == ir::kAnyChunk || operand.chunk == ir::kAnyChunk;
  if (!either_is_nothing && into.chunk != operand.chunk && rules_.has(Rule::kMixedChunks)) {
    return refuse(Rule::kMixedChunks,
                  fmt::format("reduces chunk {} with chunk {}, which is in {}{}", into.chunk.value,
                              operand.chunk.value, name_of(from), this_case()));
  }
  const ContributionSets::Union sum = sets_.unite(into.contributions, operand.contributions);
  if (!sum.disjoint && rules_.has(Rule::kDoubleCount)) {
    const auto twice = sets_.common(into.contributions, operand.contributions);
    return refuse(
        Rule::kDoubleCount,
        fmt::format("counts {} twice: it reduces {} with {}, which is in {}{}", name_of(twice),
                    name_of_sum(into), name_of_sum(operand), name_of(from), this_case()));
  }
  if (into.chunk == ir::kAnyChunk) into.chunk = operand.chunk;
  into.contributions = sum.set;
  return true;
}

bool Replay::store(Region region) {
  if (rules_.has(Rule::kStrayWrite) && !memory_.may_write(rank_, region)) {
    return refuse(Rule::kStrayWrite,
                  fmt::format("writes {}, which is the caller's input and must stay as it is{}",
                              name_of(region), this_case()));
  }
  for (uint32_t i = 0; i < region.count; ++i) {
    const Region one{region.buffer, region.index + i, 1};
    if (!check_fits(one, values_[i])) return false;
    const StepNumber earlier = memory_.write(address(one), step_, values_[i], reachability_);
    if (earlier == kNoStep) continue;
    if (!refuse_hazard("writes", one, earlier)) return false;
  }
  return true;
}

bool Replay::lend(Region region, StepNumber until) {
  for (uint32_t i = 0; i < region.count; ++i) {
    const Region one{region.buffer, region.index + i, 1};
    const StepNumber earlier = memory_.read(address(one), step_, until, reachability_);
    if (earlier != kNoStep && !refuse_hazard("lends", one, earlier)) return false;
  }
  return true;
}

ChunkId Replay::sized_for(Region one) const {
  if (one.buffer == ir::Buffer::kScratch) {
    return facts_.schedule().ranks[rank_.value].scratch[one.index];
  }
  return facts_.layout().chunk_at(rank_, one.buffer, one.index);
}

bool Replay::check_fits(Region one, Value value) {
  if (!rules_.has(Rule::kFit) || value.chunk == ir::kAnyChunk) return true;
  const ChunkId sized = sized_for(one);
  if (sized == ir::kAnyChunk || sized == value.chunk) return true;
  return refuse(Rule::kFit,
                fmt::format("stores chunk {} in {}, which is sized for chunk {}; chunks differ in "
                            "size{}",
                            value.chunk.value, name_of(one), sized.value, this_case()));
}

bool Replay::check_outputs() {
  const ir::Layout& layout = facts_.layout();
  if (!rules_.has(Rule::kResult)) return true;
  for (uint32_t r = 0; r < facts_.schedule().ranks.size(); ++r) {
    for (uint32_t i = 0; i < layout.num_chunks(Rank{r}, ir::Buffer::kOutput); ++i) {
      const ChunkId chunk = layout.chunk_at(Rank{r}, ir::Buffer::kOutput, i);
      const Value value = memory_.value(memory_.address(Rank{r}, ir::Buffer::kOutput, i));
      const ContributionSet wanted = meaning_of(layout, sets_, chunk);
      if (value.chunk == chunk && value.contributions == wanted) continue;
      return refuse_output(Rank{r}, i, value, wanted);
    }
  }
  return true;
}

bool Replay::refuse(Rule rule, const std::string& what) {
  refusal_ = refuse_step(graph_, rule, step_, what);
  refusal_->placement = placement_;
  return false;
}

// `earlier` is the other write, or the step at which the other read ends. Returns true, which means
// go on, when hazards are not asked about.
bool Replay::refuse_hazard(const char* verb, Region one, StepNumber earlier) {
  if (!rules_.has(Rule::kHazard)) return true;
  const std::string name = name_of(one);
  std::string what;
  if (facts_.rank(earlier) != rank_) {
    const StepNumber lender = facts_.sender(earlier);
    const ir::StepRef ref = facts_.ref(lender);
    what = fmt::format(
        "writes {} while it may still be lent: {} sends it, and nothing orders {}, which takes it, "
        "before the write; let the write depend on lane {} step {}",
        name, name_of(facts_, lender), name_of(facts_, earlier), ref.lane, ref.step);
  } else {
    what = fmt::format("{} {}, but nothing orders {}, which uses it too, before that", verb, name,
                       name_of(facts_, earlier));
  }
  return refuse(Rule::kHazard, what + this_case());
}

bool Replay::refuse_output(Rank rank, uint32_t index, Value value, ContributionSet wanted) {
  const StepNumber writer = memory_.writer(memory_.address(rank, ir::Buffer::kOutput, index));
  std::string what = fmt::format("result: output[{}] of rank {} ", index, rank.value);
  if (value.chunk == ir::kAnyChunk) {
    what += "is never written";
  } else {
    const auto missing = sets_.missing(value.contributions);
    const bool sums = is_reducing(facts_.schedule().collective.kind);
    what += fmt::format("holds {}", name_of_sum(value));
    if (sums && !missing.empty()) {
      const bool one = missing.size() == 1 && missing[0].end == missing[0].begin + 1;
      what += fmt::format(": {} {} missing", name_of(missing), one ? "is" : "are");
    } else {
      const ChunkId own = facts_.layout().chunk_at(rank, ir::Buffer::kOutput, index);
      what += fmt::format(" instead of {}", name_of_sum({own, wanted}));
    }
  }
  Refusal refusal;
  refusal.rule = Rule::kResult;
  refusal.rank = rank;
  if (writer != kNoStep) {
    refusal.has_step = true;
    refusal.step = facts_.ref(writer);
    what += fmt::format("; {} wrote it last", name_of(facts_, writer));
  }
  refusal.discipline = graph_.discipline();
  refusal.placement = placement_;
  refusal.message = what + this_case();
  refusal_ = std::move(refusal);
  return false;
}

std::string Replay::this_case() const {
  return fmt::format(" ({}, {})",
                     placement_ == ir::Placement::kInPlace ? "in place" : "out of place",
                     name_of(facts_, graph_.discipline()));
}

std::string Replay::name_of_sum(Value value) const {
  return fmt::format("chunk {} {} {}", value.chunk.value,
                     is_reducing(facts_.schedule().collective.kind) ? "reduced over" : "of",
                     name_of(sets_.ranges(value.contributions)));
}

}  // namespace

std::optional<Refusal> replay(const Case& of, ir::Placement placement) {
  Replay run(of, placement);
  if (run.run_events()) run.check_outputs();
  return std::move(run).refusal();
}

}  // namespace tutti::verify
