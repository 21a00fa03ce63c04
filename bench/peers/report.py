"""What the figures say: tutti against the best of the others, cell by cell, in words and tables."""

import datetime
import math
import statistics
import sys

import machine
import plots

STATES = ("near", "far", "siblings")
MEASURES = ("p50", "p99", "mean")


def size_name(size):
    for bits, unit in ((20, "M"), (10, "K")):
        if size >= 1 << bits:
            return f"{size >> bits}{unit}"
    return str(size)


def us(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def geomean(values):
    return math.exp(statistics.fmean(map(math.log, values))) if values else float("nan")


def bus_factor(collective, ranks):
    if collective == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return 1 if collective in ("broadcast", "reduce") else (ranks - 1) / ranks


class Best:
    """The best configuration of one side in one cell."""

    def __init__(self, name, row):
        self.name, self.p50, self.p99, self.mean = name, row["p50"], row["p99"], row["mean"]
        self.library = row["library"]


class Cell:
    """All figures of one collective, size, number of ranks and kind of pages."""

    def __init__(self, key):
        self.ranks, self.pages, self.collective, self.bytes = key
        self.rows = []

    def states(self):
        """Placements of the cores in which both sides were measured; None: all together."""
        both = [state for state in STATES
                if self.of("tutti", state) and any(r["library"] != "tutti" for r in self.at(state))]
        return both if both and not self.is_crowded() else [None]

    def is_crowded(self):
        # With ranks on both cores and more ranks than cores, the placement decides little.
        return self.ranks > 2

    def at(self, state):
        return [row for row in self.rows
                if state is None or (row["before"] == state and row["after"] == state)]

    def of(self, library, state=None):
        return [row for row in self.at(state) if row["library"] == library]

    def best(self, is_tutti, measure, state=None):
        """The configuration with the least median over the rounds; None where nothing was run."""
        by_name = {}
        for row in self.at(state):
            if (row["library"] == "tutti") == is_tutti:
                name = row["contender"] + (" in place" if row["placing"] == "in" else "")
                by_name.setdefault(name, []).append(row)
        medians = {name: {m: statistics.median(row[m] for row in found) for m in MEASURES}
                   | {"library": found[0]["library"]} for name, found in by_name.items()}
        if not medians:
            return None
        name = min(medians, key=lambda n: medians[n][measure])
        return Best(name, medians[name])

    def ratio(self, measure="p50", state="by placement"):
        """Times as fast as the best peer; None without both sides. Like is compared with like: by
        default within each placement of the cores, and then the mean of them."""
        ratios = []
        for one in self.states() if state == "by placement" else [state]:
            ours, theirs = self.best(True, measure, one), self.best(False, measure, one)
            if ours and theirs:
                ratios.append(getattr(theirs, measure) / max(getattr(ours, measure), 1e-3))
        return geomean(ratios) if ratios else None


def cells_of(rows):
    cells = {}
    for row in rows:
        key = (row["ranks"], row["pages"], row["collective"], row["bytes"])
        cells.setdefault(key, Cell(key)).rows.append(row)
    return [cells[key] for key in sorted(cells)]


def matrix(cells, ranks, pages, measure="p50", state="by placement"):
    chosen = [c for c in cells if c.ranks == ranks and c.pages == pages]
    sizes = sorted({c.bytes for c in chosen})
    table = [["times as fast"] + [size_name(size) for size in sizes]]
    for collective in dict.fromkeys(c.collective for c in chosen):
        line = [collective]
        for size in sizes:
            cell = next((c for c in chosen if c.collective == collective and c.bytes == size), None)
            ratio = cell.ratio(measure, state) if cell else None
            line.append(f"{ratio:.2f}" if ratio else "-")
        table.append(line)
    return table if any(cell != "-" for line in table[1:] for cell in line[1:]) else None


def aligned(table):
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    return "\n".join("  ".join(text.ljust(w) if i == 0 else text.rjust(w)
                               for i, (text, w) in enumerate(zip(line, widths))) for line in table)


def markdown(table):
    lines = ["| " + " | ".join(line) + " |" for line in table]
    return "\n".join([lines[0], "|---" * len(table[0]) + "|", *lines[1:]])


def means(cells):
    """Geometric means of the ratios: of all cells, and for each number of ranks."""
    table = [["geometric mean", "p50", "mean", "cells", "below 1 (p50)"]]
    groups = [("all", cells)] + [(f"{n} ranks", [c for c in cells if c.ranks == n])
                                 for n in sorted({c.ranks for c in cells})]
    for name, group in groups:
        p50 = [c.ratio("p50") for c in group if c.ratio("p50")]
        mean = [c.ratio("mean") for c in group if c.ratio("mean")]
        table.append([name, f"{geomean(p50):.2f}", f"{geomean(mean):.2f}", str(len(p50)),
                      str(sum(ratio < 1 for ratio in p50))])
    return table


def shortfalls(cells):
    table = [["cell", "ratio", "tutti p50 us", "best peer p50 us", "who"]]
    short = [c for c in cells if c.ratio() and c.ratio() < 1]
    for cell in sorted(short, key=lambda c: c.ratio()):
        ours, theirs = cell.best(True, "p50"), cell.best(False, "p50")
        table.append([f"{cell.ranks} ranks {cell.collective} {size_name(cell.bytes)} {cell.pages}",
                      f"{cell.ratio():.2f}", us(ours.p50), us(theirs.p50), theirs.name])
    return table


def details(cells):
    table = [["ranks", "pages", "collective", "bytes", "placement", "tutti", "p50 us", "p99 us",
              "mean us", "busbw GB/s", "best peer", "p50 us", "p99 us", "mean us", "busbw GB/s",
              "p50", "p99", "mean"]]
    for cell in cells:
        for state in cell.states():
            ours, theirs = cell.best(True, "p50", state), cell.best(False, "p50", state)
            line = [str(cell.ranks), cell.pages, cell.collective, size_name(cell.bytes),
                    state or "any"]
            for side in (ours, theirs):
                bus = bus_factor(cell.collective, cell.ranks) * cell.bytes / 1e3
                line += [side.name, us(side.p50), us(side.p99), us(side.mean),
                         f"{bus / side.p50:.2f}"] if side else ["-"] * 5
            ratios = [cell.ratio(m, state) for m in MEASURES]
            table.append(line + [f"{ratio:.2f}" if ratio else "-" for ratio in ratios])
    return table


def aims(cells):
    """The aims that the project set itself, each with what was measured."""
    ratios = [c.ratio() for c in cells if c.ratio()]
    crowded = [c.ratio() for c in cells if c.ratio() and c.ranks > 2]
    table = [["aim", "measured", "met"]]

    def add(name, value, met):
        table.append([name, value, "yes" if met else "no"])

    if ratios:
        below = sum(ratio < 1 for ratio in ratios)
        add("every cell at or above the best peer", f"{len(ratios) - below} of {len(ratios)} cells",
            below == 0)
        add("geometric mean over all cells at least 1.5", f"{geomean(ratios):.2f}",
            geomean(ratios) >= 1.5)
    if crowded:
        add("geometric mean at 4 and 8 ranks at least 2", f"{geomean(crowded):.2f}",
            geomean(crowded) >= 2)
    for name, least, chosen in (("up to 64 KiB", 20, lambda b: b <= 64 << 10),
                                ("above 4 MiB", 1.5, lambda b: b > 4 << 20)):
        torch = torch_ratios([c for c in cells if chosen(c.bytes)])
        if torch:
            add(f"at least {least} times torch's gloo {name}", f"{min(torch):.1f} at worst",
                min(torch) >= least)
    for size, pages, state, most in ((1 << 20, "4k", "near", 70), (1 << 20, "4k", "far", 140),
                                     (64 << 20, "huge", None, 14000)):
        best = next((c.best(True, "p50", state) for c in cells if c.ranks == 2 and c.bytes == size
                     and c.pages == pages and c.collective == "all_reduce"), None)
        if best:
            add(f"all_reduce of {size_name(size)}, 2 ranks, {pages} pages, cores "
                f"{state or 'anywhere'}: at most {most} us", f"{us(best.p50)} us", best.p50 <= most)
    return table


def torch_ratios(cells):
    found = []
    for cell in cells:
        ours, torch = cell.best(True, "p50"), [row["p50"] for row in cell.of("torch")]
        if ours and torch:
            found.append(statistics.median(torch) / ours.p50)
    return found


def headline(rows, arguments, load):
    disturbed = sum(row["foreign"] > machine.DISTURBED for row in rows)
    wrong = sum(row["wrong"] for row in rows)
    command = " ".join(["./dev bench peers", *sys.argv[1:]])
    return [f"- machine: {machine.describe()}",
            f"- libraries: {machine.libraries()}",
            f"- commit: {machine.commit()}; command: `{command}`; "
            f"{datetime.datetime.now():%Y-%m-%d %H:%M}; {arguments.rounds} rounds",
            f"- load average before: {load:.2f}; {disturbed} of {len(rows)} figures were taken while "
            f"others used more than {machine.DISTURBED:g} of a core",
            f"- results checked: {wrong} wrong elements"]


HOW_TO_READ = """Each cell is the time of the best peer divided by tutti's (above 1: tutti is
faster), in the best configuration of each side, p50 of the slowest rank's call, median over the
rounds. With 2 ranks like is compared with like: runs with the cores near each other (one cache) and
far apart are compared separately, and the mean of both is the cell's. `4k` and `huge` are the pages
of both sides' buffers. In calls with blocks, 8 B means one float a rank."""


def write(folder, rows, gaps, arguments, load):
    cells = cells_of(rows)
    text = ["# tutti and its peers", "", *headline(rows, arguments, load), "", HOW_TO_READ, ""]
    for ranks in sorted({c.ranks for c in cells}):
        for pages in ("4k", "huge"):
            for state in ("by placement",) + (STATES[:2] if ranks == 2 else ()):
                table = matrix(cells, ranks, pages, state=state)
                if not table:
                    continue
                where = "" if state == "by placement" else f", cores {state}"
                text += [f"## {ranks} ranks, {pages} pages{where}", "", markdown(table), ""]
                if not where:
                    print(f"\n{ranks} ranks, {pages} pages\n{aligned(table)}")
    print("\n" + aligned(means(cells)))
    text += ["## Means", "", markdown(means(cells)), "", "## Aims", "", markdown(aims(cells)), ""]
    if len(shortfalls(cells)) > 1:
        text += ["## Cells below 1", "", markdown(shortfalls(cells)), ""]
    if gaps:
        text += ["## Gaps", "", *[f"- {name}: {why}" for name, why in sorted(gaps.items())], ""]
        for why in sorted(set(gaps.values())):
            names = sorted(name for name, reason in gaps.items() if reason == why)
            print(f"gap: {why}: {names[0]}" + (f" and {len(names) - 1} more" if names[1:] else ""))
    pictures = plots.draw(folder, cells)
    if not pictures:
        print("no plots: python3-matplotlib is not installed")
    for picture in pictures:
        text += [f"![times by size]({picture})", ""]
    text += ["## All cells", "", markdown(details(cells)), ""]
    with open(f"{folder}/peers.md", "w") as file:
        file.write("\n".join(text))
    print(f"\nreport: {folder}/peers.md, figures: {folder}/peers.csv")
