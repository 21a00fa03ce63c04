"""Makes tuning tables with `tutti bench --tune`, and runs jobs that follow them or cannot.

usage: tuning_test.py PATH_OF_TUTTI [unittest arguments]
"""
import json
import os
import subprocess
import sys
import unittest

from job_folder import JobFolderTest

PROGRAM = ""
LIMIT_S = 100  # against hangs only
ONE_SIZE = ("-b", "8", "-e", "8", "--for", "20")


class TuningTest(JobFolderTest):
    def path(self, name):
        return os.path.join(self.folder, name)

    def run_program(self, code, *arguments, **variables):
        done = subprocess.run([PROGRAM, *map(str, arguments)], env=self.environment | variables,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LIMIT_S)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def bench(self, code=0, num_ranks=2, **variables):
        """A job of one small all_reduce that says which algorithm it used."""
        out, err = self.run_program(code, "bench", "all_reduce", "-n", num_ranks, "-b", 8, "-e", 8,
                                    TUTTI_DEBUG="INFO", **variables)
        return out + err

    def write_table(self, name, *rules):
        rules = [{"collective": "all_reduce", "min_bytes": 0, "max_bytes": 4096} | rule
                 for rule in rules]
        table = {"format": "tutti-tuning", "version": 1, "rules": rules,
                 "machine": {"cpu": "made up", "cores": 1}}
        with open(self.path(name), "w") as file:
            json.dump(table, file, indent=1)
        return self.path(name)

    def read_table(self, name):
        with open(self.path(name)) as file:
            return json.load(file)


class Tune(TuningTest):
    def test_a_table_is_made_for_each_number_of_ranks_and_later_jobs_follow_it(self):
        table = self.path("tutti/tuning.json")
        out, _ = self.run_program(0, "bench", "--tune", "-n", "2,3", *ONE_SIZE)
        self.assertIn(f"wrote {table}", out)
        rules = self.read_table(table)["rules"]
        self.assertEqual(sorted({rule["ranks"] for rule in rules}), [2, 3])
        self.assertEqual(len({rule["collective"] for rule in rules}), 9)
        for rule in rules:
            self.assertGreater(rule["us"], 0)
            margin = 1 if rule["algorithm"] == "default" else 0.96  # 0.95, and figures are rounded
            self.assertLessEqual(rule["us"], margin * rule["default_us"])
        self.assertIn(f"rules of {table}", self.bench())

    def test_what_was_measured_before_stays_and_the_same_is_measured_anew(self):
        table = self.path("folder/t.json")
        tune = ("bench", "--tune", *ONE_SIZE, "--out", table)
        self.run_program(0, *tune, "-n", 2, "barrier")
        self.run_program(0, *tune, "-n", 2, "broadcast")
        self.run_program(0, *tune, "-n", 3, "broadcast")
        self.run_program(0, *tune, "-n", 2, "broadcast")
        self.assertEqual([(rule["collective"], rule["ranks"])
                          for rule in self.read_table(table)["rules"]],
                         [("broadcast", 2), ("broadcast", 3), ("barrier", 2)])

    def test_it_works_under_a_launcher(self):
        table = self.path("t.json")
        self.run_program(0, "run", "-n", 3, "--", PROGRAM, "bench", "--tune", "reduce", *ONE_SIZE,
                         "--out", table)
        self.assertEqual([rule["ranks"] for rule in self.read_table(table)["rules"]], [3])

    def test_a_table_of_another_machine_is_left_alone(self):
        table = self.write_table("t.json", {"ranks": 2, "algorithm": "ring"})
        with open(table) as file:
            before = file.read()
        _, err = self.run_program(2, "bench", "--tune", "reduce", "-n", 2, *ONE_SIZE, "--out", table)
        self.assertIn("measured on made up with 1 cores", err)
        with open(table) as file:
            self.assertEqual(file.read(), before)

    def test_a_broken_table_is_left_alone_too(self):
        table = self.path("t.json")
        with open(table, "w") as file:
            file.write("{")
        _, err = self.run_program(2, "bench", "--tune", "reduce", "-n", 2, *ONE_SIZE, "--out", table)
        self.assertIn("nothing can be added to this table", err)
        self.assertEqual(os.path.getsize(table), 1)

    def test_a_broken_table_in_use_does_not_stand_in_the_way(self):
        self.run_program(0, "bench", "--tune", "reduce", "-n", 2, *ONE_SIZE, "--out",
                         self.path("t.json"), TUTTI_TUNING=self.path("missing"))

    def test_its_time_is_bounded_and_it_says_what_was_left_out(self):
        out, _ = self.run_program(0, "bench", "--tune", "-n", 2, "-e", "1G", "-f", 2, "--for", 0.1,
                                  "--out", self.path("t.json"))
        self.assertIn("--for gives more", out)

    def test_bad_use_is_told(self):
        for arguments, why in (
                (("--tune", "--threads"), "--threads"),
                (("--tune", "send_recv"), "cannot measure 'send_recv'"),
                (("--tune", "-b", "1M", "-e", "8"), "-b 1M is more than -e 8"),
                (("--tune", "-n", "0"), "-n"),
                (("all_reduce", "-n", "2,3"), "--tune"),
                (("all_reduce", "--for", "3"), "--tune"),
                ((), "collective")):
            with self.subTest(arguments):
                self.assertIn(why, self.run_program(2, "bench", *arguments)[1])


class Follow(TuningTest):
    def test_a_job_follows_the_table_that_the_variable_names(self):
        table = self.write_table("t.json", {"ranks": 2, "algorithm": "ring", "chunks": 2},
                                 {"ranks": 3, "algorithm": "rabenseifner"})
        text = self.bench(TUTTI_TUNING=table)
        self.assertIn(f"by the 2 rules of {table}", text)
        self.assertIn("all_reduce of 8 bytes among 2 ranks: algorithm ring, chunks 2", text)
        self.assertIn("was measured on made up with 1 cores", text)
        self.assertIn("algorithm rabenseifner", self.bench(num_ranks=3, TUTTI_TUNING=table))
        self.assertIn("by the built-in rules", self.bench(TUTTI_TUNING="none"))

    def test_a_table_that_cannot_be_used_is_an_error_of_every_rank(self):
        table = self.write_table("t.json", {"ranks": 2, "algorithm": "rnig"})
        text = self.bench(code=2, TUTTI_TUNING=table)
        self.assertEqual(text.count('all_reduce has no algorithm "rnig"'), 2, text)
        self.assertIn(f"{table}:", text)
        self.assertIn("missing.json", self.bench(code=2, TUTTI_TUNING=self.path("missing.json")))

    def run_with_tables(self, *tables):
        """Rank i has the i-th table. What the ranks say, one text each."""
        script = "shift $TUTTI_RANK; TUTTI_TUNING=$1 exec $PROGRAM bench all_reduce -b 8 -e 8"
        _, err = self.run_program(2, "run", "-n", len(tables), "--keep-going", "--", "sh", "-c",
                                  script, "sh", *tables, PROGRAM=PROGRAM)
        return [line for line in err.splitlines() if line.startswith("[")]

    def test_ranks_with_different_tables_are_told_so_on_every_rank(self):
        ring = self.write_table("ring.json", {"ranks": 4, "algorithm": "ring"})
        pull = self.write_table("pull.json", {"ranks": 4, "algorithm": "pull"})
        said = self.run_with_tables(ring, pull, "none", ring)
        self.assertEqual(len(said), 4, said)
        for line in said:
            self.assertIn(f"ranks 0, 3: {ring}", line)
            self.assertIn(f"rank 1: {pull}", line)
            self.assertIn("rank 2: no table", line)

    def test_one_rank_without_its_file_is_told_on_every_rank(self):
        said = self.run_with_tables("none", "none", self.path("missing.json"))
        self.assertEqual(len(said), 3, said)
        for line in said:
            self.assertIn("rank 2: the tuning table cannot be used", line)
            self.assertIn("missing.json", line)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
