"""What all cases of the page share: one server, one browser, and the list of algorithms."""
import json
import os
import sys
import tempfile
import unittest

from browser import Browser
from serving import Serving, run

RANKS = 5  # odd and prime: nothing divides by chance
VIEWS = ("memory", "learn", "compare", "order", "spacetime", "machine", "cost", "runs")
OF_ALGORITHMS = tuple(view for view in VIEWS if view not in ("order", "runs"))


class Shared:
    """Set once, by main()."""
    program = ""
    browser = None
    serving = None
    algorithms = []  # (collective, name)
    made = set()  # names of algorithms that are made for a machine


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
        cls.serving = Shared.serving
        cls.algorithms = Shared.algorithms

    def setUp(self):
        Shared.browser.widen()
        Shared.browser.complaints()

    def tearDown(self):
        self.assertEqual(Shared.browser.complaints(), [])

    def path(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def history(self, **parameters):
        """The order of steps, as the program has it."""
        return Shared.browser.later("return (await (await fetch('api/schedule?' + arguments[0])).json()).history",
                             "&".join(f"{name}={value}" for name, value in parameters.items()))


def list_algorithms(program):
    """As an exported page has them."""
    page = run(program, "view", "--export", "-", "--ranks", 2).stdout
    data = json.loads(page.split('id="data">')[1].split("</script>")[0].replace("<\\/", "</"))
    return data["catalogue"]["algorithms"]


def main():
    Shared.program = sys.argv.pop(1)
    listed = list_algorithms(Shared.program)
    Shared.algorithms = [(a["collective"], a["name"]) for a in listed]
    Shared.made = {a["name"] for a in listed if a["needs_machine"]}
    with Serving(Shared.program) as Shared.serving:
        Shared.browser = Browser()
        try:
            done = unittest.main(module="__main__", verbosity=2, exit=False).result
        finally:
            Shared.browser.quit()
    sys.exit(not done.wasSuccessful())
