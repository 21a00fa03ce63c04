#include "comm/tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "base/file.h"
#include "comm/tuning_agreement.h"
#include "comm/tuning_file.h"
#include "ir/schedule.h"
#include "ir/text.h"
#include "plan/algorithm.h"
#include "tests/unit/comm/on_ranks.h"
#include "tests/unit/comm/ranks.h"

namespace tutti::comm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kExample = TUTTI_GOLDEN_DIR "/example.json";

std::string example() { return base::read_file(kExample).value(); }

// The example with one piece of its text replaced.
std::string example_with(const std::string& old, const std::string& now) {
  std::string text = example();
  const size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), now);
}

std::string refusal_of(const std::string& text) {
  const auto table = tuning_from_json(text, "t.json");
  return table ? "accepted" : table.error().message;
}

base::VariableLookup lookup(std::map<std::string, std::string> variables) {
  return [variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / fmt::format("tutti.{}", getpid())) {
    std::filesystem::create_directories(path_ / "tutti");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string path(const std::string& name = "") const {
    return name.empty() ? path_.string() : (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

Choice chosen(const TuningTable& table, CollectiveKind kind, uint32_t num_ranks, uint64_t bytes) {
  return choose_algorithm(table, {kind, num_ranks, 0, 0}, bytes);
}

TEST(TuningFile, ATableComesBackFromItsOwnText) {
  const auto table = tuning_from_json(example(), kExample).value();
  EXPECT_EQ(to_json(table), example());
  EXPECT_EQ(table.source, kExample);
  EXPECT_EQ(table.machine, (TuningMachine{"Example \"8\" CPU", 8}));
}

TEST(TuningFile, RulesMayStandInAnyOrder) {
  auto table = tuning_from_json(example(), "t.json").value();
  std::reverse(table.rules.begin(), table.rules.end());
  EXPECT_EQ(to_json(tuning_from_json(to_json(table), "t.json").value()), example());
}

TEST(TuningFile, RefusesWhatNoCallCouldFollowAndSaysWhere) {
  struct Case {
    const char* old;
    const char* now;
    const char* place;
    const char* why;
  };
  const Case cases[] = {
      {"\"tutti-tuning\"", "\"tutti-topology\"", "t.json:2: 'format'", "must be 'tutti-tuning'"},
      {"\"version\": 1", "\"version\": 2", "t.json:3: 'version'", ""},
      {"\"cores\": 8", "\"cores\": 0", "t.json:4: 'cores'", ""},
      {"\"cores\"", "\"corse\"", "t.json:4: 'corse'", "unknown field"},
      {"\"all_reduce\"", "\"all_reduec\"", "t.json:6: \'collective\'", "all_reduce"},
      {"\"default\"", "\"fastest\"", "t.json:6: \'algorithm\'", "it has: ring"},
      {"\"default\"", "7", "t.json:6: \'algorithm\'", ""},
      {"\"default\"", "\"default\", \"chunks\": 2", "t.json:6: \'chunks\'", "takes no chunks"},
      {"\"dissemination\"", "\"ring\"", "t.json:11: \'algorithm\'", "dissemination"},
      {"\"ranks\": 4", "\"ranks\": 0", "t.json:6: \'ranks\'", ""},
      {"\"ranks\": 4", "\"ranks\": 5000", "t.json:6: \'ranks\'", ""},
      {"\"max_bytes\": 65536", "\"max_bytes\": 1000", "t.json:7: \'max_bytes\'", ""},
      {"\"min_bytes\": 1025", "\"min_bytes\": 1024", "t.json:7: ", "rule 0"},
      {"\"min_bytes\": 1025", "\"min_bytes\": -1", "t.json:7: \'min_bytes\'", ""},
      {"\"chunks\": 4", "\"chunks\": 0", "t.json:8: \'chunks\'", ""},
      {"\"chunks\": 4", "\"chunks\": 100000", "t.json:8: \'chunks\'", ""},
      {"\"chunks\": 4", "\"radix\": 4", "t.json:8: \'radix\'", "ring takes no radix"},
      {"\"group_size\": 4", "\"group_size\": 9", "t.json:9: \'group_size\'", ""},
      {"\"radix\": 4", "\"radix\": 1", "t.json:10: \'radix\'", ""},
      {"\"us\": 2.100", "\"us\": -1", "t.json:6: \'us\'", ""},
      {"\"us\": 2.100", "\"su\": 2", "t.json:6: 'su'", "unknown field"},
  };
  for (const Case& one : cases) {
    EXPECT_THAT(refusal_of(example_with(one.old, one.now)),
                AllOf(StartsWith(one.place), HasSubstr(one.why)))
        << one.now;
  }
}

TEST(TuningFile, ATruncatedTableIsRefusedWhereverItEnds) {
  const std::string text = example();
  const size_t last = text.rfind('}');
  for (size_t length = 0; length <= last; ++length) {
    EXPECT_THAT(refusal_of(text.substr(0, length)), StartsWith("t.json:")) << length;
  }
}

TEST(TuningFile, ADamagedByteIsRefusedOrLeavesATableThatCanBeWritten) {
  const std::string text = example();
  for (size_t at = 0; at < text.size(); ++at) {
    for (const char byte : {'\0', '9', '"', '\xff'}) {
      std::string damaged = text;
      damaged[at] = byte;
      const auto table = tuning_from_json(damaged, "t.json");
      if (!table) continue;
      const std::string written = to_json(*table);
      EXPECT_EQ(to_json(tuning_from_json(written, "again").value()), written) << at;
    }
  }
}

// The limits of a table are those of the planner: whatever is accepted can be made.
TEST(TuningFile, WhatIsAcceptedCanBePlanned) {
  TuningTable table;
  table.machine = {"any", 1};
  for (const plan::Algorithm& algorithm : plan::algorithms()) {
    for (const uint32_t p : {1u, 2u, 5u, 8u}) {
      if (algorithm.kind == CollectiveKind::kSendRecv) continue;
      for (const uint32_t value : {1u, 2u, p}) {
        Choice choice{algorithm.name};
        if (algorithm.takes_chunks) choice.options.chunks = value;
        if (algorithm.takes_radix) choice.options.radix = value;
        if (algorithm.takes_group_size) choice.options.group_size = value;
        table.rules = {{algorithm.kind, p, 0, 1, choice}};
        if (!tuning_from_json(to_json(table), "t.json")) continue;
        const auto schedule =
            plan::make({algorithm.kind, p, 0, 0}, choice.algorithm, choice.options);
        ASSERT_TRUE(schedule.ok()) << to_string(choice) << " " << schedule.error().message;
        // Calls in place and out of place follow the same rule: the engine copies the input for a
        // schedule that cannot have it in the output.
        EXPECT_NE(schedule->placement, ir::Placement::kInPlace) << to_string(choice);
      }
    }
  }
}

TEST(Tuning, ARuleDecidesForItsRanksAndSizesAndNoOthers) {
  const auto table = tuning_from_json(example(), "t.json").value();
  const auto all_reduce = [&](uint32_t num_ranks, uint64_t bytes) {
    return to_string(chosen(table, CollectiveKind::kAllReduce, num_ranks, bytes));
  };
  const auto built_in = [](uint32_t num_ranks, uint64_t bytes) {
    return to_string(choose_algorithm({CollectiveKind::kAllReduce, num_ranks, 0, 0}, bytes));
  };
  EXPECT_EQ(all_reduce(4, 1025), "recursive_doubling");
  EXPECT_EQ(all_reduce(4, 65536), "recursive_doubling");
  EXPECT_EQ(all_reduce(4, 65537), "ring, chunks 4");
  EXPECT_EQ(all_reduce(4, 1024), built_in(4, 1024));
  EXPECT_EQ(all_reduce(4, 33554433), built_in(4, 33554433));
  EXPECT_EQ(all_reduce(3, 8192), built_in(3, 8192));
  EXPECT_EQ(all_reduce(8, UINT64_MAX), "two_level, group_size 4");
}

TEST(Tuning, TheDigestIsThatOfTheChoices) {
  const auto table = tuning_from_json(example(), "t.json").value();
  auto other = table;
  other.source = "elsewhere.json";
  other.machine.cores = 1;
  other.rules[1].us = 1;
  other.rules.erase(other.rules.begin());  // one that leaves it to the built-in rules
  EXPECT_EQ(digest(table), digest(other));
  EXPECT_EQ(digest(TuningTable()), 0u);
  for (size_t i = 1; i < table.rules.size(); ++i) {
    other = table;
    ++other.rules[i].max_bytes;
    EXPECT_NE(digest(table), digest(other)) << i;
  }
  other = table;
  other.rules[2].choice->options.chunks = 5;
  EXPECT_NE(digest(table), digest(other));
  other.rules[2].choice = {"two_shot"};
  EXPECT_NE(digest(table), digest(other));
}

TEST(FindTuning, TheVariableComesFirstThenTheUsersFileThenTheBuiltInRules) {
  const Folder folder;
  const std::string home = folder.path();
  const auto source = [](const base::VariableLookup& variables) {
    return find_tuning(4, variables).value().source;
  };
  EXPECT_EQ(source(lookup({})), "");
  EXPECT_EQ(source(lookup({{"XDG_CONFIG_HOME", home}})), "");
  const std::string own = folder.path("tutti/tuning.json");
  EXPECT_EQ(user_tuning_path(lookup({{"XDG_CONFIG_HOME", home}, {"HOME", "/h"}})), own);
  EXPECT_EQ(user_tuning_path(lookup({{"XDG_CONFIG_HOME", "x"}, {"HOME", "/h"}})),
            "/h/.config/tutti/tuning.json");
  ASSERT_TRUE(base::write_file(own, example()).ok());
  EXPECT_EQ(source(lookup({{"XDG_CONFIG_HOME", home}})), own);
  EXPECT_EQ(source(lookup({{"XDG_CONFIG_HOME", home}, {"TUTTI_TUNING", ""}})), own);
  EXPECT_EQ(source(lookup({{"XDG_CONFIG_HOME", home}, {"TUTTI_TUNING", kExample}})), kExample);
  EXPECT_EQ(source(lookup({{"XDG_CONFIG_HOME", home}, {"TUTTI_TUNING", "none"}})), "");
}

TEST(FindTuning, ATableThatCannotBeReadIsAnErrorThatNamesIt) {
  const Folder folder;
  const auto error = [](std::map<std::string, std::string> variables) {
    return find_tuning(4, lookup(std::move(variables))).error().message;
  };
  const std::string missing = folder.path("missing.json");
  EXPECT_THAT(error({{"TUTTI_TUNING", missing}}),
              AllOf(HasSubstr(missing), HasSubstr("TUTTI_TUNING=none")));
  EXPECT_THAT(error({{"TUTTI_TUNING", folder.path()}}), HasSubstr("is no file"));
  EXPECT_THAT(error({{"TUTTI_TUNING", "-"}}), HasSubstr("./-"));
  const std::string own = folder.path("tutti/tuning.json");
  ASSERT_TRUE(base::write_file(own, example_with("\"ranks\": 4", "\"ranks\": 0")).ok());
  EXPECT_THAT(error({{"XDG_CONFIG_HOME", folder.path()}}), HasSubstr(own + ":6: 'ranks'"));
  std::filesystem::resize_file(own, 17u << 20);
  EXPECT_THAT(error({{"XDG_CONFIG_HOME", folder.path()}}), HasSubstr("too large"));
}

TEST(FindTuning, SchedulesThatTheVariableNamesComeWithIt) {
  const Folder folder;
  const auto write = [&](const char* name, uint32_t num_ranks) {
    const Collective collective{CollectiveKind::kAllReduce, num_ranks};
    const ir::Schedule ring = plan::make(collective, "ring", {}).value();
    const std::string path = folder.path(name);
    EXPECT_TRUE(base::write_file(path, ir::to_text(ring)).ok());
    return path;
  };
  const std::string three = write("three.json", 3);
  const std::string four = write("four.json", 4);
  const auto find = [&](const std::string& paths) {
    return find_tuning(4, lookup({{"TUTTI_TUNING", "none"}, {"TUTTI_SCHEDULE", paths}}));
  };
  EXPECT_EQ(find("").value().schedules.size(), 0u);
  EXPECT_EQ(find(three + ":" + four + ":").value().schedules.size(), 2u);
  EXPECT_NE(digest(find(three).value()), digest(find(four).value()));
  EXPECT_EQ(digest(find(three).value()), digest(find(three).value()));
  EXPECT_THAT(find(four + ":" + four).error().message,
              AllOf(HasSubstr("the same calls"), HasSubstr("TUTTI_SCHEDULE")));
  EXPECT_THAT(find(write("five.json", 5)).error().message,
              AllOf(HasSubstr("five.json (all_reduce ring of 5 ranks)"), HasSubstr("4 ranks")));
  EXPECT_THAT(find(folder.path("none.json")).error().message, HasSubstr("none.json"));
}

Result<TuningTable> example_from(const std::string& source) {
  return tuning_from_json(example(), source);
}

TEST(TuningAgreement, RanksThatChooseAlikeAgreeWhateverTheirFilesAreCalled) {
  EXPECT_TRUE(check_agreement(std::vector{remark_on(TuningTable()), remark_on(TuningTable())}));
  EXPECT_TRUE(
      check_agreement(std::vector{remark_on(example_from("a")), remark_on(example_from("b"))}));
  TuningTable without_choices;
  without_choices.source = "c";
  EXPECT_TRUE(check_agreement(std::vector{remark_on(TuningTable()), remark_on(without_choices)}));
}

TEST(TuningAgreement, ADifferenceNamesAllRanksAndTheirTables) {
  auto other = example_from("b.json").value();
  other.rules.pop_back();
  const Status status =
      check_agreement(std::vector{remark_on(example_from("a.json")), remark_on(other),
                                  remark_on(TuningTable()), remark_on(example_from("a.json"))});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message,
              AllOf(HasSubstr("ranks 0, 3: a.json"), HasSubstr("rank 1: b.json"),
                    HasSubstr("rank 2: no table"), HasSubstr("TUTTI_TUNING")));
}

TEST(TuningAgreement, ARankWithoutAUsableTableIsNamedToAll) {
  const Result<TuningTable> broken = Error{ErrorCode::kMalformed, std::string(9999, 'x')};
  const Status status = check_agreement(
      std::vector{remark_on(TuningTable()), remark_on(TuningTable()), remark_on(broken)});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, StartsWith("rank 2: xxx"));
}

TEST(TuningAgreement, WhatComesFromAPeerIsNotTrustedWithItsLength) {
  transport::Remark remark;
  remark.fill(std::byte{0xff});
  const Status status = check_agreement(std::vector{remark, remark_on(TuningTable())});
  ASSERT_FALSE(status.ok());
  EXPECT_LT(status.error().message.size(), 1000u);
}

TEST(Tuning, ACommunicatorFollowsItsTableAndTheOthersDoNot) {
  test::Ranks ranks(3);
  TuningTable table;
  table.rules = {{CollectiveKind::kAllReduce, 3, 0, UINT64_MAX, Choice{"ring"}}};
  std::vector<Communicator> tuned;
  std::vector<Communicator> plain;
  for (uint32_t r = 0; r < 3; ++r) {
    tuned.emplace_back(ranks.group(r)->tuned(table));
    plain.push_back(ranks.comm(r));
  }
  const ProgramKey key{CollectiveKind::kAllReduce, 8, 0, 30, {}};
  auto& shelf = ranks.node(0).shelf;
  const auto shared = std::make_shared<const TuningTable>(table);
  const auto by_table = shelf.programs(3, Rank{0}, shared).find(key).value();
  const auto by_rule = shelf.programs(3, Rank{0}).find(key).value();
  EXPECT_NE(by_table->most_messages, by_rule->most_messages);
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < 3; ++r) {
    threads.emplace_back([&, r] {
      for (Communicator* comm : {&tuned[r], &plain[r]}) {
        std::vector<int64_t> row = test::numbers(30, r);
        ASSERT_TRUE(comm->all_reduce(std::span(row)).wait().ok());
        EXPECT_EQ(row[29], 3 * 29 + 3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tutti::comm
