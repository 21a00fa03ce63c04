#include "comm/program_cache.h"

#include <fmt/format.h>

#include <mutex>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/try.h"
#include "comm/choose.h"
#include "ir/layout.h"
#include "ir/sizes.h"
#include "plan/algorithm.h"
#include "verify/check.h"

namespace tutti::comm {
namespace {

// Proofs do not depend on who asks: communicators of the same size, and ranks that are threads of
// one process, share them.
Result<verify::VerifiedSchedule> proved_schedule(const Collective& collective,
                                                 const Choice& choice) {
  using Key = std::tuple<CollectiveKind, uint32_t, uint32_t, uint32_t, std::string, uint32_t>;
  static std::mutex mutex;
  // Never destroyed: the end of the job is a collective too, and comes after all else.
  static auto& proofs = *new std::map<Key, verify::VerifiedSchedule>;
  const std::lock_guard lock(mutex);
  const Key key{collective.kind, collective.num_ranks,          collective.root,
                collective.peer, std::string(choice.algorithm), choice.chunks};
  if (const auto found = proofs.find(key); found != proofs.end()) return found->second;
  TUTTI_ASSIGN(auto schedule, plan::make(collective, choice.algorithm, {.chunks = choice.chunks}));
  verify::Verdict verdict = verify::check(std::move(schedule));
  TUTTI_CHECK(verdict.proved(), "our own algorithms are right: tests prove them for all sizes");
  return proofs.emplace(key, verdict.schedule()).first->second;
}

}  // namespace

Result<const engine::BoundProgram*> ProgramCache::find(const ProgramKey& key) {
  if (last_key_ != nullptr && *last_key_ == key) return last_;
  auto found = programs_.find(key);
  if (found == programs_.end()) {
    TUTTI_ASSIGN(auto program, make(key));
    found = programs_.emplace(key, std::move(program)).first;
  }
  last_key_ = &found->first;
  last_ = found->second.get();
  return last_;
}

Result<std::unique_ptr<engine::BoundProgram>> ProgramCache::make(const ProgramKey& key) const {
  Collective collective{key.kind, num_ranks_, key.root, 0};
  if (key.kind == CollectiveKind::kSendRecv) collective.peer = 1;
  const uint64_t elems = key.counts.empty()
                             ? key.row_elems
                             : std::accumulate(key.counts.begin(), key.counts.end(), uint64_t{0});
  const Choice choice = choose_algorithm(collective, elems * key.elem_bytes);
  // All members choose alike: the first speaks.
  if (self_.value == 0 && base::logs(base::LogLevel::kInfo)) {
    base::log(base::LogLevel::kInfo, self_.value,
              fmt::format("{} of {} bytes among {} ranks: algorithm {}", to_string(key.kind),
                          elems * key.elem_bytes, num_ranks_, choice.algorithm));
  }
  TUTTI_ASSIGN(const auto schedule, proved_schedule(collective, choice));
  TUTTI_ASSIGN(const auto layout,
               ir::Layout::create(collective, schedule.schedule().chunks_per_block));
  if (key.counts.empty()) {
    return std::make_unique<engine::BoundProgram>(
        engine::bind(schedule, self_, ir::Sizes::even(layout, key.row_elems), key.elem_bytes));
  }
  TUTTI_ASSIGN(const auto sizes, ir::Sizes::uneven(layout, key.counts));
  return std::make_unique<engine::BoundProgram>(
      engine::bind(schedule, self_, sizes, key.elem_bytes));
}

}  // namespace tutti::comm
