// Machine: devices and links, what each link carries, now and in all.

import { h, s, bytesText, percentText, timeText } from "tutti/dom";
import { ask } from "tutti/data";
import { placeNodes } from "tutti/layout";
import { machineParameters, settingsForm } from "tutti/settings";
import * as state from "tutti/state";

const MOST_NODES = 200;
const MOST_ROWS = 12;
const TICK_MS = 140;
const SIZE = 560;

export async function load({ scheduleParameters, schedule }) {
  if (!schedule.proved) return {};
  return { simulation: await ask("simulation", { ...scheduleParameters, ...machineParameters() }) };
}

const HEAT = ["#c9d3e0", "#9bb3d4", "#5f8fc9", "#e69f00", "#d55e00"];
const heat = (part) => HEAT[Math.min(HEAT.length - 1, Math.floor(part * HEAT.length))];

class Picture {
  constructor(simulation) {
    this.simulation = simulation;
    this.topology = simulation.topology;
    this.bins = new Map(simulation.bins.links.map(({ link, bytes }) => [link, bytes]));
    this.lines = new Map();
    this.place = placeNodes(this.topology).map(([x, y]) => [SIZE / 2 + x * SIZE * 0.43, SIZE / 2 + y * SIZE * 0.43]);
    this.svg = s("svg", { class: "machine", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img",
      "aria-label": `${this.topology.name}: ${this.topology.nodes.length} nodes and ${this.topology.links.length} links` });
    this.draw();
  }

  // The two directions of a cable lie side by side.
  linkLine(index) {
    const { from, to } = this.topology.links[index];
    const [x1, y1] = this.place[from];
    const [x2, y2] = this.place[to];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [dx, dy] = [(-2.5 * (y2 - y1)) / length, (2.5 * (x2 - x1)) / length];
    return s("line", { class: "wire", x1: x1 + dx, y1: y1 + dy, x2: x2 + dx, y2: y2 + dy, "data-link": index }, s("title", {}));
  }

  draw() {
    const wires = s("g", {});
    this.topology.links.forEach((_, index) => {
      const line = this.linkLine(index);
      this.lines.set(index, line);
      wires.append(line);
    });
    const nodes = this.topology.nodes.map((node, index) => this.nodeMark(node, index));
    this.svg.append(wires, ...nodes);
  }

  nodeMark(node, index) {
    const [x, y] = this.place[index];
    const rank = this.topology.ranks.indexOf(index);
    const small = this.topology.nodes.length > 40;
    const size = node.kind === "device" ? (small ? 9 : 16) : small ? 5 : 10;
    const shape = node.kind === "device" ? s("circle", { cx: x, cy: y, r: size })
      : s("rect", { x: x - size, y: y - size * 0.7, width: 2 * size, height: 1.4 * size, rx: 3 });
    const text = rank >= 0 ? `${rank}` : small ? "" : node.name.split("/").at(-1);
    return s("g", { class: `node ${node.kind}` }, shape,
      text && s("text", { x, y: rank >= 0 ? y + 4 : y + size + 11, "text-anchor": "middle" }, text),
      s("title", {}, rank >= 0 ? `${node.name}: rank ${rank}` : `${node.name} (${node.kind})`));
  }

  // Utilisation of a link in one part of the time, or over all of it with null.
  use(link, bin) {
    if (bin === null) return this.simulation.report.links[link].utilisation;
    const bytes = this.bins.get(link)?.[bin] ?? 0;
    const room = this.topology.links[link].gbps * this.simulation.bins.ns;
    return room > 0 ? Math.min(1, bytes / room) : 0;
  }

  show(bin) {
    for (const [index, line] of this.lines) {
      const part = this.use(index, bin);
      line.style.stroke = part > 0 ? heat(part) : "";
      line.style.strokeWidth = part > 0 ? `${1.5 + 4 * part}px` : "1px";
      line.classList.toggle("busy", part > 0);
      line.lastChild.textContent = this.words(index, part);
    }
  }

  name(index) {
    const { from, to } = this.topology.links[index];
    return `${this.topology.nodes[from].name} → ${this.topology.nodes[to].name}`;
  }

  words(index, part) {
    return `${this.name(index)}: ${percentText(part)} of ${this.topology.links[index].gbps} GB/s`;
  }
}

function linkTable(picture, bin) {
  const { links } = picture.simulation.report;
  const used = links.map((_, index) => index).filter((index) => links[index].bytes > 0)
    .sort((a, b) => links[b].utilisation - links[a].utilisation);
  const rows = used.slice(0, MOST_ROWS).map((index) => h("tr", { "data-link": index },
    h("th", { scope: "row" }, picture.name(index)), h("td", {}, bytesText(Math.round(links[index].bytes))),
    h("td", {}, timeText(links[index].busy_ns)), h("td", {}, percentText(links[index].utilisation)),
    h("td", {}, bin === null ? "–" : percentText(picture.use(index, bin)))));
  return h("table", { class: "figures" },
    h("caption", {}, `Busiest links (${rows.length} of ${used.length} used)`),
    h("thead", {}, h("tr", {}, ["link", "bytes", "busy", "utilisation", "now"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, rows));
}

function timeControls(simulation, onchange) {
  const { count, ns } = simulation.bins;
  const words = (at) => (at < 0 ? "the whole run" : `${timeText(at * ns)} to ${timeText((at + 1) * ns)}`);
  const output = h("output", { "aria-live": "polite" });
  const range = h("input", { type: "range", min: -1, max: count - 1, "aria-label": "Time", name: "at",
    oninput: () => { stop(); state.set({ at: range.value === "-1" ? "" : range.value }); } });
  let timer = 0;
  const button = h("button", { type: "button", "aria-label": "Play", onclick: () => (timer ? stop() : play()) }, "▶");
  const label = (playing) => {
    button.textContent = playing ? "❚❚" : "▶";
    button.setAttribute("aria-label", playing ? "Pause" : "Play");
  };
  function stop() {
    clearInterval(timer);
    timer = 0;
    label(false);
  }
  function play() {
    label(true);
    const edition = state.currentEdition();
    timer = setInterval(() => {
      const next = at() + 1;
      if (next >= count || !button.isConnected || !state.advance({ at: next }, edition)) stop();
    }, TICK_MS);
  }
  const at = () => (state.get("at") === "" ? -1 : Math.max(-1, Math.min(count - 1, state.number("at"))));
  const update = () => {
    range.value = at();
    range.setAttribute("aria-valuetext", words(at()));
    output.textContent = words(at());
    onchange(at() < 0 ? null : at());
  };
  return { element: h("div", { class: "player", role: "group", "aria-label": "Time" }, button, range, output), update, stop };
}

export function show(panel, { catalogue, schedule, simulation }) {
  if (!simulation) {
    panel.replaceChildren(h("p", { class: "note" }, "A schedule that is refused is not put on a machine."));
    return {};
  }
  const picture = new Picture(simulation);
  const tableBox = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Busiest links" });
  const controls = timeControls(simulation, (bin) => {
    picture.show(bin);
    tableBox.replaceChildren(linkTable(picture, bin));
  });
  const drawn = simulation.topology.nodes.length <= MOST_NODES ? picture.svg
    : h("p", { class: "note" }, "The machine has too many nodes for a picture; the table has its links.");
  panel.replaceChildren(settingsForm(catalogue, schedule.ranks), controls.element, h("div", { class: "side" }, drawn, tableBox),
    h("div", { class: "legend" }, HEAT.map((colour, i) => h("span", { class: "key" }, h("i", { style: { background: colour } }),
      `${(100 * i) / HEAT.length} to ${(100 * (i + 1)) / HEAT.length} %`)), h("span", { class: "hint" }, "of a link's rate; thicker is busier")));
  controls.update();
  return { update: controls.update, stop: controls.stop };
}
