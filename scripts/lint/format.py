#!/usr/bin/env python3
"""format.py ROOT CLANG_FORMAT [--fix]: C++ is laid out as .clang-format says, by that program."""

import subprocess
import sys

import tree


def main(root, clang_format, *options):
    names = [name for _, name in tree.files(root, tree.CXX)]
    how = ["-i"] if "--fix" in options else ["--dry-run", "-Werror"]
    # One run over all files: starting the program costs more than formatting a file.
    ran = subprocess.run([clang_format, *how, *names], cwd=root, text=True, check=False,
                         capture_output=True)
    wrong = {line.partition(":")[0] for line in ran.stderr.splitlines() if ": error:" in line}
    if ran.returncode != 0 and not wrong:
        sys.exit(f"{clang_format} failed:\n{ran.stderr}")
    tree.finish("lint.format", [f"{name}: run ./dev format" for name in sorted(wrong)], len(names))


main(*sys.argv[1:])
