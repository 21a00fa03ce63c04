"""The judgement of bench/peers, on figures that were made up: no library but Python's is needed.

usage: peers_test.py PATH_OF_TUTTI [unittest arguments]
"""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "bench", "peers"))
sys.dont_write_bytecode = True
import machine  # noqa: E402
import report  # noqa: E402
import rows  # noqa: E402


def figure(contender, p50, **others):
    row = {"contender": contender, "library": contender.split(".")[0], "pages": "4k",
           "before": "near", "after": "near", "collective": "all_reduce", "ranks": 2, "bytes": 8,
           "placing": "out", "p50": p50, "p99": 2 * p50, "mean": p50}
    return rows.typed({**row, **others})


def ratio(*figures):
    (cell,) = report.cells_of(figures)
    return cell.ratio()


class PeersTest(unittest.TestCase):
    def test_what_a_program_prints_is_read_and_the_rest_is_left_out(self):
        text = "hello\nrow,all_reduce,2,8,in,0,100,0.250,0.500,0.300,0\nrow,cut\n"
        (row,) = rows.parse(text, {"contender": "tutti"})
        self.assertEqual((row["contender"], row["bytes"], row["p50"]), ("tutti", 8, 0.25))

    def test_figures_survive_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.csv")
            rows.write(path, [figure("tutti", 1.5)])
            self.assertEqual(rows.read(path)[0]["p50"], 1.5)

    def test_the_best_configuration_of_each_side_counts(self):
        self.assertAlmostEqual(ratio(figure("tutti", 4), figure("tutti.pin", 2),
                                     figure("mpich", 9), figure("openmpi.ucx", 3)), 1.5)

    def test_a_configuration_is_the_median_of_its_rounds(self):
        self.assertAlmostEqual(ratio(figure("tutti", 1), figure("tutti", 2), figure("tutti", 90),
                                     figure("mpich", 2)), 1)

    def test_two_ranks_are_compared_within_a_placement_of_the_cores(self):
        far = {"before": "far", "after": "far"}
        moved = {"before": "near", "after": "far"}
        self.assertAlmostEqual(ratio(figure("tutti", 1), figure("mpich", 2),
                                     figure("tutti", 4, **far), figure("mpich", 32, **far),
                                     figure("tutti", 0.1, **moved)), 4)  # the mean of 2 and 8

    def test_without_a_shared_placement_all_figures_are_compared(self):
        self.assertAlmostEqual(ratio(figure("tutti", 1),
                                     figure("mpich", 3, before="far", after="far")), 3)

    def test_a_cell_without_a_peer_has_no_ratio_and_a_dash(self):
        cells = report.cells_of([figure("tutti", 1), figure("tutti", 1, bytes=64),
                                 figure("mpich", 2, bytes=64)])
        self.assertEqual(report.matrix(cells, 2, "4k")[1], ["all_reduce", "-", "2.00"])

    def test_cells_below_one_are_named(self):
        cells = report.cells_of([figure("tutti", 4), figure("mpich", 1)])
        self.assertIn("0.25", report.shortfalls(cells)[1])

    def test_a_command_that_hangs_is_ended_with_all_it_started(self):
        outcome = machine.run(["sh", "-c", "echo so far; sleep 1000 & sleep 1000"], 0.5)
        self.assertIn("not over", outcome.gap)
        self.assertIn("so far", outcome.text)

    def test_a_command_that_is_not_there_is_a_gap(self):
        self.assertIn("cannot be started", machine.run(["./no such program"], 5).gap)

    def test_the_scripts_explain_themselves(self):
        for name in ("peers", "noise", "any_order"):
            script = os.path.join(ROOT, "bench", "peers", f"{name}.py")
            done = subprocess.run([sys.executable, "-B", script, "--help"], capture_output=True,
                                  text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("--out", done.stdout)


if __name__ == "__main__":
    sys.argv.pop(1)
    unittest.main()
