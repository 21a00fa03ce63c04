"""Schedules that are refused, on the page: how far they are drawn, and what is marked.

usage: wrong_test.py PATH_OF_TUTTI [unittest arguments]
"""
import json

from cases import RANKS, READ_ALL_ROUNDS, PageTest, Shared, main
from serving import Serving, plan, run


class Wrong(PageTest):
    def show(self, schedule):
        path = self.path("mutant.json", json.dumps(schedule))
        said = json.loads(run(Shared.program, "verify", path, "--json").stdout)
        self.assertFalse(said["proved"])
        self.serving_mutant = Serving(Shared.program, path)
        self.addCleanup(self.serving_mutant.stop)
        Shared.browser.open(self.serving_mutant.address, motion="off")
        self.assertEqual(Shared.browser.js("return document.getElementById('verdict').className"), "refused")
        self.assertIn(said["message"], Shared.browser.text("#verdict"))
        return said

    def test_a_contribution_that_is_forgotten_is_seen_in_the_end(self):
        schedule = json.loads(plan(Shared.program, "all_reduce", "ring", RANKS))
        step = schedule["ranks"][2]["lanes"][0]["steps"][2]
        self.assertEqual(step["step"], "recv_reduce_copy_send")
        step["step"] = "recv_copy_send"
        del step["src"]
        self.assertEqual(self.show(schedule)["rule"], "result")
        end = Shared.browser.js(READ_ALL_ROUNDS)[-1]
        wrong = [tile for tile in end if tile[6]]
        self.assertEqual(len(wrong), RANKS)  # one chunk, on every rank
        for tile in wrong:
            self.assertNotIn("2", tile[4])

    def test_of_many_ranks_the_wrong_fields_and_rows_are_red_in_the_end(self):
        schedule = json.loads(plan(Shared.program, "all_reduce", "ring", 70))
        step = schedule["ranks"][2]["lanes"][0]["steps"][2]
        step["step"] = "recv_copy_send"
        del step["src"]
        self.assertEqual(self.show(schedule)["rule"], "result")
        wrong = "return Number(document.querySelector('.fact').dataset.wrong)"
        self.assertEqual(Shared.browser.js(wrong), 0)
        Shared.browser.find("[data-player='Last round']").click()
        self.assertEqual(Shared.browser.js(wrong), 64)  # one column of all rows
        self.assertIn("are wrong", Shared.browser.text(".fact"))
        # The colour of what is bad, as the theme has it, on the fields and at the end of every row.
        reds = Shared.browser.js("""const canvas = document.querySelector(".overview canvas");
            const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            const bad = getComputedStyle(document.documentElement).getPropertyValue("--bad").trim();
            const [r, g, b] = [1, 3, 5].map((at) => parseInt(bad.slice(at, at + 2), 16));
            const columns = new Set();
            for (let i = 0; i < data.length; i += 4) if (data[i] === r && data[i + 1] === g && data[i + 2] === b) columns.add((i / 4) % width > width - 50 ? "end" : "field");
            return [...columns].sort();""")
        self.assertEqual(reds, ["end", "field"])

    def test_a_contribution_that_counts_twice_stops_the_drawing_there(self):
        schedule = json.loads(plan(Shared.program, "all_reduce", "ring", RANKS))
        step = schedule["ranks"][1]["lanes"][0]["steps"][RANKS]
        self.assertEqual(step["step"], "recv_copy_send")
        step.update(step="recv_reduce_copy_send", src=step["dst"].replace("output", "input"))
        self.assertEqual(self.show(schedule)["rule"], "double_count")
        shown = Shared.browser.js(READ_ALL_ROUNDS)
        self.assertLess(len(shown), 2 * (RANKS - 1) + 1)
        # What is not finished is not called wrong; what the step works on is marked.
        self.assertFalse(any(tile[6] for tile in shown[-1]))
        marked = Shared.browser.js("return [...document.querySelectorAll('.tile.fault')].map((t) => `${t.dataset.rank} ${t.dataset.buffer}[${t.dataset.index}]`)")
        self.assertEqual(sorted(marked), sorted(f"1 {step[name]}" for name in ("src", "dst")))
        words = Shared.browser.js("return [...document.querySelectorAll('.steps .fault')].map((li) => li.textContent)")
        self.assertEqual(len(words), 1)
        self.assertIn("rank 1: recv_reduce_copy_send", words[0])
        for view in ("spacetime", "machine", "cost"):
            Shared.browser.go(motion="off", view=view)
            self.assertIn("refused", Shared.browser.text("main"))

    def test_a_deadlock_names_the_ranks_that_are_stuck(self):
        schedule = json.loads(plan(Shared.program, "all_gather", "ring", 3))
        for rank in schedule["ranks"]:
            steps = rank["lanes"][0]["steps"]
            steps.append(steps.pop(0 if steps[0]["step"] == "send" else 1))
        self.assertEqual(self.show(schedule)["rule"], "deadlock")
        self.assertIn("Ranks 0, 1, 2 are stuck", Shared.browser.text("#verdict"))
        self.assertFalse(any(tile[6] for tile in Shared.browser.js(READ_ALL_ROUNDS)[-1]))
        self.assertEqual(Shared.browser.js("return document.querySelectorAll('th.fault').length"), 3)
        # Who waits for whom is a list; its lines stay lines.
        self.assertEqual(Shared.browser.js("return getComputedStyle(document.querySelector('#verdict .reason')).whiteSpace"), "pre-line")


if __name__ == "__main__":
    main()
