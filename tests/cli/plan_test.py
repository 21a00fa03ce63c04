"""tutti plan where something is wrong: signals, solvers, machines, files of the cache.

usage: plan_test.py PATH_OF_TUTTI [unittest arguments]
"""
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""
YES, NO, BAD_USE = 0, 1, 2
DEADLINE_S = 60


def machine(name, links, devices):
    """Links are (from, to), one way each."""
    return json.dumps({
        "format": "tutti-topology", "version": 1, "name": name,
        "nodes": [{"name": each, "kind": "device", "machine": 0} for each in devices],
        "links": [{"from": a, "to": b, "class": "nvlink", "gbps": 25, "latency_ns": 700}
                  for a, b in links],
        "ranks": list(devices)})


def mixed(a, b):
    """comm/keys.h"""
    mask = (1 << 64) - 1
    x = (a * 0x9E3779B97F4A7C15 + b + 0x632BE59BD9B4E019) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return (x ^ (x >> 31)) or 1


def sealed(body):
    value = len(body.encode())
    for byte in body.encode():
        value = mixed(value, byte)
    return f"tutti-plan 1 {value:016x}\n{body}"


class PlanTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def run_plan(self, *arguments, **environment):
        return subprocess.run([PROGRAM, "plan", *map(str, arguments)], capture_output=True,
                              text=True, timeout=DEADLINE_S, env={**os.environ, **environment})

    def succeeds(self, *arguments, **environment):
        done = self.run_plan(*arguments, **environment)
        self.assertEqual(done.returncode, YES, f"{arguments}: {done.stderr}")
        return done.stderr

    def fails(self, code, *arguments, **environment):
        done = self.run_plan(*arguments, **environment)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}")
        return done.stderr

    def solver(self, script):
        """A folder for PATH in which cbc is this script."""
        os.makedirs(self.path("bin"), exist_ok=True)
        path = self.write("bin/cbc", f"#!/bin/sh\n{script}\n")
        os.chmod(path, 0o755)
        return self.path("bin") + ":" + os.environ["PATH"]


class Machines(PlanTest):
    def test_auto_serves_machines_where_some_ranks_have_no_route(self):
        row = machine("row", [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")], "abc")
        ring = machine("ring", [("a", "b"), ("b", "c"), ("c", "a")], "abc")
        for name, text in (("row", row), ("ring", ring)):
            for collective in ("all_reduce", "all_gather", "all_to_all", "broadcast"):
                out = self.path("s.json")
                self.succeeds(collective, "--topo", self.write(f"{name}.json", text), "-o", out)
                proof = subprocess.run([PROGRAM, "verify", out], capture_output=True, text=True,
                                       timeout=DEADLINE_S)
                self.assertEqual(proof.returncode, YES, proof.stdout)

    def test_the_front_has_every_size_and_comes_from_the_cache_the_second_time(self):
        cache = self.path("cache")
        asked = ["all_gather", "--topo", "ring:4", "--front", "--json"]
        first, second = (self.run_plan(*asked, TUTTI_CACHE=cache) for _ in range(2))
        for answer in (first, second):
            self.assertEqual(answer.returncode, YES, answer.stderr)
        sizes = json.loads(first.stdout)["sizes"]
        self.assertEqual([each["bytes"] for each in sizes], [4**k for k in range(5, 16)])
        for each in sizes:
            times = [plan["time_ns"] for plan in each["front"]]
            steps = [plan["steps"] for plan in each["front"]]
            self.assertEqual(times, sorted(times))
            self.assertEqual(steps, sorted(set(steps), reverse=True))
        self.assertEqual(json.loads(first.stdout)["from_cache"], 0)
        self.assertEqual(json.loads(second.stdout)["from_cache"], len(sizes))
        self.assertEqual(json.loads(second.stdout)["sizes"], sizes)

    def test_the_front_is_of_all_algorithms(self):
        for more in (["--algo", "ring"], ["-o", self.path("s.json")]):
            refused = self.run_plan("all_gather", "--topo", "ring:4", "--front", *more)
            self.assertEqual(refused.returncode, BAD_USE)
            self.assertIn("--front looks at all algorithms", refused.stderr)

    def test_relays_are_devices_outside_of_the_ranks(self):
        out = self.path("s.json")
        asked = ["broadcast", "--topo", "dgx-1v", "--ranks", "0,1,4", "--algo", "packed", "--json",
                 "-o", out]
        rates = {}
        for relays in ("", "5", "all"):
            answer = self.run_plan(*asked, *(["--relays", relays] if relays else []),
                                   TUTTI_CACHE="none")
            self.assertEqual(answer.returncode, YES, answer.stderr)
            rates[relays] = json.loads(answer.stdout)["rate_gbps"]
        self.assertEqual(rates, {"": 25, "5": 50, "all": 50})
        refused = self.run_plan(*asked, "--relays", "4,5")
        self.assertEqual(refused.returncode, BAD_USE)
        self.assertIn("gpu4 holds rank 2", refused.stderr)

    def test_ranks_that_cannot_reach_each_other_are_named(self):
        path = self.write("islands.json", machine("islands", [("a", "b"), ("b", "a")], "abc"))
        for algorithm in ("auto", "packed", "sketch"):
            message = self.fails(BAD_USE, "all_gather", "--topo", path, "--algo", algorithm,
                                 PATH=self.solver("exit 1"))
            self.assertIn("a (rank 0) cannot reach c (rank 2)", message)
            self.assertNotIn("sketch excludes", message)

    def test_a_topology_of_taccls_is_taken_whole(self):
        topology = self.write("t.json", json.dumps({
            "name": "t_1MB", "gpus_per_node": 4, "alpha": 1, "betas": [2], "invbws": [2],
            "node_invbws_list": [2], "remote_alpha": 1, "remote_beta": 1, "remote_invbw": 1}))
        for option in (("--ranks", 2), ("--fail", "gpu0~gpu1")):
            self.assertIn("--topo-out", self.fails(
                BAD_USE, "all_gather", "--topo", topology, "--algo", "sketch", "--sketch",
                topology, *option, PATH=self.solver("exit 1")))


class Signals(PlanTest):
    """A solver that says when it has begun and does not end by itself."""

    def start(self, script):
        os.makedirs(self.path("tmp"))
        os.mkfifo(self.path("begun"))
        path = self.solver(f"{script}\necho $$ > {self.path('begun')}\nexec sleep 1000")
        program = subprocess.Popen(
            [PROGRAM, "plan", "all_gather", "--topo", "ring:4", "--algo", "sketch",
             "--solver-seconds", "1000", "-o", self.path("s.json")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PATH": path, "TMPDIR": self.path("tmp")})
        self.addCleanup(program.kill)
        with open(self.path("begun")) as begun:  # opens when the solver does
            return program, os.pidfd_open(int(begun.readline()))

    def expect_gone(self, solver):
        readable, _, _ = select.select([solver], [], [], DEADLINE_S)
        self.assertTrue(readable, "the solver goes on")
        os.close(solver)

    def test_a_solver_dies_with_the_program(self):
        program, solver = self.start("trap '' INT TERM HUP")
        program.kill()
        program.communicate(timeout=DEADLINE_S)
        self.expect_gone(solver)

    def test_sigterm_takes_what_there_is_and_leaves_nothing_behind(self):
        program, solver = self.start("")
        program.send_signal(signal.SIGTERM)
        _, notes = program.communicate(timeout=DEADLINE_S)
        self.assertEqual(program.returncode, YES, notes)
        self.assertIn("no routes of this sketch take less", notes)
        self.expect_gone(solver)
        self.assertEqual(os.listdir(self.path("tmp")), [])

    def test_the_second_signal_ends_and_leaves_nothing_behind(self):
        program, solver = self.start("trap '' INT TERM HUP")
        program.send_signal(signal.SIGINT)
        program.send_signal(signal.SIGTERM)
        _, notes = program.communicate(timeout=DEADLINE_S)
        self.assertNotEqual(program.returncode, YES, notes)
        self.assertFalse(os.path.exists(self.path("s.json")))
        self.expect_gone(solver)
        self.assertEqual(os.listdir(self.path("tmp")), [])


class Terminal(PlanTest):
    """The program as somebody at a terminal sees it, with a real solver."""

    def start(self, solver):
        if shutil.which(solver) is None:
            self.skipTest(f"NOT RUN: {solver} is not installed")
        # One node of a DGX-1V: minutes until the best routes are proved.
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.execv(PROGRAM, [PROGRAM, "plan", "all_gather", "--topo", "dgx-1v", "--algo", "sketch", "--solver",
                               solver, "--solver-seconds", "1000", "--bytes", "8M", "-o", self.path("s.json")])
        self.addCleanup(os.close, self.terminal)
        self.seen = ""
        return pid

    def read_until(self, pattern):
        """What the terminal shows, up to the first match; None at its end."""
        while not (found := re.search(pattern, self.seen)):
            readable, _, _ = select.select([self.terminal], [], [], DEADLINE_S)
            self.assertTrue(readable, f"nothing for long: {self.seen[-500:]}")
            try:
                more = os.read(self.terminal, 4096)
            except OSError:  # all of it was closed
                more = b""
            if not more:
                return None
            self.seen += more.decode(errors="replace")
        return found

    def check_ctrl_c(self, solver):
        pid = self.start(solver)
        shown = self.read_until(r"incumbent [\d.]+ \w+, bound [\d.]+ \w+, gap [\d.]+ %")
        self.assertTrue(shown, self.seen)
        os.write(self.terminal, b"\x03")  # the terminal makes a signal of it
        end = self.read_until(r"Routes: at least ([\d.]+ \w+); (no routes of this sketch take less|within)")
        _, status = os.waitpid(pid, 0)
        self.assertTrue(end, self.seen)
        self.assertEqual(os.waitstatus_to_exitcode(status), YES, self.seen)
        verified = subprocess.run([PROGRAM, "verify", self.path("s.json")], capture_output=True, timeout=DEADLINE_S)
        self.assertEqual(verified.returncode, YES, verified.stderr)

    def test_it_shows_incumbent_bound_and_gap_and_ctrl_c_keeps_the_incumbent_of_cbc(self):
        self.check_ctrl_c("cbc")

    def test_it_shows_incumbent_bound_and_gap_and_ctrl_c_keeps_the_incumbent_of_highs(self):
        self.check_ctrl_c("highs")


class Steps(PlanTest):
    def test_say_why_there_are_no_fewer(self):
        notes = self.succeeds("all_reduce", "--topo", "dgx-1v", "--algo", "steps", "--bytes", "1K", "--no-cache",
                              "-o", self.path("s.json"))
        self.assertIn("no schedule has fewer than 2 steps: gpu0 and gpu5 are so many hops apart", notes)
        self.assertIn("none has fewer rounds", notes)

    def test_are_for_few_ranks_and_known_solvers_only(self):
        self.assertIn("up to 16 ranks", self.fails(BAD_USE, "all_gather", "--topo", "switch:17", "--algo", "steps"))
        self.assertIn("no solver that tutti knows", self.fails(
            BAD_USE, "all_gather", "--topo", "dgx-1v", "--algo", "sketch", "--solver", "oracle"))


class Cache(PlanTest):
    def plan(self, collective):
        return self.succeeds(collective, "--topo", "ring:4", "--algo", "packed", "-o",
                             self.path("s.json"), TUTTI_CACHE=self.path("cache"))

    def kept(self):
        """path, key, facts and schedule of each file, by collective"""
        plans = {}
        for name in os.listdir(self.path("cache")):
            with open(os.path.join(self.path("cache"), name)) as file:
                head, body = file.read().split("\n", 1)
            self.assertEqual(sealed(body).split("\n", 1)[0], head)
            key, facts, schedule = body.split("\n", 2)
            plans[key.split()[0]] = (os.path.join(self.path("cache"), name), key, facts, schedule)
        return plans

    def forge(self, path, key, facts, schedule):
        with open(path, "w") as file:
            file.write(sealed(f"{key}\n{facts}\n{schedule}"))

    def test_a_plan_of_another_collective_is_not_taken(self):
        self.plan("broadcast")
        self.plan("reduce")
        plans = self.kept()
        path, key, facts, _ = plans["broadcast"]
        self.forge(path, key, facts, plans["reduce"][3])
        notes = self.plan("broadcast")
        self.assertIn("planning anew", notes)
        self.assertIn("reduce of 4 ranks", notes)
        self.assertIn("From cache", self.plan("broadcast"))

    def test_facts_of_wrong_types_are_as_if_they_were_not_there(self):
        self.plan("broadcast")
        path, key, facts, schedule = self.kept()["broadcast"]
        good = json.loads(facts)
        for change in ({"trees": [["x", 1, [0]]]}, {"trees": 7}, {"notes": 1}, {"summary": []},
                       {"summary": {**good["summary"], "rate_gbps": "fast"}},
                       {"summary": {**good["summary"], "options": 1}}):
            self.forge(path, key, json.dumps({**good, **change}), schedule)
            repaired = self.run_plan("broadcast", "--topo", "ring:4", "--algo", "packed", "--fail",
                                     "rank0~rank1=0.5", "--repair", "-o", self.path("s.json"),
                                     TUTTI_CACHE=self.path("cache"))
            self.assertIn(repaired.returncode, (YES, BAD_USE), repaired.stderr)
            self.assertNotIn("From cache", self.plan("broadcast"))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
