// Machine: devices and links, what each link carries, now and in all.

import { h, bytesText, choose, field, percentText, timeText } from "tutti/dom";
import { ask } from "tutti/data";
import { condensed } from "tutti/condense";
import { flowsOf } from "tutti/flows";
import { HEAT, Picture, linkName } from "tutti/picture";
import { machineParameters, settingsForm } from "tutti/settings";
import * as state from "tutti/state";
import { TreePanel } from "tutti/trees";

const MOST_ROWS = 12;
const TICK_MS = 140;

export const settings = ({ catalogue, ranks }) => settingsForm(catalogue, ranks);

export async function load({ scheduleParameters, schedule }) {
  if (!schedule.proved) return {};
  return { simulation: await ask("simulation", { ...scheduleParameters, ...machineParameters() }) };
}

// The links as they are, however the picture condenses them.
function linkTable(simulation, bin) {
  const { links } = simulation.report;
  const carried = bin === null ? null : new Map(simulation.bins.links.map(({ link, bytes }) => [link, bytes[bin]]));
  const now = (index) => (carried.get(index) ?? 0) / (simulation.topology.links[index].gbps * simulation.bins.ns || 1);
  const used = links.map((_, index) => index).filter((index) => links[index].bytes > 0)
    .sort((a, b) => links[b].utilisation - links[a].utilisation);
  const rows = used.slice(0, MOST_ROWS).map((index) => h("tr", { "data-link": index },
    h("th", { scope: "row" }, linkName(simulation.topology, index)), h("td", {}, bytesText(Math.round(links[index].bytes))),
    h("td", {}, timeText(links[index].busy_ns)), h("td", {}, percentText(links[index].utilisation)),
    bin !== null && h("td", {}, percentText(Math.min(1, now(index))))));
  return h("table", { class: "figures" },
    h("caption", {}, `Busiest links (${rows.length} of ${used.length} used)`),
    h("thead", {}, h("tr", {}, ["link", "bytes", "busy", "utilisation", ...(bin === null ? [] : ["now"])].map((text) => h("th", { scope: "col" }, text)))),
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
    if (at() >= count - 1) state.set({ at: "" });
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

function heatLegend() {
  return h("div", { class: "legend" }, HEAT.map((colour, i) => h("span", { class: "key" }, h("i", { style: { background: colour } }),
    `${(100 * i) / HEAT.length} to ${(100 * (i + 1)) / HEAT.length} %`)), h("span", { class: "hint" }, "of a link's rate; thicker is busier"));
}

// Trees are what one wants to see of a schedule that was made of them; of others, the use of links.
function showsTrees(schedule) {
  const asked = state.get("show");
  return asked === "" ? Boolean(schedule.made_for) : asked === "trees";
}

function whatField(isTrees, name) {
  return field("colours show", choose(isTrees ? "trees" : "use", [["use", "how busy links are"], ["trees", `the ${name}`]],
    (show) => state.set({ show }), { name: "show" }));
}

export function show(panel, { catalogue, schedule, simulation }) {
  if (!simulation) {
    panel.replaceChildren(h("p", { class: "note" }, "A schedule that is refused is not put on a machine."));
    return {};
  }
  const small = condensed(simulation);
  const picture = new Picture(small);
  const flows = small === simulation && simulation.routes.length > 0 ? flowsOf(schedule) : [];
  const isTrees = flows.length > 0 && showsTrees(schedule);
  const form = settingsForm(catalogue, schedule.ranks, simulation.topology);
  if (flows.length > 0) form.append(whatField(isTrees, flows.every(({ isTree }) => isTree) ? "trees" : "channels"));
  const tableBox = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Busiest links" });
  const controls = timeControls(simulation, (bin) => {
    picture.show(bin, isTrees);
    tableBox.replaceChildren(linkTable(simulation, bin));
  });
  const trees = isTrees ? new TreePanel(picture, flows, simulation.routes, schedule) : null;
  const notes = [...(schedule.why ?? []).map((words) => h("p", { class: "fact" }, words)),
    small !== simulation && h("p", { class: "hint" }, "Condensed: a circle is a server or a few neighbouring ranks, a line all links between two of them. The table has single links.")].filter(Boolean);
  panel.replaceChildren(form, ...notes, isTrees ? "" : controls.element,
    h("div", { class: "side" }, picture.svg, h("div", {}, trees ? trees.element : "", tableBox)), isTrees ? "" : heatLegend());
  controls.update();
  trees?.update();
  return { update: () => { controls.update(); trees?.update(); }, stop: controls.stop };
}
