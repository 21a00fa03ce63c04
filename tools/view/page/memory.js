// Memory: ranks and their chunks, round by round.

import { h, plural } from "tutti/dom";
import { Grid } from "tutti/grid";
import { Overview } from "tutti/overview";
import { Player } from "tutti/player";
import { Replay } from "tutti/replay";
import { MOST_PLACES, colourOf } from "tutti/sets";

const MOST_LINES = 64;

function legend(schedule) {
  const isLevel = schedule.ranks > MOST_PLACES;
  const ranks = isLevel && schedule.reducing ? 0 : Math.min(schedule.ranks, 16);
  const how = schedule.reducing && isLevel
    ? "The height of a bar is how many ranks' contributions the cell holds, doubling by doubling; point at it to see whose."
    : schedule.reducing ? "A bar has a place for every rank; a filled place is a contribution that the cell holds."
    : schedule.collective === "barrier"
      ? "A barrier moves no data; a bar shows of whose coming a rank has heard."
      : "A bar has the colour of the rank that the data comes from; the number is its chunk.";
  return h("div", { class: "legend" },
    Array.from({ length: ranks }, (_, rank) => h("span", { class: "key" },
      h("i", { style: { background: colourOf(rank, schedule.ranks) } }), `rank ${rank}`)),
    ranks > 0 && schedule.ranks > ranks && h("span", {}, `… ${plural(schedule.ranks - ranks, "more")}`),
    h("span", { class: "hint" }, how),
    h("span", { class: "key" }, h("i", { class: "mark right" }), "✓ result complete"),
    !schedule.proved && h("span", { class: "key" }, h("i", { class: "mark fault" }), "the step that is refused"));
}

// A grid of the schedule, cell by cell or summed up; or the reason why there is none.
export function makeGrid(schedule, name) {
  const replay = schedule.history ?? schedule.overview;
  if (replay.rounds.length === 0) {
    return { reason: h("p", { class: "note" }, "There is nothing to draw: the verifier refused the schedule before any step could run.") };
  }
  return { grid: schedule.history ? new Grid(schedule, name) : new Overview(schedule, name) };
}

function stepLines(grid, round) {
  const steps = grid.schedule.history.rounds[round]?.steps ?? [];
  const line = (name) => {
    const isFault = grid.replay.isFault(name);
    return h("li", { class: isFault ? "fault" : null }, `rank ${name[0]}: ${Replay.words(grid.replay.step(name))}${isFault ? " ✗ here" : ""}`);
  };
  // A step at which the run stopped is in no round; it is said with the last.
  const stopped = grid.replay.faultsIn(round).filter((name) => round === grid.lastRound && !steps.some((its) => `${its}` === `${name}`));
  const isFirst = (name) => Number(!grid.replay.isFault(name));
  const shown = [...stopped, ...steps].sort((a, b) => isFirst(a) - isFirst(b)).slice(0, MOST_LINES);
  const more = steps.length + stopped.length - shown.length;
  return [shown.map(line), more > 0 && h("li", {}, `and ${plural(more, "step")} more`)];
}

function stepsBox(grid) {
  const list = h("ol", { class: "steps" });
  let shown = 0;
  const fill = () => element.open && list.replaceChildren(...stepLines(grid, shown).flat().filter(Boolean));
  const element = h("details", { ontoggle: fill, open: grid.replay.faults.length > 0 }, h("summary", {}, "Steps of this round, in words"), list);
  return { element, show: (round) => { shown = round; fill(); } };
}

export function show(panel, { schedule }) {
  const { grid, reason } = makeGrid(schedule, `${schedule.collective} ${schedule.algorithm}`);
  if (reason) {
    panel.replaceChildren(reason);
    return {};
  }
  const steps = schedule.history && stepsBox(grid);
  const player = new Player([grid], (round) => steps?.show(round));
  panel.replaceChildren(player.element, grid.element, ...(steps ? [legend(schedule), steps.element] : []));
  player.show();
  return watch(player);
}

// What the page tells a view that plays.
export function watch(player) {
  return {
    update: () => player.show(),
    recoloured: () => player.grids.forEach((grid) => grid.recoloured?.()),
    resized: () => player.grids.forEach((grid) => grid.resized(player.round)),
    key: (event) => player.key(event),
    stop: () => player.stop(),
  };
}
