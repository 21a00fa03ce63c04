"""Plans schedules, and runs them: `tutti bench --schedule`, TUTTI_SCHEDULE, the cache of plans.

usage: schedule_test.py PATH_OF_TUTTI [unittest arguments]
"""
import glob
import json
import os
import subprocess
import sys
import unittest

from job_folder import JobFolderTest

PROGRAM = ""
LIMIT_S = 100  # against hangs only
FRAGMENT = ("--topo", "dgx-1v", "--ranks", "0,1,2,4,7")
SIZES = ("-b", "4", "-e", "64K", "-f", "64", "-w", "1", "-i", "2")


class ScheduleTest(JobFolderTest):
    def run_program(self, code, *arguments, **variables):
        done = subprocess.run([PROGRAM, *map(str, arguments)], env=self.environment | variables,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LIMIT_S)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def path(self, name):
        return os.path.join(self.folder, name)

    def plan(self, collective, *arguments, **variables):
        """A plan in a file: its path, and what was said of it."""
        path = self.path(f"{collective}.json")
        _, err = self.run_program(0, "plan", collective, *arguments, "-o", path, **variables)
        return path, err


class Bench(ScheduleTest):
    def test_a_schedule_for_eight_gpus_runs_on_eight_ranks_here(self):
        path, _ = self.plan("all_reduce", "--topo", "dgx-1v", "--bytes", "64K", "--algo", "packed")
        out, _ = self.run_program(0, "bench", "all_reduce", "-n", 8, "--schedule", path, *SIZES)
        self.assertIn(f"# Schedule: {path} (all_reduce packed of 8 ranks)", out)
        self.assertIn("# Out of bounds values : 0 OK", out)

    def test_every_collective_of_trees_runs_on_a_fragment(self):
        for collective in ("all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter"):
            with self.subTest(collective):
                rooted = ("--root", 3) if collective in ("reduce", "broadcast") else ()
                path, _ = self.plan(collective, *FRAGMENT, "--algo", "packed", "--chunks", 4,
                                    *rooted)
                out, err = self.run_program(0, "bench", "--schedule", path, "-d", "int32", *SIZES,
                                            TUTTI_DEBUG="INFO")
                self.assertIn("# Out of bounds values : 0 OK", out)
                self.assertIn(f"algorithm {path} ({collective} packed of 5 ranks", err)

    def test_threads_follow_it_too(self):
        path, _ = self.plan("all_gather", "--ranks", 3, "--algo", "ring")
        out, _ = self.run_program(0, "bench", "--schedule", path, "--threads", *SIZES)
        self.assertIn("# Out of bounds values : 0 OK", out)

    def test_what_does_not_fit_is_told_once_before_anything_runs(self):
        path, _ = self.plan("broadcast", "--ranks", 3, "--algo", "chain", "--root", 1)
        wrong = self.path("wrong.json")
        with open(path) as file, open(wrong, "w") as out:
            out.write(file.read().replace("output[0]", "output[1]").replace('"chunks": 1', '"chunks": 2'))
        for arguments, why in (
                (("all_reduce", "--schedule", path), "is not for all_reduce"),
                (("-n", "4", "--schedule", path), "is not for 4 ranks"),
                (("-r", "0", "--schedule", path), "is not for root 0"),
                (("--schedule", self.path("none.json")), "none.json"),
                (("--schedule", "-"), "must be a file"),
                (("--schedule", path, "--tune"), "--tune"),
                (("--schedule", wrong), "is not proved")):
            with self.subTest(arguments):
                out, err = self.run_program(1 if why == "is not proved" else 2, "bench", *arguments)
                self.assertEqual(err.count(why), 1, err)
                self.assertEqual(out, "")


class Environment(ScheduleTest):
    def test_a_job_follows_the_schedules_that_the_variable_names(self):
        ring, _ = self.plan("all_reduce", "--ranks", 3, "--algo", "ring")
        tree, _ = self.plan("broadcast", "--ranks", 3, "--algo", "chain")
        for collective, path in (("all_reduce", ring), ("broadcast", tree)):
            _, err = self.run_program(0, "bench", collective, "-n", 3, *SIZES, TUTTI_DEBUG="INFO",
                                      TUTTI_SCHEDULE=f"{ring}:{tree}")
            self.assertIn(f"algorithm {path}", err)

    def test_ranks_that_are_told_different_ones_are_named_to_all(self):
        ring, _ = self.plan("all_reduce", "--ranks", 2, "--algo", "ring")
        script = (f"[ $TUTTI_RANK = 1 ] && export TUTTI_SCHEDULE={ring}; "
                  f"exec {PROGRAM} bench all_reduce -n 2 -b 8 -e 8")
        _, err = self.run_program(2, "run", "-n", 2, "--", "sh", "-c", script)
        self.assertIn("rank 0: no table", err)
        self.assertIn(f"rank 1: {ring} (all_reduce ring of 2 ranks)", err)

    def test_a_schedule_without_use_in_the_job_is_an_error(self):
        ring, _ = self.plan("all_reduce", "--ranks", 5, "--algo", "ring")
        _, err = self.run_program(2, "bench", "all_reduce", "-n", 2, "-b", 8, "-e", 8,
                                  TUTTI_SCHEDULE=ring)
        self.assertIn("has no use in a job of 2 ranks", err)


class Cache(ScheduleTest):
    def files(self):
        return glob.glob(self.path("cache/tutti/*.plan"))

    def test_the_same_question_is_answered_from_the_cache(self):
        question = ("all_reduce", *FRAGMENT, "--bytes", "1M")
        path, first = self.plan(*question)
        with open(path) as file:
            schedule = file.read()
        self.assertNotIn("From cache", first)
        self.assertEqual(len(self.files()), 1)
        path, second = self.plan(*question)
        self.assertEqual(second.count("From cache"), 1)
        self.assertEqual(first, second[:len(first)])
        with open(path) as file:
            self.assertEqual(file.read(), schedule)
        out, _ = self.run_program(0, "plan", *question, "--json", "-o", path)
        self.assertTrue(json.loads(out)["from_cache"])
        self.assertNotIn("From cache", self.plan(*question, "--no-cache")[1])
        self.assertNotIn("From cache", self.plan(*question, TUTTI_CACHE="none")[1])
        self.assertNotIn("From cache", self.plan("all_reduce", *FRAGMENT, "--bytes", "2M")[1])
        self.assertEqual(len(self.files()), 2)

    def test_a_link_that_fails_is_another_question(self):
        self.plan("broadcast", *FRAGMENT, "--algo", "packed")
        self.assertNotIn("From cache", self.plan("broadcast", *FRAGMENT, "--algo", "packed", "--fail",
                                                 "gpu0~gpu4=0.5")[1])

    def test_a_damaged_file_is_told_and_planned_anew(self):
        question = ("broadcast", *FRAGMENT, "--algo", "packed")
        self.plan(*question)
        with open(self.files()[0], "r+") as file:
            file.seek(200)
            file.write("#")
        _, err = self.plan(*question)
        self.assertIn("planning anew", err)
        self.assertIn("is damaged", err)
        self.assertIn("From cache", self.plan(*question)[1])

    def test_a_folder_that_cannot_be_used_is_told_and_done_without(self):
        blocked = self.path("file")
        with open(blocked, "w"):
            pass
        _, err = self.plan("broadcast", *FRAGMENT, "--algo", "packed", TUTTI_CACHE=blocked)
        self.assertIn("the plan is not kept", err)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
