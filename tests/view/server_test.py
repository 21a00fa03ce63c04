"""The server of the page, asked as a browser would and as it should not be.

usage: server_test.py PATH_OF_TUTTI [unittest arguments]
"""
import http.client
import json
import os
import signal
import sys
import tempfile
import time
import unittest
import urllib.parse

from serving import Serving, plan, run, trace_of

PROGRAM = ""
SECONDS = 120  # long: the machine may be busy; nothing here waits for time to pass


def cpu_ticks(pid):
    """That the process has worked so far: hundredths of a second."""
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[11])


class ServerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.serving = Serving(PROGRAM)
        cls.addClassCleanup(cls.serving.stop)
        cls.parts = urllib.parse.urlsplit(cls.serving.address)

    def get(self, path, headers=None, body=None):
        """Status, headers and text of an answer, whatever it is."""
        connection = http.client.HTTPConnection("127.0.0.1", self.parts.port, timeout=SECONDS)
        try:
            connection.request("POST" if body is not None else "GET", path, body=body,
                               headers=headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()
        finally:
            connection.close()

    def ask(self, name, **parameters):
        """The answer to a question that has one."""
        query = urllib.parse.urlencode(parameters)
        status, _, text = self.get(f"{self.parts.path}api/{name}?{query}")
        self.assertEqual(status, 200, text[:300])
        return json.loads(text)

    def refused(self, name, **parameters):
        """What is said to a question that cannot be answered."""
        query = urllib.parse.urlencode(parameters)
        status, _, text = self.get(f"{self.parts.path}api/{name}?{query}")
        self.assertIn(status, (400, 404), text[:300])
        return text

    def put(self, name, text):
        return self.get(f"{self.parts.path}api/file?name={urllib.parse.quote(name)}",
                        body=text.encode())


class Door(ServerTest):
    def test_the_address_is_of_this_machine_and_has_a_long_token(self):
        self.assertEqual(self.parts.hostname, "127.0.0.1")
        self.assertRegex(self.parts.path, r"^/[0-9a-f]{32}/$")

    def test_two_servers_have_two_tokens(self):
        with Serving(PROGRAM) as other:
            self.assertNotEqual(urllib.parse.urlsplit(other.address).path, self.parts.path)

    def test_without_the_token_there_is_nothing_but_a_hint(self):
        wrong = self.parts.path[:-2] + ("0" if self.parts.path[-2] != "0" else "1") + "/"
        for path in ("/", "/api/catalogue", "/page/app.js", wrong, wrong + "api/catalogue",
                     self.parts.path[:-4] + "/", "//" + self.parts.path):
            status, _, text = self.get(path)
            self.assertEqual(status, 403, path)
            self.assertIn("tutti view", text)
            self.assertNotIn(self.parts.path.strip("/"), text)

    def test_another_host_name_is_refused_with_the_names_that_are_not(self):
        for host in ("evil.example", f"evil.example:{self.parts.port}", "127.0.0.1", "localhost:1"):
            status, _, text = self.get(self.parts.path, {"Host": host})
            self.assertEqual(status, 403, host)
            self.assertIn(f"localhost:{self.parts.port}", text)
        for host in ("127.0.0.1", "localhost"):
            status, _, _ = self.get(self.parts.path, {"Host": f"{host}:{self.parts.port}"})
            self.assertEqual(status, 200, host)

    def test_the_page_may_load_nothing_from_elsewhere(self):
        status, headers, text = self.get(self.parts.path)
        self.assertEqual(status, 200)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertEqual(headers["Referrer-Policy"], "no-referrer")
        self.assertNotIn("http", text.split("<body>")[1])
        self.assertIn("importmap", text)

    def test_a_path_that_does_not_exist_says_so(self):
        for path in ("nothing", "page/none.js", "page/..%2f..%2fetc%2fpasswd", "api/none"):
            status, _, text = self.get(self.parts.path + path)
            self.assertEqual(status, 404, path)
            self.assertTrue(text.strip(), path)

    def test_it_ends_with_0_when_it_is_told_to_however_soon(self):
        for _ in range(10):
            self.assertEqual(Serving(PROGRAM).stop(), 0)


class Answers(ServerTest):
    def test_the_catalogue_is_the_librarys(self):
        listed = {(a["collective"], a["name"]) for a in self.ask("catalogue")["algorithms"]}
        text = run(PROGRAM, "plan", "--help").stdout
        for collective, name in listed:
            self.assertRegex(text, rf"(?m)^  {collective} +{name} ")
        self.assertGreaterEqual(len(listed), 39)

    def test_a_schedule_comes_with_its_history(self):
        answer = self.ask("schedule", collective="all_reduce", algorithm="ring", ranks=5)
        self.assertTrue(answer["proved"])
        self.assertEqual(len(answer["history"]["rounds"]), 9)
        inside = self.ask("schedule", collective="all_reduce", algorithm="ring", ranks=5,
                          placement="in_place")
        self.assertEqual(inside["history"]["placement"], "in_place")

    def test_a_simulation_says_what_tutti_sim_says(self):
        answer = self.ask("simulation", collective="all_reduce", algorithm="ring", ranks=8,
                          topo="dgx-1v", bytes=1 << 20)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            with open(path, "w") as file:
                file.write(plan(PROGRAM, "all_reduce", "ring", 8))
            said = json.loads(run(PROGRAM, "sim", path, "--topo", "dgx-1v", "--bytes", "1M",
                                  "--json").stdout)
        self.assertEqual(answer["report"]["time_ns"], said["time_ns"])
        self.assertEqual(answer["report"]["bound_ns"], said["lower_bound"]["ns"])
        # What links carried in the parts of the time adds up to what they carried.
        for row in answer["bins"]["links"]:
            carried = answer["report"]["links"][row["link"]]["bytes"]
            self.assertAlmostEqual(sum(row["bytes"]), carried, delta=carried * 1e-6)

    def test_many_ranks_are_summed_up(self):
        few = self.ask("schedule", collective="broadcast", algorithm="binomial", ranks=64)
        self.assertNotIn("overview", few)
        many = self.ask("schedule", collective="broadcast", algorithm="binomial", ranks=1000)
        self.assertTrue(many["proved"])
        self.assertNotIn("history", many)
        overview = many["overview"]
        self.assertEqual((overview["rows"][0], overview["rows"][-1], len(overview["rows"])), (0, 1000, 65))
        # The longest way from the root: 9 hops; and round 0.
        self.assertEqual([sum(its["messages"] for its in overview["rounds"]), len(overview["rounds"])], [999, 10])
        right = overview["right"]
        for its in overview["rounds"]:
            for row, count in zip(its["right"][::2], its["right"][1::2]):
                right[row] = count
        self.assertEqual(right, overview["results"])

    def test_what_many_ranks_do_is_summed_up_too(self):
        answer = self.ask("simulation", collective="broadcast", algorithm="binomial", ranks=100)
        self.assertNotIn("events", answer)
        activity = answer["activity"]
        self.assertEqual(len(activity["shares"]["recv"]), 64 * activity["count"])
        # Of each row's time: what its ranks receive, and what they wait.
        self.assertAlmostEqual(activity["count"] * activity["ns"], answer["report"]["time_ns"], delta=1)
        few = self.ask("simulation", collective="broadcast", algorithm="binomial", ranks=3)
        self.assertEqual(len(few["events"]), few["num_events"])
        # The model's ranks hang from one switch: two links between any two of them.
        self.assertEqual([[a, b, len(links)] for a, b, links in few["routes"]], [[0, 1, 2], [0, 2, 2]])

    def test_what_is_made_for_a_machine_is_what_tutti_plan_makes(self):
        answer = self.ask("schedule", collective="all_gather", algorithm="packed", ranks=8, topo="dgx-1v")
        self.assertTrue(answer["proved"])
        self.assertEqual(answer["made_for"], "dgx-1v")
        self.assertIn("as fast as any schedule", answer["why"][0])
        made = json.loads(plan(PROGRAM, "all_gather", "packed", 8, "dgx-1v"))
        lanes = [[[step["step"] for step in lane["steps"]] for lane in rank["lanes"]] for rank in made["ranks"]]
        self.assertEqual([[[step["kind"] for step in lane["steps"]] for lane in rank] for rank in answer["lanes"]], lanes)
        part = self.ask("schedule", collective="broadcast", algorithm="packed", ranks=5, topo="dgx-1v")
        self.assertEqual((part["proved"], part["ranks"]), (True, 5))

    def test_calls_in_one_order_pass_in_a_queue_and_in_two_orders_they_do_not(self):
        same = self.ask("order", ranks=5, order="AB,AB")
        self.assertTrue(same["ordinary"]["proved"] and same["tutti"]["proved"])
        # One behind the other takes the rounds of both; side by side those of one.
        self.assertEqual((len(same["ordinary"]["rounds"]), len(same["tutti"]["rounds"])), (17, 9))
        other = self.ask("order", ranks=5)
        self.assertEqual(other["orders"], ["AB", "BA", "AB", "AB", "AB"])
        self.assertEqual(other["ordinary"]["refusal"]["rule"], "deadlock")
        self.assertEqual(other["ordinary"]["stuck"], [[0, 0], [1, 1], [2, 0], [3, 0], [4, 0]])
        self.assertTrue(other["tutti"]["proved"])

    def test_the_model_is_alpha_and_beta(self):
        # One message of 1,000 bytes: alpha + 1,000 / rate.
        answer = self.ask("simulation", collective="send_recv", algorithm="direct", ranks=2, peer=1,
                          bytes=1000, alpha=500, rate=2)
        self.assertAlmostEqual(answer["report"]["time_ns"], 500 + 1000 / 2, places=6)

    def test_costs_and_sweep_have_every_algorithm(self):
        names = {a["name"] for a in self.ask("catalogue")["algorithms"]
                 if a["collective"] == "all_reduce"}
        costs = self.ask("costs", collective="all_reduce", ranks=5)
        self.assertEqual({row["algorithm"] for row in costs["rows"]}, names)
        ring = next(row for row in costs["rows"] if row["algorithm"] == "ring")
        self.assertEqual((ring["rounds"], ring["messages"]), (8, 40))
        sweep = self.ask("sweep", collective="all_reduce", ranks=5)
        self.assertEqual({line["algorithm"] for line in sweep["lines"]}, names)
        self.assertTrue(all(len(line["ns"]) == len(sweep["sizes"]) for line in sweep["lines"]))

    def test_wrong_questions_get_words_a_person_can_act_on(self):
        ring = {"collective": "all_reduce", "algorithm": "ring"}
        self.assertIn("is not a collective", self.refused("schedule", collective="all_in"))
        self.assertIn("it has: ring", self.refused("schedule", collective="all_reduce",
                                                   algorithm="rong"))
        for ranks in ("0", "-1", "x", "1e3", "99999999999999999999", "1025"):
            self.assertIn("from 1 to 1024", self.refused("schedule", **ring, ranks=ranks))
        self.assertIn("does not take radix", self.refused("schedule", **ring, ranks=4, radix=2))
        self.assertIn("no root", self.refused("schedule", **ring, ranks=4, root=1))
        self.assertIn("in_place or", self.refused("schedule", **ring, ranks=4, placement="x"))
        self.assertIn("has 8 ranks", self.refused("simulation", **ring, ranks=9, topo="dgx-1v"))
        self.assertIn("as in 3*2", self.refused("simulation", **ring, ranks=4, slow="4*2"))
        self.assertIn("bytes", self.refused("simulation", **ring, ranks=4, bytes="-4"))
        self.assertIn("not open here", self.refused("schedule", file=77))
        self.assertIn("not open here", self.refused("trace", files="77"))
        self.assertIn("no trace", self.refused("trace"))
        self.assertIn("not made while you wait", self.refused("schedule", collective="all_reduce",
                                                              algorithm="packed", ranks=64))
        self.assertIn("no radix", self.refused("schedule", collective="all_reduce",
                                               algorithm="packed", ranks=4, radix=2))
        self.assertIn("from 2 to 16", self.refused("order", ranks=1))
        self.assertIn("each of 2 calls once", self.refused("order", ranks=3, order="AA"))
        self.assertIn("each of 2 calls once", self.refused("order", ranks=3, order="AC"))

    def test_the_page_cannot_name_files_of_this_machine(self):
        for name in ("/etc/passwd", "-", "../x.json", "/dev/stdin"):
            text = self.refused("simulation", collective="all_reduce", algorithm="ring", ranks=4,
                                topo=name)
            self.assertIn("no machine or shape", text)


class Files(ServerTest):
    def test_a_schedule_that_is_put_can_be_asked_for(self):
        status, _, text = self.put("mine.json", plan(PROGRAM, "broadcast", "binomial", 6))
        self.assertEqual(status, 200, text)
        number = json.loads(text)["number"]
        self.assertEqual(self.ask("schedule", file=number)["ranks"], 6)
        self.assertGreater(self.ask("simulation", file=number)["report"]["time_ns"], 0)
        self.assertEqual(len(self.ask("costs", file=number)["rows"]), 1)
        self.assertIn("is a schedule", self.refused("trace", files=number))
        self.assertIn("mine.json", [file["name"] for file in self.ask("catalogue")["files"]])

    def test_traces_are_put_together_with_skew_and_transfer_apart(self):
        numbers = []
        for rank, begin in enumerate((100, 400, 150)):
            calls = [(begin, 1000 + rank, "all_reduce 'g' of 4 float32, sum")]
            status, _, text = self.put(f"trace-{rank}.jsonl", trace_of(rank, 3, calls))
            self.assertEqual(status, 200, text)
            numbers.append(json.loads(text)["number"])
        answer = self.ask("trace", files=",".join(map(str, numbers)))
        self.assertEqual(len(answer["calls"]), 1)
        call = answer["calls"][0]
        self.assertEqual((call["skew_ns"], call["transfer_ns"], call["last_rank"]), (300, 602, 1))
        self.assertEqual(answer["by_rank"][1]["made_wait_ns"], 300 + 250)
        self.assertEqual(answer["by_rank"][0]["waited_ns"], 300)
        self.assertIn("is a trace", self.refused("schedule", file=numbers[0]))
        chrome = self.ask("trace", files=str(numbers[0]), to="chrome")["chrome"]
        self.assertIn("traceEvents", json.loads(chrome))

    def put_traces(self, *traces):
        """The numbers of the files, as a question has them."""
        numbers = []
        for rank, text in enumerate(traces):
            status, _, said = self.put(f"trace-{rank}.jsonl", text)
            self.assertEqual(status, 200, said)
            numbers.append(str(json.loads(said)["number"]))
        return ",".join(numbers)

    def test_of_a_long_run_all_ranks_are_in_the_same_window(self):
        steps = lambda peer: [("step", "copy", 10 * i, 10 * i + 5, i, None, 8, 0) for i in range(20000)]
        files = self.put_traces(*(trace_of(rank, 2, [(0, 200000, "barrier")], events=steps(1 - rank)) for rank in range(2)))
        answer = self.ask("trace", files=files)
        self.assertEqual(answer["num_events"], 40000)
        by_rank = [[e for e in answer["events"] if e[4] == rank] for rank in range(2)]
        self.assertEqual([len(its) for its in by_rank], [15000, 15000])
        self.assertEqual(answer["window"], {"from_ns": 0, "until_ns": 150000})
        self.assertEqual(answer["span_ns"], 200000)
        later = self.ask("trace", files=files, **{"from": 150000, "until": 200000})
        self.assertEqual(len(later["events"]), 10000)
        self.assertEqual(min(e[2] for e in later["events"]), 150000)
        self.assertIn("ends before it begins", self.refused("trace", files=files, **{"from": 9, "until": 3}))

    def test_waits_in_calls_that_overlap_count_once(self):
        # Rank 1 comes 100 late to three calls at the same time: rank 0 waited 100, not 300.
        calls = lambda begin: [(begin, 900, f"all_reduce '{name}' of 4 float32, sum") for name in "abc"]
        answer = self.ask("trace", files=self.put_traces(trace_of(0, 2, calls(0)), trace_of(1, 2, calls(100))))
        self.assertEqual(answer["by_rank"], [{"rank": 0, "times_last": 0, "made_wait_ns": 0, "waited_ns": 100},
                                             {"rank": 1, "times_last": 3, "made_wait_ns": 100, "waited_ns": 0}])

    def test_nobody_is_named_whose_clock_may_be_off_by_more_than_the_skew(self):
        call = "all_reduce 'g' of 4 float32, sum"
        answer = self.ask("trace", files=self.put_traces(
            trace_of(0, 2, [(0, 900, call), (1000, 9000, call)], error=30),
            trace_of(1, 2, [(50, 900, call), (1500, 9000, call)], error=40)))
        self.assertEqual([(its["skew_ns"], its["error_ns"], its["last_rank"]) for its in answer["calls"]],
                         [(50, 70, None), (500, 70, 1)])
        self.assertEqual(answer["by_rank"][1]["made_wait_ns"], 500)

    def test_what_ranks_give_and_take_in_a_real_run_becomes_messages(self):
        # A chain of three; rank 1 makes another call first, so that the numbers of calls differ.
        call = (0, 900, "broadcast 'b' of 4 float32, root 0")
        files = self.put_traces(
            trace_of(0, 3, [call], events=[("step", "send", 10, 20, 0, 1, 64, 0)]),
            trace_of(1, 3, [(0, 5, "send_recv 'x'"), call], events=[
                ("wait", "recv_copy_send", 5, 40, 0, 0, 0, 1), ("step", "recv_copy_send", 40, 50, 0, 0, 64, 1)]),
            trace_of(2, 3, [call], events=[("step", "recv", 70, 90, 0, 1, 64, 0)]))
        messages = [e for e in self.ask("trace", files=files)["events"] if e[0] == "message"]
        self.assertEqual([[begin, end, rank, peer, size] for _, _, begin, end, rank, _, _, peer, size in messages],
                         [[20, 50, 0, 1, 64], [50, 90, 1, 2, 64]])

    def messages_between(self, *texts):
        events = self.ask("trace", files=self.put_traces(*texts))["events"]
        return sorted([begin, end] for kind, _, begin, end, *_ in events if kind == "message")

    def test_messages_are_of_the_steps_that_name_each_other_and_not_of_those_that_come_in_turn(self):
        call = [(0, 900, "all_reduce 'a' of 4 float32, sum")]
        sends = [("step", "send", 10, 20, 0, 1, 0, 0, 7), ("step", "send", 30, 40, 1, 1, 0, 0, 3)]
        # What was sent last is taken first, as channels may have it.
        takes = [("step", "recv", 50, 60, 3, 0, 64, 0, 1), ("step", "recv", 70, 80, 7, 0, 64, 0, 0)]
        self.assertEqual(self.messages_between(trace_of(0, 2, call, events=sends), trace_of(1, 2, call, events=takes)), [[20, 80], [40, 60]])
        # One that was overwritten takes no other along.
        self.assertEqual(self.messages_between(trace_of(0, 2, call, events=sends[1:]), trace_of(1, 2, call, events=takes)), [[40, 60]])

    def test_traces_of_two_runs_are_not_taken_for_one(self):
        numbers = self.put_traces(trace_of(0, 2, [(0, 9, "barrier")]), trace_of(0, 2, [(5, 9, "barrier")]))
        status, _, text = self.get(f"{self.parts.path}api/trace?files={numbers}")
        self.assertEqual(status, 400)
        self.assertIn("two traces have rank 0: they are of different runs", text)

    def test_calls_with_the_same_words_meet_by_their_operation(self):
        # Two groups of two make a call with the same words, and the first call of rank 0 was overwritten.
        words = "all_reduce of 4 float32, sum"
        a, b, c = ("%016x" % n for n in (1, 2, 3))
        answer = self.ask("trace", files=self.put_traces(
            trace_of(0, 4, [(200, 300, words)], operations=[b]), trace_of(1, 4, [(0, 100, words), (250, 300, words)], operations=[a, b]),
            trace_of(2, 4, [(10, 20, words)], operations=[c]), trace_of(3, 4, [(15, 20, words)], operations=[c])))
        self.assertEqual([[rank for rank, *_ in call["ranks"]] for call in answer["calls"]], [[1], [2, 3], [0, 1]])
        self.assertEqual([call["skew_ns"] for call in answer["calls"]], [0, 5, 50])

    def test_names_that_are_not_utf_8_break_nothing(self):
        status, _, text = self.get(f"{self.parts.path}api/file?name=%ff.json", body=plan(PROGRAM, "broadcast", "binomial", 2).encode())
        self.assertEqual(status, 200, text)
        names = [file["name"] for file in self.ask("catalogue")["files"]]
        self.assertIn("\ufffd.json", names)

    def test_broken_files_are_refused_with_their_line(self):
        for name, text, word in (("a.json", "{", "a.json:1"), ("b.json", "", "b.json"),
                                 ("c.json", '{"tutti_schedule": 9}', "c.json:1"),
                                 ("d.jsonl", trace_of(0, 1, [], version=1), "d.jsonl:1"),
                                 ("e.jsonl", trace_of(0, 2, []) + "[1]\n", "e.jsonl:2"),
                                 ("g.jsonl", trace_of(5, 2, [(0, 1, "barrier")]), "g.jsonl:2"),
                                 ("f.xml", "<algo", "f.xml"),
                                 ("h.json", '{"traceEvents": []}', "h.json:1: a trace in Chrome's format, which Perfetto opens"),
                                 ("i.txt", "hello", "this page shows what tutti run --trace writes")):
            status, _, said = self.put(name, text)
            self.assertEqual(status, 400, name)
            self.assertIn(word, said)


class GivenMachine(ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.serving = Serving(PROGRAM, "--topo", "dgx-1v")
        cls.addClassCleanup(cls.serving.stop)
        cls.parts = urllib.parse.urlsplit(cls.serving.address)

    def test_it_is_the_one_that_counts_until_another_is_named(self):
        ring = {"collective": "all_reduce", "algorithm": "ring", "ranks": 8}
        self.assertEqual(self.ask("catalogue")["defaults"]["topo"], "dgx-1v")
        self.assertEqual(self.ask("simulation", **ring)["topology"]["name"], "dgx-1v")
        self.assertEqual(self.ask("simulation", **ring, topo="model")["topology"]["name"], "model")


class CommandLine(unittest.TestCase):
    def test_a_file_that_cannot_be_read_ends_it_with_2(self):
        done = run(PROGRAM, "view", "--no-browser", "/nonexistent/x.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/nonexistent/x.json", done.stderr)

    def test_an_exported_page_names_nothing_outside_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.html")
            done = run(PROGRAM, "view", "--export", path, "--ranks", 3)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path) as file:
                page = file.read()
        head = page.split('id="data"')[0]
        self.assertNotRegex(head, r'(src|href)="(?!data:|#)')
        data = json.loads(page.split('id="data">')[1].split("</script>")[0].replace("<\\/", "</"))
        self.assertIn("schedule?algorithm=ring&collective=all_reduce&ranks=3", data)

    def exported(self, *arguments):
        done = run(PROGRAM, "view", *arguments, "--export", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout.split('id="data">')[1].split("</script>")[0])

    def test_an_exported_page_has_any_order_with_as_many_ranks_as_can_be_told_apart(self):
        # One is too few; more than 16 are cut down by the same line, but take too long to export here.
        self.assertIn("tutti", self.exported("--ranks", 1)["order?ranks=2"])

    def test_an_exported_page_of_a_small_machine_has_as_many_ranks_as_it(self):
        data = self.exported("--topo", "ring:4")
        self.assertEqual(data["catalogue"]["defaults"]["ranks"], 4)
        self.assertIn("report", data["simulation?algorithm=ring&collective=all_reduce&ranks=4"])

    def test_it_ends_soon_although_it_is_answering(self):
        serving = Serving(PROGRAM)
        parts = urllib.parse.urlsplit(serving.address)
        connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=SECONDS)
        # Minutes of work: every algorithm over all sizes.
        connection.request("GET", f"{parts.path}api/sweep?collective=all_reduce&ranks=32&topo=dgx-1v*4")
        while cpu_ticks(serving.process.pid) < 30:  # until it is at it
            self.assertIsNone(serving.process.poll())
        begin = time.monotonic()
        serving.process.send_signal(signal.SIGINT)
        serving.process.wait(SECONDS)
        self.assertLess(time.monotonic() - begin, 30)  # a busy machine; unhindered, a little over a second
        connection.close()
        serving.stop()

    def test_an_exported_page_has_the_given_files_inside(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.jsonl")
            with open(path, "w") as file:
                file.write(trace_of(0, 1, [(0, 5, "barrier </script> <!--<script>")]))
            out = os.path.join(folder, "out.html")
            self.assertEqual(run(PROGRAM, "view", path, "--export", out, "--ranks", 2).returncode, 0)
            with open(out) as file:
                page = file.read()
        self.assertIn("trace?files=0", page)
        # Words of a file end no script.
        self.assertNotIn("barrier </script>", page)
        self.assertNotIn("<", page.split('id="data">')[1].split("</script>")[0])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=2)
