#include "transport/shm/shm.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/try.h"
#include "transport/shm/meeting.h"

namespace tutti::transport {
namespace {

uint64_t hash_of(const std::string& id) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

constexpr uint64_t kReadable = Introduction::kMagic;

bool can_read(const Introduction& peer) {
  uint64_t seen = 0;
  iovec local{&seen, sizeof seen};
  iovec remote{reinterpret_cast<void*>(peer.magic_at), sizeof seen};
  return process_vm_readv(peer.process, &local, 1, &remote, 1, 0) == sizeof seen &&
         seen == kReadable;
}

class Meeting {
 public:
  explicit Meeting(const ShmJob& job)
      : job_(job),
        path_(job.directory + "/meet"),
        deadline_ns_(base::now_ns() + job.timeout_ns),
        all_(job.num_ranks) {}

  // Everyone's introduction, one's own included.
  Result<std::vector<std::optional<Introduced>>> hold(int segment, int bell,
                                                      const HeapMemory& heap) && {
    const Introduction self{.job = hash_of(job_.id),
                            .rank = job_.rank.value,
                            .num_ranks = job_.num_ranks,
                            .process = getpid(),
                            .remark = job_.remark,
                            .magic_at = reinterpret_cast<uint64_t>(&kReadable)};
    TUTTI_ASSIGN(Descriptor reader, heap.reader());
    all_[job_.rank.value] =
        Introduced{self, Descriptor(dup(segment)), Descriptor(dup(bell)), std::move(reader)};
    if (job_.rank.value == 0) {
      TUTTI_TRY(host());
    } else {
      TUTTI_TRY(attend());
    }
    return std::move(all_);
  }

 private:
  // Rank 0: hears everyone, then tells everyone about everyone.
  Status host() {
    TUTTI_ASSIGN(const Listener listener, Listener::open(path_));
    std::vector<Descriptor> guests;
    while (guests.size() + 1 < job_.num_ranks) {
      auto guest = listener.accept(deadline_ns_);
      if (!guest) return missing(std::move(guest.error()));
      auto introduced = receive_introduction(guest->get(), deadline_ns_);
      // A process that leaves again, or is of another run of the job, is none of ours.
      if (!introduced || introduced->introduction.job != hash_of(job_.id)) continue;
      TUTTI_ASSIGN(introduced->introduction.process, process_at(guest->get()));
      TUTTI_TRY(seat(*std::move(introduced)));
      guests.push_back(*std::move(guest));
    }
    for (const Descriptor& guest : guests) {
      for (const auto& one : all_) {
        TUTTI_TRY(send_introduction(guest.get(), *one));
      }
    }
    return {};
  }

  Status attend() {
    TUTTI_ASSIGN(const Descriptor host, connect_to(path_, deadline_ns_));
    TUTTI_TRY(send_introduction(host.get(), *all_[job_.rank.value]));
    for (uint32_t i = 0; i < job_.num_ranks; ++i) {
      TUTTI_ASSIGN(auto introduced, receive_introduction(host.get(), deadline_ns_));
      if (introduced.introduction.rank != job_.rank.value) TUTTI_TRY(seat(std::move(introduced)));
    }
    return {};
  }

  Status seat(Introduced introduced) {
    const Introduction& facts = introduced.introduction;
    if (facts.num_ranks != job_.num_ranks || facts.rank >= job_.num_ranks) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("process {} says it is rank {} of {}; this job has {} ranks",
                               facts.process, facts.rank, facts.num_ranks, job_.num_ranks)};
    }
    if (all_[facts.rank]) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("processes {} and {} both say that they are rank {}", facts.process,
                               all_[facts.rank]->introduction.process, facts.rank)};
    }
    const uint32_t rank = facts.rank;
    all_[rank] = std::move(introduced);
    return {};
  }

  Error missing(Error error) const {
    std::string ranks;
    for (uint32_t r = 0; r < all_.size(); ++r) {
      if (!all_[r]) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", r);
    }
    return {error.code, fmt::format("{}: missing are the ranks {}", error.message, ranks)};
  }

  const ShmJob& job_;
  std::string path_;
  uint64_t deadline_ns_;
  std::vector<std::optional<Introduced>> all_;
};

}  // namespace

Result<std::shared_ptr<Shm>> Shm::connect(const ShmJob& job) {
  const size_t bytes = SegmentLayout{job.num_ranks}.arena() + job.segment_bytes;
  TUTTI_ASSIGN(auto segment, SharedMemory::create("tutti-segment", bytes, Writers::kMakerOnly));
  TUTTI_ASSIGN(auto bell, SharedMemory::create("tutti-bell", sizeof(Bell), Writers::kEverybody));
  TUTTI_ASSIGN(auto heap, HeapMemory::create(heap_bytes_for(job.num_ranks)));
  // Where Yama lets only ancestors read a process, peers may read this one.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  TUTTI_ASSIGN(auto all, Meeting(job).hold(segment.fd(), bell.fd(), *heap));
  std::shared_ptr<Shm> shm(new Shm(job.rank));
  for (const auto& one : all) shm->remarks_.push_back(one->introduction.remark);
  const auto add_peers = [&](uint32_t first, uint32_t end) -> Status {
    for (uint32_t r = first; r < end; ++r) {
      TUTTI_ASSIGN(auto theirs,
                   SharedMemory::open(std::move(all[r]->segment), bytes, Writers::kMakerOnly));
      TUTTI_ASSIGN(auto their_bell,
                   SharedMemory::open(std::move(all[r]->bell), sizeof(Bell), Writers::kEverybody));
      TUTTI_ASSIGN(auto their_heap, HeapMemory::open(std::move(all[r]->heap)));
      shm->add(std::move(theirs), std::move(their_bell), std::move(their_heap));
      shm->ranks_.back().process = all[r]->introduction.process;
      shm->ranks_.back().can_be_pulled = can_read(all[r]->introduction);
    }
    return {};
  };
  TUTTI_TRY(add_peers(0, job.rank.value));
  shm->add(std::move(segment), std::move(bell), std::move(heap));
  TUTTI_TRY(add_peers(job.rank.value + 1, job.num_ranks));
  return shm;
}

void Shm::add(SharedMemory segment, SharedMemory bell, std::unique_ptr<HeapMemory> heap) {
  ranks_.push_back(
      {segment.data(), segment.bytes(), reinterpret_cast<Bell*>(bell.data()), 0, heap.get()});
  heaps_.push_back(std::move(heap));
  memories_.push_back(std::move(segment));
  memories_.push_back(std::move(bell));
}

}  // namespace tutti::transport
