import unittest

from planted import LintTest


class Sizes(LintTest):
    def test_finds_a_file_of_601_lines(self):
        self.plant("src/base/long.cc", "int x;\n" * 601)
        self.plant("src/base/longest_allowed.cc", "int x;\n" * 600)
        self.assert_finds(self.lint("sizes"), "src/base/long.cc: 601 lines")

    def test_lets_recorded_files_be_long(self):
        self.plant("src/base/short.cc", "int x;\n")
        self.plant("tests/golden/recorded.py", "1\n" * 1000)
        self.assert_content(self.lint("sizes"))

    def test_is_not_content_with_an_empty_tree(self):
        self.assertFalse(self.lint("sizes")[0])


unittest.main()
