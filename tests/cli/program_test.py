"""Runs the program as a user would and looks at what it prints and how it exits.

usage: program_test.py PATH_OF_TUTTI [unittest arguments]
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""
YES, NO, BAD_USE = 0, 1, 2


def tutti(*arguments, stdin=None):
    return subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, capture_output=True,
                          text=True, timeout=60)


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def succeeds(self, *arguments, stdin=None):
        done = tutti(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, YES, f"{arguments}: {done.stderr}{done.stdout}")
        return done.stdout

    def fails(self, code, *arguments, stdin=None):
        done = tutti(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}{done.stdout}")
        return done.stderr + done.stdout

    def ring(self, ranks=4):
        return self.succeeds("plan", "all_reduce", "--ranks", ranks, "--algo", "ring")


class Help(ProgramTest):
    def test_every_verb_explains_itself(self):
        top = self.succeeds("--help")
        for verb in ("topo", "plan", "verify", "sim", "convert", "run", "view", "completion"):
            self.assertIn(verb, top)
            self.assertIn("Usage", self.succeeds(verb, "--help"))

    def test_version(self):
        self.assertRegex(self.succeeds("--version"), r"^tutti \d+\.\d+\.\d+\n$")

    def test_wrong_use_exits_2_and_says_what_is_wrong(self):
        self.assertIn("--help", self.fails(BAD_USE))
        self.assertIn("nonsense", self.fails(BAD_USE, "nonsense"))
        self.assertIn("FILE", self.fails(BAD_USE, "verify"))
        self.assertIn("--colour", self.fails(BAD_USE, "verify", "x", "--colour"))

    def test_no_colours_outside_a_terminal(self):
        done = tutti("verify", "-", stdin=self.ring())
        self.assertNotIn("\033", done.stdout + done.stderr)

    def test_bash_completion_is_valid_and_completes(self):
        script = self.write("completion", self.succeeds("completion", "bash"))
        def complete(*words):
            shell = (f"source {script}; COMP_WORDS=({' '.join(words)}); "
                     f"COMP_CWORD={len(words) - 1}; _tutti; echo ${{COMPREPLY[@]}}")
            return subprocess.run(["bash", "-c", shell], capture_output=True, text=True).stdout
        self.assertEqual(complete("tutti", "ver").split(), ["verify"])
        self.assertIn("rabenseifner", complete("tutti", "plan", "all_reduce", "--algo", "ra"))
        self.assertIn("dgx-1v", complete("tutti", "sim", "--topo", "dgx"))
        self.assertIn("--keep-going", complete("tutti", "run", "-n", "4", "--k"))
        self.assertEqual(complete("tutti", "run", "--bind", "co").split(), ["core"])
        self.assertIn("python3", complete("tutti", "run", "-n", "4", "--", "pyth"))


class Plan(ProgramTest):
    def test_the_readme_line(self):
        file = self.path("r.json")
        self.succeeds("plan", "all_reduce", "--ranks", 7, "--algo", "ring", "-o", file)
        self.assertIn("proved", self.succeeds("verify", file))
        self.assertIn("lower bound", self.succeeds("sim", file, "--topo", "dgx-1v"))

    def test_auto_says_why(self):
        done = tutti("plan", "all_reduce", "--topo", "dgx-1v", "--bytes", "64M")
        self.assertEqual(done.returncode, YES, done.stderr)
        chosen = json.loads(done.stdout)
        self.assertIn(chosen["name"], done.stderr)
        self.assertIn("lower bound", done.stderr)

    def test_json_lists_the_candidates(self):
        out = json.loads(self.succeeds("plan", "broadcast", "--topo", "ring:5", "--bytes", "1M",
                                       "-o", self.path("b.json"), "--json"))
        self.assertGreater(len(out["candidates"]), 2)
        times = [c["time_ns"] for c in out["candidates"] if "time_ns" in c]
        self.assertEqual(out["time_ns"], min(times))

    def test_wrong_requests(self):
        plan = lambda *a: self.fails(BAD_USE, "plan", *a)
        self.assertIn("allreduce", plan("allreduce", "--ranks", 4))
        self.assertIn("rabenseifner", plan("all_reduce", "--ranks", 4, "--algo", "nonsense"))
        self.assertIn("rank", plan("all_reduce", "--ranks", 0))
        self.assertIn("rank", plan("all_reduce", "--ranks", -3))
        self.assertIn("root 9", plan("broadcast", "--ranks", 4, "--root", 9, "--algo", "binomial"))
        self.assertIn("radix", plan("all_reduce", "--ranks", 4, "--algo", "ring", "--radix", 3))
        self.assertIn("--topo", plan("all_reduce"))
        self.assertIn("no-such-machine", plan("all_reduce", "--topo", "no-such-machine"))
        self.assertIn("8 ranks", plan("all_reduce", "--topo", "dgx-1v", "--ranks", 9))
        self.assertIn("/nowhere", plan("all_reduce", "--ranks", 4, "--algo", "ring", "-o",
                                       "/nowhere/x.json"))

    def test_a_subset_of_a_machine(self):
        out = self.succeeds("plan", "all_reduce", "--topo", "dgx-1v", "--ranks", "0,1,4,6",
                            "--algo", "ring")
        self.assertEqual(json.loads(out)["num_ranks"], 4)


class Packed(ProgramTest):
    def plan(self, *arguments):
        file = self.path("p.json")
        done = tutti("plan", *arguments, "-o", file)
        self.assertEqual(done.returncode, YES, done.stderr)
        self.assertIn("proved", self.succeeds("verify", file))
        return done.stderr

    def test_every_collective_of_trees_is_proved_and_says_how_good_it_is(self):
        for collective in ("broadcast", "reduce", "all_gather", "reduce_scatter", "all_reduce"):
            notes = self.plan(collective, "--topo", "dgx-1v", "--algo", "packed", "--chunks", 2)
            self.assertIn("as fast as any schedule", notes)
            self.assertRegex(notes, r"Bound:  at most [\d.]+ GB/s: .* must")

    def test_fragments_and_failures_are_ordinary_input(self):
        notes = self.plan("broadcast", "--topo", "dgx-1v", "--ranks", "0,1,2,4,7", "--algo", "packed")
        self.assertIn("carry 50 GB/s", notes)
        notes = self.plan("broadcast", "--topo", "dgx-1v", "--fail", "gpu0~gpu3", "--algo", "packed")
        self.assertIn("at most 100 GB/s: the whole message must leave gpu0", notes)

    def test_json_has_rate_bound_and_cut(self):
        out = json.loads(self.succeeds("plan", "all_gather", "--topo", "dgx-a100", "--algo", "packed",
                                       "-o", self.path("a.json"), "--json"))
        self.assertAlmostEqual(out["rate_gbps"], 300 * 8 / 7)
        self.assertAlmostEqual(out["ratio"], 1)
        self.assertEqual(out["depth"], 1)
        self.assertIn("gpu0", out["bound"])

    def test_blink_packs_broadcast_only(self):
        self.assertIn("trees", self.plan("broadcast", "--topo", "dgx-1v", "--algo", "blink"))
        self.assertIn("blink packs broadcast", self.fails(
            BAD_USE, "plan", "reduce", "--topo", "dgx-1v", "--algo", "blink"))

    def test_auto_considers_it(self):
        done = tutti("plan", "broadcast", "--topo", "dgx-1v", "--ranks", "0,2,3,4,7", "--bytes",
                     "256M")
        self.assertEqual(json.loads(done.stdout)["name"], "mixed", done.stderr)

    def test_wrong_requests(self):
        plan = lambda *a: self.fails(BAD_USE, "plan", *a)
        self.assertIn("--topo", plan("broadcast", "--ranks", 4, "--algo", "packed"))
        self.assertIn("all_to_all", plan("all_to_all", "--topo", "ring:4", "--algo", "packed"))
        self.assertIn("--radix", plan("broadcast", "--topo", "ring:4", "--algo", "packed",
                                      "--radix", 2))
        self.assertIn("root 9", plan("broadcast", "--topo", "ring:4", "--algo", "packed",
                                     "--root", 9))

    def test_a_gap_and_a_link_without_rate_are_told_apart(self):
        def plan_on(name, change):
            topology = json.loads(self.succeeds("topo", "show", "ring:3", "--json"))
            change(topology["links"])
            return self.fails(BAD_USE, "plan", "broadcast", "--algo", "packed", "--topo",
                              self.write(name, json.dumps(topology)))
        gap = plan_on("gap.json", lambda links: links.pop(2))
        self.assertIn("dev0 (rank 0) cannot reach dev2 (rank 2)", gap)
        dead = plan_on("dead.json", lambda links: links[0].update(gbps=0))
        self.assertIn("gbps", dead)
        self.assertNotIn("cannot reach", dead)


class Synthesis(ProgramTest):
    def plan(self, *arguments):
        done = tutti("plan", *arguments, "-o", self.path("s.json"))
        self.assertEqual(done.returncode, YES, done.stderr)
        self.assertIn("proved", self.succeeds("verify", self.path("s.json")))
        return done.stderr

    def test_greedy_is_proved_and_says_how_far_from_the_bound_it_is(self):
        for collective in ("all_to_all", "all_gather", "reduce_scatter", "all_reduce", "broadcast"):
            notes = self.plan(collective, "--topo", "torus:3x3", "--algo", "greedy", "--bytes", "1M")
            self.assertIn("times the bound", notes)

    def test_the_same_seed_is_the_same_schedule(self):
        def schedule(seed):
            return self.succeeds("plan", "all_gather", "--topo", "mesh:6", "--algo", "greedy",
                                 "--seed", seed)
        self.assertEqual(schedule(3), schedule(3))

    def test_auto_considers_greedy_where_packed_ends(self):
        notes = self.plan("all_to_all", "--topo", "torus:3x3", "--bytes", "1M")
        self.assertIn("greedy", notes)

    @unittest.skipUnless(shutil.which("cbc"), "cbc is not installed: sketches were not tested")
    def test_a_sketch_that_is_drawn_automatically_is_proved(self):
        notes = self.plan("all_gather", "--topo", "ring:4", "--algo", "sketch", "--bytes", "1M",
                          "--solver-seconds", 5)
        self.assertIn("Sketch", notes)

    def test_a_sketch_needs_a_machine(self):
        self.assertIn("--topo", self.fails(BAD_USE, "plan", "all_gather", "--ranks", 4, "--algo",
                                           "sketch"))


class Verify(ProgramTest):
    def test_refutes_a_dropped_step(self):
        schedule = json.loads(self.ring())
        schedule["ranks"][2]["lanes"][0]["steps"].pop()
        text = self.fails(NO, "verify", "-", stdin=json.dumps(schedule))
        self.assertIn("rank", text)
        answer = json.loads(self.fails(NO, "verify", "-", "--json", stdin=json.dumps(schedule)))
        self.assertFalse(answer["proved"])
        self.assertIn("rule", answer)

    def test_refutes_a_wrong_chunk_naming_rank_lane_and_step(self):
        schedule = json.loads(self.ring())
        step = schedule["ranks"][1]["lanes"][0]["steps"][0]
        step["src"] = "input[3]" if step["src"] != "input[3]" else "input[2]"
        self.assertRegex(self.fails(NO, "verify", "-", stdin=json.dumps(schedule)),
                         r"rank \d+ lane \d+ step \d+")

    def test_json_of_a_proof(self):
        answer = json.loads(self.succeeds("verify", "-", "--json", stdin=self.ring(5)))
        self.assertTrue(answer["proved"])
        self.assertEqual(answer["ranks"], 5)

    def test_malformed_files_exit_2_with_their_line(self):
        self.assertIn("cannot open", self.fails(BAD_USE, "verify", self.path("none.json")))
        self.assertIn(":1:", self.fails(BAD_USE, "verify", self.write("a.json", "nonsense")))
        self.assertIn(":1:", self.fails(BAD_USE, "verify", self.write("b.json", "")))
        text = self.ring().replace('"num_ranks": 4', '"num_ranks": "four"')
        self.assertRegex(self.fails(BAD_USE, "verify", self.write("c.json", text)),
                         r"c\.json:\d+: 'num_ranks'")
        self.assertIn("d.xml:1", self.fails(BAD_USE, "verify", self.write("d.xml", "<algo>")))
        self.fails(BAD_USE, "verify", self.folder.name)


class Sim(ProgramTest):
    def sim(self, *arguments, ranks=4):
        return json.loads(self.succeeds("sim", "-", "--json", *arguments, stdin=self.ring(ranks)))

    def test_closed_form_of_a_ring(self):
        out = self.sim("--topo", "ring:4@1GB/s,1000ns", "--bytes", 4000)
        self.assertAlmostEqual(out["time_ns"], 6 * (1000 + 1000))

    def test_a_slow_rank_and_a_late_one_cost_time(self):
        plain = self.sim("--topo", "ring:4", "--bytes", "1M")["time_ns"]
        self.assertGreater(self.sim("--topo", "ring:4", "--bytes", "1M", "--slow", "2=3")["time_ns"],
                           plain)
        late = self.sim("--topo", "ring:4", "--bytes", "1M", "--skew", "1=5000")["time_ns"]
        self.assertGreater(late, plain)

    def test_a_failed_link_costs_time(self):
        plain = self.sim("--topo", "dgx-1v", "--bytes", "1M")["time_ns"]
        failed = self.sim("--topo", "dgx-1v", "--bytes", "1M", "--fail", "gpu0~gpu1")["time_ns"]
        self.assertGreater(failed, plain)

    def test_traces_are_written(self):
        trace, chrome = self.path("t.jsonl"), self.path("c.json")
        self.sim("--topo", "ring:4", "--trace", trace, "--chrome", chrome)
        with open(trace) as file:
            lines = [json.loads(line) for line in file]
        self.assertGreater(len(lines), 4 * 6)
        with open(chrome) as file:
            events = json.load(file)["traceEvents"]
        self.assertEqual({e["ph"] for e in events} & {"X", "s", "f", "M"}, {"X", "s", "f", "M"})

    def test_wrong_requests(self):
        sim = lambda *a: self.fails(BAD_USE, "sim", "-", *a, stdin=self.ring())
        self.assertIn("--topo", sim())
        self.assertIn("12Q", sim("--topo", "ring:4", "--bytes", "12Q"))
        self.assertIn("-5", sim("--topo", "ring:4", "--bytes=-5"))
        self.assertIn("rank", sim("--topo", "ring:3"))
        self.assertIn("--slow", sim("--topo", "ring:4", "--slow", "x"))
        self.assertIn("9", sim("--topo", "ring:4", "--slow", "9=2"))
        self.assertIn("gpu77", sim("--topo", "dgx-1v", "--fail", "gpu0~gpu77"))
        self.assertIn("counts", sim("--topo", "ring:4", "--counts", "1,2,3"))


class Convert(ProgramTest):
    def test_xml_and_back_is_the_same_file(self):
        text = self.ring()
        xml = self.succeeds("convert", "-", "--to", "msccl-xml", stdin=text)
        self.assertTrue(xml.lstrip().startswith("<algo"))
        self.assertEqual(self.succeeds("convert", "-", "--to", "json", stdin=xml), text)

    def test_plan_json_is_json(self):
        plan = json.loads(self.succeeds("convert", "-", "--to", "mscclpp-json", stdin=self.ring()))
        self.assertEqual(len(plan["gpus"]), 4)

    def test_says_which_limit_is_exceeded(self):
        barrier = self.succeeds("plan", "barrier", "--ranks", 4, "--algo", "dissemination")
        self.assertIn("barrier", self.fails(BAD_USE, "convert", "-", "--to", "msccl-xml",
                                            stdin=barrier))


class Topo(ProgramTest):
    def test_list_and_show(self):
        names = [m["name"] for m in json.loads(self.succeeds("topo", "list", "--json"))]
        for name in ("dgx-1p", "dgx-1v", "dgx-2", "ndv2", "dgx-a100", "dgx-h100", "mi250x",
                     "mi300x", "nvl72"):
            self.assertIn(name, names)
            self.assertIn(name, self.succeeds("topo", "show", name))

    def test_a_shown_file_reads_back(self):
        text = self.succeeds("topo", "show", "dgx-1v", "--json")
        file = self.write("t.json", text)
        self.assertEqual(self.succeeds("topo", "show", file, "--json"), text)

    def test_this_host(self):
        self.assertIn("rank", self.succeeds("topo", "show"))

    def test_malformed_files_name_their_line(self):
        file = self.write("bad.json", '{"tutti_topology": 1,\n "name": 5}')
        self.assertRegex(self.fails(BAD_USE, "topo", "show", file), r"bad\.json:\d+")


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
