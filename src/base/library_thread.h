// A thread of the library's own in a program that is not: it has a name in debuggers, and leaves
// signals to the program's threads (but for those that tell of its own faults).
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace tutti::base {

// Whether the calling thread is one of these: it need leave nothing as it was for a program.
inline thread_local bool g_is_library_thread = false;

// `name` has at most 15 letters.
template <class Body>
[[nodiscard]] std::thread start_library_thread(const char* name, Body body) {
  sigset_t others;
  sigset_t before;
  sigfillset(&others);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) {
    sigdelset(&others, fault);
  }
  // A thread begins with the mask of the one that made it.
  pthread_sigmask(SIG_BLOCK, &others, &before);
  std::thread thread([body = std::move(body)]() mutable {
    g_is_library_thread = true;
    body();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace tutti::base
