#!/usr/bin/env python3
"""tidy.py ROOT BUILD CLANG_TIDY: clang-tidy, with the .clang-tidy of ROOT, finds nothing.

Looks at the sources of tree.is_tidied; headers are seen through them. BUILD has a
compile_commands.json; what was clean is remembered.
"""

import pathlib
import subprocess
import sys

import compile_db
import tree


def main(root, build, clang_tidy):
    root = pathlib.Path(root).resolve()
    settings = [(root / ".clang-tidy").read_text(), pathlib.Path(__file__).read_text(),
                subprocess.run([clang_tidy, "--version"], capture_output=True, text=True, check=True).stdout]

    def look(file, command):
        # The command is the compiler's, which may not be clang.
        ran = subprocess.run([clang_tidy, "--quiet", str(file), "--", *command[1:],
                              "-Wno-unknown-warning-option"], capture_output=True, text=True,
                             check=False)
        # Complaints go to stdout; stderr counts the warnings of system headers, unless all failed.
        return [ran.stdout or ran.stderr] if ran.returncode != 0 else []

    jobs = [(file, command) for file, command in sorted(compile_db.commands(build, root).items())
            if tree.is_tidied(root, file)]
    clean = compile_db.CleanFiles(root, "tidy", settings)
    tree.finish("lint.tidy", compile_db.look_at_all(jobs, clean, look), len(jobs))


main(*sys.argv[1:])
