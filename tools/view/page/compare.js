// Compare: two algorithms of a collective side by side, round by round together.

import { h, bytesText, choose, field, plural, timeText, title } from "tutti/dom";
import { ask } from "tutti/data";
import { Player } from "tutti/player";
import { makeGrid, watch } from "tutti/memory";
import { machineParameters, makingParameters } from "tutti/settings";
import * as state from "tutti/state";

function otherName(catalogue, schedule) {
  const names = catalogue.algorithms.filter((its) => its.collective === schedule.collective).map((its) => its.name);
  if (names.includes(state.get("with"))) return state.get("with");
  return names.find((name) => name !== schedule.algorithm) ?? names[0];
}

export async function load({ catalogue, schedule, scheduleParameters }) {
  const { collective, ranks, root, peer } = scheduleParameters.file === undefined ? scheduleParameters
    : { collective: schedule.collective, ranks: String(schedule.ranks), root: schedule.root ? String(schedule.root) : undefined, peer: schedule.peer ? String(schedule.peer) : undefined };
  const parameters = { collective, ranks, algorithm: otherName(catalogue, schedule) };
  if (root !== undefined) parameters.root = root;
  if (peer !== undefined) parameters.peer = peer;
  // What is made for a machine is drawn as it is timed: made for this one.
  const isMade = catalogue.algorithms.some((its) => its.collective === collective && its.name === parameters.algorithm && its.needs_machine);
  if (isMade) Object.assign(parameters, makingParameters());
  const [other, simulation, otherSimulation] = await Promise.all([ask("schedule", parameters),
    schedule.proved ? ask("simulation", { ...scheduleParameters, ...machineParameters() }) : null,
    ask("simulation", { ...parameters, ...machineParameters() })]);
  return { other, simulation, otherSimulation };
}

function facts(schedule, simulation) {
  const rounds = plural(Math.max(0, (schedule.history ?? schedule.overview).rounds.length - 1), "round");
  if (!simulation) return `${rounds}, refused`;
  const { report } = simulation;
  return `${rounds}, ${plural(report.messages, "message")}, ${bytesText(Math.round(report.message_bytes))} sent in all, ${timeText(report.time_ns)} for ${bytesText(simulation.bytes)} on ${simulation.topology.name}`;
}

function side(schedule, simulation, grid, reason) {
  return h("section", { "aria-label": title(schedule.algorithm) }, h("h2", {}, title(schedule.algorithm)),
    h("p", { class: "hint" }, facts(schedule, simulation)), reason ?? grid.element);
}

export function settings({ catalogue, collective, other = state.get("with") }) {
  const names = catalogue.algorithms.filter((its) => its.collective === collective).map((its) => [its.name, title(its.name)]);
  return h("form", { class: "settings", "aria-label": "What to compare with", onsubmit: (event) => event.preventDefault() },
    field("compare with", choose(other, names, (name) => state.set({ with: name, round: 0 }, "pushState"), { name: "with" })));
}

export function show(panel, { catalogue, schedule, other, simulation, otherSimulation }) {
  const form = settings({ catalogue, collective: schedule.collective, other: other.algorithm });
  const sides = [[schedule, simulation], [other, otherSimulation]].map(([its, time]) => {
    return { its, time, ...makeGrid(its, title(its.algorithm)) };
  });
  const grids = sides.map(({ grid }) => grid).filter(Boolean);
  const tables = grids.filter((grid) => grid.group);
  for (const grid of tables) grid.group = tables;
  const boxes = h("div", { class: "two" }, sides.map(({ its, time, grid, reason }) => side(its, time, grid, reason)));
  if (grids.length === 0) {
    panel.replaceChildren(form, boxes);
    return {};
  }
  const player = new Player(grids);
  panel.replaceChildren(form, player.element, boxes);
  player.show();
  return watch(player);
}
