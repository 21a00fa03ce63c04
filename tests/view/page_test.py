"""The page in a real browser: what the views show of schedules, and the address.

usage: page_test.py PATH_OF_TUTTI [unittest arguments]
"""
import json
import math
import os

from cases import OF_ALGORITHMS, RANKS, READ_ALL_ROUNDS, VIEWS, PageTest, Shared, main
from reading import region
from serving import plan, run, trace_of


class Comparing(PageTest):
    def test_two_algorithms_go_in_step_and_both_end_complete(self):
        Shared.browser.open(self.serving.address, motion="off", view="compare", **{"with": "recursive_doubling"}, ranks=4)
        Shared.browser.find("[data-player=On]").click()
        read = "return [...document.querySelectorAll('.grid-scroll')].map((grid) => grid.dataset.round)"
        self.assertEqual(Shared.browser.js(read), ["1", "1"])
        Shared.browser.find("[data-player='Last round']").click()
        self.assertEqual(Shared.browser.js(read), ["6", "2"])  # each at its own end
        self.assertEqual(Shared.browser.js("return [...document.querySelectorAll('[data-buffer=output]')].every((t) => t.classList.contains('right'))"), True)


    def test_both_sides_are_laid_out_alike_and_what_is_drawn_is_what_is_timed(self):
        Shared.browser.open(self.serving.address, motion="off", view="compare", **{"with": "one_shot"}, ranks=8)
        read = "return [...document.querySelectorAll('.two table')].map((t) => [t.className, t.style.getPropertyValue('--tile')].join(' '))"
        self.assertEqual(len(set(Shared.browser.js(read))), 1)
        # Trees for the machine that times are of, and not for the plain model.
        Shared.browser.go(motion="off", view="compare", topo="dgx-1v", **{"with": "packed"})
        packed = json.loads(plan(Shared.program, "all_reduce", "packed", 8, "dgx-1v"))
        messages = sum("to" in step for rank in packed["ranks"] for lane in rank["lanes"] for step in lane["steps"])
        section = "[...document.querySelectorAll('.two section')].at(-1)"
        self.assertIn(f"{messages} messages", Shared.browser.js(f"return {section}.querySelector('.hint').textContent"))
        drawn = Shared.browser.later("""const { ask } = await import("tutti/data");
            const its = await ask("schedule", {collective: "all_reduce", algorithm: "packed", ranks: "8", topo: "dgx-1v"});
            return [its.chunks_per_block, document.querySelectorAll(".two section")[1].querySelectorAll("tbody tr:first-child [data-buffer=input]").length];""")
        self.assertEqual(drawn[0], drawn[1])


class ManyRanks(PageTest):
    RANKS = 72  # more than are drawn one by one; rows of one rank and of two

    def rows(self):
        """The table of the rows: ranks, what they hold, how many of their results are complete."""
        return Shared.browser.later("""
            document.querySelector("main details").open = true;
            document.querySelector(`[data-player="${arguments[0]}"]`).click();
            await new Promise((go) => setTimeout(go, 0));
            return [...document.querySelectorAll(".rows tbody tr")].map((tr) => [...tr.children].map((c) => c.textContent));""", "Last round")

    def test_memory_is_summed_up_and_ends_complete_for_every_collective(self):
        Shared.browser.open(self.serving.address, motion="off")
        first = {}
        for collective, algorithm in self.algorithms:
            first.setdefault(collective, algorithm)
        for collective, algorithm in first.items():
            with self.subTest(collective=collective):
                Shared.browser.go(motion="off", collective=collective, algorithm=algorithm, ranks=self.RANKS)
                self.assertEqual(Shared.browser.js("return document.getElementById('verdict').className"), "proved")
                rows = self.rows()
                self.assertEqual(len(rows), 64)
                self.assertEqual((rows[0][0], rows[-1][0]), ("ranks 0–1", "rank 71"))
                for _, _, complete in rows:
                    part, _, whole = complete.partition(" of ")
                    self.assertEqual(part, whole or "–")
                self.assertEqual(Shared.browser.js("return document.querySelector('.fact').dataset.right"), "1")

    def test_a_ring_of_many_ranks_fills_up_one_contribution_a_round(self):
        Shared.browser.open(self.serving.address, motion="off", ranks=self.RANKS, round=1)
        levels, rows, columns = Shared.browser.later("""const { Overview } = await import("tutti/overview");
            const { ask } = await import("tutti/data");
            const schedule = await ask("schedule", {collective: "all_reduce", algorithm: "ring", ranks: "72"});
            const its = new Overview(schedule, "x");
            its.goTo(1);
            return [[...its.levels], schedule.overview.rows, schedule.overview.columns];""")
        # After one round rank r has a sum of two of chunk r - 1, and its own contributions to all others.
        held = [[2 if chunk == (rank - 1) % self.RANKS else 1 for chunk in range(self.RANKS)] for rank in range(self.RANKS)]
        wanted = []
        for top, bottom in zip(rows, rows[1:]):
            for left, right in zip(columns, columns[1:]):
                cells = [held[rank][chunk] for rank in range(top, bottom) for chunk in range(left, right)]
                mean = sum(cells) / len(cells)
                wanted.append(int(1 + 253 * math.log1p(mean) / math.log1p(self.RANKS)))
        self.assertEqual(levels, wanted)
        self.assertEqual(Shared.browser.js("return document.querySelector('.grid-scroll').dataset.messages"), "72")

    def test_fields_are_painted_in_the_colour_of_their_level(self):
        Shared.browser.open(self.serving.address, motion="off", ranks=self.RANKS, algorithm="recursive_doubling", round=99)
        pixel = """const canvas = document.querySelector(".overview canvas");
            const scale = window.devicePixelRatio || 1;
            return [...canvas.getContext("2d").getImageData(79 * scale, 9 * scale, 1, 1).data];"""
        self.assertEqual(Shared.browser.js(pixel), [0, 34, 78, 255])  # the end of the ramp: all is there
        Shared.browser.find("#theme").click()
        self.assertEqual(Shared.browser.js(pixel), [253, 231, 37, 255])  # on dark paper it is the other end

    def test_sixty_four_ranks_in_detail_are_one_line_each(self):
        Shared.browser.open(self.serving.address, motion="off", ranks=64, round=20)
        self.assertLess(Shared.browser.js("return document.documentElement.scrollHeight"), 2000)
        # A bar of one contribution is seen, and grows with every doubling.
        heights = Shared.browser.later("""const { barOf } = await import("tutti/sets");
            return [1, 2, 4, 8, 16, 32, 64].map((n) => parseFloat(/([0-9.]+)%, transparent/.exec(barOf([[0, n]], 64, true))[1]));""")
        steps = [b - a for a, b in zip(heights, heights[1:])]
        self.assertGreater(min([heights[0], *steps]), 9)
        self.assertEqual(heights[-1], 100)

    # Of the cell under the pointer, its words; and of its picture the colours along a line through its middle.
    READ_CELL = """const [rank, buffer, index] = arguments;
        const canvas = document.querySelector(`canvas[data-rank="${rank}"][data-buffer="${buffer}"]`);
        const wide = canvas.clientWidth / 64;
        const scale = window.devicePixelRatio || 1;
        canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: canvas.getBoundingClientRect().left + (index + 0.5) * wide }));
        const { data } = canvas.getContext("2d").getImageData(Math.round((index + 0.4) * wide * scale), 0, 1, canvas.height);
        const colours = [];
        for (let i = 0; i < data.length; i += 4) colours.push("#" + [...data.slice(i, i + 3)].map((part) => part.toString(16).padStart(2, "0")).join(""));
        return [canvas.title, colours];"""

    def test_sixty_four_ranks_are_painted_and_a_pointer_reads_every_cell(self):
        Shared.browser.open(self.serving.address, motion="off", ranks=64)
        self.assertLess(Shared.browser.js("return document.querySelectorAll('*').length"), 3000)
        # Rank r adds to chunk r - 1 in the first round, and has nothing else in its output yet.
        Shared.browser.find("[data-player=On]").click()
        words, colours = Shared.browser.js(self.READ_CELL, 5, "output", 4)
        self.assertEqual(words, "rank 5 output[4]: chunk 4 summed over ranks 4-5")
        self.assertEqual(Shared.browser.js(self.READ_CELL, 5, "output", 9)[0], "rank 5 output[9]: nothing yet")
        named = lambda name: Shared.browser.js("return getComputedStyle(document.documentElement).getPropertyValue(arguments[0]).trim()", name)
        # Two of 64 fill a part of the bar, from the bottom; all of them all of it, in a green frame.
        self.assertEqual((colours[1], colours[0]), (named("--card"), named("--tile-edge")))
        self.assertNotEqual(colours[-2], named("--card"))
        Shared.browser.find("[data-player='Last round']").click()
        words, colours = Shared.browser.js(self.READ_CELL, 5, "output", 9)
        self.assertEqual(words, "rank 5 output[9]: chunk 9 summed over ranks 0-63; as it must be")
        self.assertEqual((colours[0], colours[len(colours) // 2]), (named("--good"), named("--ramp-4")))
        self.assertEqual(Shared.browser.js("return document.querySelector('canvas[data-rank=\"5\"][data-buffer=output]').getAttribute('aria-label')"),
                         "rank 5, output: 64 of 64 cells hold data, 64 as they must be")

    def test_the_other_views_show_them_too(self):
        Shared.browser.open(self.serving.address, motion="off")
        # A schedule of few steps: the machine that runs this may be slow.
        states = [{"motion": "off", "ranks": 1024, "collective": "broadcast", "algorithm": "binomial", "with": "direct",
                   "view": view} for view in OF_ALGORITHMS]
        found = Shared.browser.tour(states, """return [document.querySelector("main svg, main canvas") !== null,
            document.documentElement.scrollHeight < 4000]""")
        self.assertEqual(found, [[True, True]] * len(OF_ALGORITHMS))


class Trees(PageTest):
    STATE = {"motion": "off", "view": "machine", "topo": "dgx-1v", "collective": "broadcast", "algorithm": "packed"}

    def planned(self):
        """Of each tree, the set of (from, to), from the schedule that tutti plan makes."""
        schedule = json.loads(plan(Shared.program, "broadcast", "packed", 8, "dgx-1v"))
        ways = {}  # of each chunk
        for rank, program in enumerate(schedule["ranks"]):
            for step in (step for lane in program["lanes"] for step in lane["steps"] if "to" in step):
                for _, chunk in region(step["src"] if step["step"] == "send" else step["dst"]):
                    ways.setdefault(chunk, set()).add((rank, step["to"]))
        return {frozenset(way) for way in ways.values()}

    def test_each_is_drawn_in_its_colour_on_the_links_it_takes(self):
        Shared.browser.open(self.serving.address, **self.STATE)
        trees = self.planned()
        self.assertEqual(len(trees), 6)
        names = Shared.browser.js("return [...document.querySelectorAll('.tree title')].map((t) => t.textContent)")
        drawn = [set() for _ in trees]
        for name in names:
            tree = int(name.split()[1]) - 1
            from_rank, to_rank = name.rsplit(": rank ", 1)[1].split(" to rank ")
            drawn[tree].add((int(from_rank), int(to_rank)))
        self.assertEqual({frozenset(tree) for tree in drawn}, trees)
        colours = Shared.browser.js("return [...document.querySelectorAll('.tree')].map((t) => t.dataset.tree + t.getAttribute('stroke'))")
        self.assertEqual(len(set(colours)), 6)
        self.assertEqual(len({colour[1:] for colour in colours}), 6)
        self.assertIn("as fast as any", Shared.browser.text("main .fact"))
        # Each line has an arrow, which points from the sender's end of the link to the taker's.
        turned = Shared.browser.js("""return [...document.querySelectorAll(".tree")].filter((line) => {
            const [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map((name) => Number(line.getAttribute(name)));
            const { e, f, a, b } = line.nextElementSibling.transform.baseVal.consolidate().matrix;
            return (x2 - x1) * a + (y2 - y1) * b <= 0 || Math.hypot(e - x1, f - y1) <= Math.hypot(e - x2, f - y2);
          }).length""")
        self.assertEqual(turned, 0)

    def test_they_are_switched_on_and_off_and_the_address_says_which(self):
        Shared.browser.open(self.serving.address, **self.STATE)
        shown = "return [...new Set([...document.querySelectorAll('.tree')].map((t) => t.dataset.tree))]"
        Shared.browser.find("[name=tree-0]").click()
        self.assertEqual(Shared.browser.js(shown), ["1", "2", "3", "4", "5"])
        Shared.browser.until(lambda: "trees=1" in Shared.browser.js("return location.hash"), "the address")
        Shared.browser.open(self.serving.address, **self.STATE, trees="2,4")
        self.assertEqual(Shared.browser.js(shown), ["2", "4"])
        self.assertEqual(Shared.browser.js("return [...document.querySelectorAll('.tree-list input')].map((b) => b.checked)"),
                         [False, False, True, False, True, False])
        Shared.browser.open(self.serving.address, **self.STATE, trees="none")
        self.assertEqual(Shared.browser.js(shown), [])


class AnyOrder(PageTest):
    OUTCOMES = "return [...document.querySelectorAll('.outcome')].map((p) => p.textContent)"

    def test_a_queue_deadlocks_with_who_waits_for_whom_and_tutti_passes(self):
        Shared.browser.open(self.serving.address, motion="off", view="order", ranks=4, round=99)
        queue, tutti = Shared.browser.js(self.OUTCOMES)
        self.assertIn("Deadlock. Ranks 0, 2 and 3 are in A and wait there for rank 1. Rank 1 is in B and waits there for ranks 0, 2 and 3.", queue)
        self.assertIn("All calls are done after 6 rounds", tutti)

    def test_in_one_order_both_pass(self):
        Shared.browser.open(self.serving.address, motion="off", view="order", ranks=3)
        Shared.browser.js("[...document.querySelectorAll('main form button')].at(-1).click()")
        Shared.browser.until(lambda: "order=" in Shared.browser.js("return location.hash"), "the address")
        Shared.browser.drawn({"motion": "off", "view": "order", "ranks": 3, "order": "AB,AB,AB"})
        Shared.browser.find("[data-player='Last round']").click()
        for words in Shared.browser.js(self.OUTCOMES):
            self.assertIn("All calls are done", words)

    def test_with_three_calls_every_rank_has_its_own_order(self):
        Shared.browser.open(self.serving.address, motion="off", view="order", ranks=3, calls=3, order="ABC,BCA,CAB", round=99)
        queue, tutti = Shared.browser.js(self.OUTCOMES)
        self.assertIn("Rank 0 is in A and waits there for ranks 1 and 2.", queue)
        self.assertIn("All calls are done", tutti)

    def test_ranks_work_on_what_they_called_first(self):
        Shared.browser.open(self.serving.address, motion="off", view="order", ranks=3, round=0)
        first = """return [...document.querySelectorAll(".order-side")].map((side) =>
            [...side.querySelectorAll(".call")].map((c) => c.dataset.rank + c.dataset.call))"""
        queue, tutti = Shared.browser.js(first)
        self.assertEqual(queue, ["0A", "1B", "2A"])
        self.assertEqual(tutti, ["0A", "0B", "1A", "1B", "2A", "2B"])


class WhatIf(PageTest):
    def choose(self, name, value):
        Shared.browser.js("""const select = document.querySelector(`[name="${arguments[0]}"]`);
            select.value = arguments[1];
            select.dispatchEvent(new Event("change"));""", name, value)

    def nanoseconds(self):
        number, unit = Shared.browser.text(".fact strong").split()
        return float(number) * {"ns": 1, "µs": 1e3, "ms": 1e6}[unit]

    def test_a_slow_rank_a_late_rank_and_a_slow_link_can_be_chosen_and_cost_time(self):
        usual_state = {"motion": "off", "view": "spacetime", "topo": "ring%3A8"}
        Shared.browser.open(self.serving.address, **usual_state)
        usual = self.nanoseconds()
        link = "router0~router1"  # the links of devices have twice the rate of this one
        for name, value, degree in (("slow", "3", "*2"), ("late", "3", "%2B1000"), ("fail", link, "%3D0.5")):
            with self.subTest(name):
                Shared.browser.go(**usual_state)
                self.choose(name, value)
                Shared.browser.drawn({**usual_state, name: value + degree})
                self.assertEqual(Shared.browser.js("return document.querySelector(`[name=${arguments[0]}]`).value", name), value)
                self.assertIsNotNone(Shared.browser.js("return document.querySelector(`[name=${arguments[0]}-degree]`)", name))
                self.assertGreater(self.nanoseconds(), usual)

    def test_a_link_that_is_gone_and_was_the_only_way_says_so_and_one_can_go_back(self):
        Shared.browser.open(self.serving.address, motion="off", view="spacetime")
        link = Shared.browser.js("return document.querySelector('[name=fail]').options[1].value")
        Shared.browser.js("location.hash = '#motion=off&view=spacetime&fail=' + encodeURIComponent(arguments[0])", link)
        self.assertIn("rank 0", Shared.browser.problem())
        Shared.browser.js("[...document.querySelectorAll('[role=alert] button')].at(-1).click()")
        Shared.browser.drawn({"motion": "off", "view": "spacetime"})


class Exported(PageTest):
    def test_it_opens_from_disk_with_every_view_and_steps_to_the_end(self):
        path = os.path.join(self.folder.name, "out.html")
        trace = self.path("t.jsonl", trace_of(0, 1, [(0, 5, "barrier")]))
        self.assertEqual(run(Shared.program, "view", trace, "--export", path, "--ranks", RANKS).returncode, 0)
        Shared.browser.open("file://" + path, motion="off", view="memory")
        end = Shared.browser.js(READ_ALL_ROUNDS)[-1]
        self.assertTrue(all(tile[5] for tile in end if tile[1] == "output"))
        for view in VIEWS:
            Shared.browser.go(motion="off", view=view)
        for collective in sorted({collective for collective, _ in self.algorithms}):
            for view in OF_ALGORITHMS:
                algorithm = next(name for its, name in self.algorithms if its == collective)
                Shared.browser.go(motion="off", collective=collective, algorithm=algorithm, view=view)
        Shared.browser.js("location.hash = '#motion=off&ranks=7&view=memory'")
        self.assertIn("tutti view", Shared.browser.problem())


class Address(PageTest):
    def test_a_link_shows_the_same_round(self):
        Shared.browser.open(self.serving.address, motion="off", collective="all_gather", algorithm="bruck", ranks=6, round=2)
        self.assertEqual(Shared.browser.js("return document.querySelector('.grid-scroll').dataset.round"), "2")
        self.assertEqual(Shared.browser.js("return document.querySelector('[name=algorithm]').value"), "bruck")

    def test_a_clock_gives_way_to_an_address_that_somebody_has_just_changed(self):
        Shared.browser.open(self.serving.address, motion="off")
        done, address = Shared.browser.later("""const state = await import("tutti/state");
            const edition = state.currentEdition();
            location.hash = "#motion=off&view=cost";
            const done = state.advance({round: 5}, edition);
            return [done, location.hash];""")
        self.assertFalse(done)
        self.assertEqual(address, "#motion=off&view=cost")
        Shared.browser.drawn({"motion": "off", "view": "cost"})
        self.assertEqual(Shared.browser.js("return location.hash"), "#motion=off&view=cost")

    def test_a_persons_wish_is_laid_over_an_address_that_somebody_has_just_changed(self):
        Shared.browser.open(self.serving.address, motion="off")
        address = Shared.browser.later("""const state = await import("tutti/state");
            location.hash = "#motion=off&ranks=3";
            state.set({round: 1});
            return [state.get("ranks"), state.get("round")];""")
        self.assertEqual(address, ["3", "1"])
        Shared.browser.until(lambda: Shared.browser.js("return location.hash") == "#motion=off&ranks=3&round=1", "the address")

    def test_playing_stops_for_a_changed_address_and_leaves_it_alone(self):
        Shared.browser.open(self.serving.address, motion="off", speed=4)
        Shared.browser.find("[data-player=Play]").click()
        played = "return Number(new URLSearchParams(location.hash.slice(1)).get('round'))"
        Shared.browser.until(lambda: Shared.browser.js(played) >= 2, "rounds are played")
        Shared.browser.go(motion="off", view="cost", collective="broadcast", algorithm="chain")
        self.assertEqual(Shared.browser.js("return location.hash"), "#motion=off&view=cost&collective=broadcast&algorithm=chain")

    def test_what_takes_long_says_that_it_is_being_made(self):
        Shared.browser.open(self.serving.address, motion="off")
        Shared.browser.js("""const real = window.fetch;
            window.fetch = async (...a) => { const its = await real(...a);
              await new Promise((go) => { window.letGo = go; });
              return its; };
            location.hash = "#motion=off&ranks=7";""")
        Shared.browser.until(lambda: Shared.browser.text("#busy"), "a word of it")
        self.assertEqual(Shared.browser.js("return document.getElementById('main').ariaBusy"), "true")
        Shared.browser.js("window.letGo()")
        Shared.browser.drawn({"motion": "off", "ranks": 7})
        self.assertEqual(Shared.browser.text("#busy"), "")
        self.assertEqual(Shared.browser.js("return document.getElementById('main').ariaBusy"), "false")

    def test_a_late_answer_does_not_overwrite_what_was_asked_for_since(self):
        Shared.browser.open(self.serving.address, motion="off")
        Shared.browser.js("""const real = window.fetch;
            window.fetch = async (...a) => { const its = await real(...a);
              if (String(a[0]).includes("ranks=7")) await new Promise((go) => { window.letGo = go; });
              return its; };
            location.hash = "#motion=off&ranks=7";""")
        Shared.browser.until(lambda: Shared.browser.js("return Boolean(window.letGo)"), "the slow answer")
        Shared.browser.go(motion="off", ranks=3)
        rows = Shared.browser.later("""window.letGo(); const { ask } = await import("tutti/data");
            await ask("schedule", {collective: "all_reduce", algorithm: "ring", ranks: "7"});
            return document.querySelectorAll(".grid tbody tr").length;""")
        self.assertEqual(rows, 3)
        self.assertEqual(Shared.browser.js("return location.hash"), "#motion=off&ranks=3")


if __name__ == "__main__":
    main()
