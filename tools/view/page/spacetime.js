// Space and time: what each rank does when, from the simulator or from a real trace.

import { h, field, choose, plural, roomIn, timeText } from "tutti/dom";
import { ask, isExported } from "tutti/data";
import { drawActivity } from "tutti/activity";
import { allRanks, drawLanes, fromEvents, GROUPS } from "tutti/lanes";
import { machineParameters, settingsForm } from "tutti/settings";
import * as state from "tutti/state";

const LEAST_WAIT = 0.001;
const ZOOMS = [["1", "whole"], ["2", "2 ×"], ["4", "4 ×"], ["8", "8 ×"]];

export function legend() {
  return h("div", { class: "legend" }, GROUPS.map(([group, text]) =>
    h("span", { class: "key" }, h("i", { class: `swatch ${group}` }), text)));
}

function zoomField() {
  return field("zoom", choose(state.get("zoom"), ZOOMS, (zoom) => state.set({ zoom }), { name: "zoom" }));
}

function picture(panel, { events, activity, numRanks, window, label }) {
  const width = Math.max(320, roomIn(panel)) * (state.number("zoom") || 1);
  if (activity) return drawActivity(activity, window?.from_ns ?? 0, width, label);
  const { from_ns: begin, until_ns: end } = window;
  const { bars, lines, numLanes } = fromEvents(events, end);
  const svg = drawLanes({ ranks: allRanks(numRanks), numLanes, begin, end, width, bars, lines, label });
  return [h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, svg)];
}

// Which part of the time is drawn, where it is not all of it; and the ways to the others.
function windowNote({ events, window, num_events: all, span_ns: span }) {
  const { from_ns: from, until_ns: until } = window;
  const isAll = from <= 0 && until >= span;
  if (isAll || !span) return null;
  const wide = until - from;
  const button = (text, focus, changes) => h("button", { type: "button", "data-focus": focus, onclick: () => state.set(changes, "pushState") }, text);
  return h("div", { class: "buttons", id: "window" },
    h("p", { class: "note" }, `Drawn is what all ranks did from ${timeText(from)} to ${timeText(until)} of ${timeText(span)}${events ? `: ${events.length} of ${plural(all, "event")}` : ""}.`),
    ...(isExported ? [] : [
      from > 0 && button("← Earlier", "earlier", { from: Math.max(0, from - wide), until: from }),
      until < span && button("Later →", "later", { from: until, until: until + wide }),
      (from > 0 || state.get("until") !== "") && button("From the beginning", "beginning", { from: "", until: "" })].filter(Boolean)));
}

// Waits of less than a thousandth of the time are how steps fit together, and nobody's fault.
function waitTable(report) {
  const waits = report.waits.filter(({ ns }) => ns >= LEAST_WAIT * report.time_ns);
  if (waits.length === 0) return h("p", {}, "No rank waits long for another.");
  return h("ul", {}, waits.slice(0, 4).map((wait) =>
    h("li", {}, `rank ${wait.rank} waits ${timeText(wait.ns)} for rank ${wait.on}`)));
}

export const settings = ({ catalogue, ranks }) => settingsForm(catalogue, ranks);

export async function load({ scheduleParameters, schedule }) {
  const trace = state.get("trace");
  if (isOfTrace()) return { trace: await ask("trace", { files: trace, ...windowParameters() }) };
  if (!schedule.proved) return {};
  return { simulation: await ask("simulation", { ...scheduleParameters, ...machineParameters() }) };
}

// What is shown was run, and has nothing to do with the schedule that is chosen.
export const isOfTrace = () => state.get("source") === "trace" && state.get("trace") !== "";

function windowParameters() {
  return Object.fromEntries(["from", "until"].filter((name) => state.get(name) !== "").map((name) => [name, state.get(name)]));
}

function sourceField() {
  if (!state.get("trace")) return null;
  return field("from", choose(state.get("source") || "simulator",
    [["simulator", "the simulator"], ["trace", "the opened trace"]], (source) => state.set({ source }), { name: "source" }));
}

export function show(panel, { catalogue, schedule, trace, simulation }) {
  if (trace) {
    panel.replaceChildren(h("form", { class: "settings", "aria-label": "Source", onsubmit: (event) => event.preventDefault() }, sourceField(), zoomField()), windowNote(trace) ?? "");
    panel.append(...picture(panel, { ...trace, numRanks: trace.ranks, label: "What each rank did when, as recorded" }), legend());
    if (trace.num_events === 0) panel.append(h("p", { class: "note" }, "The trace has calls but no steps: small calls travel as packets, without steps. Real runs shows the calls."));
    return {};
  }
  if (!simulation) {
    panel.replaceChildren(h("p", { class: "note" }, "A schedule that is refused has no times. Memory shows how far it gets."));
    return {};
  }
  const { report } = simulation;
  const form = settingsForm(catalogue, schedule.ranks, simulation.topology);
  form.append(...[sourceField(), zoomField()].filter(Boolean));
  panel.replaceChildren(form, h("p", { class: "fact" }, h("strong", {}, timeText(report.time_ns)),
    ` on ${simulation.topology.name}; the best possible is ${timeText(report.bound_ns)}`));
  const drawnNs = simulation.window?.until_ns ?? report.time_ns;
  const hidden = simulation.events ? simulation.num_events - simulation.events.length : 0;
  if (hidden > 0) panel.append(h("p", { class: "note" }, `Drawn are the first ${timeText(drawnNs)}; ${plural(hidden, "event")} after that are not.`));
  panel.append(...picture(panel, { ...simulation, numRanks: schedule.ranks, label: "What each rank does when" }), legend(), h("h2", {}, "Who waits for whom"), waitTable(report));
  return {};
}
