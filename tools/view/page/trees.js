// Packed trees on the picture of a machine, each in its colour, switched on and off. Which ones are on
// is part of the address.

import { h, s, percentText, plural } from "tutti/dom";
import { NUM_HUES, hue } from "tutti/palette";
import * as state from "tutti/state";

const DASHES = ["", "8 4", "2 4", "8 4 2 4"];
const MOST_AT_FIRST = 8;
const ASIDE = 3.6;

const lookOf = (i) => ({ colour: hue(i), dash: DASHES[Math.floor(i / NUM_HUES) % DASHES.length] });

// Which way the data goes: past the middle, so that the arrows of both directions are apart.
function arrow({ x1, y1, x2, y2 }, colour) {
  const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  return s("path", { class: "tree-arrow", d: "M-5 -5 6 0 -5 5z", fill: colour,
    transform: `translate(${x1 + 0.62 * (x2 - x1)} ${y1 + 0.62 * (y2 - y1)}) rotate(${angle})` });
}

export class TreePanel {
  constructor(picture, flows, routes, schedule) {
    Object.assign(this, { picture, flows, schedule });
    this.routes = new Map(routes.map(([from, to, links]) => [`${from}/${to}`, links]));
    this.boxes = flows.map((flow, i) => h("input", { type: "checkbox", name: `tree-${i}`, onchange: () => this.choose() }));
    const all = (on) => h("button", { type: "button", "data-focus": on ? "all" : "none", onclick: () => this.set(on ? flows.map((_, i) => i) : []) }, on ? "All" : "None");
    this.element = h("fieldset", { class: "tree-list" }, h("legend", {}, flows.every(({ isTree }) => isTree) ? plural(flows.length, "tree") : plural(flows.length, "channel")),
      all(true), all(false), h("ul", {}, flows.map((flow, i) => this.entry(flow, i))));
  }

  entry(flow, i) {
    const { colour, dash } = lookOf(i);
    return h("li", {}, h("label", {}, this.boxes[i], s("svg", { width: 30, height: 10, "aria-hidden": "true" },
      s("line", { x1: 0, x2: 30, y1: 5, y2: 5, stroke: colour, "stroke-width": 4, "stroke-dasharray": dash })), ` ${this.words(flow, i)}`));
  }

  words(flow, i) {
    const share = `${percentText(flow.share)} of ${["all_gather", "reduce_scatter"].includes(this.schedule.collective) ? "a block" : "the data"}`;
    if (!flow.isTree) return `channel ${i + 1}: ${plural(flow.edges.length, "connection")}, ${share}`;
    const isUp = this.schedule.collective.startsWith("reduce");
    return `tree ${i + 1} ${isUp ? "to" : this.schedule.collective === "all_reduce" ? "to and from" : "from"} rank ${flow.root}, depth ${flow.depth}, ${share}`;
  }

  get on() {
    const asked = state.get("trees");
    if (asked === "none") return [];
    if (asked !== "") return asked.split(",").map(Number).filter((i) => i >= 0 && i < this.flows.length);
    return this.flows.map((_, i) => i).slice(0, MOST_AT_FIRST);
  }

  set(on) {
    state.set({ trees: on.length === 0 ? "none" : on.join(",") });
  }

  choose() {
    this.set(this.boxes.flatMap((box, i) => (box.checked ? [i] : [])));
  }

  update() {
    const { on } = this;
    this.boxes.forEach((box, i) => { box.checked = on.includes(i); });
    const taken = new Map(); // how many lines lie beside a link already
    this.picture.trees.replaceChildren(...on.flatMap((i) => this.draw(this.flows[i], i, taken)));
  }

  draw(flow, i, taken) {
    const { colour, dash } = lookOf(i);
    const lines = flow.edges.flatMap(({ from, to }) => (this.routes.get(`${from}/${to}`) ?? []).map((link) => {
      const place = taken.get(link) ?? 0;
      taken.set(link, place + 1);
      const ends = this.picture.ends(link, 2.5 + place * ASIDE);
      return s("g", {}, s("line", { class: "tree", stroke: colour, "stroke-dasharray": dash, "data-tree": i, "data-link": link, ...ends },
        s("title", {}, `${this.words(flow, i)}: rank ${from} to rank ${to}`)), arrow(ends, colour));
    }));
    if (flow.root === null) return lines;
    const [cx, cy] = this.picture.place[this.picture.topology.ranks[flow.root]];
    const roots = taken.get(`root ${flow.root}`) ?? 0;
    taken.set(`root ${flow.root}`, roots + 1);
    return [...lines, s("circle", { class: "tree-root", cx, cy, r: 20 + 3.5 * roots, stroke: colour, "data-tree": i })];
  }
}
