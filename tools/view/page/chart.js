// Time against size on logarithmic paper: a line for every algorithm, the bound, the crossovers.
// Lines differ in colour and in their marks.

import { h, s, bytesText, timeText, title } from "tutti/dom";
import { hue } from "tutti/palette";

const DASHES = ["", "7 3", "2 3", "9 3 2 3"];
const MARGIN = { left: 62, right: 14, top: 12, bottom: 38 };

function mark(kind, x, y, colour) {
  const shapes = [
    () => s("circle", { cx: x, cy: y, r: 3.2, fill: colour }),
    () => s("rect", { x: x - 3, y: y - 3, width: 6, height: 6, fill: colour }),
    () => s("path", { d: `M${x} ${y - 4}l4 7h-8z`, fill: colour }),
    () => s("path", { d: `M${x} ${y - 4}l4 4-4 4-4-4z`, fill: colour }),
  ];
  return shapes[kind % shapes.length]();
}

function scales(sweep, width, height) {
  const times = [...sweep.lines.flatMap((line) => line.ns), ...sweep.bound_ns].filter((ns) => ns > 0);
  const least = Math.log10(Math.min(...times, 1e9));
  const most = Math.log10(Math.max(...times, 10));
  const first = Math.log2(sweep.sizes[0]);
  const last = Math.log2(sweep.sizes.at(-1));
  const x = (bytes) => MARGIN.left + ((Math.log2(bytes) - first) / (last - first)) * (width - MARGIN.left - MARGIN.right);
  const y = (ns) => height - MARGIN.bottom - ((Math.log10(Math.max(ns, 1e-3)) - least) / Math.max(1e-9, most - least)) * (height - MARGIN.top - MARGIN.bottom);
  return { x, y, least, most };
}

function axes(svg, sweep, { x, y, least, most }, width, height) {
  for (let power = Math.ceil(least); power <= Math.floor(most); ++power) {
    const at = y(10 ** power);
    svg.append(s("line", { class: "tick", x1: MARGIN.left, x2: width - MARGIN.right, y1: at, y2: at }),
      s("text", { class: "time", x: MARGIN.left - 6, y: at + 4, "text-anchor": "end" }, timeText(10 ** power)));
  }
  const every = width < 560 ? 4 : 2;
  sweep.sizes.forEach((bytes, i) => {
    if (i % every !== 0) return;
    svg.append(s("line", { class: "tick", x1: x(bytes), x2: x(bytes), y1: MARGIN.top, y2: height - MARGIN.bottom }),
      s("text", { class: "time", x: x(bytes), y: height - MARGIN.bottom + 18, "text-anchor": "middle" }, bytesText(bytes)));
  });
}

export function sweepChart(sweep, chosen, panelWidth) {
  const width = Math.max(320, Math.min(960, panelWidth));
  const height = 340;
  const scale = scales(sweep, width, height);
  const svg = s("svg", { class: "chart", width, height, role: "img",
    "aria-label": `Time against size for ${sweep.lines.map((line) => title(line.algorithm)).join(", ")}` });
  axes(svg, sweep, scale, width, height);
  const points = (row) => row.map((ns, i) => `${scale.x(sweep.sizes[i])},${scale.y(ns)}`).join(" ");
  if (sweep.bound_ns.some((ns) => ns > 0)) svg.append(s("polyline", { class: "bound", points: points(sweep.bound_ns) }));
  sweep.lines.forEach((line, i) => {
    const colour = hue(i);
    const isChosen = line.algorithm === chosen;
    svg.append(s("g", { class: isChosen ? "line chosen" : "line", "data-algorithm": line.algorithm },
      s("polyline", { points: points(line.ns), stroke: colour, "stroke-dasharray": DASHES[Math.floor(i / 3) % DASHES.length], fill: "none" }),
      line.ns.map((ns, j) => mark(i, scale.x(sweep.sizes[j]), scale.y(ns), colour)),
      s("title", {}, title(line.algorithm))));
  });
  for (const cross of sweep.crossovers) {
    svg.append(s("line", { class: "cross", x1: scale.x(cross.bytes), x2: scale.x(cross.bytes), y1: MARGIN.top, y2: height - MARGIN.bottom },
      s("title", {}, `${title(cross.from)} and ${title(cross.to)} cross at ${bytesText(Math.round(cross.bytes))}`)));
  }
  const key = sweep.lines.map((line, i) => {
    const colour = hue(i);
    return h("span", { class: line.algorithm === chosen ? "key chosen" : "key" },
      s("svg", { width: 30, height: 12, "aria-hidden": "true" }, s("line", { x1: 0, x2: 30, y1: 6, y2: 6, stroke: colour, "stroke-width": 2,
        "stroke-dasharray": DASHES[Math.floor(i / 3) % DASHES.length] }), mark(i, 15, 6, colour)), title(line.algorithm));
  });
  return h("figure", {}, h("div", { class: "scroll" }, svg), h("figcaption", { class: "legend" }, key,
    h("span", { class: "key" }, h("i", { class: "swatch bound" }), "lower bound"),
    sweep.crossovers.length > 0 && h("span", { class: "key" }, h("i", { class: "swatch cross" }), "crossover")));
}
