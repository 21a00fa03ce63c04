"""The server of the page, asked as a browser would and as it should not be.

usage: server_test.py PATH_OF_TUTTI [unittest arguments]
"""
import http.client
import json
import os
import sys
import tempfile
import unittest
import urllib.parse

from serving import Serving, plan, run, trace_of

PROGRAM = ""
SECONDS = 120  # long: the machine may be busy; nothing here waits for time to pass


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
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def refused(self, name, **parameters):
        """What is said to a question that cannot be answered."""
        query = urllib.parse.urlencode(parameters)
        status, _, text = self.get(f"{self.parts.path}api/{name}?{query}")
        self.assertIn(status, (400, 404), text)
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
        self.assertIn("fewer ranks", self.refused("schedule", **ring, ranks=1024))

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

    def test_broken_files_are_refused_with_their_line(self):
        for name, text, word in (("a.json", "{", "a.json:1"), ("b.json", "", "b.json"),
                                 ("c.json", '{"tutti_schedule": 9}', "c.json:1"),
                                 ("d.jsonl", trace_of(0, 1, [], version=2), "d.jsonl:1"),
                                 ("e.jsonl", trace_of(0, 2, []) + "[1]\n", "e.jsonl:2"),
                                 ("g.jsonl", trace_of(5, 2, [(0, 1, "barrier")]), "g.jsonl:2"),
                                 ("f.xml", "<algo", "f.xml")):
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

    def test_an_exported_page_has_the_given_files_inside(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.jsonl")
            with open(path, "w") as file:
                file.write(trace_of(0, 1, [(0, 5, "barrier </script>")]))
            out = os.path.join(folder, "out.html")
            self.assertEqual(run(PROGRAM, "view", path, "--export", out, "--ranks", 2).returncode, 0)
            with open(out) as file:
                page = file.read()
        self.assertIn("trace?files=0", page)
        # Words of a file end no script.
        self.assertNotIn("barrier </script>", page)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=2)
