"""Makes the pictures of docs/images: the page as it is, one picture a view. Needs python3-pil.

usage: pictures.py PATH_OF_TUTTI FOLDER [TRACE...]
"""
import os
import sys

from PIL import Image

from browser import Browser
from serving import Serving

MARGIN = 8

PICTURES = {
    "memory": (1120, 760, {"round": 4}),
    "learn": (1280, 1000, {"view": "learn", "round": 2, "collective": "all_gather", "algorithm": "bruck", "ranks": 5}),
    "compare": (1400, 660, {"view": "compare", "with": "recursive_doubling", "round": 2, "ranks": 4}),
    "many": (1280, 1000, {"ranks": 1024, "algorithm": "rabenseifner", "round": 5}),
    "order": (1280, 900, {"view": "order", "ranks": 4, "round": 6}),
    "trees": (1280, 1100, {"view": "machine", "topo": "dgx-1v", "collective": "broadcast", "algorithm": "packed"}),
    "spacetime": (1120, 960, {"view": "spacetime", "collective": "broadcast", "algorithm": "binomial", "slow": "4*2"}),
    "machine": (1280, 900, {"view": "machine", "topo": "dgx-1v", "algorithm": "rabenseifner", "at": 12}),
    "cost": (1120, 1400, {"view": "cost"}),
    "runs": (1120, 960, {"view": "runs"}),
    "dark": (1120, 680, {"round": 2, "collective": "reduce_scatter", "algorithm": "recursive_halving", "ranks": 6, "theme": "dark"}),
}


# The lowest place in the window at which nothing is cut through.
BOTTOM = """
const boxes = [...document.querySelectorAll("#main :is(tr, p, svg, li, h2, summary, fieldset, canvas, form, .legend, .player)")]
  .map((e) => e.getBoundingClientRect()).filter((box) => box.height > 0);
const isBetween = (y) => boxes.every((box) => box.top >= y || box.bottom <= y + 1);
return Math.max(...boxes.map((box) => box.bottom).filter((y) => y <= innerHeight && isBetween(y)));
"""


def main(program, folder, traces):
    browser = Browser()
    try:
        with Serving(program, *traces) as serving:
            for name, (width, height, state) in PICTURES.items():
                browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                    "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
                its = {"motion": "off", "view": "memory", "theme": "light", **state}
                browser.open(serving.address, **its)
                path = os.path.join(folder, f"view_{name}.png")
                browser.driver.save_screenshot(path)
                bottom = min(height, round(browser.js(BOTTOM)) + MARGIN)
                # In all their colours: a legend must have those of what it explains.
                Image.open(path).convert("RGB").crop((0, 0, width, bottom)).save(path, optimize=True)
    finally:
        browser.quit()


main(sys.argv[1], sys.argv[2], sys.argv[3:])
