// Learn: the idea, the code with the lines lit that run in this round, the cost, and a quiz.

import { h, title } from "tutti/dom";
import { Grid } from "tutti/grid";
import { Player } from "tutti/player";
import { LESSONS } from "tutti/lessons";
import { QUIZZES } from "tutti/quizzes";
import { reasonNotDrawn } from "tutti/memory";

// "ceil(log2 p) alpha" in letters that people read.
function formula(text) {
  return text.replaceAll("alpha", "α").replaceAll("beta", "β").replaceAll("gamma", "γ")
    .replaceAll("log2", "log₂").replaceAll("ceil", "⌈⌉").replace(/⌈⌉\(([^()]*)\)/g, "⌈$1⌉").replaceAll("floor(p/2)", "⌊p/2⌋").replaceAll("floor(log₂ p)", "⌊log₂ p⌋");
}

function kindsIn(grid, round) {
  const steps = grid.schedule.history.rounds[Math.min(round, grid.replay.lastRound)]?.steps ?? [];
  return new Set(steps.map((name) => grid.replay.step(name).kind));
}

function codeBox(lesson) {
  const lines = lesson.code.map((its) => h("li", { "data-kinds": its.kinds.join(" ") }, its.text));
  const light = (kinds) => lesson.code.forEach((its, i) => {
    const isLit = its.kinds.some((kind) => kinds.has(kind));
    lines[i].classList.toggle("lit", isLit);
    if (isLit) lines[i].setAttribute("aria-current", "step");
    else lines[i].removeAttribute("aria-current");
  });
  return { element: h("ol", { class: "code", "aria-label": "What rank r does; lines of this round are marked" }, lines), light };
}

function quizBox(collective) {
  const questions = QUIZZES[collective] ?? [];
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

export function show(panel, { catalogue, schedule }) {
  const entry = catalogue.algorithms.find((its) => its.collective === schedule.collective && its.name === schedule.algorithm);
  const lesson = LESSONS[`${schedule.collective}/${schedule.algorithm}`];
  const words = [h("h2", {}, `${title(schedule.collective)}: ${title(schedule.algorithm)}`),
    h("p", { class: "idea" }, lesson?.idea ?? entry?.idea ?? "A schedule from a file: the library has no lesson for it."),
    entry && h("p", {}, "It takes ", h("code", { class: "formula" }, formula(entry.cost)), " where a message of n bytes takes α + nβ, and adding n bytes nγ."),
    lesson && h("p", {}, h("strong", {}, "Other than powers of two. "), lesson.odd)].filter(Boolean);
  const reason = reasonNotDrawn(schedule);
  if (reason) {
    panel.replaceChildren(...words, reason, quizBox(schedule.collective));
    return {};
  }
  const code = lesson && codeBox(lesson);
  const grid = new Grid(schedule, `${schedule.collective} ${schedule.algorithm}`, "narrow");
  const player = new Player([grid], (round) => {
    const kinds = kindsIn(grid, round);
    grid.element.dataset.kinds = JSON.stringify([...kinds]);
    code?.light(kinds);
  });
  panel.replaceChildren(h("div", { class: "lesson" }, h("div", {}, ...words, code ? [h("h2", {}, "Rank r runs"), code.element] : ""),
    h("div", {}, player.element, grid.element)), quizBox(schedule.collective));
  player.show();
  return { update: () => player.show(), resized: () => grid.drawArrows(player.round), key: (event) => player.key(event), stop: () => player.stop() };
}
