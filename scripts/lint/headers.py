#!/usr/bin/env python3
"""headers.py ROOT BUILD: every header compiles alone, so includes may stand in any order.

BUILD is a build folder with a compile_commands.json; a header is compiled as the sources nearest
to it are. What was clean is remembered.
"""

import pathlib
import subprocess
import sys

import compile_db
import tree


def command_for(header, commands):
    """The command of the source that shares the longest path with the header."""
    def shared(source):
        return sum(1 for a, b in zip(source.parts, header.parts) if a == b)

    return commands[max(sorted(commands), key=shared)]


def look(headers, command):
    [header] = headers
    # Included from a line of its own: gcc warns of #pragma once in a main file.
    ran = subprocess.run([*command, "-fsyntax-only", "-x", "c++", "-"], capture_output=True,
                         input=f'#include "{header}"\n', text=True, check=False)
    return [f"{header}: does not compile alone\n{ran.stderr}"] if ran.returncode != 0 else []


def main(root, build):
    root = pathlib.Path(root).resolve()
    commands = compile_db.commands(build, root)
    headers = [path for path, name in tree.files(root, {".h"})
               if "/cuda/" not in name]
    jobs = [(header, command_for(header, commands)) for header in headers]
    clean = compile_db.CleanFiles(root, "headers", pathlib.Path(__file__).read_text())
    tree.finish("lint.headers", compile_db.look_at_all(jobs, clean, look), len(jobs))


main(*sys.argv[1:])
