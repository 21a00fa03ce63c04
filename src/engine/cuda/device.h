// What hosts need of a device to run daemons on it: memory, launches and the order of streams. A
// GPU, or threads of the host where the daemons' code is tested without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "tutti/result.h"

namespace tutti::engine::cuda {

struct DaemonState;
struct StreamWords;

// A stream of the user's, as the calling thread knows it; what it is depends on the device.
using StreamHandle = void*;

// Memory that was taken from the device in one piece, by whomever.
struct Allocation {
  uint64_t id = 0;  // never used again, though addresses are
  std::byte* base = nullptr;
  uint64_t bytes = 0;
};

// An allocation as other processes are told of it. Lies in memory of the device, for them to read.
struct SharedRegion {
  std::byte handle[64];
  uint64_t base;  // in the process that it belongs to
  uint64_t bytes;
};
static_assert(sizeof(SharedRegion) == 80 && std::is_trivially_copyable_v<SharedRegion>);

// Blocks of a daemon: its leader, which is block 0, or its workers.
struct Launch {
  uint32_t first_block = 0;
  uint32_t num_blocks = 1;
  uint32_t number = 0;  // leaders and workers are counted each on their own
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  // Zeroed. Freed with the device.
  [[nodiscard]] virtual Result<std::byte*> allocate(uint64_t bytes) = 0;
  // Of the host, which daemons reach at the same address; zeroed. Freed with the device.
  [[nodiscard]] virtual Result<std::byte*> allocate_shared(uint64_t bytes) = 0;
  // To and from memory of the device. Waits for nothing but the copy.
  [[nodiscard]] virtual Status write(std::byte* to, const void* from, uint64_t bytes) = 0;
  [[nodiscard]] virtual Status read(void* to, const std::byte* from, uint64_t bytes) = 0;
  // Memory of the device is zero. As a copy.
  [[nodiscard]] virtual Status clear(std::byte* at, uint64_t bytes) = 0;
  // Makes all that launches of the daemon of that number need. Before the first of them; may wait
  // for the whole device.
  [[nodiscard]] virtual Status expect_daemon(uint32_t daemon) = 0;
  // Starts blocks of the daemon of that number once their launch before has ended. Does not wait.
  [[nodiscard]] virtual Status launch(DaemonState* state, uint32_t daemon,
                                      const Launch& launch) = 0;

  // An error: the device runs nothing any more, and what was launched of that daemon will never
  // say that it has left. Does not wait.
  [[nodiscard]] virtual Status health(uint32_t daemon) = 0;

  // --- memory of other processes ---

  // What the address lies in. kUnsupported: nothing that daemons here can use; the message says
  // what it is instead, and goes on from the address.
  [[nodiscard]] virtual Result<Allocation> allocation_of(const void* at) = 0;
  // kUnsupported: this kind of memory stays with its process.
  [[nodiscard]] virtual Result<SharedRegion> share(const Allocation& allocation) = 0;
  // Where it is in this process, which is not the one it belongs to. Until the device goes.
  [[nodiscard]] virtual Result<std::byte*> map(const SharedRegion& region) = 0;

  // --- streams ---

  // Before anything else is done in a stream that is not recorded: then it waits for no other
  // stream, unless there are too many.
  [[nodiscard]] virtual Status settle(StreamHandle stream) = 0;
  // The stream writes the value when it comes to it, and what it did before is seen by who reads
  // it. The word is in memory of the device, or in memory that it shares with the host.
  [[nodiscard]] virtual Status write_word(StreamHandle stream, uint32_t* word, uint32_t value) = 0;
  // The stream says in its words that it has come to a number, as write_word does, and then waits
  // until so many of its operations are over. Takes both or none.
  [[nodiscard]] virtual Status arm(StreamHandle stream, StreamWords* words, uint32_t number,
                                   uint32_t gate) = 0;
  // In the order of the stream.
  [[nodiscard]] virtual Status copy(StreamHandle stream, void* to, const void* from,
                                    uint64_t bytes) = 0;
  // Its number, which no other stream has or ever will: handles of streams that were destroyed are
  // used again, and one is another stream in each thread. If it cannot take operations, why.
  [[nodiscard]] virtual Result<uint64_t> stream_id(StreamHandle stream) = 0;

  // --- streams that are recorded ---

  // Whether the stream does nothing now, and what it is given is recorded for a graph, which does
  // it whenever it is launched. That goes for copies, and for what follows.
  [[nodiscard]] virtual Result<bool> is_recording(StreamHandle stream) = 0;
  // What the graph does with words, in this order. As write_word; and waits until a word is equal.
  struct WordStep {
    enum class Kind : uint8_t { kWrite, kAwait };
    Kind kind = Kind::kWrite;
    uint32_t* word = nullptr;
    uint32_t value = 0;
  };
  [[nodiscard]] virtual Status record(StreamHandle stream, std::span<const WordStep> steps) = 0;
  // What the graph needs. Destroyed when the graph and all that was made of it are gone and not
  // under way, in any thread: that must not wait, and must not use the device.
  [[nodiscard]] virtual Status keep_for(StreamHandle stream, std::shared_ptr<void> what) = 0;
};

}  // namespace tutti::engine::cuda
