"""The colours of the page, reckoned from style.css: contrast with the paper in both themes (WCAG 2.2), and whether
colour-blind eyes tell apart what only colour tells apart.

usage: palette_test.py
"""
import itertools
import math
import os
import re
import unittest

STYLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "view", "page", "style.css")

TEXT = ("ink", "soft", "accent", "good", "bad")
# Thin lines, and bars that are told apart by their colour.
LINES = ("wait", "message", "edge", "send", "recv", "reduce", "copy",
         *(f"heat-{i}" for i in range(5)), *(f"hue-{i}" for i in range(8)), *(f"ramp-{i}" for i in range(5)))

# How eyes without one kind of cone see a colour, as linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
EYES = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopic": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopic": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopic": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
# Distance in OKLab, times 100: about 2 is seen side by side; this much is seen across a picture.
APART = 8


def themes():
    """Of each theme, the colour of every name."""
    with open(STYLE) as file:
        css = file.read()
    blocks = {"light": css.split(":root {")[1], "dark": css.split(':root[data-theme="dark"] {')[1]}
    return {theme: dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block.split("}")[0])) for theme, block in blocks.items()}


def linear(colour):
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def contrast(one, other):
    light = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (linear(one), linear(other)))
    return (light[1] + 0.05) / (light[0] + 0.05)


def seen(colour, eye):
    """The colour in OKLab, as that eye sees it."""
    r, g, b = (min(1, max(0, sum(a * c for a, c in zip(row, linear(colour))))) for row in EYES[eye])
    cones = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b, 0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b,
             0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b)
    l, m, s = (cone ** (1 / 3) for cone in cones)
    return (0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s)


class Palette(unittest.TestCase):
    def each(self, names):
        for theme, colours in themes().items():
            for name in names:
                with self.subTest(theme=theme, name=name):
                    yield colours, colours[name]

    def test_black_on_white_has_the_contrast_that_the_standard_says(self):
        self.assertAlmostEqual(contrast("#000000", "#ffffff"), 21)
        self.assertAlmostEqual(contrast("#777777", "#ffffff"), 4.48, places=2)

    def test_text_is_read_on_paper_and_on_cards(self):
        for colours, colour in self.each(TEXT):
            for ground in ("paper", "card"):
                self.assertGreaterEqual(contrast(colour, colours[ground]), 4.5)

    def test_lines_and_bars_stand_out_from_paper_and_cards(self):
        for colours, colour in self.each(LINES):
            for ground in ("paper", "card"):
                self.assertGreaterEqual(contrast(colour, colours[ground]), 3)

    def test_letters_are_read_on_the_bars_of_calls(self):
        for colours, colour in self.each(("send", "reduce", "copy")):
            self.assertGreaterEqual(contrast(colour, colours["on-bar"]), 4.5)

    def test_every_eye_tells_apart_ranks_trees_lines_and_kinds_of_work(self):
        groups = [[f"hue-{i}" for i in range(8)], ["send", "recv", "reduce", "copy"]]
        for theme, colours in themes().items():
            for eye in EYES:
                for one, other in (pair for group in groups for pair in itertools.combinations(group, 2)):
                    with self.subTest(theme=theme, eye=eye, pair=(one, other)):
                        self.assertGreaterEqual(100 * math.dist(seen(colours[one], eye), seen(colours[other], eye)), APART)

    def test_more_is_darker_on_light_paper_and_lighter_on_dark(self):
        for theme, colours in themes().items():
            steps = [seen(colours[f"ramp-{i}"], "usual")[0] for i in range(5)]
            self.assertEqual(steps, sorted(steps, reverse=theme == "light"))


if __name__ == "__main__":
    unittest.main()
