// Memory: ranks and their chunks, round by round.

import { h, plural } from "tutti/dom";
import { Grid, canDraw } from "tutti/grid";
import { Player } from "tutti/player";
import { Replay } from "tutti/replay";
import { MOST_PLACES, colourOf } from "tutti/sets";

const MOST_LINES = 64;

function legend(schedule) {
  const isLevel = schedule.ranks > MOST_PLACES;
  const ranks = isLevel && schedule.reducing ? 0 : Math.min(schedule.ranks, 16);
  const how = schedule.reducing && isLevel
    ? "The height of a bar is how many ranks' contributions the cell holds; point at it to see whose."
    : schedule.reducing ? "A bar has a place for every rank; a filled place is a contribution that the cell holds."
    : schedule.collective === "barrier"
      ? "A barrier moves no data; a bar shows of whose coming a rank has heard."
      : "A bar has the colour of the rank that the data comes from; the number is its chunk.";
  return h("div", { class: "legend" },
    Array.from({ length: ranks }, (_, rank) => h("span", { class: "key" },
      h("i", { style: { background: colourOf(rank, schedule.ranks) } }), `rank ${rank}`)),
    ranks > 0 && schedule.ranks > ranks && h("span", {}, `… ${plural(schedule.ranks - ranks, "more")}`),
    h("span", { class: "hint" }, how),
    h("span", { class: "key" }, h("i", { class: "mark right" }), "✓ result complete"));
}

export function tooLarge(schedule) {
  return h("p", { class: "note" }, `Memory is drawn cell by cell for up to 64 ranks; this schedule has ` +
    `${schedule.ranks}. Space and time, Machine and Cost show it all the same.`);
}

export function reasonNotDrawn(schedule) {
  if (schedule.history.rounds.length === 0) {
    return h("p", { class: "note" }, "There is nothing to draw: the verifier refused the schedule before any step could run.");
  }
  return canDraw(schedule) ? null : tooLarge(schedule);
}

function stepLines(grid, round) {
  const steps = grid.schedule.history.rounds[round]?.steps ?? [];
  const lines = steps.slice(0, MOST_LINES).map((name) =>
    h("li", {}, `rank ${name[0]}: ${Replay.words(grid.replay.step(name))}`));
  const more = steps.length - lines.length;
  return [lines, more > 0 && h("li", {}, `and ${plural(more, "step")} more`)];
}

export function show(panel, { schedule }) {
  const reason = reasonNotDrawn(schedule);
  if (reason) {
    panel.replaceChildren(reason);
    return {};
  }
  const grid = new Grid(schedule, `${schedule.collective} ${schedule.algorithm}`);
  const list = h("ol", { class: "steps" });
  const player = new Player([grid], (round) => list.replaceChildren(...stepLines(grid, round).flat().filter(Boolean)));
  panel.replaceChildren(player.element, grid.element, legend(schedule),
    h("details", {}, h("summary", {}, "Steps of this round, in words"), list));
  player.show();
  return {
    update: () => player.show(),
    resized: () => grid.drawArrows(player.round),
    key: (event) => player.key(event),
    stop: () => player.stop(),
  };
}
