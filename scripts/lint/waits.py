#!/usr/bin/env python3
"""waits.py ROOT: every wait says why it ends (STYLE.md, rule 22).

A wait is a call of something named wait, wait_for... or wait_until..., of a futex or semaphore, or a
loop that polls an atomic. Somewhere in the WINDOW lines before it, or on its own line, stands a
comment with "Liveness:".

PURE folders compute and never wait. They speak of waits all the time, so names mean nothing there;
instead they may not include what a wait would need.
"""

import re
import sys

import tree

WINDOW = 8
PURE = ("src/ir/", "src/plan/", "src/sim/", "src/verify/")
THREADING = re.compile(
    r"\s*#\s*include\s*<(atomic|barrier|condition_variable|future|latch|mutex|semaphore|"
    r"shared_mutex|stop_token|thread|pthread\.h|semaphore\.h|linux/futex\.h)>")
CALL = re.compile(r"\b(?:wait|wait_for\w*|wait_until\w*|futex\w*|sem_wait|nanosleep)\s*\(")
# In the condition of a while, or the middle part of a for.
POLL = re.compile(r"\b(?:while\s*\(|for\s*\([^;]*;)[^;]*\b(?:load|test|try_lock|compare_exchange\w*)\s*\(")
SYSCALL = re.compile(r"\bSYS_futex\b")


def code_of(line):
    return re.sub(r'"(?:\\.|[^"\\])*"', '""', line).partition("//")[0]


def is_declaration(code, call):
    """Whether the name is declared or defined here and not called: a type stands before it."""
    before = re.sub(r"(\w+::)+$", "", code[:call.start()]).rstrip()
    if before.endswith(("->", "&&")):
        return False
    last_word = re.search(r"[\w>&*\]]+$", before)
    return bool(last_word) and last_word[0] not in {"return", "else", "do"}


def waits_on(code):
    if POLL.search(code) or SYSCALL.search(code):
        return True
    return any(not is_declaration(code, call) for call in CALL.finditer(code))


def violations_in(name, lines):
    for index, line in enumerate(lines):
        if name.startswith(PURE):
            if header := THREADING.match(line):
                yield f"{name}:{index + 1}: <{header[1]}> in a folder that never waits"
        elif waits_on(code_of(line)):
            near = lines[max(0, index - WINDOW):index + 1]
            if not any("Liveness:" in text for text in near):
                yield f"{name}:{index + 1}: a wait without '// Liveness:', the reason it ends"


def main(root):
    violations, num_checked = [], 0
    for path, name in tree.files(root, tree.CXX):
        if not name.startswith(("src/", "include/", "frontends/")):
            continue
        num_checked += 1
        violations += violations_in(name, path.read_text(encoding="utf-8").splitlines())
    tree.finish("lint.waits", violations, num_checked)


main(sys.argv[1])
