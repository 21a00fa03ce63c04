"""noise.py: what a collective costs when ranks are taken away at random moments (see noise.h).

tutti beside Open MPI (its tuned and its adapt algorithms) and MPICH, alternating. Writes
bench/results/noise.md and .csv.

  ./dev bench noise
  ./dev bench noise --ranks 4 --collective broadcast --rounds 1
"""

import argparse
import datetime
import os
import statistics
import sys

import contenders
import machine
import report
import rows

LEVELS = [0, 1, 5, 10, 20]  # percent of the time that a rank is away
COLLECTIVES = ["broadcast", "reduce", "all_reduce"]
SIZES = [64 << 10, 1 << 20]
JUDGED = 10  # the level that the aims speak of


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench noise", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=lambda text: [int(n) for n in text.split(",")],
                        default=[4, 8])
    parser.add_argument("--collective", type=lambda text: text.split(","), default=COLLECTIVES)
    parser.add_argument("--bytes", type=lambda text: [int(n) for n in text.split(",")],
                        default=SIZES)
    parser.add_argument("--only", type=lambda text: text.split(","),
                        help="beginnings of names of contenders")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--limit", type=float, default=90)
    parser.add_argument("--quiet", type=float, default=20, help="seconds to wait for others to be done")
    parser.add_argument("--out", default="")
    parser.add_argument("--programs", default="build/release/bench/peers")
    parser.add_argument("--tutti", default="build/release/tools/tutti")
    a = parser.parse_args()
    is_all = a.ranks == [4, 8] and a.collective == COLLECTIVES and a.bytes == SIZES
    a.out = a.out or ("bench/results" if is_all else "build/peers")
    return a


def run_all(a):
    found, gaps = [], {}
    for index in range(a.rounds):
        for ranks in a.ranks:
            for collective in a.collective:
                for level in LEVELS:
                    group = [one for one in
                             contenders.noise_contenders(a.programs, a.tutti, ranks)
                             if not a.only or one.name.startswith(tuple(a.only))]
                    for one in group if index % 2 == 0 else reversed(group):
                        label = f"{one.name}, {ranks} ranks, {collective}, {level} %"
                        if one.missing:
                            gaps[label] = one.missing
                            continue
                        machine.wait_for_quiet(a.quiet)
                        command = [*one.command, "--collectives", collective, "--sizes",
                                   ",".join(map(str, a.bytes)), "--seconds", str(a.seconds),
                                   "--noise", str(level), "--placing", "in"]
                        outcome = machine.run(command, a.limit, {"GLIBC_TUNABLES": ""})
                        got = rows.parse(outcome.text, {"contender": one.name, "round": index,
                                                        "library": one.library, "pages": "4k",
                                                        "foreign": round(outcome.foreign, 3)})
                        found += got
                        if outcome.gap:
                            gaps[label] = outcome.gap
                        print(f"round {index + 1}: {label}: "
                              + " ".join(report.us(row["mean"]) for row in got)
                              + f" us {outcome.gap}", flush=True)
    return found, gaps


class Curve:
    """One library's mean time at each level of noise."""

    def __init__(self, found):
        self.mean = {level: statistics.median(row["mean"] for row in found if row["noise"] == level)
                     for level in LEVELS if any(row["noise"] == level for row in found)}

    def amplification(self, level):
        """How much longer a call takes, by the share of the time that was taken away."""
        if 0 not in self.mean or level not in self.mean or level == 0:
            return None
        return (self.mean[level] / self.mean[0] - 1) / (level / 100)


def curves_of(found):
    cells = {}
    for row in found:
        key = (row["ranks"], row["collective"], row["bytes"])
        cells.setdefault(key, {}).setdefault(row["contender"], []).append(row)
    return {key: {name: Curve(some) for name, some in by_name.items()}
            for key, by_name in sorted(cells.items())}


def table_of(curves):
    table = [["library", *[f"{level} %" for level in LEVELS], f"amplification at {JUDGED} %"]]
    for name, curve in curves.items():
        amplification = curve.amplification(JUDGED)
        table.append([name, *[report.us(curve.mean[l]) if l in curve.mean else "-" for l in LEVELS],
                      f"{amplification:.1f}" if amplification is not None else "-"])
    return table


def judge(cells):
    """The aims, cell by cell: faster under noise, and noise amplified half as much."""
    wanted = {"broadcast": 1.3, "reduce": 1.5}
    table = [["cell", f"times as fast as the best peer at {JUDGED} %", "aim",
              "amplification, tutti", "amplification, that peer", "met"]]
    for (ranks, collective, size), curves in cells.items():
        ours = curves.get("tutti")
        theirs = [c for name, c in curves.items() if name != "tutti" and {0, JUDGED} <= set(c.mean)]
        if not ours or not {0, JUDGED} <= set(ours.mean) or not theirs:
            continue
        best = min(theirs, key=lambda curve: curve.mean[JUDGED])
        ratio = best.mean[JUDGED] / ours.mean[JUDGED]
        mine, its = ours.amplification(JUDGED), best.amplification(JUDGED)
        aim = wanted.get(collective)
        met = (aim is None or ratio >= aim) and mine <= its / 2
        table.append([f"{ranks} ranks {collective} {report.size_name(size)}", f"{ratio:.2f}",
                      f"{aim}" if aim else "-", f"{mine:.1f}", f"{its:.1f}",
                      "yes" if met else "no"])
    return table


def write(a, found, gaps, load):
    cells = curves_of(found)
    disturbed = sum(row["foreign"] > machine.DISTURBED for row in found)
    text = ["# Noise", "",
            "Every rank is away at random moments, 100 times a second on average, for a random "
            "time; together 1, 5, 10 or 20 % of it. It sleeps then, so its core is free for others. "
            "Figures are the mean time of a call in us, in place, calls back to back, median over "
            f"{a.rounds} rounds. Amplification: by how much a call gets longer, divided by the "
            "share of time taken away.", "",
            f"- machine: {machine.describe()}",
            f"- libraries: {machine.libraries()}",
            f"- commit: {machine.commit()}; command: `./dev bench noise {' '.join(sys.argv[1:])}`; "
            f"{datetime.datetime.now():%Y-%m-%d %H:%M}",
            f"- load average before: {load:.2f}; {disturbed} of {len(found)} figures were taken "
            f"while others used more than {machine.DISTURBED:g} of a core", "",
            f"Aim: at {JUDGED} % noise at least 1.3 times the best peer on broadcast and 1.5 times "
            "on reduce, and noise amplified at most half as much.", "", report.markdown(judge(cells)),
            ""]
    for (ranks, collective, size), curves in cells.items():
        table = table_of(curves)
        text += [f"## {ranks} ranks, {collective}, {report.size_name(size)}", "",
                 report.markdown(table), ""]
    if gaps:
        text += ["## Gaps", "", *[f"- {name}: {why}" for name, why in sorted(gaps.items())], ""]
    os.makedirs(a.out, exist_ok=True)
    rows.write(f"{a.out}/noise.csv", found)
    with open(f"{a.out}/noise.md", "w") as file:
        file.write("\n".join(text))
    print("\n" + report.aligned(judge(cells)))
    print(f"\nreport: {a.out}/noise.md, figures: {a.out}/noise.csv")


def main():
    a = parse_arguments()
    load = os.getloadavg()[0]
    found, gaps = run_all(a)
    if not found:
        sys.exit("noise: nothing was measured")
    write(a, found, gaps, load)


main()
