"""Makes the pictures of docs/images: the page as it is, one picture a view. Needs python3-pil.

usage: pictures.py PATH_OF_TUTTI FOLDER [TRACE...]
"""
import os
import sys

from PIL import Image

from browser import Browser
from serving import Serving

PICTURES = {
    "memory": (1120, 640, {"round": 4}),
    "learn": (1280, 760, {"view": "learn", "round": 2, "collective": "all_gather", "algorithm": "bruck", "ranks": 5}),
    "compare": (1400, 640, {"view": "compare", "with": "recursive_doubling", "round": 2, "ranks": 4}),
    "spacetime": (1120, 660, {"view": "spacetime", "collective": "broadcast", "algorithm": "binomial", "slow": "4*2"}),
    "machine": (1280, 760, {"view": "machine", "topo": "dgx-1v", "algorithm": "rabenseifner", "at": 12}),
    "cost": (1120, 1000, {"view": "cost"}),
    "runs": (1120, 760, {"view": "runs"}),
    "dark": (1120, 640, {"round": 2, "collective": "reduce_scatter", "algorithm": "recursive_halving", "ranks": 6, "theme": "dark"}),
}


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
                # A page has few colours: a third of the bytes is enough.
                few = Image.open(path).convert("RGB").quantize(128, dither=Image.Dither.NONE)
                few.save(path, optimize=True)
    finally:
        browser.quit()


main(sys.argv[1], sys.argv[2], sys.argv[3:])
