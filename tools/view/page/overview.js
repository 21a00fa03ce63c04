// The memory of many ranks, summed up: a row for a few neighbouring ranks, a column for a few chunks,
// and the colour of a field says how much of its share it holds. Beside it, who sends to whom.

import { h, percentText, plural } from "tutti/dom";
import { Paints, ramp } from "tutti/palette";

const WHOLE = 255;
const LEFT = 76; // for the names of rows
const TOP = 6; // half a line of them
const BAR = 44; // for the part of the results that is right
const RED_END = 8; // of a row with wrong results, at least
const GAP = 8;
const ROW = { least: 7, most: 16 };

const range = (begin, end, word) => (end - begin === 1 ? `${word} ${begin}` : `${word}s ${begin}–${end - 1}`);

// A canvas that is sharp on any screen; `paint` gets its context, in CSS pixels.
function prepare(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  return context;
}

export class Overview {
  constructor(schedule, name) {
    this.schedule = schedule;
    this.overview = schedule.overview;
    this.rows = this.overview.rows.length - 1;
    this.columns = this.overview.columns.length - 1;
    this.wrong = this.overview.wrong ?? [];
    this.paints = new Paints();
    this.sums = schedule.reducing || schedule.collective === "barrier";
    this.reset();
    this.fields = h("canvas", { role: "img", onpointermove: (event) => this.point(event), onpointerleave: () => this.say() });
    this.traffic = h("canvas", { role: "img" });
    this.status = h("p", { class: "fact", "aria-live": "polite" });
    this.tableBox = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The rows in numbers" });
    this.table = h("details", { ontoggle: () => this.fillTable() }, h("summary", {}, "The rows in numbers"), this.tableBox);
    this.element = h("div", { class: "grid-scroll", role: "region", tabindex: 0, "aria-label": `Memory of the ranks, summed up, ${name}` },
      this.status, h("div", { class: "overview" },
        h("figure", {}, h("figcaption", {}, this.captionOfFields()), this.fields),
        h("figure", {}, h("figcaption", {}, "Who sends to whom in this round: senders down, takers to the right"), this.traffic)),
      this.legend(), this.table);
  }

  captionOfFields() {
    const rows = `Rows: ${this.schedule.ranks > this.rows ? "neighbouring ranks" : "ranks"}. `;
    if (this.schedule.collective === "barrier") return `${rows}How many ranks they have heard of.`;
    const columns = this.schedule.collective === "all_to_all" ? "where data comes from" : "chunks of the data";
    return `${rows}Columns: ${columns}. On the right: the part of the results that is complete.`;
  }

  legend() {
    const levels = [1, 64, 128, 192, WHOLE];
    return h("div", { class: "legend" }, levels.map((level) => h("span", { class: "key" },
      h("i", { style: { background: ramp(level / WHOLE) } }), this.levelWords(level))),
      h("span", { class: "hint" }, this.sums ? "contributions that a sum holds, in the mean" : "of the data is there"));
  }

  reset() {
    this.levels = Uint8Array.from(this.overview.start);
    this.right = [...this.overview.right];
    this.done = 0;
  }

  get lastRound() {
    return Math.max(0, this.overview.rounds.length - 1);
  }

  numMessages(round) {
    return this.overview.rounds[round]?.messages ?? 0;
  }

  kindsIn(round) {
    return new Set(this.overview.rounds[Math.min(round, this.lastRound)].doings.map(({ kind }) => kind));
  }

  goTo(round) {
    if (round + 1 < this.done) this.reset();
    for (; this.done <= round; ++this.done) {
      const { changes, right } = this.overview.rounds[this.done];
      for (let i = 0; i < changes.length; i += 2) this.levels[changes[i]] = changes[i + 1];
      for (let i = 0; i < right.length; i += 2) this.right[right[i]] = right[i + 1];
    }
  }

  show(round) {
    this.goTo(round);
    this.round = round;
    this.element.dataset.round = round;
    this.element.dataset.messages = this.numMessages(round);
    this.paint();
    this.say();
    this.fillTable();
  }

  fly(_round, _duration, landed) {
    landed();
    return () => {};
  }

  resized() {
    this.paint();
  }

  // The names of rows and the lines have the theme's colours.
  recoloured() {
    this.paints = new Paints();
    this.paint();
  }

  rowWords(row) {
    return range(this.overview.rows[row], this.overview.rows[row + 1], "rank");
  }

  columnWords(column) {
    const [begin, end] = this.overview.columns.slice(column, column + 2);
    const { collective, chunks_per_block: parts } = this.schedule;
    if (collective === "all_to_all") return `from ${range(Math.floor(begin / parts), Math.floor((end - 1) / parts) + 1, "rank")}`;
    return range(begin, end, "chunk");
  }

  // How much a level stands for: contributions, on a scale on which doubling is a step; or a part.
  amount(level) {
    if (!this.sums) return level / WHOLE;
    return level === WHOLE ? this.schedule.ranks : Math.expm1((level / (WHOLE - 1)) * Math.log1p(this.schedule.ranks));
  }

  levelWords(level) {
    if (level === 0) return "nothing yet";
    if (level === WHOLE) return this.sums ? `all ${this.schedule.ranks}` : "all";
    if (!this.sums) return `about ${percentText(this.amount(level))}`;
    const amount = this.amount(level);
    return amount < 1 ? "less than 1" : `about ${amount < 10 ? amount.toFixed(1) : amount.toFixed(0)}`;
  }

  partRight(row) {
    const all = row === undefined ? this.overview.results : [this.overview.results[row]];
    const right = row === undefined ? this.right : [this.right[row]];
    const sum = (list) => list.reduce((total, its) => total + its, 0);
    return sum(all) === 0 ? 1 : sum(right) / sum(all);
  }

  // At the end, and with something wrong.
  get isJudged() {
    return this.round >= this.lastRound && this.wrong.length > 0;
  }

  say(words) {
    const right = this.partRight();
    const wrong = this.isJudged ? `, ${percentText(1 - right)} are wrong: the red fields, and rows with a red end` : "";
    this.status.textContent = words ?? `${right === 1 ? "All results are complete" : `${percentText(right)} of the results are complete`}${wrong}. Point at a field to read it.`;
    this.status.dataset.wrong = this.isJudged ? this.wrong.length : 0;
    this.status.dataset.right = right;
  }

  point(event) {
    const { size } = this;
    const column = Math.floor((event.offsetX - LEFT) / size.wide);
    const row = Math.floor((event.offsetY - TOP) / size.high);
    if (column < 0 || column >= this.columns || row < 0 || row >= this.rows) return this.say();
    const level = this.levels[row * this.columns + column];
    const what = this.schedule.collective === "barrier" ? "have heard of" : `${this.columnWords(column)}:`;
    this.say(`${this.rowWords(row)}, ${what} ${this.levelWords(level)}${this.sums && level > 0 ? " contributions" : ""}${this.isJudged && this.wrong.includes(row * this.columns + column) ? "; wrong at the end" : ""}.`);
  }

  paint() {
    if (!this.element.isConnected) return;
    const box = this.fields.parentElement.clientWidth;
    const high = Math.max(ROW.least, Math.min(ROW.most, Math.floor(560 / this.rows)));
    const wide = Math.max(2, Math.min(24, (box - LEFT - GAP - BAR) / this.columns));
    this.size = { wide, high };
    const context = prepare(this.fields, LEFT + wide * this.columns + GAP + BAR, high * this.rows + 2 * TOP);
    context.translate(0, TOP);
    this.paintNames(context, high);
    this.levels.forEach((level, field) => {
      if (level === 0) return;
      context.fillStyle = this.paints.ramp(level / WHOLE);
      context.fillRect(LEFT + (field % this.columns) * wide, Math.floor(field / this.columns) * high, wide - (wide > 5 ? 1 : 0), high - 1);
    });
    if (this.isJudged) this.paintWrong(context, wide, high);
    context.strokeStyle = this.paints.named("--line");
    context.strokeRect(LEFT - 0.5, 0.5, wide * this.columns, high * this.rows);
    for (let row = 0; row < this.rows; ++row) this.paintRight(context, row, LEFT + wide * this.columns + GAP, high);
    this.fields.setAttribute("aria-label", `How much of the data each row of ranks holds after round ${this.round}`);
    this.paintTraffic(high);
  }

  paintWrong(context, wide, high) {
    context.fillStyle = this.paints.named("--bad");
    for (const field of this.wrong) context.fillRect(LEFT + (field % this.columns) * wide, Math.floor(field / this.columns) * high, wide - (wide > 5 ? 1 : 0), high - 1);
  }

  paintNames(context, high) {
    const every = Math.max(1, Math.ceil(14 / high));
    context.fillStyle = this.paints.named("--soft");
    context.textAlign = "right";
    for (let row = 0; row < this.rows; row += every) {
      context.fillText(this.rowWords(row).replace(/^ranks? /, ""), LEFT - 6, (row + 0.5) * high);
    }
  }

  paintRight(context, row, left, high) {
    if (this.overview.results[row] === 0) return;
    context.fillStyle = this.paints.named(this.isJudged ? "--bad" : "--line");
    context.fillRect(left, row * high, BAR - 2, high - 1);
    context.fillStyle = this.paints.named("--good");
    // One wrong of a thousand is seen too.
    const most = this.isJudged && this.partRight(row) < 1 ? BAR - 2 - RED_END : BAR - 2;
    context.fillRect(left, row * high, Math.min(most, (BAR - 2) * this.partRight(row)), high - 1);
  }

  paintTraffic(high) {
    const { traffic } = this.overview.rounds[this.round];
    const box = this.traffic.parentElement.clientWidth;
    const size = Math.max(2, Math.min(high, (box - LEFT) / this.rows));
    const context = prepare(this.traffic, LEFT + size * this.rows + 1, size * this.rows + 2 * TOP);
    context.translate(0, TOP);
    this.paintNames(context, size);
    let most = 1;
    for (let i = 0; i < traffic.length; i += 3) most = Math.max(most, traffic[i + 2]);
    context.fillStyle = this.paints.named("--message");
    for (let i = 0; i < traffic.length; i += 3) {
      context.globalAlpha = 0.3 + 0.7 * (traffic[i + 2] / most);
      context.fillRect(LEFT + traffic[i + 1] * size, traffic[i] * size, Math.max(2, size - 1), Math.max(2, size - 1));
    }
    context.globalAlpha = 1;
    context.strokeStyle = this.paints.named("--line");
    context.strokeRect(LEFT - 0.5, 0.5, size * this.rows, size * this.rows);
    this.traffic.setAttribute("aria-label", `${plural(this.numMessages(this.round), "message")}; between two rows at most ${most}`);
  }

  fillTable() {
    if (!this.table.open) return;
    const rows = this.overview.results.map((results, row) => {
      const levels = this.levels.subarray(row * this.columns, (row + 1) * this.columns);
      const mean = levels.reduce((sum, level) => sum + this.amount(level), 0) / this.columns;
      return h("tr", {}, h("th", { scope: "row" }, this.rowWords(row)), h("td", {}, this.sums ? mean.toFixed(1) : percentText(mean)),
        h("td", {}, results === 0 ? "–" : `${this.right[row]} of ${results}`));
    });
    this.tableBox.replaceChildren(h("table", { class: "figures rows" },
      h("thead", {}, h("tr", {}, ["ranks", this.sums ? "contributions, mean" : "data", "results complete"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, rows)));
  }
}
