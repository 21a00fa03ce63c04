// Cost: the algorithms of a collective side by side, at one size and over all sizes.

import { h, bytesText, formula, percentText, plural, roomIn, timeText, title } from "tutti/dom";
import { ask } from "tutti/data";
import { sweepChart } from "tutti/chart";
import { machineParameters, settingsForm } from "tutti/settings";
import * as state from "tutti/state";

// Options count for the algorithm they were given for; without them all algorithms have one answer.
function parameters({ scheduleParameters }) {
  const asked = { ...scheduleParameters, ...machineParameters() };
  const hasOptions = ["chunks", "radix", "group_size"].some((name) => name in asked);
  if (!hasOptions) delete asked.algorithm;
  return asked;
}

export const settings = ({ catalogue, ranks }) => settingsForm(catalogue, ranks);

export async function load(shown) {
  if (!shown.schedule.proved) return {};
  const asked = parameters(shown);
  const sweepAsked = { ...asked };
  delete sweepAsked.bytes;
  const [costs, sweep] = await Promise.all([ask("costs", asked), ask("sweep", sweepAsked)]);
  return { costs, sweep };
}

// What one looks for comes first: on a phone the rest is out of sight.
const COLUMNS = [
  ["time", "simulated", (row) => timeText(row.time_ns)],
  ["of the bound", "time divided by the lower bound", (row) => (row.ratio > 0 ? `${row.ratio.toFixed(2)} ×` : "–")],
  ["rounds", "rounds", (row) => row.rounds],
  ["messages", "messages", (row) => row.messages],
  ["sent, most", "bytes that the busiest rank sends", (row) => bytesText(row.max_sent)],
  ["sent, mean", "bytes that a rank sends in the mean", (row) => bytesText(row.mean_sent)],
  ["reduced", "bytes that all ranks reduce together", (row) => bytesText(row.reduced)],
];

function nameCell(row, schedule, isFile) {
  if (isFile) return row.algorithm;
  return h("button", { type: "button", class: "link", "data-focus": row.algorithm, onclick: () => state.set({ algorithm: row.algorithm, round: 0, chunks: "", radix: "", group_size: "" }, "pushState"),
    "aria-current": row.algorithm === schedule.algorithm ? "true" : null }, title(row.algorithm));
}

function table(costs, schedule) {
  const isFile = state.get("file") !== "";
  const times = costs.rows.filter((row) => !row.left_out).map((row) => row.time_ns);
  const best = Math.min(...times);
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Costs" },
    h("table", { class: "figures" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "algorithm"),
        COLUMNS.map(([name, hint]) => h("th", { scope: "col", title: hint }, name)))),
      h("tbody", {}, costs.rows.map((row) => {
        const isChosen = row.algorithm === schedule.algorithm;
        const cells = row.left_out ? h("td", { class: "why", colspan: COLUMNS.length }, row.left_out)
          : COLUMNS.map(([name, , text]) => h("td", { class: name === "time" && row.time_ns === best ? "best" : null }, String(text(row))));
        return h("tr", { class: isChosen ? "chosen" : null, "data-algorithm": row.algorithm },
          h("th", { scope: "row" }, nameCell(row, schedule, isFile)), cells);
      }))));
}

function crossoverWords(sweep) {
  if (sweep.crossovers.length === 0) {
    return h("p", {}, sweep.lines.length > 1 ? "One algorithm is the fastest at all sizes." : "");
  }
  return h("ul", { class: "crossovers" }, sweep.crossovers.map((cross) =>
    h("li", {}, `From about ${bytesText(Math.round(cross.bytes))} on, ${title(cross.to)} is faster than ${title(cross.from)}.`)));
}

function leftOut(sweep) {
  if (sweep.left_out.length === 0) return null;
  return h("details", { class: "left-out" }, h("summary", {}, `${plural(sweep.left_out.length, "algorithm")} not in the chart`),
    h("ul", {}, sweep.left_out.map(({ algorithm, why }) => h("li", {}, h("strong", {}, title(algorithm)), `: ${why}`))));
}

export function show(panel, { catalogue, entry, schedule, costs, sweep }) {
  if (!costs) {
    panel.replaceChildren(h("p", { class: "note" }, "A schedule that is refused has no costs."));
    return {};
  }
  const chosen = costs.rows.find((row) => row.algorithm === schedule.algorithm && !row.left_out);
  const facts = chosen && h("p", { class: "fact" }, h("strong", {}, title(schedule.algorithm)),
    `: ${plural(chosen.rounds, "round")}, ${timeText(chosen.time_ns)}; no schedule can be faster than ` +
    `${timeText(chosen.bound_ns)} (${chosen.bound_kind})` +
    (chosen.ratio > 0 ? `, which is ${percentText(1 / chosen.ratio)} of it.` : "."));
  panel.replaceChildren(settingsForm(catalogue, schedule.ranks), facts ?? "", entry ? h("p", {}, "By formula: ", h("code", { class: "formula" }, formula(entry.cost))) : "",
    table(costs, schedule), h("h2", {}, "Time against size"),
    sweepChart(sweep, schedule.algorithm, roomIn(panel)), crossoverWords(sweep), leftOut(sweep) ?? "");
  return {};
}
