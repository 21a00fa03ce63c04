#include "tools/plan_answer.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/try.h"
#include "tools/terminal.h"
#include "tutti/version.h"
#include "verify/check.h"

namespace tutti::tools {
namespace {

using nlohmann::ordered_json;

// Beyond, a proof takes longer than the plan: `tutti verify` is there for who wants one.
constexpr uint64_t kMostProvedSteps = 1'000'000;

// This very build: another may plan otherwise, whatever its version says.
std::string own_build() {
  struct stat facts {};
  if (stat("/proc/self/exe", &facts) != 0) return std::string(version());
  return fmt::format("{}-{}-{}.{}", version(), facts.st_size, facts.st_mtim.tv_sec,
                     facts.st_mtim.tv_nsec);
}

std::string to_facts(const PlanAnswer& answer) {
  return ordered_json{{"notes", answer.notes}, {"summary", answer.summary}, {"trees", answer.trees}}
      .dump();
}

bool is_list_of_numbers(const ordered_json& list) {
  return list.is_array() && std::all_of(list.begin(), list.end(), [](const ordered_json& each) {
           return each.is_number_unsigned();
         });
}

// Root, weight, parents down, parents up.
bool is_tree(const ordered_json& tree) {
  return tree.is_array() && tree.size() == 4 && tree[0].is_number_unsigned() &&
         tree[1].is_number_integer() && is_list_of_numbers(tree[2]) && is_list_of_numbers(tree[3]);
}

// What answer_repaired takes from it.
bool has_trees(const ordered_json& trees, const ordered_json& summary) {
  return trees.is_array() && std::all_of(trees.begin(), trees.end(), is_tree) &&
         summary.contains("rate_gbps") && summary["rate_gbps"].is_number() &&
         summary.contains("options") && summary["options"].is_object() &&
         summary["options"].contains("chunks") && summary["options"]["chunks"].is_number_unsigned();
}

std::optional<PlanAnswer> from_stored(const comm::StoredPlan& plan) {
  const ordered_json facts = ordered_json::parse(plan.facts, nullptr, false);
  const bool is_whole = facts.is_object() && facts.contains("notes") &&
                        facts["notes"].is_string() && facts.contains("summary") &&
                        facts["summary"].is_object();
  if (!is_whole) return std::nullopt;
  PlanAnswer answer{plan.schedule.schedule(), facts["notes"].get<std::string>(), facts["summary"],
                    facts.value("trees", ordered_json(nullptr))};
  if (!answer.trees.is_null() && !has_trees(answer.trees, answer.summary)) return std::nullopt;
  answer.notes += "From cache: planned before, and proved again; --no-cache plans anew.\n";
  return answer;
}

std::optional<PlanAnswer> look_up(const comm::PlanStore& store, const std::string& key,
                                  const Collective& asked) {
  const auto found = store.find(key);
  if (!found) {
    print_error(fmt::format("planning anew: {}", found.error().message));
    return std::nullopt;
  }
  if (!*found) return std::nullopt;
  const Collective& is_of = (*found)->schedule.schedule().collective;
  if (!(is_of == asked)) {
    print_error(fmt::format("planning anew: what the cache has is {} of {} ranks",
                            to_string(is_of.kind), is_of.num_ranks));
    return std::nullopt;
  }
  return from_stored(**found);
}

}  // namespace

Status prove(const ir::Schedule& schedule) {
  if (ir::num_steps(schedule) > kMostProvedSteps) return {};
  const Result<verify::VerifiedSchedule> proved = verify::check(schedule).result();
  if (proved) return {};
  return Error{ErrorCode::kRefused,
               fmt::format("the schedule that was made is wrong, which is a mistake in tutti; "
                           "nothing is written: {}",
                           proved.error().message)};
}

Result<PlanAnswer> cached(comm::PlanQuestion question, const topo::Topology& topology,
                          const MakeAnswer& make) {
  const comm::PlanStore store(comm::cache_folder());
  question.maker = own_build();
  const std::string key = comm::plan_key(question, topology);
  std::optional<PlanAnswer> answer = look_up(store, key, question.collective);
  const bool is_known = answer.has_value();
  if (!is_known) {
    TUTTI_ASSIGN(answer, make());
    TUTTI_TRY(prove(answer->schedule));
    const Status kept = store.keep(key, answer->schedule, to_facts(*answer));
    if (!kept) print_error(fmt::format("the plan is not kept: {}", kept.error().message));
  }
  answer->summary["from_cache"] = is_known;
  return *std::move(answer);
}

}  // namespace tutti::tools
