import os
import shutil
import unittest

from planted import PROJECT, LintTest


class Format(LintTest):
    def setUp(self):
        super().setUp()
        shutil.copy(PROJECT / ".clang-format", self.root)
        self.plant("src/base/tidy.h", "int* f(int x);\n")

    def run_lint(self, *options):
        return self.lint("format", os.environ["CLANG_FORMAT"], *options)

    def test_finds_a_file_that_is_laid_out_otherwise(self):
        self.plant("src/base/wild.cc", "int *  f( int x ) { return  0 ; }\n")
        self.assert_finds(self.run_lint(), "src/base/wild.cc: run ./dev format")

    def test_mends_it_when_asked(self):
        wild = self.plant("src/base/wild.cc", "int *  f( int x ) { return  0 ; }\n")
        self.assert_content(self.run_lint("--fix"))
        self.assertEqual(wild.read_text(), "int* f(int x) { return 0; }\n")
        self.assert_content(self.run_lint())


unittest.main()
