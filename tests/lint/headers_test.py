import unittest

from planted import LintTest


class Headers(LintTest):
    def setUp(self):
        super().setUp()
        self.plant("src/ir/use.cc", '#include <string>\n#include "ir/needs_string.h"\n')
        self.plant("src/ir/alone.h", "#pragma once\n#include <string>\ninline std::string f() { return {}; }\n")
        self.build = self.plant_build("src/ir/use.cc")

    def test_finds_a_header_that_leans_on_its_includer(self):
        header = self.plant("src/ir/needs_string.h", "#pragma once\nstd::string f();\n")
        content, said = self.lint("headers", self.build)
        self.assertFalse(content)
        self.assertIn("src/ir/needs_string.h: does not compile alone", said)
        self.assertNotIn("alone.h:", said)

        header.write_text("#pragma once\n#include <string>\nstd::string f();\n")
        self.assert_content(self.lint("headers", self.build))

    def test_forgets_a_clean_header_when_one_it_includes_changes(self):
        self.plant("src/ir/outer.h", '#pragma once\n#include "ir/inner.h"\ninline Inner outer;\n')
        inner = self.plant("src/ir/inner.h", "#pragma once\nstruct Inner {};\n")
        self.assert_content(self.lint("headers", self.build))
        self.assert_content(self.lint("headers", self.build))  # now from memory
        inner.write_text("#pragma once\nstruct Renamed {};\n")
        content, said = self.lint("headers", self.build)
        self.assertFalse(content)
        self.assertIn("src/ir/outer.h: does not compile alone", said)


unittest.main()
