"""The page as people use it: the keyboard, screen readers, phones; and what it says when something is wrong.

usage: people_test.py PATH_OF_TUTTI [unittest arguments]
"""
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from cases import VIEWS, PageTest, Shared, main
from serving import Serving, plan, trace_of


class Errors(PageTest):
    def choose(self, *paths):
        Shared.browser.go(motion="off", view="runs")
        Shared.browser.find("#files").send_keys("\n".join(paths))

    def test_a_broken_file_is_named_with_its_line(self):
        Shared.browser.open(self.serving.address, motion="off")
        self.choose(self.path("bad.jsonl", trace_of(0, 2, []) + "[1]\n"))
        self.assertIn("bad.jsonl:2", Shared.browser.problem())

    def test_a_file_of_another_version_is_refused_in_words(self):
        Shared.browser.open(self.serving.address, motion="off")
        self.choose(self.path("new.jsonl", trace_of(0, 2, [], version=7)))
        self.assertIn("new.jsonl:1", Shared.browser.problem())

    def test_answers_of_another_version_are_not_drawn(self):
        Shared.browser.open(self.serving.address, motion="off")
        Shared.browser.js("""const real = window.fetch;
            window.fetch = async (...a) => { const its = await (await real(...a)).json();
              return new Response(JSON.stringify({...its, schema: 99})); };
            location.hash = "#motion=off&ranks=3";""")
        self.assertIn("version 99", Shared.browser.problem())

    def test_a_wrong_address_says_what_is_wrong_and_can_be_mended(self):
        Shared.browser.open(self.serving.address, motion="off")
        Shared.browser.js("location.hash = '#motion=off&ranks=0'")
        self.assertIn("from 1 to 1024", Shared.browser.problem())
        Shared.browser.go(motion="off", ranks=3)

    def test_a_wrong_machine_is_mended_where_it_was_typed_or_undone(self):
        state = {"motion": "off", "view": "spacetime", "ranks": 4}
        Shared.browser.open(self.serving.address, **state)
        self.type_into("topo", "dgx-9")
        self.assertIn("no machine or shape", Shared.browser.problem())
        self.assertEqual(Shared.browser.js("return document.querySelector('main [name=topo]').value"), "dgx-9")
        self.type_into("topo", "ring:4")
        Shared.browser.drawn({**state, "topo": "ring%3A4"})
        self.type_into("topo", "dgx-9")
        Shared.browser.problem()
        Shared.browser.js("[...document.querySelectorAll('[role=alert] button')].at(-1).click()")
        Shared.browser.drawn({**state, "topo": "ring%3A4"})

    def test_what_is_wrong_is_undone_before_the_address_has_followed(self):
        state = {"motion": "off", "view": "spacetime", "ranks": 4}
        Shared.browser.open(self.serving.address, **state)
        # For the page no time passes from here on, so the address takes one more change and then lags.
        Shared.browser.js("const now = performance.now(); performance.now = () => now;")
        self.type_into("topo", "ring:4")
        Shared.browser.drawn({**state, "topo": "ring%3A4"})
        self.type_into("topo", "dgx-9")
        Shared.browser.problem()
        self.assertNotIn("dgx-9", Shared.browser.js("return location.hash"))
        Shared.browser.js("[...document.querySelectorAll('[role=alert] button')].at(-1).click()")
        Shared.browser.drawn({**state, "topo": "ring%3A4"})

    def type_into(self, name, text):
        Shared.browser.js("""const input = document.querySelector(`main [name=${arguments[0]}]`);
            input.value = arguments[1];
            input.dispatchEvent(new Event("change"));""", name, text)

    def test_a_schedule_that_is_chosen_in_real_runs_is_shown(self):
        serving = Serving(Shared.program)  # its own: others have no files
        self.addCleanup(serving.stop)
        Shared.browser.open(serving.address, motion="off")
        self.choose(self.path("mine.json", plan(Shared.program, "broadcast", "binomial", 3)))
        Shared.browser.until(lambda: "file=" in Shared.browser.js("return location.hash"), "the file in the address")
        Shared.browser.until(lambda: Shared.browser.js("return document.querySelectorAll('.grid tbody tr').length") == 3, "its ranks")

    def test_a_program_that_has_ended_is_missed(self):
        with Serving(Shared.program) as serving:
            Shared.browser.open(serving.address, motion="off")
        Shared.browser.js("location.hash = '#motion=off&ranks=3'")
        words = Shared.browser.problem()
        self.assertIn("has probably ended", words)
        self.assertIn("tutti view", words)


class People(PageTest):
    def test_the_keyboard_reaches_everything(self):
        Shared.browser.open(self.serving.address, motion="off")
        for view in VIEWS:
            Shared.browser.go(motion="off", view=view)
            wanted = Shared.browser.js("""
                document.querySelectorAll("[data-seen]").forEach((e) => e.removeAttribute("data-seen"));
                const all = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
                  .filter((e) => e.tabIndex >= 0 && !e.disabled && (e.offsetParent !== null || e.getClientRects().length));
                all.forEach((e) => { e.dataset.seen = "no"; e.addEventListener("focus", () => { e.dataset.seen = "yes"; }); });
                document.activeElement.blur();
                return all.length;""")
            # Tab begins where the focus was and goes round, by stops of the browser's own too: twice round
            # passes everything that can be reached at all.
            for _ in range(2):
                ActionChains(Shared.browser.driver).send_keys(Keys.TAB * (wanted + 3)).perform()
                missed = Shared.browser.js("return [...document.querySelectorAll('[data-seen=no]')].map((e) => e.outerHTML.slice(0, 120))")
                if not missed:
                    break
            self.assertEqual(missed, [], view)

    def value(self, name):
        """Of the address."""
        return Shared.browser.js("return new URLSearchParams(location.hash.slice(1)).get(arguments[0])", name)

    def test_a_control_keeps_the_focus_when_what_it_changed_is_drawn(self):
        for view, name in (("spacetime", "alpha"), ("spacetime", "bytes"), ("spacetime", "slow"), ("compare", "with"), ("order", "order-2")):
            with self.subTest(name):
                Shared.browser.open(self.serving.address, motion="off", view=view, calls=3)
                Shared.browser.js("document.querySelector(`[name=${arguments[0]}]`).focus()", name)
                seen = {self.now(name)}
                for count in (2, 3):
                    key = Keys.ARROW_UP if name == "bytes" else Keys.ARROW_DOWN if name != "alpha" else Keys.ARROW_RIGHT
                    ActionChains(Shared.browser.driver).send_keys(key).perform()
                    Shared.browser.until(lambda: self.now(name) not in seen and self.is_drawn(), f"change {count - 1} of {name}")
                    seen.add(self.now(name))
                    self.assertEqual(Shared.browser.js("return document.activeElement.name"), name)

    def now(self, name):
        return Shared.browser.js("return document.querySelector(`[name=${arguments[0]}]`)?.value", name)

    def is_drawn(self):
        return Shared.browser.js("""const main = document.getElementById("main");
            return main.dataset.ready === "yes" && main.dataset.address === location.hash && main.ariaBusy === "false";""")

    def test_a_button_that_draws_its_view_anew_keeps_the_focus(self):
        Shared.browser.open(self.serving.address, motion="off", view="cost", ranks=4)
        Shared.browser.js("document.querySelectorAll('button.link')[2].focus()")
        chosen = Shared.browser.js("return document.activeElement.textContent")
        ActionChains(Shared.browser.driver).send_keys(Keys.ENTER).perform()
        Shared.browser.until(lambda: self.value("algorithm") and self.is_drawn(), "another algorithm")
        self.assertEqual(Shared.browser.js("return document.activeElement.textContent"), chosen)

    def test_enter_in_a_number_is_a_change_and_the_link_over_the_tabs_keeps_the_address(self):
        Shared.browser.open(self.serving.address, motion="off", collective="barrier", algorithm="dissemination")
        Shared.browser.js("const ranks = document.querySelector('[name=ranks]'); ranks.focus(); ranks.select();")
        ActionChains(Shared.browser.driver).send_keys("5", Keys.ENTER).perform()
        state = {"motion": "off", "collective": "barrier", "algorithm": "dissemination", "ranks": 5}
        Shared.browser.drawn(state)
        Shared.browser.js("document.querySelector('.skip').click()")
        self.assertEqual(Shared.browser.js("return document.activeElement.id"), "main")
        Shared.browser.drawn(state)
        self.assertNotIn("?", Shared.browser.driver.current_url)

    def test_playing_from_the_end_goes_as_fast_as_from_the_beginning(self):
        Shared.browser.open(self.serving.address, motion="off", ranks=4, round=6)
        # Clocks that are set and not yet run out, of those that the player sets.
        clocks = Shared.browser.js("""const { setTimeout: set, clearTimeout: clear } = window;
            const left = new Set();
            window.setTimeout = (what, ms) => { const id = set.call(window, what, ms); if (ms === 350) left.add(id); return id; };
            window.clearTimeout = (id) => { left.delete(id); clear.call(window, id); };
            document.querySelector("[data-player=Play]").click();
            const numLeft = left.size;
            document.querySelector("[data-player=Play]").click();
            Object.assign(window, { setTimeout: set, clearTimeout: clear });
            return numLeft;""")
        self.assertEqual(clocks, 1)

    def test_the_machine_plays_again_from_its_end(self):
        Shared.browser.open(self.serving.address, motion="off", view="machine", ranks=4, at=59)
        Shared.browser.find("main [aria-label=Play]").click()
        Shared.browser.until(lambda: self.value("at") not in (None, "59"), "an earlier part of the time")

    def test_arrow_keys_move_between_views_and_rounds(self):
        Shared.browser.open(self.serving.address, motion="off", ranks=4)
        shown = lambda: Shared.browser.js("return document.querySelector('.grid-scroll').dataset.round")
        Shared.browser.find(".grid-scroll").send_keys(Keys.ARROW_RIGHT)
        Shared.browser.until(lambda: shown() == "1", "round 1")
        Shared.browser.find(".grid-scroll").send_keys(Keys.END)
        Shared.browser.until(lambda: shown() == "6", "the last round")
        Shared.browser.find(".grid-scroll").send_keys(Keys.ARROW_LEFT)
        Shared.browser.until(lambda: shown() == "5", "round 5")
        Shared.browser.find(".grid-scroll").send_keys(Keys.HOME)
        Shared.browser.until(lambda: shown() == "0", "round 0")
        Shared.browser.find("#tab-memory").send_keys(Keys.ARROW_RIGHT)
        Shared.browser.until(lambda: "view=learn" in Shared.browser.js("return location.hash"), "the next view")

    def test_with_motion_messages_land_and_the_round_is_shown(self):
        Shared.browser.open(self.serving.address, speed=4, ranks=4)
        Shared.browser.find("[data-player=On]").click()
        Shared.browser.until(lambda: Shared.browser.js("return document.querySelector('.grid-scroll').dataset.round") == "1", "landing")
        self.assertEqual(Shared.browser.js("return document.querySelectorAll('.letter.flying').length"), 0)

    def test_everything_that_can_be_used_has_a_name(self):
        Shared.browser.open(self.serving.address, motion="off")
        states = [{"motion": "off", "view": view} for view in VIEWS]
        found = Shared.browser.tour(states, """return [...document.querySelectorAll("button, input, select, [role=img], [role=region]")]
                .filter((e) => !(e.getAttribute("aria-label") || e.labels?.length || e.textContent.trim()))
                .map((e) => e.outerHTML.slice(0, 120));""")
        for view, nameless in zip(VIEWS, found):
            self.assertEqual(nameless, [], view)

    def test_no_label_of_a_tile_is_cut_off_and_reads_as_another_set(self):
        cut = """return [...document.querySelectorAll(".tile .label")].filter((l) => l.scrollWidth > l.clientWidth).map((l) => l.textContent)"""
        for width in (1280, 900, 360):
            self.play_device(width)
            Shared.browser.open(self.serving.address, motion="off")
            for ranks, algorithm, round_number in ((8, "ring", 4), (8, "ring", 14), (12, "recursive_doubling", 3), (5, "rabenseifner", 3)):
                Shared.browser.go(motion="off", ranks=ranks, algorithm=algorithm, round=round_number)
                self.assertEqual(Shared.browser.js(cut), [], (width, ranks, algorithm))

    def test_there_is_one_main_part_and_no_id_twice(self):
        Shared.browser.open(self.serving.address, motion="off")
        states = [{"motion": "off", "view": view, "with": "ring", "ranks": 4} for view in VIEWS]
        found = Shared.browser.tour(states, """const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
            return [ids.filter((id, i) => ids.indexOf(id) !== i), document.querySelectorAll("main:not([role])").length];""")
        self.assertEqual(found, [[[], 1]] * len(VIEWS))

    def test_sixty_four_ranks_fit_a_desk_without_scrolling(self):
        for width in (1280, 1600):
            self.play_device(width)
            Shared.browser.open(self.serving.address, motion="off", ranks=64)
            wide, room = Shared.browser.js("const box = document.querySelector('.grid-scroll'); return [box.scrollWidth, box.clientWidth]")
            self.assertLessEqual(wide, room)

    def test_what_is_wider_than_the_page_is_moved_with_shift_and_an_arrow(self):
        self.play_device(700)
        Shared.browser.open(self.serving.address, motion="off", ranks=64)
        Shared.browser.find(".grid-scroll").send_keys(Keys.SHIFT, Keys.ARROW_RIGHT)
        Shared.browser.until(lambda: Shared.browser.js("return document.querySelector('.grid-scroll').scrollLeft") > 0, "a way to the right")
        self.assertEqual(Shared.browser.js("return document.querySelector('.grid-scroll').dataset.round"), "0")

    def play_device(self, width):
        """A window has a least width; a device that is played has not."""
        Shared.browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                       {"width": width, "height": 740, "deviceScaleFactor": 1, "mobile": width < 500})
        self.addCleanup(Shared.browser.driver.execute_cdp_cmd, "Emulation.clearDeviceMetricsOverride", {})

    def test_on_a_phone_the_times_of_calls_and_algorithms_are_in_sight(self):
        self.play_device(390)
        calls = lambda rank: [(9000 * rank, 20000 + n, f"all_reduce 'layer{n}.weight' of 1048576 float32, sum") for n in range(3)]
        serving = Serving(Shared.program, *(self.path(f"p{rank}.jsonl", trace_of(rank, 3, calls(rank))) for rank in range(3)))
        self.addCleanup(serving.stop)
        right_end = "return Math.max(...[...document.querySelectorAll(arguments[0])].map((e) => e.getBoundingClientRect().right))"
        Shared.browser.open(serving.address, motion="off", view="runs")
        self.assertLessEqual(Shared.browser.js(right_end, ".calls tbody td"), 390)
        self.assertEqual(Shared.browser.js("return getComputedStyle(document.querySelector('.calls tbody td:nth-child(3)'), '::before').content"), '"skew"')
        Shared.browser.go(motion="off", view="cost")
        self.assertLessEqual(Shared.browser.js(right_end, ".figures .best"), 390)

    def test_a_phone_need_not_scroll_sideways_in_either_theme(self):
        self.play_device(360)
        calls = lambda rank: [(9000 * rank, 20000, f"all_reduce 'a name as long as a layer of a model has' of {n} float32, sum") for n in range(3)]
        serving = Serving(Shared.program, *(self.path(f"t{rank}.jsonl", trace_of(rank, 3, calls(rank))) for rank in range(3)))
        self.addCleanup(serving.stop)
        Shared.browser.open(serving.address, motion="off")
        states = [{"motion": "off", "view": view, "theme": theme} for theme in ("light", "dark") for view in VIEWS]
        states += [{"motion": "off", "view": view, "ranks": 72, "algorithm": "recursive_doubling"}
                   for view in ("memory", "spacetime", "machine")]
        found = Shared.browser.tour(states, """return [document.documentElement.dataset.theme,
            document.documentElement.scrollWidth]""")
        for state, (theme, width) in zip(states, found):
            self.assertEqual(theme, state.get("theme", "light"), state)
            self.assertLessEqual(width, 360, state)


if __name__ == "__main__":
    main()
