import shutil
import unittest

from planted import PROJECT, LintTest

VIOLATIONS = {  # each file may not have its include
    "include/tutti/peeks.h": '#include "base/ids.h"',
    "include/tutti/vendor.h": "#include <fmt/format.h>",
    "src/base/up.cc": '#include "ir/step.h"',
    "src/engine/cpu/whole.cc": '#include "verify/check.h"',
    "src/ir/sideways.cc": '#include "topo/topology.h"',
    "src/new_folder/file.cc": '#include "base/ids.h"',
    "src/plan/algorithms/proof.cc": '#include "verify/check.h"',
    "src/sim/relative.cc": '#include "../verify/check.h"',
    "src/transport/shm/cuda.cc": "#include <cuda_runtime.h>",
    "src/transport/shm/ucx.cc": "#include <ucp/api/ucp.h>",
    "src/verify/plan.cc": '#include "plan/algorithm.h"',
    "examples/inside.cc": '#include "ir/step.h"',
    "frontends/torch/inside.cc": '#include "engine/engine.h"',
    "tools/xml.cc": "#include <tinyxml2.h>",
}
ALLOWED = {
    "include/tutti/public.h": '#include "tutti/result.h"\n#include <vector>',
    "src/comm/all.cc": '#include "plan/algorithm.h"\n#include "verify/check.h"',
    "src/engine/cpu/one.cc": '#include "verify/verified_schedule.h"\n#include "engine/step.h"',
    "src/engine/cuda/kernel.cu": "#include <cuda_runtime.h>",
    "src/sim/ordinary.cc": '#include "sim/queue.h"\n#include "topo/topology.h"\n#include <fmt/format.h>',
    "tests/unit/ir/anything.cc": '#include "verify/check.h"\n#include "plan/algorithm.h"',
    "tools/verb.cc": '#include "plan/algorithm.h"\n#include "verb.h"',
}


class Includes(LintTest):
    def setUp(self):
        super().setUp()
        self.page = self.root / "ARCHITECTURE.md"
        shutil.copy(PROJECT / "ARCHITECTURE.md", self.page)
        for name, text in ALLOWED.items():
            self.plant(name, text + "\n")

    def test_finds_every_planted_violation_and_nothing_else(self):
        for name, text in VIOLATIONS.items():
            self.plant(name, "#pragma once\n" + text + "\n")
        self.assert_finds(self.lint("includes"), *(f"{name}:2: " for name in sorted(VIOLATIONS)))

    def test_is_content_with_what_the_table_allows(self):
        self.assert_content(self.lint("includes"))

    def change_page(self, old, new):
        text = self.page.read_text()
        self.assertIn(old, text)
        self.page.write_text(text.replace(old, new))

    def test_goes_by_the_page(self):
        self.change_page("| `sim` | `base ir topo trace` |", "| `sim` | `base ir trace` |")
        self.assert_finds(self.lint("includes"), "src/sim/ordinary.cc:2: topo/topology.h")

    def test_refuses_a_table_that_lets_plan_see_verify(self):
        self.change_page("| `plan` | `base", "| `plan` | `verify base")
        self.assert_finds(self.lint("includes"), "plan and verify must not see each other")

    def test_refuses_a_cycle(self):
        self.change_page("| `topo`, `ir`, `trace` | `base` |", "| `topo`, `ir`, `trace` | `base plan` |")
        self.assert_finds(self.lint("includes"), "which no row above is about")

    def test_refuses_a_page_without_the_table(self):
        self.change_page("| folder | may include, itself aside |", "| folder | may include |")
        self.assert_finds(self.lint("includes"), "needs exactly one table")


unittest.main()
