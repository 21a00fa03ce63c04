// Real runs: traces that ranks have written, put together. Tells how long ranks waited for the last
// to call apart from how long the data took, and names who came last.

import { h, plural, roomIn, timeText } from "tutti/dom";
import { ask, isExported, openFile } from "tutti/data";
import { drawLanes } from "tutti/lanes";
import * as state from "tutti/state";

const MOST_ROWS = 200;

export async function load() {
  const files = state.get("trace");
  return files ? { trace: await ask("trace", { files }) } : {};
}

async function open(files, problem) {
  try {
    const numbers = [];
    for (const file of files) numbers.push(await openFile(file));
    if (numbers.length > 0) state.set({ view: "runs", trace: numbers.join(",") }, "pushState");
  } catch (error) {
    problem(error);
  }
}

function dropZone(problem) {
  const input = h("input", { type: "file", multiple: true, class: "unseen", id: "files", accept: ".jsonl,.json",
    onchange: () => open([...input.files], problem) });
  const zone = h("div", { class: "drop",
    ondragover: (event) => { event.preventDefault(); zone.classList.add("over"); },
    ondragleave: () => zone.classList.remove("over"),
    ondrop: (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      open([...event.dataTransfer.files], problem);
    } },
    h("p", {}, "Drop the traces of a run here, one or all of its ranks'."),
    input, h("label", { for: "files", class: "button" }, "Choose files"),
    h("p", { class: "hint" }, "tutti run -n 4 --trace traces -- ./program writes traces/trace-0.jsonl and so on."));
  return zone;
}

function verdictOf(trace) {
  const worst = [...trace.by_rank].sort((a, b) => b.made_wait_ns - a.made_wait_ns)[0];
  if (!worst || worst.made_wait_ns === 0) return h("p", { class: "fact" }, "No rank kept the others waiting.");
  return h("p", { class: "fact" }, h("strong", { id: "slowest" }, `Rank ${worst.rank} kept the others waiting most`),
    `: it called last in ${plural(worst.times_last, "collective")}, and the others waited ${timeText(worst.made_wait_ns)} for it, all together.`);
}

function callTable(trace) {
  const longest = Math.max(1, ...trace.calls.map((call) => call.skew_ns + (call.transfer_ns ?? 0)));
  const rows = trace.calls.slice(0, MOST_ROWS).map((call) => h("tr", {},
    h("th", { scope: "row" }, call.what), h("td", {}, `${call.ranks.length} of ${trace.ranks}`),
    h("td", {}, timeText(call.skew_ns)), h("td", {}, call.open ? "not over" : timeText(call.transfer_ns)),
    h("td", {}, call.ranks.length > 1 ? `rank ${call.last_rank}` : "–"),
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

function rankTable(trace) {
  return h("table", { class: "figures" }, h("caption", {}, "Ranks"),
    h("thead", {}, h("tr", {}, ["rank", "times last", "others waited for it", "it waited for others"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, trace.by_rank.map((rank) => h("tr", {}, h("th", { scope: "row" }, String(rank.rank)),
      h("td", {}, String(rank.times_last)), h("td", {}, timeText(rank.made_wait_ns)), h("td", {}, timeText(rank.waited_ns))))));
}

// The calls of all ranks in time: the part before the last rank came is a wait.
function callPicture(panel, trace) {
  const bars = [];
  let total = 0;
  for (const call of trace.calls) {
    const last = call.begin_ns + call.skew_ns;
    for (const [rank, begin, end] of call.ranks) {
      const until = end ?? Math.max(begin, last);
      total = Math.max(total, until);
      const came = Math.min(last, until);
      if (came > begin) bars.push({ rank, lane: 0, begin, end: came, group: "wait", words: `rank ${rank} waits for rank ${call.last_rank}: ${call.what}` });
      bars.push({ rank, lane: 0, begin: came, end: until, group: "recv", words: `rank ${rank}: ${call.what}` });
    }
  }
  const width = Math.max(320, roomIn(panel));
  const label = "The calls of each rank in time";
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    drawLanes({ numRanks: trace.ranks, total, width, bars, lines: [], label }));
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

export function show(panel, { trace, problem }) {
  const parts = isExported ? [] : [dropZone(problem)];
  if (!trace) {
    panel.replaceChildren(...(isExported ? [h("p", { class: "note" }, "This exported page has no traces inside: give them to tutti view --export.")] : parts));
    return {};
  }
  const hasCalls = trace.calls.length > 0;
  const lost = trace.lost > 0 && h("p", { class: "note" }, `${plural(trace.lost, "event")} were overwritten before the trace was written.`);
  panel.replaceChildren(...parts, ...[lost,
    hasCalls ? verdictOf(trace) : h("p", { class: "note" }, "This trace has no calls: it is of the simulator. Space and time draws its steps."),
    h("div", { class: "buttons" },
      h("button", { type: "button", onclick: () => savePerfetto(problem) }, "Save for Perfetto"),
      trace.num_events > 0 && h("button", { type: "button", onclick: () => state.set({ view: "spacetime", source: "trace" }, "pushState") }, "Show the steps in space and time")),
    hasCalls && callPicture(panel, trace), ...(hasCalls ? callTable(trace) : []), hasCalls && rankTable(trace)].filter(Boolean));
  return {};
}
