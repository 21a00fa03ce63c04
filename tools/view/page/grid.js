// The memory of all ranks as a table of tiles, one a cell, with the messages of a round over it.
// A tile says what it holds in its label, its bar and its attributes (data-chunk, data-set), the
// last for tests and screen readers alike.

import { h, s, plural } from "tutti/dom";
import { MOST_PLACES, barOf, levelBar, setText, sizeOf, sourceBar } from "tutti/sets";
import { Replay, regionOf } from "tutti/replay";

const BUFFERS = ["input", "output", "scratch", "heard"];
const BUFFER_TITLES = { input: "input", output: "output", scratch: "scratch", heard: "has heard of" };
const MOST_ARROWS = 300;
const MOST_RANKS = 64;

export function canDraw(schedule) {
  return schedule.ranks <= MOST_RANKS;
}

export class Grid {
  // `room` is "narrow" where the grid shares the page with something else.
  constructor(schedule, name, room = "wide") {
    this.schedule = schedule;
    this.isNarrow = room === "narrow";
    this.replay = new Replay(schedule);
    this.tiles = new Map(); // "rank/buffer/index" -> element
    this.shown = new Map(); // the same -> what the tile shows
    this.trays = [];
    this.sums = schedule.reducing || schedule.collective === "barrier";
    const sumBar = schedule.ranks > MOST_PLACES ? levelBar : barOf;
    this.bars = schedule.history.sets.map((set) => (this.sums ? sumBar : sourceBar)(set, schedule.ranks));
    this.texts = schedule.history.sets.map(setText);
    this.overlay = s("svg", { class: "flights", "aria-hidden": "true" });
    this.element = h("div", { class: "grid-scroll", tabindex: 0, role: "region",
      "aria-label": `Memory of the ranks, ${name}` },
      h("div", { class: "grid-box" }, this.makeTable(name), this.overlay));
  }

  makeTable(name) {
    const memory = this.schedule.history.memory;
    const buffers = BUFFERS.filter((buffer) => memory.some((rank) => rank[buffer]?.[1] > 0));
    const most = Math.max(1, ...memory.map((rank) =>
      buffers.reduce((total, buffer) => total + (rank[buffer]?.[1] ?? 0), 0)));
    const size = most > 48 ? "tiny" : most > (this.isNarrow ? 8 : 20) ? "small" : "large";
    return h("table", { class: `grid ${size}` },
      h("caption", { class: "unseen" }, `What the buffers of each rank hold: ${name}`),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "rank"),
        buffers.map((buffer) => h("th", { scope: "col" }, BUFFER_TITLES[buffer])),
        h("th", { scope: "col" }, "sent, not taken"))),
      h("tbody", {}, memory.map((rank, r) => this.makeRow(rank, r, buffers))));
  }

  makeRow(memory, rank, buffers) {
    const tray = h("td", { class: "tray" });
    this.trays.push(tray);
    const cells = buffers.map((buffer) => {
      const [, count] = memory[buffer] ?? [0, 0];
      return h("td", { "data-name": count > 0 ? BUFFER_TITLES[buffer] : null }, h("div", { class: "cells" },
        Array.from({ length: count }, (_, index) => this.makeTile(rank, buffer, index))));
    });
    return h("tr", {}, h("th", { scope: "row", "data-rank": rank }, String(rank)), cells, tray);
  }

  makeTile(rank, buffer, index) {
    const tile = h("div", { class: "tile", role: "img", "data-rank": rank, "data-buffer": buffer,
      "data-index": index }, h("span", { class: "bar" }), h("span", { class: "label" }));
    this.tiles.set(`${rank}/${buffer}/${index}`, tile);
    return tile;
  }

  // Shows memory as it is after `round`, and the messages that were taken in it.
  show(round) {
    const cells = this.replay.after(round);
    const isEnd = round >= this.replay.lastRound;
    this.schedule.history.memory.forEach((memory, rank) => {
      for (const buffer of BUFFERS) {
        const [begin, count] = memory[buffer] ?? [0, 0];
        for (let index = 0; index < count; ++index) {
          this.fillTile(`${rank}/${buffer}/${index}`, begin + index, cells.get(begin + index), isEnd);
        }
      }
    });
    this.fillTrays(round);
    this.drawArrows(round);
    this.element.dataset.round = round;
  }

  fillTile(key, cell, held, isEnd) {
    const isResult = this.replay.wanted.has(cell) && !key.includes("/input/");
    const isRight = isResult && held && this.replay.isAsWanted(cell, held);
    const isWrong = isResult && isEnd && !isRight;
    const now = `${held?.chunk}/${held?.set}/${isRight}/${isWrong}`;
    if (this.shown.get(key) === now) return;
    const isNew = this.shown.has(key);
    this.shown.set(key, now);
    const tile = this.tiles.get(key);
    const isEmpty = !held || held.chunk < 0;
    const set = isEmpty ? "" : this.texts[held.set];
    tile.dataset.chunk = isEmpty ? "" : held.chunk;
    tile.dataset.set = set;
    tile.classList.toggle("empty", isEmpty);
    tile.classList.toggle("right", Boolean(isRight));
    tile.classList.toggle("wrong", Boolean(isWrong));
    tile.classList.toggle("fresh", isNew && !isEmpty);
    tile.firstChild.style.backgroundImage = isEmpty ? "none" : this.bars[held.set];
    tile.lastChild.textContent = isEmpty ? "" : this.labelOf(held);
    const words = this.wordsOf(key, held, isEmpty) + (isRight ? "; as it must be" : "") +
      (isWrong ? "; wrong at the end" : "");
    tile.setAttribute("aria-label", words);
    tile.title = words;
  }

  labelOf(held) {
    const ranges = this.schedule.history.sets[held.set];
    if (!this.sums) return `${held.chunk}`;
    const isAll = sizeOf(ranges) === this.schedule.ranks;
    return isAll ? "all" : this.texts[held.set];
  }

  wordsOf(key, held, isEmpty) {
    const [rank, buffer, index] = key.split("/");
    const place = `rank ${rank} ${buffer}[${index}]`;
    if (isEmpty) return `${place}: nothing yet`;
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

  // Where a message leaves from or arrives: the middle of its region, or else of the rank's name.
  placeOf([rank, lane, step], isSender) {
    const its = this.replay.step([rank, lane, step]);
    const region = regionOf(isSender ? its.kind === "send" ? its.src : its.dst : its.dst);
    const box = this.overlay.getBoundingClientRect();
    // A barrier's messages have no region; they are about what the ranks have heard.
    const first = this.tiles.get(region ? `${rank}/${region.buffer}/${region.begin}` : `${rank}/heard/0`);
    const last = region && this.tiles.get(`${rank}/${region.buffer}/${region.end - 1}`);
    const from = (first ?? this.element.querySelector(`th[data-rank="${rank}"]`)).getBoundingClientRect();
    const to = (last ?? first)?.getBoundingClientRect() ?? from;
    return { x: (from.left + to.right) / 2 - box.left, y: (from.top + from.bottom) / 2 - box.top };
  }

  curveOf(message) {
    const from = this.placeOf(message.sender, true);
    const to = this.placeOf(message.taker, false);
    const bend = Math.min(40, 12 + Math.abs(to.y - from.y) / 6);
    return { from, to, over: { x: (from.x + to.x) / 2 + bend, y: (from.y + to.y) / 2 } };
  }

  drawArrows(round) {
    const messages = this.replay.messages(round);
    this.overlay.replaceChildren(s("defs", {}, s("marker", { id: `head-${this.schedule.algorithm}`,
      viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
      s("path", { d: "M0 0 8 4 0 8z", class: "arrow-head" }))));
    this.element.dataset.messages = messages.length;
    if (messages.length > MOST_ARROWS || !this.element.isConnected) return;
    // All is measured before anything is drawn: else the browser lays the page out for each arrow.
    const curves = messages.map((message) => this.curveOf(message));
    for (const [i, message] of messages.entries()) {
      const { from, to, over } = curves[i];
      this.overlay.append(s("path", { class: "arrow", d: `M${from.x} ${from.y}Q${over.x} ${over.y} ${to.x} ${to.y}`,
        "marker-end": `url(#head-${this.schedule.algorithm})` }, s("title", {}, this.messageWords(message))));
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
    const begin = performance.now();
    let frame = 0;
    const end = () => {
      cancelAnimationFrame(frame);
      for (const { letter } of flights) letter.remove();
    };
    const draw = (now) => {
      const t = Math.min(1, (now - begin) / duration);
      const eased = t * t * (3 - 2 * t);
      for (const { letter, from, over, to } of flights) {
        const along = (axis) => (1 - eased) ** 2 * from[axis] + 2 * eased * (1 - eased) * over[axis] +
          eased ** 2 * to[axis];
        letter.style.transform = `translate(${along("x")}px, ${along("y")}px) translate(-50%, -50%)`;
      }
      if (t < 1) {
        frame = requestAnimationFrame(draw);
      } else {
        end();
        landed();
      }
    };
    draw(begin);
    return end;
  }
}
