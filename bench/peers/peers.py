"""peers.py: tutti beside Open MPI, MPICH, Gloo and torch's gloo, on the machine it runs on.

Runs alternate, a library at a time, so that all see the same minutes of the machine; the placement
of the cores is probed before and after each; a run that hangs is ended and becomes a gap. Every
figure is kept; the report compares tutti with the best of the others, cell by cell.

  ./dev bench peers                                          everything; about an hour
  ./dev bench peers --quick                                  about five minutes
  ./dev bench peers --collective all_reduce --ranks 2 --bytes 8,4K --rounds 3
"""

import argparse
import os
import sys
import time

import contenders
import machine
import report
import rows

COLLECTIVES = ["all_reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all"]
SIZES = [8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20]
QUICK_SIZES = [8, 4 << 10, 256 << 10, 4 << 20]
FIRST_HUGE = 256 << 10  # below, pages make no difference


def parse_size(text):
    units = {"K": 10, "M": 20, "G": 30}
    return int(text[:-1]) << units[text[-1]] if text[-1:] in units else int(text)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("--quick", action="store_true", help="fewer sizes, one round")
    parser.add_argument("--collective", type=words, help=", ".join(COLLECTIVES) + ", reduce")
    parser.add_argument("--ranks", type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--bytes", type=lambda text: [parse_size(word) for word in text.split(",")])
    parser.add_argument("--pages", choices=["4k", "huge", "both"], default="both")
    parser.add_argument("--only", type=words, help="names of contenders or beginnings of them")
    parser.add_argument("--hurry", action="store_true",
                        help="without those that take milliseconds a call when ranks outnumber cores")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float, help="of timed calls, for each figure")
    parser.add_argument("--limit", type=float, default=90, help="seconds before a run is ended")
    parser.add_argument("--out", help="folder of the report: peers.md, peers.csv, plots")
    parser.add_argument("--programs", default="build/release/bench/peers")
    parser.add_argument("--tutti", default="build/release/tools/tutti")
    a = parser.parse_args()
    a.hurry = a.hurry or (a.quick and not a.only)
    is_all = not (a.quick or a.collective or a.ranks or a.bytes or a.only)
    a.collective = a.collective or COLLECTIVES
    a.ranks = a.ranks or [2, 4, 8]
    a.bytes = a.bytes or (QUICK_SIZES if a.quick else SIZES)
    a.rounds = a.rounds or (1 if a.quick else 5)
    a.seconds = a.seconds or (0.05 if a.quick else 0.1)
    # What is kept in the tree is a whole run; parts of it are for whoever looks.
    a.out = a.out or ("bench/results" if is_all else "build/peers")
    return a


class Job:
    """One program start: one contender, one collective, all sizes."""

    def __init__(self, contender, num_ranks, collective, pages, sizes):
        self.contender, self.num_ranks, self.collective = contender, num_ranks, collective
        self.pages, self.sizes = pages, sizes

    def label(self):
        return f"{self.num_ranks} ranks {self.collective} {self.pages} {self.contender.name}"


def wanted(contender, a, num_ranks, collective, index):
    if contender.collectives and collective not in contender.collectives:
        return False
    if a.only and not any(contender.name.startswith(name) for name in a.only):
        return False
    # Who takes milliseconds a call there is the best nowhere: one round shows it.
    is_slow = contender.slow_above_cores and num_ranks > len(os.sched_getaffinity(0))
    return not is_slow or (index == 0 and not a.hurry)


def jobs_of_round(a, index):
    """Neighbours in time are what is compared; every other round goes the other way."""
    for num_ranks in a.ranks:
        for collective in a.collective:
            for pages in ("4k", "huge") if a.pages == "both" else (a.pages,):
                sizes = [size for size in a.bytes if pages == "4k" or size >= FIRST_HUGE]
                group = [Job(one, num_ranks, collective, pages, sizes)
                         for one in contenders.contenders(a.programs, a.tutti, num_ranks)
                         if sizes and wanted(one, a, num_ranks, collective, index)]
                yield from group if index % 2 == 0 else reversed(group)


def run(job, a):
    """The rows that a job gave, and the gap if there is one."""
    if job.contender.missing:
        return [], job.contender.missing
    machine.wait_for_quiet(1 if a.quick else 30)
    probe = f"{a.programs}/peer_probe"
    before = machine.placement(probe)
    fewest = 5 if a.quick else 10
    command = [*job.contender.command, "--collectives", job.collective, "--sizes",
               ",".join(map(str, job.sizes)), "--seconds", str(a.seconds), "--min-iterations",
               str(fewest)]
    environment = contenders.HUGE_PAGES if job.pages == "huge" else {"GLIBC_TUNABLES": ""}
    outcome = machine.run(command, a.limit, environment)
    after = machine.placement(probe)
    context = {"contender": job.contender.name, "library": job.contender.library,
               "pages": job.pages, "before": before, "after": after,
               "foreign": round(outcome.foreign, 3)}
    found = rows.parse(outcome.text, context)
    gap = outcome.gap
    if gap and outcome.errors.strip():
        gap += ": " + outcome.errors.strip().splitlines()[-1][:120]
    return found, gap


def run_all(a):
    found, gaps, begin = [], {}, time.monotonic()
    for index in range(a.rounds):
        jobs = list(jobs_of_round(a, index))
        for number, job in enumerate(jobs):
            job_rows, gap = run(job, a)
            for row in job_rows:
                row["round"] = index
            found += job_rows
            if gap:
                gaps[job.label()] = gap
            if job.contender.missing:
                continue
            text = " ".join(f"{report.size_name(row['bytes'])}{'i' if row['placing'] == 'in' else ''}"
                            f" {report.us(row['p50'])}" for row in job_rows)
            print(f"{time.monotonic() - begin:5.0f} s  round {index + 1}/{a.rounds} "
                  f"{number + 1:>3}/{len(jobs)}  {job.label():<48} {text} {gap}", flush=True)
    return found, gaps


def main():
    a = parse_arguments()
    if not os.path.exists(f"{a.programs}/peer_tutti"):
        sys.exit(f"peers: no {a.programs}/peer_tutti; run ./dev bench peers, which builds it")
    load = os.getloadavg()[0]
    found, gaps = run_all(a)
    if not found:
        sys.exit("peers: nothing was measured:\n" + "\n".join(f"  {k}: {v}" for k, v in gaps.items()))
    os.makedirs(a.out, exist_ok=True)
    rows.write(f"{a.out}/peers.csv", found)
    report.write(a.out, found, gaps, a, load)


if __name__ == "__main__":
    main()
