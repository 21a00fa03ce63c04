// The cells of one buffer of a rank, as tiles or painted. A tile is an element, with words and room for
// them; thousands of elements cost a browser more than a frame has, so many cells are painted into a
// canvas, which says what is under the pointer. Both have: element, fill(index, look), mark(index),
// unmark(), fit({ wide, high }), place(box), recoloured(paints).
//
// A look is { held, ranges, bar, label, words, isRight, isWrong }; held is null for an empty cell.

import { h, plural } from "tutti/dom";
import { paintBar, setText } from "tutti/sets";

// Where cells lie on the page: the left edge of the first and how far they are apart.
const placeIn = (box, rect) => ({ x: rect.left - box.left, y: (rect.top + rect.bottom) / 2 - box.top });

export class Tiles {
  constructor({ rank, buffer, count }) {
    this.tiles = Array.from({ length: count }, (_, index) => h("div", { class: "tile", role: "img", "data-rank": rank, "data-buffer": buffer,
      "data-index": index }, h("span", { class: "bar" }), h("span", { class: "label" })));
    this.element = h("div", { class: "cells" }, this.tiles);
  }

  fill(index, { held, ranges, bar, label, words, isRight, isWrong }) {
    const tile = this.tiles[index];
    tile.dataset.chunk = held ? held.chunk : "";
    tile.dataset.set = held ? setText(ranges) : "";
    tile.classList.toggle("empty", !held);
    tile.classList.toggle("right", isRight);
    tile.classList.toggle("wrong", isWrong);
    tile.firstChild.style.backgroundImage = bar;
    tile.lastChild.textContent = label;
    tile.setAttribute("aria-label", words);
    tile.title = words;
  }

  mark(index) {
    this.tiles[index]?.classList.add("fault");
  }

  unmark() {
    for (const tile of this.tiles) tile.classList.remove("fault");
  }

  fit() {}

  place(box) {
    const [first, second] = this.tiles.slice(0, 2).map((tile) => tile.getBoundingClientRect());
    return { ...placeIn(box, first), wide: first.width, apart: second ? second.left - first.left : 0 };
  }

  recoloured() {}
}

export const GAP = 1; // pixels between cells that are painted

export class Painted {
  constructor({ rank, buffer, count, numRanks, sums, paints }) {
    Object.assign(this, { rank, buffer, count, numRanks, sums, paints });
    this.looks = [];
    this.marks = new Set();
    this.element = h("canvas", { class: "painted", role: "img", "data-rank": rank, "data-buffer": buffer,
      onpointermove: (event) => this.point(event.offsetX) });
  }

  point(x) {
    this.element.title = this.looks[Math.floor(x / (this.wide + GAP))]?.words ?? "";
  }

  fill(index, look) {
    this.looks[index] = look;
    this.paint(index);
    this.isSaid = false;
  }

  // Once a round, after all that changed was filled: what a screen reader says of the row.
  say() {
    if (this.isSaid) return;
    this.isSaid = true;
    const held = this.looks.filter((look) => look?.held);
    const right = this.looks.filter((look) => look?.isRight).length;
    const wrong = this.looks.filter((look) => look?.isWrong).length;
    this.element.setAttribute("aria-label", `rank ${this.rank}, ${this.buffer}: ${held.length} of ${plural(this.count, "cell")} hold data` +
      (right > 0 ? `, ${right} as they must be` : "") + (wrong > 0 ? `, ${wrong} wrong at the end` : ""));
  }

  mark(index) {
    this.marks.add(index);
    this.paint(index);
  }

  unmark() {
    const marked = [...this.marks];
    this.marks.clear();
    for (const index of marked) this.paint(index);
  }

  // In CSS pixels, sharp on any screen.
  fit({ wide, high }) {
    const scale = window.devicePixelRatio || 1;
    const width = this.count * (wide + GAP);
    Object.assign(this, { wide, high });
    this.element.width = Math.round(width * scale);
    this.element.height = Math.round(high * scale);
    Object.assign(this.element.style, { width: `${width}px`, height: `${high}px` });
    this.context = this.element.getContext("2d");
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.paintAll();
  }

  place(box) {
    return { ...placeIn(box, this.element.getBoundingClientRect()), wide: this.wide, apart: this.wide + GAP };
  }

  recoloured(paints) {
    this.paints = paints;
    this.paintAll();
  }

  paintAll() {
    for (let index = 0; index < this.count; ++index) this.paint(index);
  }

  paint(index) {
    const { context, paints, wide, high } = this;
    const look = this.looks[index];
    if (!context || !look) return;
    const x = index * (wide + GAP);
    context.clearRect(x, 0, wide, high);
    context.fillStyle = paints.named(look.held ? "--card" : "--paper");
    context.fillRect(x, 0, wide, high);
    if (look.held) paintBar(context, paints, look.ranges, { numRanks: this.numRanks, sums: this.sums, x: x + 1, y: 1, wide: wide - 2, high: high - 2 });
    const [frame, thick] = this.marks.has(index) || look.isWrong ? ["--bad", 3] : look.isRight ? ["--good", 2] : ["--tile-edge", 1];
    context.strokeStyle = paints.named(frame);
    context.lineWidth = thick;
    context.strokeRect(x + thick / 2, thick / 2, wide - thick, high - thick);
  }
}
