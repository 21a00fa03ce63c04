"""The page in a real browser: every view of every algorithm, every tile of every round.

usage: page_test.py PATH_OF_TUTTI [unittest arguments]
"""
import json
import os
import sys
import tempfile
import unittest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from browser import Browser
from reading import Reading
from serving import Serving, plan, run, trace_of

PROGRAM = ""
RANKS = 5  # odd and prime: nothing divides by chance
VIEWS = ("memory", "learn", "compare", "spacetime", "machine", "cost", "runs")


def in_all_rounds(read):
    """A script that steps through all rounds by the button, as a person does, and returns what the
    script `read` finds after each. Without motion a round is drawn before the click returns."""
    return """
const grid = document.querySelector(".grid-scroll");
const press = (name) => document.querySelector(`[data-player="${name}"]`).click();
const read = () => """ + read + """;
press("First round");
const rounds = [read()];
const last = Number(document.querySelector(".player input[type=range]").max);
while (Number(grid.dataset.round) < last) {
  press("On");
  rounds.push(read());
}
return rounds;
"""


# Every tile.
READ_ALL_ROUNDS = in_all_rounds("""[...grid.querySelectorAll(".tile")].map((tile) =>
  [Number(tile.dataset.rank), tile.dataset.buffer, Number(tile.dataset.index), tile.dataset.chunk, tile.dataset.set,
   tile.classList.contains("right"), tile.classList.contains("wrong")])""")

# The kinds of steps, and of each line of code its kinds and whether it is lit.
READ_LIT_LINES = in_all_rounds("""[JSON.parse(grid.dataset.kinds),
  [...document.querySelectorAll(".code li")].map((li) => [li.dataset.kinds, li.classList.contains("lit")])]""")


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.serving = SERVING
        cls.algorithms = ALGORITHMS

    def setUp(self):
        BROWSER.driver.set_window_size(1280, 900)
        BROWSER.complaints()

    def tearDown(self):
        self.assertEqual(BROWSER.complaints(), [])

    def path(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def history(self, **parameters):
        """The order of steps, as the program has it."""
        return BROWSER.later("return (await (await fetch('api/schedule?' + arguments[0])).json()).history",
                             "&".join(f"{name}={value}" for name, value in parameters.items()))


class EveryAlgorithm(PageTest):
    def test_every_view_of_every_algorithm_loads_without_a_complaint(self):
        BROWSER.open(self.serving.address, motion="off")
        for collective, algorithm in self.algorithms:
            for view in VIEWS[:-1]:
                with self.subTest(collective=collective, algorithm=algorithm, view=view):
                    BROWSER.go(motion="off", collective=collective, algorithm=algorithm, ranks=RANKS, view=view)
                    self.assertEqual(BROWSER.js("return document.getElementById('verdict').className"), "proved")
                    self.assertTrue(BROWSER.js("return document.querySelector('main svg, main table') !== null"))
        BROWSER.go(motion="off", view="runs")

    def test_every_tile_of_every_round_is_as_an_independent_reading_has_it(self):
        BROWSER.open(self.serving.address, motion="off")
        for collective, algorithm in self.algorithms:
            with self.subTest(collective=collective, algorithm=algorithm):
                self.compare(collective, algorithm)

    def compare(self, collective, algorithm):
        BROWSER.go(motion="off", collective=collective, algorithm=algorithm, ranks=RANKS)
        shown = BROWSER.js(READ_ALL_ROUNDS)
        peer = {"peer": 1} if collective == "send_recv" else {}
        history = self.history(collective=collective, algorithm=algorithm, ranks=RANKS, **peer)
        self.assertEqual(len(shown), len(history["rounds"]))
        reading = Reading(json.loads(plan(PROGRAM, collective, algorithm, RANKS)))
        for number, (tiles, its) in enumerate(zip(shown, history["rounds"])):
            for rank, lane, step in its["steps"]:
                reading.run(rank, lane, step)
            held = {(r, b, i): (int(chunk), ranks) for r, b, i, chunk, ranks, *_ in tiles
                    if chunk != "" and b != "heard"}
            self.assertEqual(held, reading.tiles(), f"round {number}")
        self.assertEqual(sum(reading.done.values()),
                         sum(len(lane["steps"]) for rank in reading.schedule["ranks"] for lane in rank["lanes"]))
        self.check_end(collective, shown[-1], reading)

    def check_end(self, collective, tiles, reading):
        everyone = f"0-{RANKS - 1}"
        for rank, buffer, _, _, ranks, is_right, is_wrong in tiles:
            self.assertFalse(is_wrong)
            if buffer == "output" or buffer == "heard":
                self.assertTrue(is_right)
            if buffer == "heard":
                self.assertEqual(ranks, everyone)
        for rank in range(RANKS):
            for cell, value in reading.wanted(rank):
                self.assertEqual(reading.cells[rank][cell], value, f"{collective}: rank {rank} {cell}")


class Lessons(PageTest):
    def test_every_algorithm_has_one_and_its_code_has_a_line_for_every_step(self):
        BROWSER.open(self.serving.address, motion="off", view="learn")
        for collective, algorithm in self.algorithms:
            for ranks in (RANKS, 4):  # and a power of two
                with self.subTest(collective=collective, algorithm=algorithm, ranks=ranks):
                    BROWSER.go(motion="off", view="learn", collective=collective, algorithm=algorithm, ranks=ranks)
                    self.check_lines(BROWSER.js(READ_LIT_LINES))

    def check_lines(self, rounds):
        """In every round the lines that stand for a step of it are lit, and no others."""
        ever = set()
        for kinds, lines in rounds:
            for i, (its, is_lit) in enumerate(lines):
                self.assertEqual(is_lit, bool(set(its.split()) & set(kinds)))
                if is_lit:
                    ever |= set(its.split())
            mentioned = {kind for its, is_lit in lines if is_lit for kind in its.split()}
            self.assertLessEqual(set(kinds), mentioned)
        self.assertTrue(ever)

    def test_a_quiz_says_whether_an_answer_is_right(self):
        BROWSER.open(self.serving.address, motion="off", view="learn")
        replies = BROWSER.js("""return [...document.querySelectorAll(".quiz fieldset")].map((box) =>
            [...box.querySelectorAll("button")].map((b) => { b.click(); return box.querySelector(".reply").textContent[0]; }).sort().join(""));""")
        self.assertTrue(replies)
        for reply in replies:
            self.assertEqual(reply.count("✓"), 1)


class Comparing(PageTest):
    def test_two_algorithms_go_in_step_and_both_end_complete(self):
        BROWSER.open(self.serving.address, motion="off", view="compare", **{"with": "recursive_doubling"}, ranks=4)
        BROWSER.find("[data-player=On]").click()
        read = "return [...document.querySelectorAll('.grid-scroll')].map((grid) => grid.dataset.round)"
        self.assertEqual(BROWSER.js(read), ["1", "1"])
        BROWSER.find("[data-player='Last round']").click()
        self.assertEqual(BROWSER.js(read), ["6", "2"])  # each at its own end
        self.assertEqual(BROWSER.js("return [...document.querySelectorAll('[data-buffer=output]')].every((t) => t.classList.contains('right'))"), True)


class Wrong(PageTest):
    def show(self, schedule):
        path = self.path("mutant.json", json.dumps(schedule))
        said = json.loads(run(PROGRAM, "verify", path, "--json").stdout)
        self.assertFalse(said["proved"])
        self.serving_mutant = Serving(PROGRAM, path)
        self.addCleanup(self.serving_mutant.stop)
        BROWSER.open(self.serving_mutant.address, motion="off")
        self.assertEqual(BROWSER.js("return document.getElementById('verdict').className"), "refused")
        self.assertIn(said["message"], BROWSER.text("#verdict"))
        return said

    def test_a_contribution_that_is_forgotten_is_seen_in_the_end(self):
        schedule = json.loads(plan(PROGRAM, "all_reduce", "ring", RANKS))
        step = schedule["ranks"][2]["lanes"][0]["steps"][2]
        self.assertEqual(step["step"], "recv_reduce_copy_send")
        step["step"] = "recv_copy_send"
        del step["src"]
        self.assertEqual(self.show(schedule)["rule"], "result")
        end = BROWSER.js(READ_ALL_ROUNDS)[-1]
        wrong = [tile for tile in end if tile[6]]
        self.assertEqual(len(wrong), RANKS)  # one chunk, on every rank
        for tile in wrong:
            self.assertNotIn("2", tile[4])

    def test_a_contribution_that_counts_twice_stops_the_drawing_there(self):
        schedule = json.loads(plan(PROGRAM, "all_reduce", "ring", RANKS))
        step = schedule["ranks"][1]["lanes"][0]["steps"][RANKS]
        self.assertEqual(step["step"], "recv_copy_send")
        step.update(step="recv_reduce_copy_send", src=step["dst"].replace("output", "input"))
        self.assertEqual(self.show(schedule)["rule"], "double_count")
        shown = BROWSER.js(READ_ALL_ROUNDS)
        self.assertLess(len(shown), 2 * (RANKS - 1) + 1)
        for view in ("spacetime", "machine", "cost"):
            BROWSER.go(motion="off", view=view)
            self.assertIn("refused", BROWSER.text("main"))

    def test_a_deadlock_names_the_ranks_that_are_stuck(self):
        schedule = json.loads(plan(PROGRAM, "all_gather", "ring", 3))
        for rank in schedule["ranks"]:
            steps = rank["lanes"][0]["steps"]
            steps.append(steps.pop(0 if steps[0]["step"] == "send" else 1))
        self.assertEqual(self.show(schedule)["rule"], "deadlock")
        self.assertIn("Ranks 0, 1, 2 are stuck", BROWSER.text("#verdict"))


class Errors(PageTest):
    def choose(self, *paths):
        BROWSER.go(motion="off", view="runs")
        BROWSER.find("#files").send_keys("\n".join(paths))

    def test_a_broken_file_is_named_with_its_line(self):
        BROWSER.open(self.serving.address, motion="off")
        self.choose(self.path("bad.jsonl", trace_of(0, 2, []) + "[1]\n"))
        self.assertIn("bad.jsonl:2", BROWSER.problem())

    def test_a_file_of_another_version_is_refused_in_words(self):
        BROWSER.open(self.serving.address, motion="off")
        self.choose(self.path("new.jsonl", trace_of(0, 2, [], version=7)))
        self.assertIn("new.jsonl:1", BROWSER.problem())

    def test_answers_of_another_version_are_not_drawn(self):
        BROWSER.open(self.serving.address, motion="off")
        BROWSER.js("""const real = window.fetch;
            window.fetch = async (...a) => { const its = await (await real(...a)).json();
              return new Response(JSON.stringify({...its, schema: 99})); };
            location.hash = "#motion=off&ranks=3";""")
        self.assertIn("version 99", BROWSER.problem())

    def test_a_wrong_address_says_what_is_wrong_and_can_be_mended(self):
        BROWSER.open(self.serving.address, motion="off")
        BROWSER.js("location.hash = '#motion=off&ranks=0'")
        self.assertIn("from 1 to 1024", BROWSER.problem())
        BROWSER.go(motion="off", ranks=3)

    def test_a_program_that_has_ended_is_missed(self):
        with Serving(PROGRAM) as serving:
            BROWSER.open(serving.address, motion="off")
        BROWSER.js("location.hash = '#motion=off&ranks=3'")
        words = BROWSER.problem()
        self.assertIn("has probably ended", words)
        self.assertIn("tutti view", words)


class RealRuns(PageTest):
    def test_traces_are_joined_and_the_slowest_rank_is_named(self):
        paths = []
        for rank, begin in enumerate((1000, 9000, 2000)):
            calls = [(begin, 20000, "all_reduce 'a' of 8 float32, sum"), (30000, 31000, "barrier")]
            paths.append(self.path(f"trace-{rank}.jsonl", trace_of(rank, 3, calls)))
        BROWSER.open(self.serving.address, motion="off", view="runs")
        BROWSER.find("#files").send_keys("\n".join(paths))
        BROWSER.until(lambda: BROWSER.text("#slowest"), "the slowest rank")
        self.assertEqual(BROWSER.text("#slowest"), "Rank 1 kept the others waiting most")
        row = BROWSER.js("return [...document.querySelectorAll('.calls tbody tr:first-child > *')].map((c) => c.textContent)")
        self.assertEqual(row[1:5], ["3 of 3", "8 µs", "11 µs", "rank 1"])
        self.assertIn("trace=", BROWSER.js("return location.hash"))
        # A link to it shows the same.
        state = dict(part.split("=") for part in BROWSER.js("return location.hash.slice(1)").replace("%2C", ",").split("&"))
        BROWSER.driver.refresh()
        BROWSER.until(lambda: BROWSER.text("#slowest"), "the slowest rank again")
        self.assertIn("trace", state)

    def test_a_trace_of_the_simulator_is_drawn_in_space_and_time(self):
        schedule = self.path("s.json", plan(PROGRAM, "all_reduce", "ring", 4))
        trace = os.path.join(self.folder.name, "sim.jsonl")
        self.assertEqual(run(PROGRAM, "sim", schedule, "--topo", "ring:4", "--trace", trace).returncode, 0)
        with Serving(PROGRAM, trace) as serving:
            BROWSER.open(serving.address, motion="off", view="spacetime", source="trace")
            self.assertEqual(BROWSER.js("return document.querySelectorAll('.lanes .message').length"), 24)


class Exported(PageTest):
    def test_it_opens_from_disk_with_every_view_and_steps_to_the_end(self):
        path = os.path.join(self.folder.name, "out.html")
        trace = self.path("t.jsonl", trace_of(0, 1, [(0, 5, "barrier")]))
        self.assertEqual(run(PROGRAM, "view", trace, "--export", path, "--ranks", RANKS).returncode, 0)
        BROWSER.open("file://" + path, motion="off", view="memory")
        end = BROWSER.js(READ_ALL_ROUNDS)[-1]
        self.assertTrue(all(tile[5] for tile in end if tile[1] == "output"))
        for view in VIEWS:
            BROWSER.go(motion="off", view=view)
        for collective in sorted({collective for collective, _ in self.algorithms}):
            for view in VIEWS[:-1]:
                algorithm = next(name for its, name in self.algorithms if its == collective)
                BROWSER.go(motion="off", collective=collective, algorithm=algorithm, view=view)
        BROWSER.js("location.hash = '#motion=off&ranks=7&view=memory'")
        self.assertIn("tutti view", BROWSER.problem())


class Address(PageTest):
    def test_a_link_shows_the_same_round(self):
        BROWSER.open(self.serving.address, motion="off", collective="all_gather", algorithm="bruck", ranks=6, round=2)
        self.assertEqual(BROWSER.js("return document.querySelector('.grid-scroll').dataset.round"), "2")
        self.assertEqual(BROWSER.js("return document.querySelector('[name=algorithm]').value"), "bruck")

    def test_a_clock_gives_way_to_an_address_that_somebody_has_just_changed(self):
        BROWSER.open(self.serving.address, motion="off")
        done, address = BROWSER.later("""const state = await import("tutti/state");
            const edition = state.currentEdition();
            location.hash = "#motion=off&view=cost";
            const done = state.advance({round: 5}, edition);
            return [done, location.hash];""")
        self.assertFalse(done)
        self.assertEqual(address, "#motion=off&view=cost")
        BROWSER.drawn({"motion": "off", "view": "cost"})
        self.assertEqual(BROWSER.js("return location.hash"), "#motion=off&view=cost")

    def test_a_persons_wish_is_laid_over_an_address_that_somebody_has_just_changed(self):
        BROWSER.open(self.serving.address, motion="off")
        address = BROWSER.later("""const state = await import("tutti/state");
            location.hash = "#motion=off&ranks=3";
            state.set({round: 1});
            return [state.get("ranks"), state.get("round")];""")
        self.assertEqual(address, ["3", "1"])
        BROWSER.until(lambda: BROWSER.js("return location.hash") == "#motion=off&ranks=3&round=1", "the address")

    def test_playing_stops_for_a_changed_address_and_leaves_it_alone(self):
        BROWSER.open(self.serving.address, motion="off", speed=4)
        BROWSER.find("[data-player=Play]").click()
        played = "return Number(new URLSearchParams(location.hash.slice(1)).get('round'))"
        BROWSER.until(lambda: BROWSER.js(played) >= 2, "rounds are played")
        BROWSER.go(motion="off", view="cost", collective="broadcast", algorithm="chain")
        self.assertEqual(BROWSER.js("return location.hash"), "#motion=off&view=cost&collective=broadcast&algorithm=chain")

    def test_a_late_answer_does_not_overwrite_what_was_asked_for_since(self):
        BROWSER.open(self.serving.address, motion="off")
        BROWSER.js("""const real = window.fetch;
            window.fetch = async (...a) => { const its = await real(...a);
              if (String(a[0]).includes("ranks=7")) await new Promise((go) => { window.letGo = go; });
              return its; };
            location.hash = "#motion=off&ranks=7";""")
        BROWSER.until(lambda: BROWSER.js("return Boolean(window.letGo)"), "the slow answer")
        BROWSER.go(motion="off", ranks=3)
        rows = BROWSER.later("""window.letGo(); const { ask } = await import("tutti/data");
            await ask("schedule", {collective: "all_reduce", algorithm: "ring", ranks: "7"});
            return document.querySelectorAll(".grid tbody tr").length;""")
        self.assertEqual(rows, 3)
        self.assertEqual(BROWSER.js("return location.hash"), "#motion=off&ranks=3")


class People(PageTest):
    def test_the_keyboard_reaches_everything(self):
        BROWSER.open(self.serving.address, motion="off")
        for view in VIEWS:
            BROWSER.go(motion="off", view=view)
            wanted = BROWSER.js("""
                document.querySelectorAll("[data-seen]").forEach((e) => e.removeAttribute("data-seen"));
                const all = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
                  .filter((e) => e.tabIndex >= 0 && !e.disabled && (e.offsetParent !== null || e.getClientRects().length));
                all.forEach((e) => { e.dataset.seen = "no"; e.addEventListener("focus", () => { e.dataset.seen = "yes"; }); });
                document.activeElement.blur();
                return all.length;""")
            ActionChains(BROWSER.driver).send_keys(Keys.TAB * (wanted + 3)).perform()
            missed = BROWSER.js("return [...document.querySelectorAll('[data-seen=no]')].map((e) => e.outerHTML.slice(0, 120))")
            self.assertEqual(missed, [], view)

    def test_arrow_keys_move_between_views_and_rounds(self):
        BROWSER.open(self.serving.address, motion="off", ranks=4)
        shown = lambda: BROWSER.js("return document.querySelector('.grid-scroll').dataset.round")
        BROWSER.find(".grid-scroll").send_keys(Keys.ARROW_RIGHT)
        BROWSER.until(lambda: shown() == "1", "round 1")
        BROWSER.find(".grid-scroll").send_keys(Keys.END)
        BROWSER.until(lambda: shown() == "6", "the last round")
        BROWSER.find(".grid-scroll").send_keys(Keys.ARROW_LEFT)
        BROWSER.until(lambda: shown() == "5", "round 5")
        BROWSER.find(".grid-scroll").send_keys(Keys.HOME)
        BROWSER.until(lambda: shown() == "0", "round 0")
        BROWSER.find("#tab-memory").send_keys(Keys.ARROW_RIGHT)
        BROWSER.until(lambda: "view=learn" in BROWSER.js("return location.hash"), "the next view")

    def test_with_motion_messages_land_and_the_round_is_shown(self):
        BROWSER.open(self.serving.address, speed=4, ranks=4)
        BROWSER.find("[data-player=On]").click()
        BROWSER.until(lambda: BROWSER.js("return document.querySelector('.grid-scroll').dataset.round") == "1", "landing")
        self.assertEqual(BROWSER.js("return document.querySelectorAll('.letter.flying').length"), 0)

    def test_everything_that_can_be_used_has_a_name(self):
        BROWSER.open(self.serving.address, motion="off")
        for view in VIEWS:
            BROWSER.go(motion="off", view=view)
            nameless = BROWSER.js("""return [...document.querySelectorAll("button, input, select, [role=img], [role=region]")]
                .filter((e) => !(e.getAttribute("aria-label") || e.labels?.length || e.textContent.trim()))
                .map((e) => e.outerHTML.slice(0, 120));""")
            self.assertEqual(nameless, [], view)

    def test_a_phone_need_not_scroll_sideways_in_either_theme(self):
        # A window has a least width; a device that is played has not.
        BROWSER.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                       {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True})
        self.addCleanup(BROWSER.driver.execute_cdp_cmd, "Emulation.clearDeviceMetricsOverride", {})
        BROWSER.open(self.serving.address, motion="off")
        for theme in ("light", "dark"):
            for view in VIEWS:
                BROWSER.go(motion="off", view=view, theme=theme)
                self.assertEqual(BROWSER.js("return document.documentElement.dataset.theme"), theme)
                self.assertLessEqual(BROWSER.js("return document.documentElement.scrollWidth"), 360, f"{view} {theme}")


def list_algorithms():
    """(collective, name) of all, as an exported page has them."""
    page = run(PROGRAM, "view", "--export", "-", "--ranks", 2).stdout
    data = json.loads(page.split('id="data">')[1].split("</script>")[0].replace("<\\/", "</"))
    return [(a["collective"], a["name"]) for a in data["catalogue"]["algorithms"]]


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    ALGORITHMS = list_algorithms()
    with Serving(PROGRAM) as SERVING:
        BROWSER = Browser()
        try:
            done = unittest.main(verbosity=2, exit=False).result
        finally:
            BROWSER.quit()
    sys.exit(not done.wasSuccessful())
