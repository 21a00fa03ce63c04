// Learn: the idea, the code with the lines lit that run in this round, the cost, and a quiz.

import { h, formula, title } from "tutti/dom";
import { Player } from "tutti/player";
import { LESSONS, MADE_FOR_A_MACHINE } from "tutti/lessons";
import { quizOf } from "tutti/quizzes";
import { doingsOf, doingsOfOverview, isMeant } from "tutti/doing";
import { makeGrid, watch } from "tutti/memory";
import * as state from "tutti/state";

const USUAL_GROUP = 8; // ranks of a server, as the library has it where nobody says otherwise

function codeBox(lesson) {
  const lines = lesson.code.map((its) => h("li", { "data-kinds": its.kinds.join(" ") }, its.text));
  const light = (doings) => lesson.code.forEach((its, i) => {
    const isLit = doings.some((doing) => isMeant(its, doing));
    lines[i].classList.toggle("lit", isLit);
    if (isLit) lines[i].setAttribute("aria-current", "step");
    else lines[i].removeAttribute("aria-current");
  });
  return { element: h("ol", { class: "code", "aria-label": "What rank r does; lines of this round are marked" }, lines), light };
}

function quizBox(schedule) {
  const { rounds } = schedule.history ?? schedule.overview;
  const questions = quizOf(schedule.collective, schedule.algorithm, rounds.length - 1, schedule.ranks);
  if (questions.length === 0) return "";
  return h("section", { class: "quiz", "aria-label": "Quiz" }, h("h2", {}, "Try yourself"),
    questions.map(({ question, answers, right, why }) => {
      const reply = h("p", { class: "reply", "aria-live": "polite" });
      return h("fieldset", {}, h("legend", {}, question), answers.map((answer, i) => h("button", { type: "button", onclick: (event) => {
        const isRight = i === right;
        for (const button of event.target.parentElement.querySelectorAll("button")) button.className = "";
        event.target.className = isRight ? "good" : "bad";
        reply.textContent = isRight ? `✓ Right. ${why}` : "✗ Not that one. Try again.";
      } }, answer)), reply);
    }));
}

// What runs in each round.
function doingsIn(grid, schedule) {
  const groupSize = state.number("group_size") || USUAL_GROUP;
  const all = schedule.history ? doingsOf(schedule, grid.replay, groupSize) : doingsOfOverview(schedule, groupSize);
  return (round) => all[Math.min(round, all.length - 1)];
}

export function show(panel, { entry, schedule }) {
  const lesson = entry && (LESSONS[`${schedule.collective}/${schedule.algorithm}`] ?? (entry.needs_machine ? MADE_FOR_A_MACHINE : undefined));
  const words = [h("h2", {}, `${title(schedule.collective)}: ${title(schedule.algorithm)}`),
    h("p", { class: "idea" }, lesson?.idea ?? entry?.idea ?? "A schedule from a file: the library has no lesson for it."),
    entry && h("p", {}, "It takes ", h("code", { class: "formula" }, formula(entry.cost)), " where a message of n bytes takes α + nβ, and adding n bytes nγ."),
    schedule.made_for && h("p", {}, `Made for ${schedule.made_for === "model" ? "the plain model" : schedule.made_for}; the Machine view chooses another. ${(schedule.why ?? []).join(" ")}`),
    lesson && h("p", {}, h("strong", {}, "Other than powers of two. "), lesson.odd)].filter(Boolean);
  const { grid, reason } = makeGrid(schedule, `${schedule.collective} ${schedule.algorithm}`);
  if (reason) {
    panel.replaceChildren(...words, reason, quizBox(schedule));
    return {};
  }
  const code = lesson && codeBox(lesson);
  const doings = doingsIn(grid, schedule);
  const player = new Player([grid], (round) => {
    grid.element.dataset.kinds = JSON.stringify([...grid.kindsIn(round)]);
    code?.light(doings(round));
  });
  panel.replaceChildren(h("div", { class: "lesson" }, h("div", {}, ...words, code ? [h("h2", {}, "Rank r runs"), code.element] : ""),
    h("div", {}, player.element, grid.element)), quizBox(schedule));
  player.show();
  return watch(player);
}
