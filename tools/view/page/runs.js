// Real runs: traces that ranks have written, put together. Tells how long ranks waited for the last
// to call apart from how long the data took, and names who came last.

import { h, plural, roomIn, timeText } from "tutti/dom";
import { ask, isExported } from "tutti/data";
import { allRanks, drawLanes } from "tutti/lanes";
import * as state from "tutti/state";

const MOST_ROWS = 200;
const MOST_LANES = 64;

export async function load() {
  const files = state.get("trace");
  return files ? { trace: await ask("trace", { files }) } : {};
}

export const settings = ({ openFiles }) => (isExported ? [] : dropZone(openFiles));

function dropZone(openFiles) {
  const input = h("input", { type: "file", multiple: true, class: "unseen", id: "files", accept: ".jsonl,.json,.xml",
    onchange: () => openFiles([...input.files]) });
  const zone = h("div", { class: "drop",
    ondragover: (event) => { event.preventDefault(); zone.classList.add("over"); },
    ondragleave: () => zone.classList.remove("over"),
    ondrop: (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      openFiles([...event.dataTransfer.files]);
    } },
    h("p", {}, "Drop the traces of a run here, one or all of its ranks'."),
    input, h("label", { for: "files", class: "button" }, "Choose files"),
    h("p", { class: "hint" }, "tutti run -n 4 --trace traces -- ./program writes traces/trace-0.jsonl and so on."));
  return zone;
}

function verdictOf(trace) {
  const [worst] = byWaits(trace);
  if (!worst || worst.made_wait_ns === 0) return h("p", { class: "fact" }, "No rank kept the others waiting.");
  return h("p", { class: "fact" }, h("strong", { id: "slowest" }, `Rank ${worst.rank} kept the others waiting most`),
    `: it called last in ${plural(worst.times_last, "collective")}, and the others waited ${timeText(worst.made_wait_ns)} for it, added up over the ranks that waited.`);
}

// Clocks of several hosts are known up to an error; a difference below it says nothing.
function clockNote(trace) {
  const worst = Math.max(0, ...trace.calls.map((call) => call.error_ns));
  return worst > 0 && h("p", { class: "note", id: "clocks" },
    `The clocks of these ranks agree up to ± ${timeText(worst)}. Where the skew is not more than that, nobody is named as the last.`);
}

// A little before a call and after it, so that one sees what it follows and what follows.
function windowOf(call) {
  const margin = 0.1 * (call.skew_ns + (call.transfer_ns ?? 0)) + 1;
  const until = Math.max(call.begin_ns + call.skew_ns, ...call.ranks.map(([, begin, end]) => end ?? begin));
  return { from: Math.max(0, Math.floor(call.begin_ns - margin)), until: Math.ceil(until + margin) };
}

function callName(call, trace, i) {
  if (isExported || trace.num_events === 0) return call.what;
  return h("button", { type: "button", class: "link", "data-focus": `call ${i}`, title: "Show its time in space and time",
    onclick: () => state.set({ view: "spacetime", source: "trace", ...windowOf(call) }, "pushState") }, call.what);
}

function callTable(trace) {
  const longest = Math.max(1, ...trace.calls.map((call) => call.skew_ns + (call.transfer_ns ?? 0)));
  const skewText = (call) => `${timeText(call.skew_ns)}${call.error_ns > 0 ? ` ± ${timeText(call.error_ns)}` : ""}`;
  const rows = trace.calls.slice(0, MOST_ROWS).map((call, i) => h("tr", {},
    h("th", { scope: "row" }, callName(call, trace, i)), h("td", { class: "of-ranks" }, `${call.ranks.length} of ${trace.ranks}`),
    h("td", { "data-name": "skew" }, skewText(call)), h("td", { "data-name": "transfer" }, call.open ? "not over" : timeText(call.transfer_ns)),
    h("td", { "data-name": "last to call" }, call.last_rank === null ? "–" : `rank ${call.last_rank}`),
    h("td", { class: "split" }, h("span", { class: "skew", style: { width: `${(100 * call.skew_ns) / longest}%` } }),
      h("span", { class: "transfer", style: { width: `${(100 * (call.transfer_ns ?? 0)) / longest}%` } }))));
  const more = trace.num_calls - rows.length;
  return [h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Collectives of the run" },
    h("table", { class: "figures calls" },
      h("thead", {}, h("tr", {}, ["collective", "ranks", "skew", "transfer", "last to call", "skew and transfer"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, rows))),
  h("div", { class: "legend" }, h("span", { class: "key" }, h("i", { class: "swatch skew" }), "skew: until the last rank called"),
    h("span", { class: "key" }, h("i", { class: "swatch transfer" }), "transfer: from then until the last rank was done")),
  more > 0 && h("p", { class: "note" }, `${plural(more, "collective")} more are not listed.`)];
}

// Those that the others waited for most come first.
const byWaits = (trace) => [...trace.by_rank].sort((a, b) => b.made_wait_ns - a.made_wait_ns);

function rankTable(trace) {
  const rows = trace.ranks > MOST_LANES ? byWaits(trace) : trace.by_rank;
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Ranks" }, h("table", { class: "figures by-rank" }, h("caption", {}, "Ranks"),
    h("thead", {}, h("tr", {}, ["rank", "times last", "others waited for it", "it waited for others"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, rows.map((rank) => h("tr", {}, h("th", { scope: "row" }, String(rank.rank)),
      h("td", {}, String(rank.times_last)), h("td", {}, timeText(rank.made_wait_ns)), h("td", {}, timeText(rank.waited_ns)))))));
}

// The ranks that have a lane: all, or those that kept the others waiting.
function drawnRanks(trace) {
  if (trace.ranks <= MOST_LANES) return allRanks(trace.ranks);
  return byWaits(trace).slice(0, MOST_LANES).map(({ rank }) => rank).sort((a, b) => a - b);
}

// Calls of a rank that overlap lie in lanes of their own: each in the first that is free.
function laneOf(lanes, begin, end) {
  const free = lanes.findIndex((until) => until <= begin);
  const lane = free < 0 ? lanes.length : free;
  lanes[lane] = end;
  return lane;
}

// The calls of the ranks in time: the part before the last rank came is a wait.
function callPicture(panel, trace) {
  const ranks = drawnRanks(trace);
  const lanesOf = new Map(ranks.map((rank) => [rank, []])); // of each lane, until when it is taken
  const bars = [];
  for (const call of trace.calls) { // by when they begin
    const last = call.begin_ns + call.skew_ns;
    for (const [rank, begin, end] of call.ranks) {
      if (!lanesOf.has(rank)) continue;
      const until = end ?? Math.max(begin, last);
      bars.push({ rank, call, begin, end: until, came: call.last_rank === null ? begin : Math.max(begin, Math.min(last, until)) });
    }
  }
  bars.sort((a, b) => a.begin - b.begin);
  for (const bar of bars) bar.lane = laneOf(lanesOf.get(bar.rank), bar.begin, bar.end);
  const parts = bars.flatMap(({ rank, lane, call, begin, came, end }) => [
    came > begin && { rank, lane, begin, end: came, group: "wait", words: `rank ${rank} waits for rank ${call.last_rank}: ${call.what}` },
    { rank, lane, begin: came, end, group: "recv", words: `rank ${rank}: ${call.what}` }].filter(Boolean));
  const label = "The calls of each rank in time";
  return [ranks.length < trace.ranks && h("p", { class: "note" },
    `Drawn are the ${ranks.length} ranks that the others waited for most; the figures are of all ${trace.ranks}.`),
  h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    drawLanes({ ranks, numLanes: Math.max(1, ...[...lanesOf.values()].map((lanes) => lanes.length)), end: Math.max(0, ...bars.map((bar) => bar.end)),
      width: Math.max(320, roomIn(panel)), bars: parts, lines: [], label }))];
}

async function savePerfetto(problem) {
  try {
    const { chrome } = await ask("trace", { files: state.get("trace"), to: "chrome" });
    const address = URL.createObjectURL(new Blob([chrome], { type: "application/json" }));
    h("a", { href: address, download: "trace.json" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  } catch (error) {
    problem(error);
  }
}

export function show(panel, { trace, openFiles, problem }) {
  const parts = isExported ? [] : [dropZone(openFiles)];
  if (!trace) {
    panel.replaceChildren(...(isExported ? [h("p", { class: "note" }, "This exported page has no traces inside: give them to tutti view --export.")] : parts));
    return {};
  }
  const hasCalls = trace.calls.length > 0;
  const lost = trace.lost > 0 && h("p", { class: "note" }, `${plural(trace.lost, "event")} were overwritten before the trace was written.`);
  panel.replaceChildren(...parts, ...[lost, clockNote(trace),
    hasCalls ? verdictOf(trace) : h("p", { class: "note" }, "This trace has no calls: it is of the simulator. Space and time draws its steps."),
    h("div", { class: "buttons" },
      h("button", { type: "button", onclick: () => savePerfetto(problem) }, "Save for Perfetto"),
      trace.num_events > 0 && h("button", { type: "button", onclick: () => state.set({ view: "spacetime", source: "trace", from: "", until: "" }, "pushState") }, "Show the steps in space and time")),
    ...(hasCalls ? callPicture(panel, trace) : []), ...(hasCalls ? callTable(trace) : []), hasCalls && rankTable(trace)].filter(Boolean));
  return {};
}
