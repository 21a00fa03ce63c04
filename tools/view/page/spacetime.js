// Space and time: what each rank does when, from the simulator or from a real trace.

import { h, field, choose, plural, roomIn, timeText } from "tutti/dom";
import { ask } from "tutti/data";
import { drawLanes, fromEvents, GROUPS } from "tutti/lanes";
import { machineParameters, settingsForm } from "tutti/settings";
import * as state from "tutti/state";

const ZOOMS = [["1", "whole"], ["2", "2 ×"], ["4", "4 ×"], ["8", "8 ×"]];

export function legend() {
  return h("div", { class: "legend" }, GROUPS.map(([group, text]) =>
    h("span", { class: "key" }, h("i", { class: `swatch ${group}` }), text)));
}

function zoomField() {
  return field("zoom", choose(state.get("zoom"), ZOOMS, (zoom) => state.set({ zoom }), { name: "zoom" }));
}

export function picture(panel, { events, numRanks, numEvents, label }) {
  const width = Math.max(320, roomIn(panel)) * (state.number("zoom") || 1);
  const { total, bars, lines, numLanes } = fromEvents(events);
  const svg = drawLanes({ numRanks, numLanes, total, width, bars, lines, label });
  const hidden = numEvents - events.length;
  return [h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, svg),
    hidden > 0 && h("p", { class: "note" }, `${plural(hidden, "event")} more are not drawn.`)];
}

function waitTable(report) {
  if (report.waits.length === 0) return h("p", {}, "No rank waits for another.");
  return h("ul", { class: "waits" }, report.waits.slice(0, 4).map((wait) =>
    h("li", {}, `rank ${wait.rank} waits ${timeText(wait.ns)} for rank ${wait.on}`)));
}

export async function load({ scheduleParameters, schedule }) {
  const trace = state.get("trace");
  if (state.get("source") === "trace" && trace) return { trace: await ask("trace", { files: trace }) };
  if (!schedule.proved) return {};
  return { simulation: await ask("simulation", { ...scheduleParameters, ...machineParameters() }) };
}

function sourceField() {
  if (!state.get("trace")) return null;
  return field("from", choose(state.get("source") || "simulator",
    [["simulator", "the simulator"], ["trace", "the opened trace"]], (source) => state.set({ source }), { name: "source" }));
}

export function show(panel, { catalogue, schedule, trace, simulation }) {
  if (trace) {
    panel.replaceChildren(h("form", { class: "settings", "aria-label": "Source" }, sourceField(), zoomField()));
    panel.append(...picture(panel, { events: trace.events, numRanks: trace.ranks, numEvents: trace.num_events,
      label: "What each rank did when, as recorded" }).filter(Boolean), legend());
    if (trace.num_events === 0) panel.append(h("p", { class: "note" }, "The trace has calls but no steps: small calls travel as packets, without steps. Real runs shows the calls."));
    return {};
  }
  if (!simulation) {
    panel.replaceChildren(h("p", { class: "note" }, "A schedule that is refused has no times. Memory shows how far it gets."));
    return {};
  }
  const { report } = simulation;
  const form = settingsForm(catalogue, schedule.ranks);
  form.append(...[sourceField(), zoomField()].filter(Boolean));
  panel.replaceChildren(form, h("p", { class: "fact" }, h("strong", {}, timeText(report.time_ns)),
    ` on ${simulation.topology.name}; the best possible is ${timeText(report.bound_ns)}`));
  panel.append(...picture(panel, { events: simulation.events, numRanks: schedule.ranks, numEvents: simulation.num_events,
    label: "What each rank does when" }).filter(Boolean), legend(), h("h2", {}, "Who waits for whom"), waitTable(report));
  return {};
}
