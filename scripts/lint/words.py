#!/usr/bin/env python3
"""words.py ROOT: text that a reader elsewhere could use: no loose ends, no paths of one machine.

In every text file no path leads into somebody's own folders, there are no tabs, and the last line
ends. In everything but prose, a note of work left undone names its issue.
"""

import re
import sys

import tree

# The brackets keep these patterns from matching themselves.
LOOSE_END = re.compile(r"\b(TOD[O]|FIXM[E]|XX[X])\b(?!\(#\d+\))")
MACHINE_PATH = re.compile(r"(?<![\w.:/-])/(hom[e]|User[s]|roo[t]|wor[k]|mn[t])/")
RECORDED = ("tests/golden/", "bench/results/")  # what other programs printed, kept as it was


def violations_in(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        if not name.endswith(".md") and (loose := LOOSE_END.search(line)):
            yield f"{name}:{number}: {loose[1]} without an issue: write {loose[1]}(#12)"
        if path := MACHINE_PATH.search(line):
            yield f"{name}:{number}: {path[0]}... exists on one machine only"
        if "\t" in line and not name.startswith(RECORDED):
            yield f"{name}:{number}: a tab; indent with spaces"
    if text and not text.endswith("\n"):
        yield f"{name}: the last line does not end in a newline"


def main(root):
    violations, num_checked = [], 0
    for path, name in tree.files(root):
        text = tree.text_of(path)
        if text is None:
            continue
        num_checked += 1
        violations += violations_in(name, text)
    tree.finish("lint.words", violations, num_checked)


main(sys.argv[1])
