// The picture of a machine: nodes, and links whose colour and width say how busy they are; over them,
// when asked for, trees.

import { s, percentText } from "tutti/dom";
import { placeNodes } from "tutti/layout";

const SIZE = 560;

// From idle to full; the colours are the theme's.
export const HEAT = [0, 1, 2, 3, 4].map((i) => `var(--heat-${i})`);
const heat = (part) => HEAT[Math.min(HEAT.length - 1, Math.floor(part * HEAT.length))];

export function linkName(topology, index) {
  const { from, to } = topology.links[index];
  return `${topology.nodes[from].name} → ${topology.nodes[to].name}`;
}

export class Picture {
  constructor(simulation) {
    this.simulation = simulation;
    this.topology = simulation.topology;
    this.bins = new Map(simulation.bins.links.map(({ link, bytes }) => [link, bytes]));
    this.lines = new Map();
    this.place = placeNodes(this.topology).map(([x, y]) => [SIZE / 2 + x * SIZE * 0.43, SIZE / 2 + y * SIZE * 0.43]);
    this.svg = s("svg", { class: "machine", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img",
      "aria-label": `${this.topology.name}: ${this.topology.nodes.length} nodes and ${this.topology.links.length} links` });
    this.trees = s("g", { class: "trees" });
    this.draw();
  }

  // The ends of a link, moved so far to its side that what lies beside it does not hide it.
  ends(index, aside) {
    const { from, to } = this.topology.links[index];
    const [x1, y1] = this.place[from];
    const [x2, y2] = this.place[to];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [dx, dy] = [(-aside * (y2 - y1)) / length, (aside * (x2 - x1)) / length];
    return { x1: x1 + dx, y1: y1 + dy, x2: x2 + dx, y2: y2 + dy };
  }

  // The two directions of a cable lie side by side.
  linkLine(index) {
    return s("line", { class: "wire", ...this.ends(index, 2.5), "data-link": index }, s("title", {}));
  }

  draw() {
    const wires = s("g", {});
    this.topology.links.forEach((_, index) => {
      const line = this.linkLine(index);
      this.lines.set(index, line);
      wires.append(line);
    });
    const nodes = this.topology.nodes.map((node, index) => this.nodeMark(node, index));
    this.svg.append(wires, this.trees, ...nodes);
  }

  nodeMark(node, index) {
    const [x, y] = this.place[index];
    const rank = this.topology.ranks.indexOf(index);
    const small = this.topology.nodes.length > 40;
    const size = node.kind === "device" ? (small ? 9 : 16) : small ? 5 : 10;
    const shape = node.kind === "device" ? s("circle", { cx: x, cy: y, r: size })
      : s("rect", { x: x - size, y: y - size * 0.7, width: 2 * size, height: 1.4 * size, rx: 3 });
    const { isCondensed } = this.topology;
    // Of a group the first rank: all of its name would lie over its neighbours'.
    const text = isCondensed && rank >= 0 ? node.name.replace(/^\w+ /, "").replace(/–.*/, "–") : rank >= 0 ? `${rank}` : small ? "" : node.name.split("/").at(-1);
    return s("g", { class: `node ${node.kind}` }, shape,
      text && s("text", { x, y: rank >= 0 ? y + 4 : y + size + 11, "text-anchor": "middle" }, text),
      s("title", {}, isCondensed ? node.name : rank >= 0 ? `${node.name}: rank ${rank}` : `${node.name} (${node.kind})`));
  }

  // Utilisation of a link in one part of the time, or over all of it with null.
  use(link, bin) {
    if (bin === null) return this.simulation.report.links[link].utilisation;
    const bytes = this.bins.get(link)?.[bin] ?? 0;
    const room = this.topology.links[link].gbps * this.simulation.bins.ns;
    return room > 0 ? Math.min(1, bytes / room) : 0;
  }

  // The use of links in one part of the time; with `isQuiet` the links alone, for what lies over them.
  show(bin, isQuiet = false) {
    for (const [index, line] of this.lines) {
      const part = isQuiet ? 0 : this.use(index, bin);
      line.style.stroke = part > 0 ? heat(part) : "";
      line.style.strokeWidth = part > 0 ? `${1.5 + 4 * part}px` : "1px";
      line.classList.toggle("busy", part > 0);
      line.lastChild.textContent = this.words(index, this.use(index, bin));
    }
  }

  words(index, part) {
    return `${linkName(this.topology, index)}: ${percentText(part)} of ${this.topology.links[index].gbps} GB/s`;
  }
}
