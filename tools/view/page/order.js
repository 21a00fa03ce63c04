// Any order: ranks call the same collectives in different orders. On the left what becomes of it in a
// library whose ranks run their calls one behind the other, on the right tutti. Rounds, not times: what
// could run is what counts. The library says what runs; nothing is decided here.

import { HATCHED, h, s, choose, field, plural, roomIn, timeText } from "tutti/dom";
import { ask, isExported } from "tutti/data";
import { watch } from "tutti/memory";
import { Player } from "tutti/player";
import * as state from "tutti/state";

const MOST_RANKS = 16;
const LEFT = 56;
const ROW = 38;
const NAMES = ["A", "B", "C"];
const numCalls = () => (state.get("calls") === "3" ? 3 : 2);

export async function load() {
  const asked = state.get("ranks");
  const parameters = { ranks: Number.isInteger(Number(asked)) ? String(Math.max(2, Math.min(MOST_RANKS, Number(asked)))) : asked };
  for (const name of ["order", "calls"]) if (state.get(name) !== "") parameters[name] = state.get(name);
  return { order: await ask("order", parameters) };
}

function permutations(letters) {
  if (letters.length <= 1) return [letters];
  return [...letters].flatMap((first) => permutations(letters.replace(first, "")).map((rest) => first + rest));
}

// One way of running the calls: a row for each rank, a column for each round.
class Lanes {
  constructor(side, order, name, columns) {
    Object.assign(this, { side, ranks: order.ranks, machine: order.machine, name, columns });
    this.works = side.rounds.map(({ at_work: pairs }) => {
      const byRank = new Map();
      for (const [rank, call] of pairs) byRank.set(rank, [...(byRank.get(rank) ?? []), call]);
      return byRank;
    });
    this.stuck = new Map(side.stuck ?? []);
    this.box = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `What each rank works on: ${name}` });
    this.verdict = h("p", { class: "outcome", "aria-live": "polite" });
    this.element = h("section", { "aria-label": name, class: "order-side" }, h("h2", {}, name), this.box, this.verdict);
  }

  get lastRound() {
    return this.columns - 1;
  }

  numMessages(round) {
    return this.side.rounds[round]?.messages ?? 0;
  }

  fly(_round, _duration, landed) {
    landed();
    return () => {};
  }

  resized(round) {
    this.show(round);
  }

  lastWork(rank) {
    return this.works.findLastIndex((byRank) => byRank.has(rank));
  }

  show(round) {
    const wide = Math.max(14, Math.min(44, (Math.max(280, roomIn(this.element)) - LEFT) / this.columns));
    const svg = s("svg", { class: "lanes order", width: LEFT + wide * this.columns, height: ROW * this.ranks + 4, role: "img", "aria-label": `${this.name}, up to round ${round}` });
    for (let rank = 0; rank < this.ranks; ++rank) {
      svg.append(s("text", { class: "rank", x: LEFT - 8, y: ROW * rank + ROW / 2 + 4, "text-anchor": "end" }, `rank ${rank}`),
        s("line", { class: "row", x1: LEFT, x2: LEFT + wide * this.columns, y1: ROW * (rank + 1), y2: ROW * (rank + 1) }));
      for (let column = 0; column <= round; ++column) svg.append(...this.cell(rank, column, wide));
    }
    this.box.replaceChildren(svg);
    this.element.dataset.round = round;
    this.sayOutcome(round);
  }

  // What the rank works on; or hatched, if it is not over and nothing of it can run.
  cell(rank, column, wide) {
    const calls = this.works[column]?.get(rank) ?? [];
    const x = LEFT + column * wide;
    const y = ROW * rank + 3;
    const title = (text) => s("title", {}, `rank ${rank}, round ${column}: ${text}`);
    if (calls.length > 0) {
      const high = (ROW - 7) / calls.length;
      return calls.flatMap((call, i) => [
        s("rect", { class: `call call-${call}`, x, y: y + i * high, width: wide - 2, height: high - 1, "data-rank": rank, "data-call": NAMES[call] }, title(`works on ${NAMES[call]}`)),
        wide >= 14 && high > 9 && s("text", { class: "call-name", x: x + wide / 2 - 1, y: y + i * high + high / 2 + 3.5, "text-anchor": "middle" }, NAMES[call])]).filter(Boolean);
    }
    const isOver = !this.stuck.has(rank) && column > this.lastWork(rank);
    if (isOver) return [];
    const its = this.stuck.get(rank);
    const isStuck = its !== undefined && column > this.lastWork(rank);
    const isFirst = column === this.lastWork(rank) + 1; // once is enough, and leaves room
    return [s("rect", { class: "bar wait", fill: HATCHED, x, y, width: wide - 2, height: ROW - 8, "data-rank": rank },
      title(isStuck ? `stuck in ${NAMES[its]}` : "waits")),
      isStuck && isFirst && s("text", { class: "stuck-name", x: x + 3, y: y + ROW / 2, "text-anchor": "start" }, `${NAMES[its]}?`)].filter(Boolean);
  }

  sayOutcome(round) {
    const isEnd = round >= Math.min(this.lastRound, this.works.length - (this.side.proved ? 1 : 0));
    this.verdict.className = `outcome ${isEnd ? (this.side.proved ? "proved" : "refused") : ""}`;
    if (!isEnd) return this.verdict.replaceChildren(`Round ${round}: ${plural(this.numMessages(round), "message")} taken.`);
    if (this.side.proved) return this.verdict.replaceChildren(h("strong", {}, "✓ All calls are done"), ` after ${plural(this.works.length - 1, "round")}, ${timeText(this.side.time_ns)} on ${this.machine === "model" ? "the model" : this.machine}.`);
    this.verdict.replaceChildren(h("strong", {}, "✗ Deadlock."), ` ${this.side.words.join(" ")} Nobody can ever go on.`);
  }
}

function orderField(order, rank, choices) {
  return field(`rank ${rank}`, choose(order.orders[rank], choices.map((text) => [text, [...text].join(", then ")]), (value) => {
    const orders = [...order.orders];
    orders[rank] = value;
    state.set({ order: orders.join(","), round: 0 }, "pushState");
  }, { name: `order-${rank}` }));
}

function orderForm(order) {
  if (isExported) return h("p", { class: "note" }, "Rank 1 calls B first. For other orders run: tutti view");
  const choices = permutations(NAMES.slice(0, numCalls()).join(""));
  const usual = Array.from({ length: order.ranks }, () => choices[0]).join(",");
  return h("form", { class: "settings", "aria-label": "Who calls in which order", onsubmit: (event) => event.preventDefault() },
    field("calls", choose(String(numCalls()), [["2", "A and B"], ["3", "A, B and C"]], (calls) => state.set({ calls, order: "", round: 0 }, "pushState"), { name: "calls" })),
    order.orders.map((_, rank) => orderField(order, rank, choices)),
    h("button", { type: "button", "data-focus": "one order", onclick: () => state.set({ order: usual, round: 0 }, "pushState") }, "All in one order"));
}

export function show(panel, { order }) {
  const columns = Math.max(order.tutti.rounds.length, order.ordinary.rounds.length + (order.ordinary.proved ? 0 : 3));
  const sides = [new Lanes(order.ordinary, order, "An ordinary library: calls in a queue", columns), new Lanes(order.tutti, order, "tutti", columns)];
  const player = new Player(sides);
  panel.replaceChildren(...[
    h("p", { class: "idea" }, "Every rank starts the same all-reduces and waits for them later, but not all ranks start them in the same order: " +
      "in training, gradients are ready when they are ready. Let the ranks play and see who gets stuck."),
    order.ranks !== state.number("ranks") && h("p", { class: "note" }, `Shown with ${order.ranks} ranks: from 2 to ${MOST_RANKS} can be told apart here.`),
    orderForm(order), player.element, h("div", { class: "two close" }, sides.map((side) => side.element)),
    h("div", { class: "legend" }, NAMES.slice(0, numCalls()).map((name, call) => h("span", { class: "key" }, h("i", { class: `call-${call}` }), `works on ${name}`)),
      h("span", { class: "key" }, h("i", { class: "swatch wait" }), "waits; with a letter and ?: is stuck in that call")),
    h("h2", {}, "Why"),
    h("p", { class: "idea" }, "In the queue a rank runs its calls in the order in which they were started, one at a time, as on a GPU's stream: a call holds the rank until it is over. " +
      "A waits for a rank that sits in B, and B for ranks that sit in A: a circle. tutti tells operations apart by name, and a rank that cannot go on with one goes on with another, " +
      "so nothing that one call holds can stop the other."),
    h("p", { class: "note" }, "What no library can save is a program that waits itself: rank 0 blocks until A is over before it starts B, and rank 1 the other way round. " +
      "tutti then says who waits for whom, and ends the wait at its deadline.")].filter(Boolean));
  player.show();
  return watch(player);
}
