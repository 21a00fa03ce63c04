#!/usr/bin/env python3
"""sizes.py ROOT: no source file is longer than a reader can hold (STYLE.md, rule 1)."""

import sys

import tree

MAX_LINES = 600
SOURCES = tree.CXX | {".py", ".sh", ".cmake", ".js", ".mjs", ".css", ".html"}


def main(root):
    violations, num_checked = [], 0
    for path, name in tree.files(root, SOURCES):
        if name.startswith(("tests/golden/", "bench/results/")):  # recorded, not written
            continue
        num_checked += 1
        num_lines = len(path.read_bytes().splitlines())
        if num_lines > MAX_LINES:
            violations.append(f"{name}: {num_lines} lines; split it, the limit is {MAX_LINES}")
    tree.finish("lint.sizes", violations, num_checked)


main(sys.argv[1])
