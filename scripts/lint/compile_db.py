"""The compile commands of a build, and a memory of the files that were found clean.

Looking at a file with a compiler takes seconds, so a clean file is not looked at again until it,
a header that it includes, the command, the tool or the tool's settings change.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess


def commands(build, root):
    """file -> its compile command, for the files below root.

    Without launcher, input and output, and without precompiled headers: a lint wants to see what a
    file includes by itself.
    """
    found = {}
    for entry in json.loads((pathlib.Path(build) / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        launchers = [i for i, word in enumerate(words) if pathlib.Path(word).name == "ccache"]
        words = words[launchers[0] + 1:] if launchers else words
        flags, skip = [], False
        for word in words:
            if skip or word in {"-c", entry["file"]}:
                skip = False
            elif word in {"-o", "-MF", "-MT", "-include"}:
                skip = True
            elif word != "-MD":
                flags.append(word)
        file = pathlib.Path(entry["file"])
        if file.is_relative_to(root):
            found[file] = flags
    return found


def digest(path):
    try:
        return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def includes_of(command, file):
    """The files that compiling this one reads, itself too; the system's are left out."""
    ran = subprocess.run([*command, "-MM", "-x", "c++", str(file)], capture_output=True, text=True,
                         check=False)
    return shlex.split(ran.stdout.replace("\\\n", " ").partition(":")[2])


class CleanFiles:
    """Remembers which files of a tree a tool with certain settings found clean.

    The memory is the user's, like ccache's, and speaks of paths below the tree: clones share it.
    """

    def __init__(self, root, tool, settings):
        cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        self._root = str(root)
        self._folder = pathlib.Path(cache) / "tutti/lint" / tool
        self._folder.mkdir(parents=True, exist_ok=True)
        self._settings = settings

    def _record(self, file, command):
        key = json.dumps([self._settings, str(file), command]).replace(self._root, ".")
        return self._folder / hashlib.sha256(key.encode()).hexdigest()

    def _digest(self, path):
        return digest(pathlib.Path(self._root) / path)

    def __contains__(self, job):
        try:
            known = json.loads(self._record(*job).read_text())
        except (OSError, ValueError):
            return False
        return all(self._digest(path) == seen for path, seen in known.items())

    def add(self, file, command):
        paths = [path.removeprefix(self._root + "/") for path in includes_of(command, file)]
        if paths:
            known = {path: self._digest(path) for path in paths}
            self._record(file, command).write_text(json.dumps(known))


def look_at_all(jobs, clean, look, most=1):
    """Runs look(files, command), which returns complaints, for all jobs that are not known clean.

    Up to `most` files of a folder are looked at together. Where that finds anything they are
    divided, so a complaint is always about one file. Yields all complaints.
    """
    def visit(batch):
        complaints = look([file for file, _ in batch], batch[0][1])
        if not complaints:
            for job in batch:
                clean.add(*job)
        elif len(batch) > 1:
            # Neighbours in the alphabet are often alike, and then do not compile together.
            complaints = visit(batch[::2]) + visit(batch[1::2])
        return complaints

    unknown = [job for job in jobs if job not in clean]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for complaints in pool.map(visit, batches_of(unknown, most)):
            yield from complaints


def batches_of(jobs, most):
    """The jobs in groups of one folder and one command."""
    groups = {}
    for file, command in jobs:
        groups.setdefault((file.parent, tuple(command)), []).append((file, command))
    return [group[i:i + most] for group in groups.values() for i in range(0, len(group), most)]
