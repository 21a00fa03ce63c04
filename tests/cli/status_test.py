"""Looks into running jobs: `tutti status`, reports of waits, flight recorders, traces, TUTTI_DEBUG.

usage: status_test.py PATH_OF_TUTTI PATH_OF_JOB_PROGRAM [unittest arguments]
"""
import json
import os
import re
import stat
import subprocess
import sys
import unittest

from job_folder import JobFolderTest

PROGRAM = ""
JOB_PROGRAM = ""
LIMIT_S = 100  # against hangs only


class StatusTest(JobFolderTest):
    def start(self, scenario, num_ranks, *options, **variables):
        launcher = subprocess.Popen(
            [PROGRAM, "run", "-n", str(num_ranks), "--timeout", str(LIMIT_S), "--keep-going",
             *options, "--", JOB_PROGRAM, scenario],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.environment | variables)

        def end():
            if launcher.poll() is None:
                launcher.terminate()
            launcher.communicate(timeout=LIMIT_S)

        self.addCleanup(end)
        return launcher

    def finish(self, scenario, num_ranks, *options, code=0, **variables):
        launcher = self.start(scenario, num_ranks, *options, **variables)
        out, err = launcher.communicate(timeout=LIMIT_S)
        self.assertEqual(launcher.returncode, code, out + err)
        return out, err

    def status(self, *arguments):
        return subprocess.run([PROGRAM, "status", *map(str, arguments)], env=self.environment,
                              capture_output=True, text=True, timeout=LIMIT_S)

    def await_ring(self, *arguments):
        """Asks until ranks 0 and 1 are seen to wait for each other, and rank 2 in both calls.
        LIMIT_S of the job ends it."""
        while True:
            answer = self.status("--json", *arguments)
            jobs = self.own_jobs(answer)
            if jobs and jobs[0]["ring"]:
                calls = [o for o in jobs[0]["operations"] if 2 in o["called_by"]]
                if {"a", "b"} <= {o["name"] for o in calls}:
                    return answer, jobs

    def own_jobs(self, answer):
        """Others may run jobs at the same time."""
        jobs = json.loads(answer.stdout)["jobs"]
        return [job for job in jobs if job["directory"].startswith(self.folder)]

    def job_directory(self):
        return next(os.path.join(self.folder, name) for name in os.listdir(self.folder)
                    if name.startswith("tutti-run-"))


class Status(StatusTest):
    def test_names_who_waits_for_whom(self):
        launcher = self.start("wait_in_a_ring", 3)
        answer, jobs = self.await_ring()
        self.assertEqual(answer.returncode, 1)  # a ring is a negative answer
        self.assertEqual(len(jobs), 1)
        self.assertEqual(jobs[0]["num_ranks"], 3)
        self.assertEqual({(l["rank"], l["waits_for"]) for l in jobs[0]["ring"]}, {(0, 1), (1, 0)})
        operations = {o["name"]: o for o in jobs[0]["operations"]}
        self.assertEqual(operations["a"]["called_by"], [0, 2])
        self.assertEqual(operations["a"]["not_called_by"], [1])
        self.assertEqual(operations["b"]["called_by"], [1, 2])
        self.assertEqual(operations["a"]["collective"], "all_reduce")
        self.assertEqual(operations["a"]["count"], 1000)
        self.assertEqual(jobs[0]["ranks"][2]["recent"][0]["name"], "start")
        self.assertEqual(jobs[0]["prepared"], [])
        self.assertEqual(jobs[0]["ranks"][0]["num_prepared"], 0)
        self.assertEqual(jobs[0]["ranks"][0]["num_streams"], 0)

        text = self.status().stdout
        self.assertIn('rank 0 waits in all_reduce "a" for rank 1', text)
        self.assertIn("3 ranks", text)
        self.assertIn('all_reduce "b" of 1000 float32, sum: since', text)
        self.assertIn('barrier "start" completed', self.status("--events").stdout)

        # The same job by other names.
        for name in (launcher.pid, jobs[0]["ranks"][1]["process"], self.job_directory(),
                     os.path.basename(self.job_directory())):
            self.assertEqual(len(self.own_jobs(self.status("--json", name))), 1, name)

    def test_sockets_are_the_users_own(self):
        self.start("wait_in_a_ring", 3)
        self.await_ring()
        for rank in range(3):
            mode = os.stat(os.path.join(self.job_directory(), f"status.{rank}")).st_mode
            self.assertTrue(stat.S_ISSOCK(mode))
            self.assertEqual(stat.S_IMODE(mode), 0o600)

    def test_is_answered_while_a_rank_is_stopped(self):
        self.start("wait_in_a_ring", 3)
        _, jobs = self.await_ring()
        process = jobs[0]["ranks"][0]["process"]
        os.kill(process, 19)  # SIGSTOP
        try:
            answer = self.status("--json")
        finally:
            os.kill(process, 18)  # SIGCONT
        self.assertEqual(len(self.own_jobs(answer)), 1)

    def test_says_when_there_is_no_job(self):
        answer = self.status("nonesuch", "--json")
        self.assertEqual(answer.returncode, 1)
        self.assertIn("no job 'nonesuch' runs here", answer.stderr)
        self.assertEqual(json.loads(answer.stdout), {"tutti_status": 1, "jobs": []})
        self.assertEqual(self.status("--nonsense").returncode, 2)


class Reports(StatusTest):
    def test_are_printed_by_every_rank_that_waits(self):
        launcher = self.start("wait_in_a_ring", 3, TUTTI_REPORT_AFTER="0.3")
        missing = {"0", "1", "2"}
        while missing:
            line = launcher.stderr.readline()
            self.assertTrue(line, "the job ended without reports")
            if match := re.match(r"\[(\d)\] +ranks wait for each other in a ring: rank 0 waits", line):
                missing.discard(match[1])

    def test_are_not_printed_when_turned_off_or_not_needed(self):
        _, err = self.finish("exchange", 2, TUTTI_REPORT_AFTER="0")
        self.assertEqual(err, "")


class Files(StatusTest):
    def test_flight_recorder_is_written_on_failure(self):
        folder = os.path.join(self.folder, "flight")
        self.finish("disagree", 3, TUTTI_FLIGHT_RECORDER=folder)
        for rank in range(3):
            with open(os.path.join(folder, f"flight-{rank}.json")) as file:
                flight = json.load(file)
            self.assertEqual(flight["rank"], rank)
            self.assertIn("ranks disagree", flight["reason"])
            self.assertEqual([o["state"] for o in flight["operations"]], ["failed"])
            self.assertIn('all_reduce "grad"', flight["operations"][0]["what"])
            self.assertGreaterEqual(flight["operations"][0]["switches"], 0)

    def test_traces_of_all_ranks_become_one(self):
        folder = os.path.join(self.folder, "traces")
        self.finish("exchange", 2, "--trace", folder)
        self.assertEqual(sorted(os.listdir(folder)), ["trace-0.jsonl", "trace-1.jsonl"])
        made = subprocess.run([PROGRAM, "trace", folder], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        events = json.loads(made.stdout)["traceEvents"]
        self.assertEqual({e["pid"] for e in events if e["ph"] == "X"}, {0, 1})
        calls = [e for e in events if e["ph"] == "b"]
        self.assertEqual(len(calls), sum(e["ph"] == "e" for e in events))
        self.assertTrue(any("all_gather" in e["name"] for e in calls))
        # One clock: what both ranks did overlaps.
        spans = [[e["ts"] for e in events if e["ph"] == "X" and e["pid"] == rank] for rank in (0, 1)]
        self.assertLess(max(map(min, spans)), min(map(max, spans)))
        again = subprocess.run([PROGRAM, "trace", folder, "--to", "json-lines"],
                               capture_output=True, text=True)
        self.assertEqual(json.loads(again.stdout.splitlines()[0])["ranks"], 2)

    def test_no_trace_is_an_error(self):
        made = subprocess.run([PROGRAM, "trace", self.folder], capture_output=True, text=True)
        self.assertEqual(made.returncode, 2)
        self.assertIn("no trace-RANK.jsonl", made.stderr)


class Debug(StatusTest):
    def test_levels_add_lines(self):
        def lines(level):
            _, err = self.finish("disagree", 3, "--no-prefix", TUTTI_DEBUG=level)
            for line in err.splitlines():
                self.assertRegex(line, r"^\[[^:\]]+:\d+\] rank \d tutti (VERSION|WARN|INFO|TRACE) ")
            return err
        self.assertEqual(lines("NONE"), "")
        self.assertIn("tutti VERSION version", lines("VERSION"))
        self.assertIn("tutti WARN ranks disagree", lines("WARN"))
        info = lines("INFO")
        self.assertIn("joined a job of 3 ranks", info)
        self.assertRegex(info, r"all_reduce of \d+ bytes among 3 ranks: algorithm \w+")
        self.assertNotIn("TRACE", info)
        self.assertIn('tutti TRACE all_reduce "grad" of 5000 float32, sum issued', lines("TRACE"))

    def test_a_level_that_is_none_is_named_once(self):
        _, err = self.finish("disagree", 3, TUTTI_DEBUG="LOUD")
        self.assertEqual(err.count("TUTTI_DEBUG='LOUD'"), 1)


if __name__ == "__main__":
    PROGRAM, JOB_PROGRAM = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
