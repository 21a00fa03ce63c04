import os
import shutil
import unittest

from planted import PROJECT, LintTest

VIOLATIONS = {
    "bugprone-use-after-move": "#include <string>\n#include <utility>\n"
                               "size_t f(std::string s) { std::string t = std::move(s); return s.size() + t.size(); }\n",
    "readability-identifier-naming": "struct badly_named {};\n",
    "performance-unnecessary-value-param": "#include <string>\nsize_t g(std::string s) { return s.size(); }\n",
    "readability-function-size": "int h(int a, int b, int c, int d, int e, int f) { return a + b + c + d + e + f; }\n",
}


class Tidy(LintTest):
    def setUp(self):
        super().setUp()
        shutil.copy(PROJECT / ".clang-tidy", self.root)

    def run_lint(self, *sources):
        return self.lint("tidy", self.plant_build(*sources), os.environ["CLANG_TIDY"])

    def test_finds_violations_in_sources_and_in_the_headers_they_include(self):
        sources = []
        for check, text in VIOLATIONS.items():
            self.plant(f"src/base/{check}.cc", text)
            sources.append(f"src/base/{check}.cc")
        self.plant("src/base/header.h", "#pragma once\ninline int BadlyNamed() { return 0; }\n")
        self.plant("src/base/header.cc", '#include "base/header.h"\n')
        content, said = self.run_lint(*sources, "src/base/header.cc")
        self.assertFalse(content)
        for check in VIOLATIONS:
            self.assertRegex(said, rf"src/base/{check}.cc:\d+:\d+: error: .*{check}")
        self.assertRegex(said, r"src/base/header.h:\d+:\d+: error: .*BadlyNamed")

    def test_is_content_with_sources_of_a_folder_that_do_not_compile_together(self):
        names = [f"src/base/{letter}.cc" for letter in "abc"]
        for name in names:
            self.plant(name, "namespace {\nint same() { return 0; }\n}  // namespace\n"
                             f"int {name[-4]}();\nint {name[-4]}() {{ return same(); }}\n")
        self.assert_content(self.run_lint(*names))

    def test_forgets_a_clean_file_when_it_changes(self):
        source = self.plant("src/base/file.cc", "int fine() { return 0; }\n")
        self.assert_content(self.run_lint("src/base/file.cc"))
        self.assert_content(self.run_lint("src/base/file.cc"))  # now from memory
        source.write_text("int NotFine() { return 0; }\n")
        content, said = self.run_lint("src/base/file.cc")
        self.assertFalse(content)
        self.assertIn("NotFine", said)


unittest.main()
