// What keeps one process from hurting another that shares its memory: the kernel holds the segment
// to one writer and one size, the meeting is for the user alone, and nothing has a name.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "base/clock.h"
#include "transport/ring.h"
#include "transport/shm/meeting.h"
#include "transport/shm/shared_memory.h"

namespace tutti::transport {
namespace {

constexpr size_t kBytes = 8192;

SharedMemory make(Writers writers) {
  return SharedMemory::create("tutti-test", kBytes, writers).value();
}

TEST(Segment, CannotBeWrittenResizedOrUnsealedByWhoReceivesIt) {
  const SharedMemory segment = make(Writers::kMakerOnly);
  EXPECT_EQ(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment.fd(), 0), MAP_FAILED);
  const char byte = 1;
  EXPECT_EQ(pwrite(segment.fd(), &byte, 1, 0), -1);
  EXPECT_EQ(ftruncate(segment.fd(), kBytes / 2), -1);
  EXPECT_EQ(ftruncate(segment.fd(), 2 * kBytes), -1);
  EXPECT_EQ(fcntl(segment.fd(), F_ADD_SEALS, F_SEAL_WRITE), -1);
  EXPECT_EQ(errno, EPERM);
  segment.data()[0] = std::byte{7};  // the maker still can
  const auto theirs =
      SharedMemory::open(Descriptor(dup(segment.fd())), kBytes, Writers::kMakerOnly).value();
  EXPECT_EQ(theirs.data()[0], std::byte{7});
}

TEST(Segment, IsForItsUserAloneAndHasNoName) {
  const SharedMemory segment = make(Writers::kMakerOnly);
  struct stat facts {};
  ASSERT_EQ(fstat(segment.fd(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777u, 0600u);
  EXPECT_EQ(facts.st_nlink, 0u);
}

TEST(Segment, OfAnotherSizeOrThatCouldShrinkIsRefused) {
  const SharedMemory segment = make(Writers::kMakerOnly);
  EXPECT_EQ(SharedMemory::open(Descriptor(dup(segment.fd())), 2 * kBytes, Writers::kMakerOnly)
                .error()
                .code,
            ErrorCode::kMalformed);
  Descriptor loose(memfd_create("tutti-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(loose.get(), kBytes), 0);
  EXPECT_EQ(SharedMemory::open(std::move(loose), kBytes, Writers::kMakerOnly).error().code,
            ErrorCode::kMalformed);
}

class MeetingPlace : public testing::Test {
 protected:
  MeetingPlace() : directory_(testing::TempDir() + "tutti-meeting-XXXXXX") {
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
  }
  ~MeetingPlace() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string path() const { return directory_ + "/meet"; }
  [[nodiscard]] bool is_empty() const { return std::filesystem::is_empty(directory_); }

 private:
  std::string directory_;
};

TEST_F(MeetingPlace, IsForItsUserAloneAndLeavesNothing) {
  {
    const Listener listener = Listener::open(path()).value();
    struct stat facts {};
    ASSERT_EQ(stat(path().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777u, 0600u);
  }
  EXPECT_TRUE(is_empty());
}

TEST_F(MeetingPlace, RefusesWhatIsNoIntroduction) {
  const Listener listener = Listener::open(path()).value();
  const uint64_t deadline_ns = base::now_ns() + 10'000'000'000;
  const Descriptor guest = connect_to(path(), deadline_ns).value();
  const Descriptor host = listener.accept(deadline_ns).value();
  const std::string nonsense = "nonsense";
  ASSERT_EQ(write(guest.get(), nonsense.data(), nonsense.size()),
            static_cast<ssize_t>(nonsense.size()));
  EXPECT_EQ(receive_introduction(host.get(), deadline_ns).error().code, ErrorCode::kMalformed);
}

// Whatever stands in the ring and in the receipt: a reader takes at most what a lap holds, and a
// writer stays within its ring and never overtakes what it sent.
TEST(CorruptRing, IsReadAndWrittenWithinItsBounds) {
  struct Guarded {
    std::array<uint64_t, 64> before;
    RingMemory ring;
    WideSlot wide[2 * kWideSlots];
    std::array<uint64_t, 64> behind;
  };
  std::mt19937_64 random(4711);
  const std::vector<std::byte> message(kWideBytes, std::byte{7});
  for (int round = 0; round < 300; ++round) {
    const auto memory = std::make_unique<Guarded>();
    memory->before.fill(42);
    memory->behind.fill(42);
    Receipt theirs{};
    Receipt ours{};
    WideSlots wide(memory->wide);
    RingWriter writer(&memory->ring, &theirs, &wide);
    RingReader reader(&memory->ring, &ours, memory->wide);
    uint64_t num_sent = 0;
    for (int step = 0; step < 300; ++step) {
      theirs.taken.store(random() % 3 == 0 ? random() : random() % 200);
      theirs.kept.store(random());
      if (random() % 4 == 0 && writer.has_wide_room()) {
        writer.publish_wide(wide.put({num_sent++, 0}, message.data(), message.size()));
      } else if (Record* const record = writer.reserve(); record != nullptr) {
        record->header.operation = num_sent++;
        writer.publish(RecordKind::kPacket);
      }
      if (random() % 4 == 0) {
        const uint64_t nonsense = random();
        std::byte* const payload = memory->ring.slots[random() % kRingSlots].record.payload.data();
        std::memcpy(payload, &nonsense, sizeof nonsense);
      }
      auto& stamp = memory->ring.slots[random() % kRingSlots].stamp;
      if (random() % 4 == 0)
        stamp.store(random() % 2 == 0 ? random() : (random() % 300) << 8 | (random() % 6));
      if (const auto kind = reader.peek(); kind) {
        const Record& record = reader.record();
        const auto* const at = reinterpret_cast<const std::byte*>(&record);
        const auto* const ring = reinterpret_cast<const std::byte*>(&memory->ring);
        ASSERT_TRUE(at >= ring && at + sizeof record <= ring + sizeof(RingMemory));
        const std::byte* const data = reader.payload(*kind);
        const auto* const end = reinterpret_cast<const std::byte*>(std::end(memory->wide));
        ASSERT_TRUE(data >= ring && data + most_payload(*kind) <= end);
        reader.pop(*kind);
      }
    }
    for (size_t i = 0; i < memory->before.size(); ++i) {
      ASSERT_EQ(memory->before[i], 42u) << "round " << round;
      ASSERT_EQ(memory->behind[i], 42u) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace tutti::transport
