"""Real runs on the page: traces of ranks put together, in Real runs and in Space and time.

usage: runs_test.py PATH_OF_TUTTI [unittest arguments]
"""
import os

from cases import PageTest, Shared, main
from serving import Serving, plan, run, trace_of


class RealRuns(PageTest):
    def test_traces_are_joined_and_the_slowest_rank_is_named(self):
        paths = []
        for rank, begin in enumerate((1000, 9000, 2000)):
            calls = [(begin, 20000, "all_reduce 'a' of 8 float32, sum"), (30000, 31000, "barrier")]
            paths.append(self.path(f"trace-{rank}.jsonl", trace_of(rank, 3, calls)))
        Shared.browser.open(self.serving.address, motion="off", view="runs")
        Shared.browser.find("#files").send_keys("\n".join(paths))
        Shared.browser.until(lambda: Shared.browser.text("#slowest"), "the slowest rank")
        self.assertEqual(Shared.browser.text("#slowest"), "Rank 1 kept the others waiting most")
        row = Shared.browser.js("return [...document.querySelectorAll('.calls tbody tr:first-child > *')].map((c) => c.textContent)")
        self.assertEqual(row[1:5], ["3 of 3", "8 µs", "11 µs", "rank 1"])
        self.assertIn("trace=", Shared.browser.js("return location.hash"))
        # A link to it shows the same.
        state = dict(part.split("=") for part in Shared.browser.js("return location.hash.slice(1)").replace("%2C", ",").split("&"))
        Shared.browser.driver.refresh()
        Shared.browser.until(lambda: Shared.browser.text("#slowest"), "the slowest rank again")
        self.assertIn("trace", state)

    def test_traces_that_are_dropped_anywhere_on_the_page_are_opened_together(self):
        texts = [trace_of(rank, 2, [(1000 + 500 * rank, 2000, "barrier")]) for rank in range(2)]
        with Serving(Shared.program) as serving:
            Shared.browser.open(serving.address, motion="off", view="cost")
            Shared.browser.js("""const dataTransfer = new DataTransfer();
                arguments[0].forEach((text, rank) => dataTransfer.items.add(new File([text], `trace-${rank}.jsonl`)));
                document.getElementById("main").dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));""", texts)
            Shared.browser.until(lambda: Shared.browser.text("#slowest"), "the slowest rank")
            self.assertEqual(Shared.browser.text("#slowest"), "Rank 1 kept the others waiting most")

    def test_of_many_ranks_those_are_drawn_that_kept_the_others_waiting(self):
        # Rank 3 comes last to the first call, rank 77 to the second.
        calls = lambda rank: [(9000 if rank == 3 else 1000, 20000, "barrier"), (30500 if rank == 77 else 30000, 31000, "barrier")]
        paths = [self.path(f"trace-{rank}.jsonl", trace_of(rank, 80, calls(rank))) for rank in range(80)]
        with Serving(Shared.program, *paths) as serving:
            Shared.browser.open(serving.address, motion="off")
            names = Shared.browser.js("return [...document.querySelectorAll('.lanes .rank')].map((t) => Number(t.textContent))")
            self.assertEqual(len(names), 64)
            self.assertEqual(names, sorted(names))
            self.assertLessEqual({3, 77}, set(names))
            # A row has the bars of the rank that it names.
            tops = Shared.browser.js("""return [...document.querySelectorAll(".lanes .bar.wait")].map((b) =>
                [Number(b.dataset.rank), Number(b.getAttribute("y"))])""")
            self.assertEqual(len({round(top - 14 * names.index(rank), 3) for rank, top in tops}), 1)
            self.assertIn("64 ranks", Shared.browser.text("main .note"))
            table = Shared.browser.js("return [...document.querySelectorAll('.by-rank tbody th')].map((t) => t.textContent)")
            self.assertEqual(table[:2], ["3", "77"])

    def test_calls_that_overlap_lie_beside_each_other_and_not_over_each_other(self):
        calls = lambda rank: [(0, 900, "all_reduce 'a' of 8 float32, sum"), (100 + 40 * rank, 800, "all_reduce 'b' of 8 float32, sum"), (950, 999, "barrier")]
        with Serving(Shared.program, *(self.path(f"o{rank}.jsonl", trace_of(rank, 2, calls(rank))) for rank in range(2))) as serving:
            Shared.browser.open(serving.address, motion="off")
            boxes = Shared.browser.js("""return [...document.querySelectorAll(".lanes .bar")].map((b) =>
                ["x", "y", "width", "height"].map((name) => Number(b.getAttribute(name))))""")
            for i, (x, y, wide, high) in enumerate(boxes):
                for other_x, other_y, other_wide, other_high in boxes[:i]:
                    apart = x + wide <= other_x + 0.1 or other_x + other_wide <= x + 0.1 or y + high <= other_y or other_y + other_high <= y
                    self.assertTrue(apart, boxes)

    def test_a_call_leads_to_its_window_of_space_and_time_with_its_messages(self):
        call = lambda n: (1000 * n, 1000 * n + 900, f"broadcast 'b{n}' of 8 float32, root 0")
        step = lambda n, rank: ("step", ("send", "recv")[rank], 1000 * n + 100 + 400 * rank, 1000 * n + 200 + 400 * rank, 0, 1 - rank, 64, n)
        paths = [self.path(f"w{rank}.jsonl", trace_of(rank, 2, [call(n) for n in range(3)], events=[step(n, rank) for n in range(3)])) for rank in range(2)]
        with Serving(Shared.program, *paths) as serving:
            Shared.browser.open(serving.address, motion="off", view="spacetime", source="trace")
            lines = "return [...document.querySelectorAll('.lanes .message title')].map((t) => t.textContent)"
            self.assertEqual(len(Shared.browser.js(lines)), 3)
            # What was run is not the schedule that is chosen: nothing is said of that.
            self.assertEqual(Shared.browser.text("#verdict") + Shared.browser.text("#choice"), "")
            Shared.browser.go(motion="off", view="runs")
            Shared.browser.js("document.querySelectorAll('.calls button')[1].click()")
            Shared.browser.until(lambda: Shared.browser.js("return document.getElementById('main').dataset.view") == "spacetime", "space and time")
            self.assertEqual(Shared.browser.js(lines), ["rank 0 to rank 1: 64 B, 1.20 µs to 1.60 µs"])
            self.assertIn("of 2.90 µs", Shared.browser.text("#window"))
            Shared.browser.js("document.querySelector('[data-focus=beginning]').click()")
            Shared.browser.until(lambda: len(Shared.browser.js(lines)) == 3, "the whole run")

    def test_the_error_of_clocks_is_said_and_nobody_is_named_below_it(self):
        call = "all_reduce 'g' of 4 float32, sum"
        paths = [self.path(f"c{rank}.jsonl", trace_of(rank, 2, [(50 * rank, 900, call)], error=40)) for rank in range(2)]
        with Serving(Shared.program, *paths) as serving:
            Shared.browser.open(serving.address, motion="off")
            self.assertIn("± 80 ns", Shared.browser.text("#clocks"))
            row = Shared.browser.js("return [...document.querySelectorAll('.calls tbody tr:first-child > *')].map((c) => c.textContent)")
            self.assertEqual((row[2], row[4]), ("50 ns ± 80 ns", "–"))
            self.assertIsNone(Shared.browser.text("#slowest"))

    def test_a_trace_of_the_simulator_is_drawn_in_space_and_time(self):
        schedule = self.path("s.json", plan(Shared.program, "all_reduce", "ring", 4))
        trace = os.path.join(self.folder.name, "sim.jsonl")
        self.assertEqual(run(Shared.program, "sim", schedule, "--topo", "ring:4", "--trace", trace).returncode, 0)
        with Serving(Shared.program, trace) as serving:
            Shared.browser.open(serving.address, motion="off", view="spacetime", source="trace")
            self.assertEqual(Shared.browser.js("return document.querySelectorAll('.lanes .message').length"), 24)


if __name__ == "__main__":
    main()
