// The memory of all ranks as a table of cells, with the messages of a round over it. A tile says what
// it holds in its label, its bar and its attributes (data-chunk, data-set), the last for tests and
// screen readers alike.

import { h, s, plural } from "tutti/dom";
import { GAP, Painted, Tiles } from "tutti/cells";
import { Paints } from "tutti/palette";
import { barOf, setText, sizeOf } from "tutti/sets";
import { Replay, regionOf } from "tutti/replay";

const BUFFERS = ["input", "output", "scratch", "heard"];
const BUFFER_TITLES = { input: "input", output: "output", scratch: "scratch", heard: "has heard of" };
const TRAY_TITLE = "sent, not taken";
const MOST_ARROWS = 300;
const MOST_TILES = 3000; // more cells are painted
const STACKED_BELOW = 1.5; // rem: narrower tiles have no words
const PAINTED = { least: 0.4, most: 1.4, high: 0.9 }; // rem: without words cells may be narrow
const SIZES = [["large", 2.1, 3.3], ["small", 1.5, 2.1], ["tiny", 0.75, 1.4]]; // and from how wide to how wide

let numGrids = 0;

const remPixels = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

// A bent way, slow at its ends, as key frames.
function pathOf({ from, over, to }) {
  const steps = 8; // between them the way is straight, which nobody sees
  return Array.from({ length: steps + 1 }, (_, i) => {
    const t = (i / steps) ** 2 * (3 - (2 * i) / steps);
    const along = (axis) => (1 - t) ** 2 * from[axis] + 2 * t * (1 - t) * over[axis] + t ** 2 * to[axis];
    return { transform: `translate(${along("x")}px, ${along("y")}px) translate(-50%, -50%)` };
  });
}

export class Grid {
  constructor(schedule, name) {
    this.schedule = schedule;
    this.replay = new Replay(schedule);
    this.buffers = new Map(); // "rank/buffer" -> its cells, as Tiles or Painted
    this.shown = new Map(); // "rank/buffer/index" -> what is shown there
    this.spotsOfCell = new Map(); // cell -> where it is shown; in place a cell is in two buffers
    this.places = new Map(); // where buffers begin, until the layout changes
    this.trays = [];
    this.headId = `head-${numGrids++}`; // of arrows: two grids may be of one algorithm
    this.paints = new Paints();
    this.group = [this]; // grids that are laid out alike
    this.sums = schedule.reducing || schedule.collective === "barrier";
    this.bars = schedule.history.sets.map((set) => barOf(set, schedule.ranks, this.sums));
    this.texts = schedule.history.sets.map(setText);
    this.overlay = s("svg", { class: "flights", "aria-hidden": "true" });
    this.element = h("div", { class: "grid-scroll", tabindex: 0, role: "region",
      "aria-label": `Memory of the ranks, ${name}` },
      h("div", { class: "grid-box" }, this.makeTable(name), h("div", { class: "air" }, this.overlay)));
  }

  get lastRound() {
    return this.replay.lastRound;
  }

  numMessages(round) {
    return this.replay.messages(round).length;
  }

  // The kinds of steps that run in a round.
  kindsIn(round) {
    const steps = this.schedule.history.rounds[Math.min(round, this.lastRound)]?.steps ?? [];
    return new Set(steps.map((name) => this.replay.step(name).kind));
  }

  // How wide a tile may be, in rem, with the buffers of a rank beside or below each other.
  room() {
    const rem = remPixels();
    const width = (this.element.clientWidth || 1000) / rem;
    const gap = this.isPainted ? GAP / rem : 0.2;
    return { beside: (width - 8.5 - this.numBuffers * 1.1) / this.mostTiles - gap, below: (width - 3) / this.mostInBuffer - gap };
  }

  // Tiles as large as the room allows, in all grids of the group alike. Buffers lie below each other
  // where only that leaves room for words; where nothing does, a row is one line and can be scrolled.
  fit() {
    const rooms = this.group.map((grid) => grid.room());
    const beside = Math.min(...rooms.map((room) => room.beside));
    const below = Math.min(...rooms.map((room) => room.below));
    const isStacked = beside < STACKED_BELOW && below >= STACKED_BELOW && !this.isPainted;
    const tile = isStacked ? below : beside;
    const [size, least, most] = this.isPainted ? ["tiny", PAINTED.least, PAINTED.most] : SIZES.find(([, from]) => tile >= from) ?? SIZES.at(-1);
    const table = this.element.querySelector("table");
    table.className = `grid ${size}${isStacked ? " stacked" : ""}`;
    this.places.clear();
    const wide = Math.max(least, Math.min(most, tile));
    this.mostLetters = Math.floor((wide - 0.25) / (size === "large" ? 0.41 : 0.35));
    table.style.setProperty("--tile", `${wide}rem`);
    const rem = remPixels();
    for (const cells of this.buffers.values()) cells.fit({ wide: Math.floor(wide * rem), high: Math.round(PAINTED.high * rem) });
  }

  recoloured() {
    const paints = new Paints();
    for (const cells of this.buffers.values()) cells.recoloured(paints);
  }

  resized(round) {
    this.fit();
    this.shown.clear(); // words may fit now, or no longer
    this.show(Math.min(round, this.lastRound));
  }

  makeTable(name) {
    const memory = this.schedule.history.memory;
    const buffers = BUFFERS.filter((buffer) => memory.some((rank) => rank[buffer]?.[1] > 0));
    this.mostTiles = Math.max(1, ...memory.map((rank) =>
      buffers.reduce((total, buffer) => total + (rank[buffer]?.[1] ?? 0), 0)));
    this.mostInBuffer = Math.max(1, ...memory.flatMap((rank) => buffers.map((buffer) => rank[buffer]?.[1] ?? 0)));
    this.numBuffers = buffers.length;
    this.isPainted = memory.reduce((total, rank) => total + buffers.reduce((sum, buffer) => sum + (rank[buffer]?.[1] ?? 0), 0), 0) > MOST_TILES;
    return h("table", {},
      h("caption", { class: "unseen" }, `What the buffers of each rank hold: ${name}`),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "rank"),
        buffers.map((buffer) => h("th", { scope: "col" }, BUFFER_TITLES[buffer])),
        h("th", { scope: "col" }, TRAY_TITLE))),
      h("tbody", {}, memory.map((rank, r) => this.makeRow(rank, r, buffers))));
  }

  makeRow(memory, rank, buffers) {
    const tray = h("div", {});
    this.trays.push(tray);
    const cells = buffers.map((buffer) => {
      const [begin, count] = memory[buffer] ?? [0, 0];
      for (let index = 0; index < count; ++index) {
        this.spotsOfCell.set(begin + index, [...(this.spotsOfCell.get(begin + index) ?? []), { rank, buffer, index }]);
      }
      if (count === 0) return h("td", {});
      const cells = new (this.isPainted ? Painted : Tiles)({ rank, buffer, count, numRanks: this.schedule.ranks, sums: this.sums, paints: this.paints });
      this.buffers.set(`${rank}/${buffer}`, cells);
      return h("td", { "data-name": BUFFER_TITLES[buffer] }, cells.element);
    });
    return h("tr", {}, h("th", { scope: "row", "data-rank": rank }, String(rank)), cells, h("td", { class: "tray", "data-name": TRAY_TITLE }, tray));
  }

  // Shows memory as it is after `round`, and the messages that were taken in it.
  show(round) {
    if (this.element.dataset.round === undefined) this.fit();
    const cells = this.replay.after(round);
    const isEnd = round >= this.lastRound;
    // The next round changes few of thousands of tiles; the end looks at all of them.
    const isNext = !isEnd && round > 0 && Number(this.element.dataset.round) === round - 1;
    const changed = isNext ? new Set(this.schedule.history.rounds[round].writes.map(([cell]) => cell)) : this.spotsOfCell.keys();
    for (const cell of changed) {
      for (const spot of this.spotsOfCell.get(cell) ?? []) this.fillCell(spot, cell, cells.get(cell), isEnd);
    }
    for (const its of this.buffers.values()) its.say?.();
    this.fillTrays(round);
    this.markFaults(round);
    this.drawArrows(round);
    this.element.dataset.round = round;
  }

  // Where the schedule is refused: what the step reads and writes, and its rank.
  markFaults(round) {
    const faults = this.replay.faultsIn(round);
    if (faults.length === 0 && !this.hasMarks) return;
    this.hasMarks = faults.length > 0;
    for (const cells of this.buffers.values()) cells.unmark();
    for (const marked of this.element.querySelectorAll("th.fault")) marked.classList.remove("fault");
    for (const name of faults) {
      this.element.querySelector(`th[data-rank="${name[0]}"]`)?.classList.add("fault");
      const { src, dst } = this.replay.step(name);
      for (const { buffer, begin, end } of [src, dst].map(regionOf).filter(Boolean)) {
        for (let index = begin; index < end; ++index) this.buffers.get(`${name[0]}/${buffer}`)?.mark(index);
      }
    }
  }

  fillCell({ rank, buffer, index }, cell, inside, isEnd) {
    const isResult = this.replay.wanted.has(cell) && buffer !== "input";
    const isRight = Boolean(isResult && inside && this.replay.isAsWanted(cell, inside));
    // Of a run that stopped, what is not finished is not wrong for that.
    const isWrong = isResult && isEnd && !isRight && !this.replay.hasStopped;
    const key = `${rank}/${buffer}/${index}`;
    const now = `${inside?.chunk}/${inside?.set}/${isRight}/${isWrong}`;
    if (this.shown.get(key) === now) return;
    this.shown.set(key, now);
    const held = inside && inside.chunk >= 0 ? inside : null;
    const words = this.wordsOf({ rank, buffer, index }, held) + (isRight ? "; as it must be" : "") + (isWrong ? "; wrong at the end" : "");
    this.buffers.get(`${rank}/${buffer}`).fill(index, { held, words, isRight, isWrong, label: held ? this.labelOf(held) : "",
      ranges: held ? this.schedule.history.sets[held.set] : [], bar: held ? this.bars[held.set] : "none" });
  }

  labelOf(held) {
    const ranges = this.schedule.history.sets[held.set];
    if (!this.sums) return `${held.chunk}`;
    const size = sizeOf(ranges);
    if (size === this.schedule.ranks) return "all";
    // A set that is cut off would read as another one.
    const texts = [this.texts[held.set], `${size} of ${this.schedule.ranks}`, `${size}/${this.schedule.ranks}`];
    return texts.find((text) => text.length <= this.mostLetters) ?? "";
  }

  wordsOf({ rank, buffer, index }, held) {
    const place = `rank ${rank} ${buffer}[${index}]`;
    if (!held) return `${place}: nothing yet`;
    if (buffer === "heard") return `rank ${rank} has heard of ranks ${this.texts[held.set]}`;
    const how = this.schedule.reducing ? "summed over ranks" : "from rank";
    return `${place}: chunk ${held.chunk} ${how} ${this.texts[held.set]}`;
  }

  fillTrays(round) {
    for (const tray of this.trays) tray.replaceChildren();
    for (const message of this.replay.underWay(round)) {
      const words = this.messageWords(message);
      const held = message.data[0];
      this.trays[message.sender[0]].append(h("span", { class: "letter", title: words, role: "img",
        "aria-label": words, style: held ? { backgroundImage: this.bars[held[1]] } : {} }));
    }
  }

  messageWords(message) {
    const data = message.data.map(([chunk, set]) => `chunk ${chunk} of ${this.texts[set]}`);
    const what = data.length > 3 ? plural(data.length, "chunk") : data.join(", ") || "a signal";
    return `rank ${message.sender[0]} to rank ${message.taker[0]}: ${what}`;
  }

  // The first tile of every rank's every buffer, and how far tiles are apart: measured once, since
  // asking the browser for thousands of places makes it lay the page out again.
  measure() {
    const box = this.overlay.getBoundingClientRect();
    this.schedule.history.memory.forEach((_, rank) => {
      for (const buffer of BUFFERS) {
        const place = this.buffers.get(`${rank}/${buffer}`)?.place(box);
        if (place) this.places.set(`${rank}/${buffer}`, place);
      }
      const head = this.element.querySelector(`th[data-rank="${rank}"]`).getBoundingClientRect();
      this.places.set(`${rank}`, { x: head.left - box.left, y: (head.top + head.bottom) / 2 - box.top, wide: head.width, apart: 0 });
    });
  }

  // Where a message leaves from or arrives: the middle of its region. A barrier's messages have no
  // region; they are about what the ranks have heard.
  placeOf([rank, lane, step], isSender) {
    if (this.places.size === 0) this.measure();
    const its = this.replay.step([rank, lane, step]);
    const { buffer, begin, end } = regionOf(isSender ? its.kind === "send" ? its.src : its.dst : its.dst) ?? { buffer: "heard", begin: 0, end: 1 };
    const { x, y, wide, apart } = this.places.get(`${rank}/${buffer}`) ?? this.places.get(`${rank}`);
    return { x: x + (apart * (begin + end - 1)) / 2 + wide / 2, y };
  }

  curveOf(message) {
    const from = this.placeOf(message.sender, true);
    const to = this.placeOf(message.taker, false);
    const bend = Math.min(40, 12 + Math.abs(to.y - from.y) / 6);
    return { from, to, over: { x: (from.x + to.x) / 2 + bend, y: (from.y + to.y) / 2 } };
  }

  drawArrows(round) {
    const messages = this.replay.messages(round);
    this.overlay.replaceChildren(s("defs", {}, s("marker", { id: this.headId,
      viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
      s("path", { d: "M0 0 8 4 0 8z", class: "arrow-head" }))));
    this.element.dataset.messages = messages.length;
    if (messages.length > MOST_ARROWS || !this.element.isConnected) return;
    // All is measured before anything is drawn: else the browser lays the page out for each arrow.
    const curves = messages.map((message) => this.curveOf(message));
    for (const [i, message] of messages.entries()) {
      const { from, to, over } = curves[i];
      this.overlay.append(s("path", { class: "arrow", d: `M${from.x} ${from.y}Q${over.x} ${over.y} ${to.x} ${to.y}`,
        "marker-end": `url(#${this.headId})` }, s("title", {}, this.messageWords(message))));
    }
  }

  // Lets the messages of `round` fly; calls `landed` when they have. Returns what stops it.
  fly(round, duration, landed) {
    const messages = this.replay.messages(round);
    if (messages.length === 0 || messages.length > MOST_ARROWS) {
      landed();
      return () => {};
    }
    this.overlay.replaceChildren();
    const curves = messages.map((message) => this.curveOf(message));
    const flights = messages.map((message, i) => {
      const set = message.data[0]?.[1];
      const letter = h("div", { class: "letter flying",
        style: set === undefined ? {} : { backgroundImage: this.bars[set] } });
      this.overlay.parentElement.append(letter);
      return { letter, ...curves[i] };
    });
    // The browser moves them by itself, without asking us for every frame.
    const animations = flights.map(({ letter, ...curve }) =>
      letter.animate(pathOf(curve), { duration, fill: "forwards" }));
    const end = () => {
      for (const animation of animations) animation.onfinish = null;
      for (const { letter } of flights) letter.remove();
    };
    animations[0].onfinish = () => {
      end();
      landed();
    };
    return end;
  }
}
