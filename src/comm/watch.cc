#include "comm/watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/library_thread.h"

namespace tutti::comm {
namespace {

Error watch_failed(const char* what) {
  return {ErrorCode::kIo,
          fmt::format("watching the other ranks: {}: {}", what, std::strerror(errno))};
}

}  // namespace

Result<std::unique_ptr<Watch>> Watch::start(const std::vector<Process>& processes,
                                            std::function<void(Process)> on_death,
                                            std::optional<StatusServer> server) {
  std::unique_ptr<Watch> watch(new Watch);
  if (server) watch->server_.emplace(*std::move(server));
  watch->on_death_ = std::move(on_death);
  watch->stop_ = transport::Descriptor(eventfd(0, EFD_CLOEXEC));
  if (watch->stop_.get() < 0) return watch_failed("eventfd");
  for (const Process& process : processes) {
    transport::Descriptor fd(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
    if (fd.get() < 0 && errno != ESRCH) return watch_failed("pidfd_open");
    if (fd.get() < 0) {  // dead already
      watch->on_death_(process);
      continue;
    }
    watch->watched_.push_back({process, std::move(fd)});
  }
  watch->thread_ = base::start_library_thread("tutti-watch", [raw = watch.get()] { raw->run(); });
  return watch;
}

Watch::~Watch() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  if (write(stop_.get(), &one, sizeof one) == sizeof one) thread_.join();
}

void Watch::run() {
  // Poll passes over a descriptor of -1.
  constexpr size_t kFirstProcess = 2;
  std::vector<pollfd> polled{{stop_.get(), POLLIN, 0}, {server_ ? server_->fd() : -1, POLLIN, 0}};
  for (const Watched& watched : watched_) polled.push_back({watched.fd.get(), POLLIN, 0});
  // Liveness: a process dies, somebody asks, or the destructor writes to stop_.
  while (poll(polled.data(), polled.size(), -1) >= 0 || errno == EINTR) {
    if (polled[0].revents != 0) return;
    if (polled[1].revents != 0) server_->answer();
    for (size_t i = kFirstProcess; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      polled[i].fd = -1;
      polled[i].revents = 0;
      on_death_(watched_[i - kFirstProcess].process);
    }
  }
}

}  // namespace tutti::comm
