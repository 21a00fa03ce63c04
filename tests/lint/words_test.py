import unittest

from planted import LintTest

# Put together here, so that this file itself has none of them.
LOOSE = "TO" + "DO"
HOME = "/ho" + "me/"


class Words(LintTest):
    def test_finds_each_kind_of_violation(self):
        self.plant("a.cc", f"// {LOOSE}: later\n")
        self.plant("b.md", f"Look at {HOME}somebody/notes.\n")
        self.plant("c.cc", "int x;\n\tint y;\n")
        self.plant("d.txt", "no newline at the end")
        self.assert_finds(self.lint("words"), "a.cc:1: " + LOOSE, "b.md:1: " + HOME, "c.cc:2: a tab",
                          "d.txt: the last line")

    def test_lets_a_loose_end_with_an_issue_be(self):
        self.plant("a.cc", f"// {LOOSE}(#7): when there are two\n")
        self.assert_content(self.lint("words"))

    def test_lets_addresses_and_recorded_tabs_be(self):
        self.plant("a.md", "See https://example.org" + HOME + "page and lib" + HOME + "x.\n")
        self.plant("tests/golden/matrix.txt", "GPU0\tGPU1\n")
        self.assert_content(self.lint("words"))


unittest.main()
