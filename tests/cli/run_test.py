"""Runs `tutti run` with real programs: what they print, how the launcher ends, what remains.

After every test there must be no process left and nothing in the folder where job directories are
made. This process adopts orphans (PR_SET_CHILD_SUBREAPER), so that it can wait for what should be
gone instead of guessing when it is.

usage: run_test.py PATH_OF_TUTTI [unittest arguments]
"""
import ctypes
import fcntl
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import termios
import unittest

PROGRAM = ""
LIMIT_S = 100  # against hangs only
PR_SET_CHILD_SUBREAPER = 36
FOR_EVER = "sleep 100000"

# Writes 64 MiB, and says when it has found no room for a while: then all there is to fill is full.
FILL = """
import os, select
line, left = b"x" * 1023 + b"\\n", 64 << 20
os.set_blocking(1, False)
while left:
    try:
        left -= os.write(1, (line * 64)[:left])
    except BlockingIOError:
        if not select.select([], [1], [], 0.5)[1]:
            os.write(2, b"full\\n")
            os.set_blocking(1, True)
"""


def on_alarm(*_):
    raise TimeoutError(f"not over after {LIMIT_S} s")


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.job_dirs = os.path.join(self.folder, "jobs")
        os.mkdir(self.job_dirs)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("TUTTI_")}
        self.environment |= {"TMPDIR": self.job_dirs}
        self.environment.pop("XDG_RUNTIME_DIR", None)
        self.environment.pop("NO_COLOR", None)
        self.launchers = []
        signal.alarm(LIMIT_S)

    def tearDown(self):
        for launcher in self.launchers:
            if launcher.poll() is None:  # the test failed
                launcher.kill()
                launcher.wait()
        # Whatever was left is ours now: wait for all of it. The alarm ends a wait that would not.
        signal.alarm(LIMIT_S)
        try:
            while True:
                os.waitpid(-1, 0)
        except ChildProcessError:
            pass
        signal.alarm(0)
        self.assertEqual(os.listdir(self.job_dirs), [])

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, mode=0o755):
        with open(self.path(name), "w") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def start(self, *arguments, **options):
        """Starts `tutti run ARGUMENTS`; nothing of it outlives the test."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, "text": True, "env": self.environment} | options
        launcher = subprocess.Popen([PROGRAM, "run", *map(str, arguments)], **options)
        for stream in (launcher.stdin, launcher.stdout, launcher.stderr):
            if stream:
                self.addCleanup(stream.close)
        self.launchers.append(launcher)
        return launcher

    def finish(self, launcher, code, stdin=None):
        out, err = launcher.communicate(stdin)
        self.assertEqual(launcher.returncode, code, f"stdout: {out!r} stderr: {err!r}")
        return out, err

    def run_job(self, code, *arguments, stdin=None, **options):
        if stdin is not None:
            options["stdin"] = subprocess.PIPE
        return self.finish(self.start(*arguments, **options), code, stdin)

    def await_lines(self, stream, text, number):
        """Reads until `number` lines with the text have come."""
        while number > 0:
            line = stream.readline()
            self.assertTrue(line, f"the output ended before '{text}'")
            number -= text in line


class Environment(RunTest):
    def test_each_rank_knows_who_it_is_and_where_to_meet(self):
        script = 'echo $TUTTI_RANK $TUTTI_LOCAL_RANK $TUTTI_NUM_RANKS $TUTTI_JOB_ID $TUTTI_JOB_DIR '
        script += '$(stat -c %a $TUTTI_JOB_DIR)'
        out, _ = self.run_job(0, "-n", 3, "--no-prefix", "--", "sh", "-c", script)
        words = sorted(line.split() for line in out.splitlines())
        self.assertEqual([w[:3] for w in words], [[str(r), str(r), "3"] for r in range(3)])
        self.assertEqual(len({(w[3], w[4], w[5]) for w in words}), 1)
        self.assertRegex(words[0][3], "^[0-9a-f]{32}$")
        self.assertTrue(words[0][4].startswith(self.job_dirs + "/"))
        self.assertEqual(words[0][5], "700")

    def test_the_job_directory_goes_with_all_that_is_in_it(self):
        self.run_job(0, "-n", 2, "--", "sh", "-c",
                     "mkdir -p $TUTTI_JOB_DIR/a/$TUTTI_RANK; touch $TUTTI_JOB_DIR/a/$TUTTI_RANK/f;"
                     "chmod 500 $TUTTI_JOB_DIR/a/$TUTTI_RANK; ln -s /etc $TUTTI_JOB_DIR/$TUTTI_RANK")
        self.assertTrue(os.path.exists("/etc/passwd"))

    def test_an_unusable_runtime_directory_is_passed_over(self):
        self.environment["XDG_RUNTIME_DIR"] = self.path("nowhere")
        out, _ = self.run_job(0, "-n", 1, "--no-prefix", "--", "sh", "-c", "echo $TUTTI_JOB_DIR")
        self.assertTrue(out.startswith(self.job_dirs))

    def test_env_is_for_every_rank(self):
        out, _ = self.run_job(0, "-n", 2, "--env", "A=x y", "--env", "B=", "--", "sh", "-c",
                              'echo "$A-$B-"')
        self.assertEqual(sorted(out.splitlines()), ["[0] x y--", "[1] x y--"])

    def test_bind_core_gives_each_rank_one_core(self):
        script = "import os; print(*os.sched_getaffinity(0))"
        out, _ = self.run_job(0, "-n", 5, "--bind", "core", "--", sys.executable, "-c", script)
        cores = sorted(os.sched_getaffinity(0))
        self.assertEqual(sorted(out.splitlines()),
                         [f"[{r}] {cores[r % len(cores)]}" for r in range(5)])

    def test_a_rank_inherits_no_file_and_no_signal_state_of_the_launcher(self):
        script = ("import os; print(*[l.split()[1] for l in open('/proc/self/status') "
                  "if l.startswith(('SigBlk', 'SigIgn'))], len(os.listdir('/proc/self/fd')))")
        plain = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
                               stdin=subprocess.DEVNULL)
        out, _ = self.run_job(0, "-n", 2, "--no-prefix", "--", sys.executable, "-c", script)
        self.assertEqual(out, plain.stdout * 2)

    def test_what_was_ignored_stays_ignored(self):
        script = "import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)"
        out, _ = self.run_job(0, "-n", 1, "--no-prefix", "--", sys.executable, "-c", script,
                              preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.assertEqual(out, "True\n")


class CommandLine(RunTest):
    def test_the_programs_words_are_its_own(self):
        words = ["[a,b]", "--help", "-n", "7", "", "--", "plan"]
        for mark in (["--"], []):
            out, _ = self.run_job(0, "-n", 1, "--no-prefix", *mark, "printf", "<%s>", *words)
            self.assertEqual(out, "".join(f"<{word}>" for word in words))

    def test_wrong_use_exits_2_and_says_what_is_wrong(self):
        for arguments, text in (([], "-n"), (["-n", 2], "PROGRAM"), (["-n", 2, "--"], "PROGRAM"),
                                (["-n", 0, "--", "true"], "4096"), (["-n", 4097, "--", "true"], "4096"),
                                (["-n", "x", "--", "true"], "-n"), (["--", "true"], "-n"),
                                (["-n", 2, "--kepp", "--", "true"], "--kepp"),
                                (["-n", 2, "--bind", "x", "--", "true"], "--bind"),
                                (["-n", 2, "--grace", "-1", "--", "true"], "--grace"),
                                (["-n", 2, "--timeout", "nan", "--", "true"], "--timeout"),
                                (["-n", 2, "--env", "A", "--", "true"], "NAME=VALUE"),
                                (["-n", 2, "--env", "TUTTI_RANK=1", "--", "true"], "TUTTI_RANK")):
            self.assertIn(text, self.run_job(2, *arguments)[1], arguments)

    def test_a_missing_program_is_told_once(self):
        for name in ("no-such-program", "./no-such-program"):
            _, err = self.run_job(127, "-n", 16, "--", name)
            self.assertEqual(err.count("no-such-program"), 1)

    def test_a_program_that_cannot_run_is_told_once(self):
        plain = self.write("plain", "text", mode=0o644)
        self.assertEqual(self.run_job(126, "-n", 16, "--", plain)[1].count("cannot run"), 1)
        self.assertEqual(self.run_job(126, "-n", 16, "--", self.folder)[1].count("cannot run"), 1)
        # These two only exec itself finds out.
        no_interpreter = self.write("script", "#!/nowhere/sh\n")
        self.assertEqual(self.run_job(127, "-n", 16, "--", no_interpreter)[1].count("interpreter"), 1)
        no_format = self.write("nothing", "echo hello\n")
        self.assertEqual(self.run_job(126, "-n", 16, "--", no_format)[1].count("cannot run"), 1)


class Output(RunTest):
    def test_lines_bear_their_rank(self):
        out, err = self.run_job(0, "-n", 11, "--", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual(sorted(out.splitlines()), sorted(f"[{r:>2}] out" for r in range(11)))
        self.assertEqual(sorted(err.splitlines()), sorted(f"[{r:>2}] err" for r in range(11)))

    def test_no_prefix(self):
        self.assertEqual(self.run_job(0, "-n", 3, "--no-prefix", "--", "echo", "x")[0], "x\n" * 3)

    def test_sixteen_chatty_ranks_do_not_mix(self):
        num_lines = 3000
        script = f'i=0; while [ $i -lt {num_lines} ]; do echo "$i of rank $TUTTI_RANK"; i=$((i+1)); done'
        out, _ = self.run_job(0, "-n", 16, "--", "sh", "-c", script)
        seen = [0] * 16
        for line in out.splitlines():
            rank = int(re.fullmatch(r"\[[ \d]\d\] \d+ of rank (\d+)", line)[1])
            self.assertEqual(line, f"[{rank:>2}] {seen[rank]} of rank {rank}")
            seen[rank] += 1
        self.assertEqual(seen, [num_lines] * 16)

    def test_a_partial_line_comes_through_while_its_rank_waits(self):
        launcher = self.start("-n", 1, "--", "sh", "-c", 'printf "name? "; read x; echo "hello $x"',
                              stdin=subprocess.PIPE)
        self.assertEqual(launcher.stdout.read(len("[0] name? ")), "[0] name? ")
        self.assertEqual(self.finish(launcher, 0, "you\n")[0], "hello you\n")

    def test_a_partial_line_and_anothers_line_do_not_mix(self):
        os.mkfifo(self.path("go"))
        script = 'if [ $TUTTI_RANK = 0 ]; then printf half; cat go; echo end; else cat go; echo whole; fi'
        launcher = self.start("-n", 2, "--", "sh", "-c", script, cwd=self.folder)
        self.assertEqual(launcher.stdout.read(len("[0] half")), "[0] half")
        # Whichever rank takes it, the other sees the end of the fifo too once both have opened it.
        with open(self.path("go"), "w"):
            pass
        out = ""
        while "whole\n" not in out or "end\n" not in out:
            try:
                os.close(os.open(self.path("go"), os.O_WRONLY | os.O_NONBLOCK))
            except OSError:
                pass  # nobody waits for it any more
            line = launcher.stdout.readline()
            self.assertTrue(line)
            out += line
        self.assertIn(out, ("\n[1] whole\n[0] end\n", "end\n[1] whole\n"))
        self.finish(launcher, 0)

    def test_the_last_line_needs_no_newline(self):
        self.assertEqual(self.run_job(0, "-n", 1, "--", "printf", "no end")[0], "[0] no end")

    def test_lines_of_a_mebibyte_stay_whole(self):
        script = ("import os, sys; line = os.environ['TUTTI_RANK'] * (1 << 20) + '\\n';"
                  "sys.stdout.write(line * 3)")
        out, _ = self.run_job(0, "-n", 4, "--", sys.executable, "-c", script)
        expected = [f"[{r}] " + str(r) * (1 << 20) for r in range(4) for _ in range(3)]
        self.assertTrue(sorted(out.splitlines()) == expected)

    def test_binary_output_survives(self):
        data = os.urandom(3_000_000)
        with open(self.path("data"), "wb") as file:
            file.write(data)
        out, _ = self.run_job(0, "-n", 1, "--no-prefix", "--", "cat", self.path("data"), text=False)
        self.assertTrue(out == data)
        with open(self.path("copy"), "wb") as copy:
            self.run_job(0, "-n", 1, "--no-prefix", "--", "cat", self.path("data"), stdout=copy)
        with open(self.path("copy"), "rb") as copy:
            self.assertTrue(copy.read() == data)

    def test_a_slow_reader_loses_nothing_and_the_launcher_does_not_grow(self):
        launcher = self.start("-n", 1, "--no-prefix", "--", sys.executable, "-c", FILL, text=False)
        self.assertEqual(launcher.stderr.readline(), b"full\n")
        with open(f"/proc/{launcher.pid}/status") as status:
            resident_kib = int(re.search(r"VmRSS:\s*(\d+)", status.read())[1])
        if "asan" not in PROGRAM:  # which keeps freed memory
            self.assertLess(resident_kib, 32 << 10)
        out, _ = self.finish(launcher, 0)
        self.assertEqual(out.count(b"x" * 1023 + b"\n"), 64 << 10)
        self.assertEqual(len(out), 64 << 20)

    def test_a_reader_that_is_gone_ends_the_job_quietly(self):
        launcher = self.start("-n", 3, "--", "yes")
        launcher.stdout.readline()
        launcher.stdout.close()
        launcher.wait()
        self.assertEqual(launcher.returncode, 128 + signal.SIGPIPE)
        self.assertNotIn("SIGPIPE", launcher.stderr.read())

    def test_a_full_disk_is_told(self):
        with open("/dev/full", "w") as full:
            _, err = self.run_job(1, "-n", 2, "--", "echo", "x", stdout=full)
        self.assertIn("No space left", err)

    def test_output_and_error_into_one_pipe_do_not_mix(self):
        script = 'for i in 1 2 3 4 5 6 7 8 9; do echo out; echo err >&2; done'
        out, _ = self.run_job(0, "-n", 4, "--", "sh", "-c", script, stderr=subprocess.STDOUT)
        expected = [f"[{r}] {s}" for r in range(4) for s in ("err", "out") for _ in range(9)]
        self.assertEqual(sorted(out.splitlines()), expected)


class Input(RunTest):
    def test_rank_0_has_it_and_the_others_have_none(self):
        out, _ = self.run_job(0, "-n", 3, "--", "sh", "-c", "cat; echo end", stdin="hello\n")
        self.assertEqual(sorted(out.splitlines()), ["[0] end", "[0] hello", "[1] end", "[2] end"])

    def test_what_nobody_reads_is_left_for_the_next(self):
        with open(self.write("input", "for the next\n")) as file:
            self.finish(self.start("-n", 2, "--", "true", stdin=file), 0)
            self.assertEqual(file.read(), "for the next\n")

    def test_closed_streams_are_no_trouble(self):
        out, _ = self.run_job(0, "-n", 2, "--", "sh", "-c", "cat; echo end",
                              preexec_fn=lambda: os.close(0))
        self.assertEqual(sorted(out.splitlines()), ["[0] end", "[1] end"])
        self.run_job(0, "-n", 2, "--", "echo", "x", preexec_fn=lambda: os.close(1))


class Failure(RunTest):
    def test_the_first_failing_ranks_code_and_who_was_ended(self):
        script = f"if [ $TUTTI_RANK = 2 ]; then exit 7; fi; exec {FOR_EVER}"
        _, err = self.run_job(7, "-n", 4, "--grace", 0.1, "--", "sh", "-c", script)
        self.assertRegex(err, r"tutti run: rank 2 \(pid \d+\) exited with code 7 after \d+\.\d s\n")
        self.assertIn("ended with SIGTERM: ranks 0-1,3\n", err)

    def test_death_by_signal(self):
        script = f"if [ $TUTTI_RANK = 1 ]; then kill -SEGV $$; fi; exec {FOR_EVER}"
        _, err = self.run_job(128 + signal.SIGSEGV, "-n", 2, "--grace", 0.1, "--", "sh", "-c", script)
        self.assertRegex(err, r"rank 1 \(pid \d+\) was killed by SIGSEGV")

    def test_ranks_that_ignore_sigterm_are_killed_and_listed(self):
        os.mkfifo(self.path("ready"))
        script = (f"if [ $TUTTI_RANK = 0 ]; then cat ready; exit 3; fi; trap '' TERM; echo > ready;"
                  f"{FOR_EVER}; {FOR_EVER}")
        _, err = self.run_job(3, "-n", 2, "--grace", 0.1, "--", "sh", "-c", script, cwd=self.folder)
        self.assertIn("had to be killed: rank 1\n", err)

    def test_ranks_may_end_by_themselves_within_the_grace(self):
        os.mkfifo(self.path("gone"))
        # Rank 1 sees that its peer is gone as the library would: something that it held closes.
        script = "if [ $TUTTI_RANK = 0 ]; then exec 3> gone; exit 3; fi; cat gone; echo my peer is gone"
        out, err = self.run_job(3, "-n", 2, "--grace", LIMIT_S, "--", "sh", "-c", script,
                                cwd=self.folder)
        self.assertEqual(out, "[1] my peer is gone\n")
        self.assertNotIn("SIGTERM", err)

    def test_keep_going_lets_the_others_finish(self):
        os.mkfifo(self.path("gone"))
        script = "if [ $TUTTI_RANK = 0 ]; then exec 3> gone; exit 3; fi; cat gone; echo end"
        out, err = self.run_job(3, "-n", 2, "--keep-going", "--grace", 0, "--", "sh", "-c", script,
                                cwd=self.folder)
        self.assertEqual(out, "[1] end\n")
        self.assertIn("rank 0", err)

    def test_many_failures_are_summed_up(self):
        _, err = self.run_job(9, "-n", 20, "--grace", LIMIT_S, "--", "sh", "-c", "exit 9")
        self.assertIn("20 ranks failed: ranks 0-19\n", err)
        self.assertLess(len(err.splitlines()), 12)

    def test_what_a_rank_leaves_running_ends_with_it(self):
        # tearDown waits for the sleepers, so they are gone or this test is not over.
        out, _ = self.run_job(0, "-n", 2, "--grace", 0.1, "--", "sh", "-c", f"{FOR_EVER} & echo x")
        self.assertEqual(sorted(out.splitlines()), ["[0] x", "[1] x"])
        self.run_job(0, "-n", 2, "--", "sh", "-c", f"{FOR_EVER} >/dev/null 2>&1 &")

    def test_what_a_rank_leaves_running_may_say_its_last(self):
        out, _ = self.run_job(0, "-n", 1, "--grace", LIMIT_S, "--", "bash", "-c",
                              "exec > >(sed s/a/b/); echo a")
        self.assertEqual(out, "[0] b\n")

    def test_timeout(self):
        _, err = self.run_job(124, "-n", 3, "--timeout", 0.2, "--", "sh", "-c", FOR_EVER)
        self.assertIn("still running: ranks 0-2\n", err)
        self.run_job(124, "-n", 2, "--timeout", 0.2, "--grace", 0.1, "--", "sh", "-c",
                     f"trap '' TERM; {FOR_EVER}; {FOR_EVER}")


class Signals(RunTest):
    def start_ready(self, num_ranks, script, *options, **more):
        launcher = self.start("-n", num_ranks, *options, "--", "sh", "-c", script, **more)
        self.await_lines(launcher.stdout, "ready", num_ranks)
        return launcher

    def test_sigint_ends_all_ranks(self):
        launcher = self.start_ready(3, f"echo ready; exec {FOR_EVER}")
        launcher.send_signal(signal.SIGINT)
        _, err = self.finish(launcher, 128 + signal.SIGINT)
        self.assertEqual(err.count("killed by SIGINT"), 1)

    def test_signals_reach_every_rank(self):
        for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2"):
            script = (f"trap 'echo got {name}; exit 0' {name}; echo ready;"
                      "while :; do sleep 100000 & wait $!; done")
            launcher = self.start_ready(3, script, "--no-prefix")
            launcher.send_signal(getattr(signal, "SIG" + name))
            self.assertEqual(self.finish(launcher, 0)[0], f"got {name}\n" * 3)

    def test_a_second_sigint_kills(self):
        launcher = self.start_ready(
            2, "trap 'echo again' INT; echo ready; while :; do sleep 100000 & wait $!; done")
        launcher.send_signal(signal.SIGINT)
        self.await_lines(launcher.stdout, "again", 2)
        launcher.send_signal(signal.SIGINT)
        self.assertIn("had to be killed: ranks 0-1", self.finish(launcher, 130)[1])

    def test_stop_and_continue_reach_every_rank(self):
        # Told past the launcher, which is stopped itself. SIGCONT takes back a stop that was not yet
        # seen, so it must wait for both.
        told, tell = os.pipe()
        script = f"""
import os, signal
signal.signal(signal.SIGTSTP, lambda *_: os.write({tell}, b"s"))
signal.signal(signal.SIGCONT, lambda *_: os.write({tell}, b"c"))
os.write(1, b"ready\\n")
while True: signal.pause()
"""
        launcher = self.start("-n", 2, "--", sys.executable, "-c", script, process_group=0,
                              pass_fds=(tell,))
        os.close(tell)
        self.await_lines(launcher.stdout, "ready", 2)
        with open(told, "rb", buffering=0) as told:
            launcher.send_signal(signal.SIGTSTP)
            _, status = os.waitpid(launcher.pid, os.WUNTRACED)
            self.assertTrue(os.WIFSTOPPED(status))
            self.assertEqual(told.read(1) + told.read(1), b"ss")
            launcher.send_signal(signal.SIGCONT)
            self.assertEqual(told.read(1) + told.read(1), b"cc")
        launcher.send_signal(signal.SIGTERM)
        self.finish(launcher, 128 + signal.SIGTERM)

    def test_stopped_ranks_can_be_ended(self):
        launcher = self.start("-n", 2, "--timeout", 0.2, "--", "sh", "-c", "kill -STOP $$")
        self.finish(launcher, 124)

    def test_a_launcher_that_is_killed_leaves_nothing(self):
        # The pipe is held by ranks and their children alone, so its end is their end.
        held, hold = os.pipe()
        script = f"touch $TUTTI_JOB_DIR/x; {FOR_EVER} & echo ready; exec {FOR_EVER}"
        launcher = self.start_ready(4, script, pass_fds=(hold,))
        os.close(hold)
        launcher.kill()
        launcher.wait()
        self.assertEqual(os.read(held, 1), b"")
        os.close(held)  # tearDown sees that guard and directory go too

    def test_ending_while_nobody_reads(self):
        launcher = self.start("-n", 1, "--", sys.executable, "-c", FILL)
        self.await_lines(launcher.stderr, "full", 1)
        launcher.send_signal(signal.SIGTERM)
        # The rank is gone and nobody has read what it wrote: the next signal ends the wait.
        self.await_lines(launcher.stderr, "SIGTERM", 1)
        launcher.send_signal(signal.SIGTERM)
        launcher.wait()
        self.assertEqual(launcher.returncode, 128 + signal.SIGTERM)


class Terminal(RunTest):
    def start_on_terminal(self, *arguments):
        """The launcher as the foreground job of a terminal of its own; returns our end of it."""
        ours, theirs = pty.openpty()

        def take_terminal():
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

        launcher = self.start(*arguments, stdin=theirs, stdout=theirs, stderr=theirs,
                              preexec_fn=take_terminal)
        os.close(theirs)
        self.addCleanup(os.close, ours)
        return launcher, ours

    def await_text(self, terminal, text):
        seen = ""
        while text not in seen:
            seen += os.read(terminal, 4096).decode()
        return seen

    def test_ranks_have_colours(self):
        launcher, terminal = self.start_on_terminal("-n", 2, "--", "echo", "x")
        seen = self.await_text(terminal, "x")
        self.assertIn("\033[", seen)
        launcher.wait()

    def test_no_colours_where_none_are_wanted(self):
        self.environment["NO_COLOR"] = "1"
        launcher, terminal = self.start_on_terminal("-n", 1, "--", "echo", "x")
        self.assertEqual(self.await_text(terminal, "x\r\n"), "[0] x\r\n")
        launcher.wait()

    def test_what_is_typed_goes_to_rank_0(self):
        launcher, terminal = self.start_on_terminal("-n", 2, "--no-prefix", "--", "sed", "s/^/got /")
        os.write(terminal, b"hello\n")
        os.write(terminal, b"\x04")  # Ctrl-D
        self.await_text(terminal, "got hello\r\n")
        launcher.wait()
        self.assertEqual(launcher.returncode, 0)

    def test_a_rank_that_wants_the_terminal_itself_is_named_and_can_be_ended(self):
        launcher, terminal = self.start_on_terminal("-n", 1, "--", "sh", "-c", "read x < /dev/tty")
        self.assertIn("rank 0", self.await_text(terminal, "SIGTTIN"))
        os.write(terminal, b"\x03")
        launcher.wait()
        self.assertEqual(launcher.returncode, 130)

    def test_ctrl_c_reaches_all_ranks(self):
        launcher, terminal = self.start_on_terminal(
            "-n", 3, "--", "sh", "-c", f"echo ready $TUTTI_RANK; exec {FOR_EVER}")
        seen = ""
        for rank in range(3):
            if f"ready {rank}" not in seen:
                seen += self.await_text(terminal, f"ready {rank}")
        os.write(terminal, b"\x03")
        launcher.wait()
        self.assertEqual(launcher.returncode, 130)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGALRM, on_alarm)
    unittest.main()
