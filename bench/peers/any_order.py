"""any_order.py: two all_reduces in opposite orders on half of the ranks, under every library.

Writes what happened to bench/results/any_order.md. Each run has a time limit: a run that is not over
then hangs, and is ended.

  ./dev bench any_order
"""

import argparse
import datetime
import os
import re

import contenders
import machine
import report

RANKS = 4
LIMIT_S = 10
# Name, communicators, mode, elements of A and of B.
SCENES = [
    ("started, then waited for; one communicator, equal sizes", "one", "nonblocking", 256, 256),
    ("started, then waited for; one communicator, 8 B and 64 B", "one", "nonblocking", 2, 16),
    ("started, then waited for; one communicator, 1 KiB and 64 KiB", "one", "nonblocking", 256,
     16384),
    ("started, then waited for; two communicators that overlap", "two", "nonblocking", 256, 16384),
    ("one call after the other; one communicator, equal sizes", "one", "blocking", 256, 256),
    ("one call after the other; one communicator, 1 KiB and 64 KiB", "one", "blocking", 256, 16384),
    ("one call after the other; two communicators that overlap", "two", "blocking", 256, 16384),
]


def libraries(folder, tutti):
    by_tutti = [tutti, "run", "-n", str(RANKS), "--no-prefix", "--grace", "1", "--"]
    yield "tutti", [*by_tutti, f"{folder}/any_order_tutti"]
    yield "Open MPI", [*contenders.mpirun_openmpi(RANKS, ["--oversubscribe"]),
                       f"{folder}/any_order_openmpi"]
    yield "MPICH", ["mpirun.mpich", "-np", str(RANKS), f"{folder}/any_order_mpich"]
    yield "Gloo", [*by_tutti, f"{folder}/any_order_gloo"]


def verdict(outcome):
    """One phrase: completes, wrong result, hangs, ends with an error."""
    lines = outcome.text.splitlines()
    if outcome.gap.startswith("not over"):
        return f"**hangs** (ended after {LIMIT_S} s)"
    if any("wrong" in line for line in lines):
        return "**wrong result**, no error" if not outcome.gap else "**wrong result**, then an error"
    if not outcome.gap and sum(line.endswith("right") for line in lines) == RANKS:
        return "completes, right"
    reasons = [line for line in lines if line.startswith("error:")]
    if reasons:
        return f"error: {shortened(reasons[0][7:])}"
    return f"**aborts**: {shortened(reason_in(outcome.errors) or outcome.gap)}"


def reason_in(errors):
    marks = ("MPI_ERR", "runcat", "what():", "Segmentation", "signal", "error")
    for mark in marks:
        for line in errors.splitlines():
            if mark in line:
                said = line.split("***")[-1].strip() or line
                return re.sub(r"^\[[^]]*\]\s*", "", said)  # who says it: host and process
    return ""


def shortened(text):
    text = " ".join(text.replace("|", "/").split())
    return text if len(text) <= 110 else text[:107] + "..."


def main():
    parser = argparse.ArgumentParser(prog="./dev bench any_order")
    parser.add_argument("--programs", default="build/release/bench/peers")
    parser.add_argument("--tutti", default="build/release/tools/tutti")
    parser.add_argument("--out", default="bench/results/any_order.md")
    a = parser.parse_args()
    names = [name for name, _ in libraries(a.programs, a.tutti)]
    table = [["two all_reduces, in opposite orders on odd and even ranks", *names]]
    for name, communicators, mode, first, second in SCENES:
        line = [name]
        for library, command in libraries(a.programs, a.tutti):
            if library == "Gloo" and mode == "nonblocking":
                line.append("not offered")
            elif not os.path.exists(command[-1]):
                line.append("not installed")
            else:
                outcome = machine.run([*command, communicators, mode, str(first), str(second)],
                                      LIMIT_S)
                line.append(verdict(outcome))
            print(f"{name}: {library}: {line[-1]}", flush=True)
        table.append(line)
    os.makedirs(os.path.dirname(a.out), exist_ok=True)
    with open(a.out, "w") as file:
        file.write("\n".join([
            "# Any order: what happens", "",
            f"{RANKS} ranks, float sums, operations named A and B; each run was given {LIMIT_S} s. "
            "Where calls block one after the other, ranks wait for each other in a circle, and no "
            "library can complete the program: what counts there is whether it ends, and what it "
            "says. Deadlines: tutti 3 s, Gloo 3 s (by the program; both have one by default).", "",
            f"- machine: {machine.describe()}",
            f"- libraries: {machine.libraries()}",
            f"- commit: {machine.commit()}; command: `./dev bench any_order`; {datetime.datetime.now():%Y-%m-%d %H:%M}", "",
            report.markdown(table), ""]))
    print(f"\n{a.out}")


main()
