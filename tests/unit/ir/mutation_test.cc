// Readers under damage: valid files with random bytes, lines and numbers changed. Each read must
// end in an error with its file or in a schedule of good shape that can be written again; never
// in a crash. tests/fuzz does the same with coverage guiding it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "ir/msccl/xml.h"
#include "ir/shape.h"
#include "ir/text.h"
#include "tests/unit/ir/schedules.h"

namespace tutti::ir {
namespace {

using testing::StartsWith;

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    for (uint64_t n = 1 + random_() % 4; n > 0 && !text.empty(); --n) mutate_once(text);
    return text;
  }

 private:
  void mutate_once(std::string& text) {
    const size_t at = random_() % text.size();
    const size_t length = std::min<size_t>(1 + random_() % 8, text.size() - at);
    switch (random_() % 6) {
      case 0: text[at] = static_cast<char>(random_()); break;
      case 1: text.erase(at, length); break;
      case 2: text.insert(at, text.substr(random_() % text.size(), length)); break;
      case 3: change_number(text, at); break;
      case 4: swap_lines(text, at); break;
      case 5: text.insert(at, 1, "\"{}[]<>/=,:-0"[random_() % 13]); break;
    }
  }

  void change_number(std::string& text, size_t from) {
    const size_t begin = text.find_first_of("0123456789", from);
    if (begin == std::string::npos) return;
    const size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
    static const char* const kNumbers[] = {"0",
                                           "1",
                                           "2",
                                           "3",
                                           "71",
                                           "72",
                                           "-1",
                                           "32768",
                                           "2147483647",
                                           "4294967295",
                                           "",
                                           "1e300",
                                           "18446744073709551616"};
    text.replace(begin, end - begin, kNumbers[random_() % std::size(kNumbers)]);
  }

  void swap_lines(std::string& text, size_t at) {
    const size_t begin = text.rfind('\n', at);
    const size_t end = text.find('\n', at);
    if (begin == std::string::npos || end == std::string::npos || begin == end) return;
    const std::string line = text.substr(begin, end - begin);
    text.erase(begin, end - begin);
    if (random_() % 2 == 0) text.insert(std::min(text.find('\n', begin + 1), text.size()), line);
  }

  std::mt19937_64 random_;
};

template <class Read, class Check>
void damage(const std::vector<std::string>& files, int num_rounds, Read read, Check check) {
  const uint64_t seed = test::seed_or(5);
  SCOPED_TRACE(fmt::format("TUTTI_SEED={}", seed));
  Mutator mutator(seed);
  int num_refused = 0;
  for (int i = 0; i < num_rounds; ++i) {
    const std::string text = mutator.mutate(files[static_cast<size_t>(i) % files.size()]);
    const Result<Schedule> schedule = read(text, "damaged");
    num_refused += schedule ? 0 : 1;
    if (!schedule) {
      ASSERT_THAT(schedule.error().message, StartsWith("damaged:")) << text;
    } else {
      ASSERT_TRUE(check_shape(*schedule)) << text;
      check(*schedule);
    }
  }
  EXPECT_GT(num_refused, num_rounds / 4);
}

TEST(Damage, TextIsRefusedOrReadsAsASchedule) {
  std::vector<std::string> files = {to_text(test::every_kind())};
  for (const auto& [name, schedule] : test::catalogue({3})) files.push_back(to_text(schedule));
  damage(files, 4000, from_text, [](const Schedule& schedule) {
    EXPECT_EQ(from_text(to_text(schedule), "again").value(), schedule);
  });
}

TEST(Damage, XmlIsRefusedOrReadsAsASchedule) {
  std::vector<std::string> files;
  for (const auto& [name, schedule] : test::catalogue({2, 3})) {
    if (Result<std::string> xml = msccl::to_xml(schedule)) files.push_back(*std::move(xml));
  }
  damage(files, 4000, msccl::from_xml, [](const Schedule& schedule) {
    const Result<std::string> xml = msccl::to_xml(schedule);
    if (xml) {
      EXPECT_EQ(msccl::from_xml(*xml, "again").value(), schedule);
    }
  });
}

}  // namespace
}  // namespace tutti::ir
