"""Every algorithm on the page: every view of it, every tile of every round, every line of its lesson.

usage: algorithms_test.py PATH_OF_TUTTI [unittest arguments]
"""
import json

from cases import OF_ALGORITHMS, RANKS, READ_ALL_ROUNDS, READ_LIT_LINES, PageTest, Shared, main
from reading import Reading
from serving import MODEL, Serving, plan


class EveryAlgorithm(PageTest):
    def test_every_view_of_every_algorithm_loads_without_a_complaint(self):
        Shared.browser.open(self.serving.address, motion="off")
        for collective, algorithm in self.algorithms:
            with self.subTest(collective=collective, algorithm=algorithm):
                states = [{"motion": "off", "collective": collective, "algorithm": algorithm, "ranks": RANKS,
                           "view": view} for view in OF_ALGORITHMS]
                found = Shared.browser.tour(states, """return [document.getElementById("verdict").className,
                    document.querySelector("main svg, main table") !== null]""")
                self.assertEqual(found, [["proved", True]] * len(OF_ALGORITHMS))

    def test_every_tile_of_every_round_is_as_an_independent_reading_has_it(self):
        Shared.browser.open(self.serving.address, motion="off")
        for collective, algorithm in self.algorithms:
            with self.subTest(collective=collective, algorithm=algorithm):
                self.compare(collective, algorithm)

    def compare(self, collective, algorithm):
        state = {"motion": "off", "collective": collective, "algorithm": algorithm, "ranks": RANKS}
        shown, = Shared.browser.tour([state], READ_ALL_ROUNDS)
        peer = {"peer": 1} if collective == "send_recv" else {}
        history = self.history(collective=collective, algorithm=algorithm, ranks=RANKS, **peer)
        self.assertEqual(len(shown), len(history["rounds"]))
        topo = MODEL.format(ranks=RANKS) if algorithm in Shared.made else None
        reading = Reading(json.loads(plan(Shared.program, collective, algorithm, RANKS, topo)))
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


# Which lines of code run in which round, checked against what the algorithms' files say: those with several lines for one kind
# of step, at a number of ranks that shows them apart.
LIT = {
    # Halve twice, then double twice; a result is sent in the round in which its last half was added.
    ("all_reduce", "rabenseifner", 4, 0): [[1], [1, 2], [2, 4], [4, 5], [5]],
    ("all_reduce", "two_shot", 4, 0): [[0, 2], [1, 2, 3, 4], [5]],
    # Rank 0 sits out: it gives at first, and is given at last.
    ("all_reduce", "recursive_doubling", 5, 0): [[0, 3], [1, 3, 4], [3, 4], [4, 6], [7]],
    # Two servers of two: inside, across there and back, inside.
    ("all_reduce", "two_level", 4, 2): [[0], [1, 2], [2], [2, 3], [4]],
    ("all_to_all", "two_level", 4, 2): [[0], [1, 2, 3], [4, 5]],
    ("broadcast", "scatter_all_gather", 4, 0): [[0, 2, 3], [1, 2, 3], [1, 3, 4], [4, 5], [4, 5], [5]],
    ("broadcast", "spread", 3, 0): [[0, 1, 3], [2, 3], [4]],
    ("all_to_all", "bruck", 4, 0): [[1, 2], [1, 2, 3], [3, 4]],
    ("all_reduce", "pull", 3, 0): [[0], [1], [1, 2], [3]],
    # Five servers of eight: four rounds across, seven inside.
    ("all_to_all", "two_level", 40, 8): [[0], *[[0, 1]] * 3, [1, 2, 3], *[[4, 5]] * 7],
    # More ranks than have their steps on the page: 64 and 8 that sit out; nine servers of eight.
    ("all_reduce", "recursive_doubling", 72, 0): [[0, 3], [1, 3, 4], *[[3, 4]] * 5, [4, 6], [7]],
    ("all_reduce", "rabenseifner", 128, 0): [[1], *[[1, 2]] * 6, [2, 4], *[[4, 5]] * 6, [5]],
    ("all_reduce", "two_shot", 72, 0): [[0, 2], [1, 2, 3, 4], [5]],
    ("all_to_all", "two_level", 72, 8): [[0], *[[0, 1]] * 7, [1, 2, 3], *[[4, 5]] * 7],
}


class Lessons(PageTest):
    def test_the_lines_that_run_in_a_round_are_lit_and_no_others_of_their_kind(self):
        Shared.browser.open(self.serving.address, motion="off", view="learn")
        for (collective, algorithm, ranks, group), wanted in LIT.items():
            with self.subTest(collective=collective, algorithm=algorithm):
                state = {"motion": "off", "view": "learn", "collective": collective, "algorithm": algorithm, "ranks": ranks}
                shown, = Shared.browser.tour([{**state, **({"group_size": group} if group else {})}], READ_LIT_LINES)
                self.assertEqual([[i for i, (_, is_lit) in enumerate(lines) if is_lit] for _, lines in shown], wanted)

    def test_every_algorithm_has_one_and_its_code_has_a_line_for_every_step(self):
        Shared.browser.open(self.serving.address, motion="off", view="learn")
        for collective, algorithm in self.algorithms:
            states = [{"motion": "off", "view": "learn", "collective": collective, "algorithm": algorithm, "ranks": ranks}
                      for ranks in (RANKS, 4)]  # and a power of two
            with self.subTest(collective=collective, algorithm=algorithm):
                for rounds in Shared.browser.tour(states, READ_LIT_LINES):
                    self.check_lines(rounds)

    def check_lines(self, rounds):
        """In every round, each kind of step that runs has a line that is lit."""
        for kinds, lines in rounds:
            mentioned = {kind for its, is_lit in lines if is_lit for kind in its.split()}
            self.assertLessEqual(set(kinds), mentioned)

    def test_a_quiz_asks_for_the_rounds_of_the_schedule_that_is_shown(self):
        Shared.browser.open(self.serving.address, motion="off", view="learn")
        for collective, algorithm, ranks, rounds in (("all_reduce", "ring", 5, 8), ("broadcast", "binomial", 8, 3), ("all_gather", "direct", 3, 1)):
            Shared.browser.go(motion="off", view="learn", collective=collective, algorithm=algorithm, ranks=ranks)
            right = Shared.browser.js("""const box = document.querySelector(".quiz fieldset");
                return [...box.querySelectorAll("button")].filter((b) => { b.click(); return b.className === "good"; }).map((b) => b.textContent);""")
            self.assertEqual(right, [str(rounds)])

    def test_a_file_gets_no_lesson_for_its_name(self):
        schedule = json.loads(plan(Shared.program, "all_reduce", "one_shot", 3))
        schedule["name"] = "ring"
        with Serving(Shared.program, self.path("ring.json", json.dumps(schedule))) as serving:
            Shared.browser.open(serving.address, motion="off", view="learn")
            self.assertIn("no lesson", Shared.browser.text(".idea"))
            self.assertEqual(Shared.browser.js("return document.querySelectorAll('.code li').length"), 0)

    def test_a_quiz_says_whether_an_answer_is_right(self):
        Shared.browser.open(self.serving.address, motion="off", view="learn")
        replies = Shared.browser.js("""return [...document.querySelectorAll(".quiz fieldset")].map((box) =>
            [...box.querySelectorAll("button")].map((b) => { b.click(); return box.querySelector(".reply").textContent[0]; }).sort().join(""));""")
        self.assertTrue(replies)
        for reply in replies:
            self.assertEqual(reply.count("✓"), 1)


if __name__ == "__main__":
    main()
