"""The figures as pictures: time against size, a panel for each collective and number of ranks."""

import statistics


def draw(folder, cells):
    """The names of the files drawn; none when matplotlib is not there."""
    try:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as pyplot
    except ImportError:
        return []
    names = []
    for pages in sorted({cell.pages for cell in cells}):
        chosen = [cell for cell in cells if cell.pages == pages]
        names.append(f"peers_{pages}.png")
        draw_pages(pyplot, f"{folder}/{names[-1]}", chosen, pages)
    return names


def draw_pages(pyplot, path, cells, pages):
    ranks = sorted({cell.ranks for cell in cells})
    collectives = list(dict.fromkeys(cell.collective for cell in cells))
    figure, panels = pyplot.subplots(len(ranks), len(collectives), squeeze=False, sharex=True,
                                     figsize=(3.2 * len(collectives) + 1, 2.6 * len(ranks) + 1))
    libraries = ["tutti"] + sorted({row["library"] for cell in cells for row in cell.rows}
                                   - {"tutti"})
    for i, n in enumerate(ranks):
        for j, collective in enumerate(collectives):
            panel = panels[i][j]
            mine = [c for c in cells if c.ranks == n and c.collective == collective]
            for k, library in enumerate(libraries):
                points = curve(mine, library)
                if points:
                    panel.plot(*zip(*points), marker="o", markersize=2.5, color=f"C{k}",
                               linewidth=2 if k == 0 else 1, label=library)
            panel.set_xscale("log", base=2)
            panel.set_yscale("log")
            panel.grid(True, alpha=0.3)
            panel.set_title(f"{collective}, {n} ranks", fontsize=9)
            panel.tick_params(labelsize=7)
            if j == 0:
                panel.set_ylabel("p50, us", fontsize=8)
            if i == len(ranks) - 1:
                panel.set_xlabel("bytes", fontsize=8)
    handles = {label: handle for panel in panels.flat
               for handle, label in zip(*panel.get_legend_handles_labels())}
    figure.suptitle(f"best configuration of each library, {pages} pages", fontsize=10)
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncol=len(handles))
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def curve(cells, library):
    """The library's best configuration at each size."""
    points = []
    for cell in sorted(cells, key=lambda c: c.bytes):
        by_name = {}
        for row in cell.of(library):
            by_name.setdefault((row["contender"], row["placing"]), []).append(row["p50"])
        if by_name:
            points.append((cell.bytes, min(map(statistics.median, by_name.values()))))
    return points
