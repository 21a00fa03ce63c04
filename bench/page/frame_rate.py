"""frame_rate.py: how many frames a second the page draws while it plays. Writes bench/results/page.md.

  ./dev bench page

The browser is headless, without a GPU: what it draws it draws on the CPU. A frame is what
requestAnimationFrame calls; the browser aims at 60 a second. `late` are frames that came more than one
and a half of a sixtieth after the one before. An empty page is measured first and last: no page can have
more frames than that. `page's thread` is the part of the time in which the page's own thread was at work
(scripts, styles, layout, painting); what the browser's other threads draw is not in it.
"""

import argparse
import datetime
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "view"), os.path.join(ROOT, "bench", "peers")]

import machine  # noqa: E402
from browser import Browser  # noqa: E402
from serving import Serving  # noqa: E402

EMPTY = ("an empty page", None, None)
# Name, state of the page, the button that plays it.
SCENES = [
    EMPTY,
    ("nothing moves, 64 ranks", {"ranks": 64}, None),
    ("ring all_reduce, 8 ranks", {"ranks": 8}, "[data-player=Play]"),
    ("ring all_reduce, 64 ranks", {"ranks": 64}, "[data-player=Play]"),
    ("recursive doubling all_reduce, 64 ranks",
     {"ranks": 64, "algorithm": "recursive_doubling", "speed": "0.25"}, "[data-player=Play]"),
    ("pairwise all_to_all, 64 ranks", {"ranks": 64, "collective": "all_to_all", "algorithm": "pairwise"},
     "[data-player=Play]"),
    ("Rabenseifner's all_reduce, 1,024 ranks", {"ranks": 1024, "algorithm": "rabenseifner", "speed": "0.5"},
     "[data-player=Play]"),
    ("Machine: ring on a DGX-1V", {"view": "machine", "topo": "dgx-1v", "ranks": 8}, "main [aria-label=Play]"),
    EMPTY,
]

# Counts frames for so many milliseconds.
MEASURE = """
const times = [];
const until = performance.now() + arguments[0];
await new Promise((done) => {
  const note = (now) => { times.push(now); now < until ? requestAnimationFrame(note) : done(); };
  requestAnimationFrame(note);
});
return times;
"""


def busy_seconds(browser):
    """How long the page's thread has been at work."""
    metrics = browser.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


def measure(browser, address, state, button, seconds):
    """A row of the table."""
    if state is None:
        browser.driver.get("about:blank")
    else:
        browser.open(address, **state)
    if button:
        browser.find(button).click()
    browser.driver.execute_cdp_cmd("Performance.enable", {})
    before = busy_seconds(browser)
    times = browser.later(MEASURE, seconds * 1000)
    busy = (busy_seconds(browser) - before) / (times[-1] - times[0]) * 1000
    gaps = [after - before for before, after in zip(times, times[1:])]
    late = sum(gap > 1.5 * 1000 / 60 for gap in gaps) / len(gaps)
    rate = len(gaps) / (times[-1] - times[0]) * 1000
    return f"| {rate:.1f} | {100 * late:.1f} % | {max(gaps):.0f} ms | {100 * busy:.0f} % |"


def main():
    parser = argparse.ArgumentParser(prog="./dev bench page")
    parser.add_argument("--tutti", default="build/release/tools/tutti")
    parser.add_argument("--seconds", type=int, default=6, help="of each scene")
    parser.add_argument("--out", default="bench/results/page.md")
    a = parser.parse_args()
    version = subprocess.run(["chromium", "--version"], capture_output=True, text=True).stdout.strip()
    rows = []
    browser = Browser()
    try:
        with Serving(a.tutti) as serving:
            for name, state, button in SCENES:
                rows.append(f"| {name} {measure(browser, serving.address, state, button, a.seconds)}")
                print(rows[-1], flush=True)
    finally:
        browser.quit()
    load = os.getloadavg()[0]
    command = " ".join(["bench/page/frame_rate.py", *sys.argv[1:]])  # what ./dev bench page runs
    text = f"""# The page: frames a second while it plays

A browser without a window and without a GPU, which draws on the CPU; it aims at 60 frames a second. `late`: frames that
came more than 25 ms after the one before. `longest`: the longest time between two. `page's thread`: the part of the time
in which the page's own thread was at work. The empty page is the most that this browser gives here.

- machine: {machine.describe()}
- browser: {version}, 1280 x 900, headless; {a.seconds} s of each scene, one run
- how busy the machine was (load of the last minute, the browser and the server included): {load:.1f}
- commit: {machine.commit()}; command: `{command}`; {datetime.datetime.now():%Y-%m-%d %H:%M}

| scene | frames a second | late | longest | page's thread |
| --- | --- | --- | --- | --- |
""" + "\n".join(rows) + "\n"
    with open(a.out, "w") as file:
        file.write(text)


main()
