#include "tools/interrupt.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

namespace tutti::tools {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t num_interrupts = 0;
volatile std::sig_atomic_t most_noted = 1;

// Allowed in a handler: assignments to sig_atomic_t and signal().
extern "C" void note_interrupt(int) {
  const int count = num_interrupts + 1;
  num_interrupts = count;
  if (count < most_noted) return;
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt(int num_noted) {
  num_interrupts = 0;
  most_noted = num_noted;
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

int Interrupt::count() const { return num_interrupts; }

ProgressLine::ProgressLine(std::string what)
    : what_(std::move(what)), is_terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show_part(double done) {
  const int percent = static_cast<int>(done * 100);
  if (percent == shown_) return;
  shown_ = percent;
  show(fmt::format("{} {:3} %", what_, percent));
}

void ProgressLine::show(std::string_view text) {
  if (!is_terminal_) return;
  fmt::print(stderr, "\r\033[K{}", text);
  was_written_ = true;
}

void ProgressLine::clear() {
  if (was_written_) fmt::print(stderr, "\r\033[K");
  was_written_ = false;
}

}  // namespace tutti::tools
