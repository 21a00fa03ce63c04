import unittest

from planted import LintTest

WAITS = {
    "condition": "ready_.wait(lock);",
    "timed": "while (!done) ready_.wait_for(lock, rest);",
    "own": "TUTTI_TRY(wait_for_credit(channel, deadline));",
    "returned": "return wait(deadline);",
    "poll": "while (!flag_.load(std::memory_order_acquire)) pause();",
    "spin": "for (int i = 0; !flag_.load(); ++i) pause();",
    "futex": "syscall(SYS_futex, word, FUTEX_WAIT, seen, &rest);",
    "qualified": "std::this_thread::wait_until(then);",
}


class Waits(LintTest):
    def test_finds_every_kind_of_wait_without_its_reason(self):
        for name, wait in WAITS.items():
            self.plant(f"src/engine/{name}.cc", f"void f() {{\n  {wait}\n}}\n")
        self.assert_finds(self.lint("waits"), *(f"{name}.cc:2:" for name in sorted(WAITS)))

    def test_is_content_with_a_reason_before_the_wait(self):
        for name, wait in WAITS.items():
            self.plant(f"src/engine/{name}.cc",
                       f"void f() {{\n  // Liveness: the peer sends.\n  {wait}\n}}\n")
        self.assert_content(self.lint("waits"))

    def test_wants_the_reason_near(self):
        self.plant("src/engine/far.cc", "// Liveness: far away.\n" + "int x;\n" * 20 + "q.wait(lock);\n")
        self.assert_finds(self.lint("waits"), "far.cc:22:")

    def test_knows_what_is_no_wait(self):
        self.plant("src/engine/quiet.cc", """// A comment may say wait(lock).
Status wait(Deadline deadline);
[[nodiscard]] Result<int> wait_for(Rank peer);
Status Work::wait(Deadline deadline) {
  log("wait(");
  for (size_t i = 0; i < n; ++i) words[i] = slot[i].load();
}
""")
        self.assert_content(self.lint("waits"))

    def test_lets_pure_folders_speak_of_waits_but_not_wait(self):
        self.plant("src/sim/words.cc", "void f() {\n  recorder.wait(step);\n}\n")
        self.plant("src/verify/real.cc", "// Why\n#include <mutex>\n")
        self.assert_finds(self.lint("waits"), "src/verify/real.cc:2: <mutex>")


unittest.main()
