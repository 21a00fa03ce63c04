"""tracing.py: what TUTTI_TRACE costs: the same calls with it and without, alternating.

Writes bench/results/tracing.md.

  ./dev bench tracing
  ./dev bench tracing --ranks 2 --collective all_reduce --rounds 3
"""

import argparse
import datetime
import math
import os
import statistics
import sys
import tempfile

import contenders
import machine
import report
import rows

COLLECTIVES = ["all_reduce", "broadcast", "all_gather"]
SIZES = [8, 4 << 10, 64 << 10, 1 << 20]
MOST = 1.02  # the aim: a call takes at most so many times as long


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench tracing", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=lambda text: [int(n) for n in text.split(",")],
                        default=[2, 4])
    parser.add_argument("--collective", type=lambda text: text.split(","), default=COLLECTIVES)
    parser.add_argument("--bytes", type=lambda text: [int(n) for n in text.split(",")],
                        default=SIZES)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=0.1, help="of timed calls, for each figure")
    parser.add_argument("--out", default="")
    parser.add_argument("--programs", default="build/release/bench/peers")
    parser.add_argument("--tutti", default="build/release/tools/tutti")
    a = parser.parse_args()
    is_all = a.ranks == [2, 4] and a.collective == COLLECTIVES and a.bytes == SIZES
    a.out = a.out or ("bench/results" if is_all else "build/peers")
    return a


def run(a, num_ranks, collective, trace):
    """The rows of one start of the program."""
    one = next(contenders.tutti_ones(a.programs, a.tutti, num_ranks))
    command = [*one.command, "--collectives", collective, "--sizes", ",".join(map(str, a.bytes)),
               "--seconds", str(a.seconds), "--placing", "in"]
    machine.wait_for_quiet(2)
    outcome = machine.run(command, 60, {"GLIBC_TUNABLES": "", "TUTTI_TRACE": trace})
    if outcome.gap:
        sys.exit(f"tracing: {collective} of {num_ranks} ranks {outcome.gap}: {outcome.errors}")
    side = "on" if trace else "off"
    return rows.parse(outcome.text, {"contender": side, "foreign": round(outcome.foreign, 3)})


def run_all(a):
    """For each cell, by round: the time with tracing divided by the time without."""
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        for index in range(a.rounds):
            for num_ranks in a.ranks:
                for collective in a.collective:
                    sides = ["", f"{folder}/trace"]
                    for trace in sides if index % 2 == 0 else reversed(sides):
                        for row in run(a, num_ranks, collective, trace):
                            key = (num_ranks, collective, row["bytes"])
                            times.setdefault(key, {}).setdefault(row["contender"], []).append(
                                row["p50"])
            print(f"round {index + 1} of {a.rounds}", flush=True)
    return times


def table_of(times):
    table = [["cell", "off, us", "on, us", "on / off", "rounds apart"]]
    for (num_ranks, collective, size), sides in sorted(times.items()):
        ratios = sorted(on / off for on, off in zip(sides["on"], sides["off"]))
        quarter = len(ratios) // 4
        table.append([f"{num_ranks} ranks {collective} {report.size_name(size)}",
                      report.us(statistics.median(sides["off"])),
                      report.us(statistics.median(sides["on"])),
                      f"{statistics.median(ratios):.3f}",
                      f"{ratios[quarter]:.2f} to {ratios[-1 - quarter]:.2f}"])
    return table


def mean_of(times):
    """Geometric, of the cells' medians."""
    logs = [math.log(statistics.median(on / off for on, off in zip(sides["on"], sides["off"])))
            for sides in times.values()]
    return math.exp(statistics.fmean(logs))


def main():
    a = parse_arguments()
    load = os.getloadavg()[0]
    times = run_all(a)
    mean = mean_of(times)
    verdict = f"geometric mean {mean:.3f}; aim: at most {MOST}, " + (
        "met" if mean <= MOST else "missed")
    text = ["# The cost of tracing", "",
            "Calls back to back with `TUTTI_TRACE` set and without, in place, p50 of the slowest rank's "
            f"call, {a.rounds} rounds in which the sides alternate. The ratio is the median of the "
            "rounds' ratios; half of the rounds lie within the last column. Without the variable no "
            "step looks at a clock: the lanes then run code that knows no trace (`engine/cpu/"
            "step_trace.h`), and an operation costs one comparison.", "",
            f"- machine: {machine.describe()}",
            f"- commit: {machine.commit()}; command: `./dev bench tracing {' '.join(sys.argv[1:])}`; "
            f"{datetime.datetime.now():%Y-%m-%d %H:%M}",
            f"- load average before: {load:.2f}", "", report.markdown(table_of(times)), "",
            verdict[0].upper() + verdict[1:] + ".", ""]
    os.makedirs(a.out, exist_ok=True)
    with open(f"{a.out}/tracing.md", "w") as file:
        file.write("\n".join(text))
    print(report.aligned(table_of(times)) + f"\n{verdict}\nreport: {a.out}/tracing.md")


main()
