"""A small tree with planted violations, and what a lint says of it."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]


class LintTest(unittest.TestCase):
    """Plant files with self.plant, run the lint with self.lint, look at what it printed."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()

    def plant(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def plant_build(self, *sources):
        """A build folder that knows how to compile the sources."""
        compiler = os.environ.get("CXX", "c++")
        flags = f"-std=c++20 -Wall -I{self.root}/src -I{self.root}/include"
        entries = [{"directory": str(self.root), "file": str(self.root / source),
                    "command": f"{compiler} {flags} -o out.o -c {self.root / source}"}
                   for source in sources]
        return self.plant("build/compile_commands.json", json.dumps(entries)).parent

    def lint(self, name, *arguments):
        """(whether the lint is content, what it printed)"""
        script = PROJECT / "scripts/lint" / f"{name}.py"
        ran = subprocess.run([sys.executable, "-B", script, self.root, *arguments], text=True,
                             capture_output=True, check=False)
        self.assertEqual(ran.stderr, "")
        return ran.returncode == 0, ran.stdout

    def assert_content(self, answer):
        self.assertTrue(answer[0], answer[1])

    def assert_finds(self, answer, *places):
        """The lint fails, and each line it prints but the last is about one of the places."""
        self.assertFalse(answer[0], answer[1])
        said = answer[1].splitlines()[:-1]
        self.assertEqual(len(said), len(places), answer[1])
        for line, place in zip(said, places):
            self.assertIn(place, line)
