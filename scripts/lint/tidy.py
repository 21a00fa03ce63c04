#!/usr/bin/env python3
"""tidy.py ROOT BUILD CLANG_TIDY: clang-tidy, with the .clang-tidy of ROOT, finds nothing.

Looks at the sources of tree.is_tidied; headers are seen through them. BUILD has a
compile_commands.json; what was clean is remembered. The sources of a folder are looked at as one,
since most of the time goes into the headers that they share, or in parts where they do not compile
as one.
"""

import pathlib
import subprocess
import sys
import tempfile

import compile_db
import tree


def main(root, build, clang_tidy):
    root = pathlib.Path(root).resolve()
    settings = [(root / ".clang-tidy").read_text(), pathlib.Path(__file__).read_text(),
                subprocess.run([clang_tidy, "--version"], capture_output=True, text=True, check=True).stdout]

    def look(files, command):
        with tempfile.NamedTemporaryFile("w", suffix=".cc") as all_of_them:
            all_of_them.writelines(f'#include "{file}"\n' for file in files)
            all_of_them.flush()
            seen = str(files[0]) if len(files) == 1 else all_of_them.name
            # The command is the compiler's, which may not be clang.
            ran = subprocess.run([clang_tidy, "--quiet", f"--config-file={root}/.clang-tidy", seen,
                                  "--", *command[1:], "-Wno-unknown-warning-option"],
                                 capture_output=True, text=True, check=False)
        # Complaints go to stdout; stderr counts the warnings of system headers, unless all failed.
        return [ran.stdout or ran.stderr] if ran.returncode != 0 else []

    jobs = [(file, command) for file, command in sorted(compile_db.commands(build, root).items())
            if tree.is_tidied(root, file)]
    clean = compile_db.CleanFiles(root, "tidy", settings)
    tree.finish("lint.tidy", compile_db.look_at_all(jobs, clean, look, most=16), len(jobs))


main(*sys.argv[1:])
