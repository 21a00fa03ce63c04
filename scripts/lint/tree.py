"""The project's files as every lint sees them, and the one way to report what is wrong."""

import pathlib
import subprocess
import sys

CXX = {".h", ".cc", ".cu", ".cuh"}


def files(root, suffixes=None):
    """The files below root that git knows or would add, or all but build/ where git cannot say.

    Yields (path, name): the pathlib.Path, and the name relative to root with forward slashes.
    """
    root = pathlib.Path(root).resolve()
    asked = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "."],
        capture_output=True, text=True, check=False)
    if asked.returncode == 0:
        names = [name for name in asked.stdout.split("\0") if name]
    else:
        names = [path.relative_to(root).as_posix() for path in root.rglob("*")]
        names = [name for name in names if not name.startswith(("build/", ".git/"))]
    for name in sorted(set(names)):
        path = root / name
        if path.is_file() and (suffixes is None or path.suffix in suffixes):
            yield path, name


def is_tidied(root, source):
    """Whether lint.tidy compiles the source: those of the library and what the program is made of.

    The verbs themselves, tools/*.cc, are little but descriptions of options, and the parser that
    they include takes twenty seconds a file.
    """
    below = any(source.is_relative_to(root / folder) for folder in ("src", "tools"))
    return source.suffix == ".cc" and below and source.parent != root / "tools"


def text_of(path):
    """The file's text, or None where it is not text."""
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None


def finish(lint, violations, num_checked):
    """Prints the violations as they come and ends the process: 1 for any, or for nothing checked."""
    num_violations = 0
    for violation in violations:
        num_violations += 1
        print(violation, flush=True)
    if num_checked == 0:
        print(f"{lint}: found nothing to check, which cannot be right")
    print(f"{lint}: {num_checked} files, {num_violations} violations")
    sys.exit(1 if num_violations or num_checked == 0 else 0)
