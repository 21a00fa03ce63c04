"""Runs `tutti chaos` as a user would: processes, reports, kills, and what is left of them.

usage: chaos_test.py PATH_OF_TUTTI [unittest arguments]
"""
import json
import os
import pty
import signal
import subprocess
import sys
import unittest

from job_folder import JobFolderTest

PROGRAM = ""
YES, NO, BAD_USE = 0, 1, 2
SMALL = ("--collectives", 20, "--rounds", 3)
KILL = ("--kill", "--rounds", "4")


class ChaosTest(JobFolderTest):
    def tearDown(self):
        self.assertEqual(os.listdir(self.folder), [])

    def chaos(self, *arguments):
        return subprocess.run([PROGRAM, "chaos", *map(str, arguments)], capture_output=True,
                              text=True, timeout=300, env=self.environment)

    def report(self, *arguments):
        done = self.chaos(*arguments, "--json")
        self.assertEqual(done.returncode, YES, f"{arguments}: {done.stderr}{done.stdout}")
        return json.loads(done.stdout)

    def is_refused(self, reason, *arguments):
        done = self.chaos(*arguments)
        self.assertEqual(done.returncode, BAD_USE, done.stdout + done.stderr)
        self.assertIn(reason, done.stderr)

    def test_every_pattern_is_right_between_processes(self):
        for pattern in ("random", "latin", "torchrec", "grid"):
            report = self.report("-n", 4, "--pattern", pattern, *SMALL)
            self.assertEqual(report["wrong"], 0)
            self.assertGreater(report["operations"], 0)
            self.assertGreater(report["any_order"]["round_us"]["p50"], 0)
            self.assertGreater(report["one_order"]["round_us"]["p50"], 0)

    def test_ranks_may_be_threads(self):
        report = self.report("-n", 3, "--threads", *SMALL)
        self.assertEqual((report["threads"], report["wrong"]), (True, 0))

    def test_processes_count_their_switches(self):
        report = self.report("-n", 3, *SMALL)
        any_order = report["any_order"]
        self.assertGreater(report["most_switches"], 0)
        self.assertGreater(any_order["switches_per_collective"], 0)
        self.assertLessEqual(any_order["switches_per_collective"], report["most_switches"])
        self.assertGreaterEqual(any_order["looks_per_collective"], 0)
        # The mean lies between the shortest and the longest round.
        self.assertGreaterEqual(any_order["rounds_per_s"] * any_order["round_us"]["p99.9"], 1e6)

    def test_the_report_says_how_to_repeat_it(self):
        first = self.report("-n", 3, *SMALL)
        words = first["replay"].split()
        self.assertEqual(words[:2], ["tutti", "chaos"])
        again = self.report(*[word for word in words[2:] if word != "--json"])
        for field in ("seed", "operations", "groups", "max_bytes", "in_flight"):
            self.assertEqual(first[field], again[field])

    def test_a_person_can_read_it(self):
        done = self.chaos("-n", 2, "--seed", 5, *SMALL)
        self.assertEqual(done.returncode, YES, done.stderr)
        for words in ("2 ranks", "p99.9", "every element exact", "--seed 5"):
            self.assertIn(words, done.stdout)

    def test_thousands_are_in_flight(self):
        report = self.report("-n", 2, "--collectives", 3000, "--rounds", 1)
        self.assertEqual((report["in_flight"], report["wrong"]), (3000, 0))

    def test_survivors_name_a_killed_rank_and_go_on(self):
        for seed in (1, 2, 3):
            report = self.report("-n", 3, "--seed", seed, "--groups", 1, *KILL)
            self.assertEqual((report["named_it"], report["went_on"]), (2, 2), report)
            self.assertEqual(report["left_behind"], [])
            self.assertIn(f"rank {report['killed']} is lost", report["message"])

    def test_a_soak_takes_seed_after_seed(self):
        report = self.report("-n", 2, "--seeds", 3, "--seed", 10, *KILL)
        self.assertEqual((report["runs"], report["kills"], report["failure"]), (3, 3, ""))

    def test_a_soak_that_is_interrupted_says_what_it_did_and_cleans_up(self):
        command = [PROGRAM, "chaos", "-n", "2", "--for", "1h", "--json", *map(str, SMALL)]
        screen, terminal = pty.openpty()
        self.addCleanup(os.close, screen)
        soak = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, text=True,
                                env=self.environment)
        self.addCleanup(soak.kill)
        os.close(terminal)
        self.assertIn(b"all right", os.read(screen, 100))  # one run is over, the next begins
        soak.send_signal(signal.SIGINT)
        report = json.loads(soak.communicate(timeout=100)[0])
        self.assertEqual(soak.returncode, 128 + signal.SIGINT)
        self.assertEqual(report["failure"], "interrupted")
        self.assertGreaterEqual(report["runs"], 1)

    def test_what_makes_no_sense_is_refused(self):
        self.is_refused("--kill", "-n", 2, "--kill", "--threads")
        self.is_refused("--for", "-n", 2, "--for", "10 minutes")
        self.is_refused("--pattern", "-n", 2, "--pattern", "tidy")
        self.is_refused("--collectives", "-n", 2, "--collectives", 0)
        self.is_refused("-n", "-n", 0)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
