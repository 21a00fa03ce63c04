// Step, play, scrub: moves the round in the address and shows it on grids. Playing gives way to an
// address that somebody changed. A grid is whatever has lastRound, numMessages(round), show(round)
// and fly(round, duration, landed), which returns what stops the flight.

import { h, choose, plural } from "tutti/dom";
import * as state from "tutti/state";

const FLIGHT_MS = 700;
const PAUSE_MS = 350;
const MOST_PLAYED = 150;
const SCROLL_PX = 120;
const SPEEDS = [["0.25", "¼ ×"], ["0.5", "½ ×"], ["1", "1 ×"], ["2", "2 ×"], ["4", "4 ×"]];

export class Player {
  // `onround` is told which round is shown.
  constructor(grids, onround = () => {}) {
    this.grids = grids;
    this.onround = onround;
    this.last = Math.max(...grids.map((grid) => grid.lastRound));
    // Thousands of rounds are played in a minute, not in an hour.
    this.stride = Math.max(1, Math.ceil(this.last / MOST_PLAYED));
    this.shown = null;
    this.stopFlight = () => {};
    this.isPlaying = false;
    this.timer = 0;
    this.element = this.makeControls();
  }

  get round() {
    return Math.max(0, Math.min(this.last, Math.round(state.number("round"))));
  }

  makeControls() {
    const button = (name, text, action) =>
      h("button", { type: "button", "aria-label": name, title: name, "data-player": name, onclick: action }, text);
    this.playButton = button("Play", "▶", () => this.toggle());
    this.scrubber = h("input", { type: "range", min: 0, max: this.last, step: 1, "aria-label": "Round",
      oninput: () => this.go(Number(this.scrubber.value)) });
    this.status = h("output", { class: "round", "aria-live": "polite" });
    return h("div", { class: "player", role: "group", "aria-label": "Rounds" },
      button("First round", "⇤", () => this.go(0)),
      button("Back", "←", () => this.go(this.round - 1)),
      this.playButton,
      button("On", "→", () => this.go(this.round + 1)),
      button("Last round", "⇥", () => this.go(this.last)),
      this.scrubber,
      choose(state.get("speed"), SPEEDS, (speed) => state.set({ speed }), { "aria-label": "Speed" }),
      this.status);
  }

  go(round) {
    this.pause();
    state.set({ round: Math.max(0, Math.min(this.last, round)) });
  }

  toggle() {
    if (this.isPlaying) return this.pause();
    // Before it plays: what is shown on the way must not set the clock a second time.
    if (this.round >= this.last) state.set({ round: 0 });
    this.isPlaying = true;
    this.drawButton();
    this.edition = state.currentEdition();
    this.timer = setTimeout(() => this.next(), this.pauseTime());
  }

  next() {
    if (!this.isPlaying || !this.element.isConnected) return;
    if (this.round >= this.last) return this.pause();
    if (!state.advance({ round: Math.min(this.last, this.round + this.stride) }, this.edition)) this.pause();
  }

  pause() {
    clearTimeout(this.timer);
    this.isPlaying = false;
    this.drawButton();
  }

  drawButton() {
    this.playButton.textContent = this.isPlaying ? "❚❚" : "▶";
    const name = this.isPlaying ? "Pause" : "Play";
    this.playButton.setAttribute("aria-label", name);
    this.playButton.title = name;
  }

  pauseTime() {
    return PAUSE_MS / (Number(state.get("speed")) || 1);
  }

  get moves() {
    return state.get("motion") !== "off" && !matchMedia("(prefers-reduced-motion: reduce)").matches;
  }

  // Shows the round of the address: with a flight if it is the next one, at once otherwise.
  show() {
    const { round } = this;
    if (round === this.shown) return;
    const isNext = this.shown !== null && round === this.shown + 1;
    this.shown = round;
    this.stopFlight();
    this.scrubber.value = round;
    this.say(round);
    if (!isNext || !this.moves) return this.settle(round);
    const duration = FLIGHT_MS / (Number(state.get("speed")) || 1);
    let left = this.grids.length;
    const stops = this.grids.map((grid) => grid.fly(round, duration, () => {
      left -= 1;
      if (left === 0) this.settle(round);
    }));
    this.stopFlight = () => stops.forEach((stop) => stop());
  }

  settle(round) {
    for (const grid of this.grids) grid.show(Math.min(round, grid.lastRound));
    this.onround(round);
    if (!this.isPlaying) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.next(), this.pauseTime());
  }

  say(round) {
    const counts = this.grids.map((grid) => grid.numMessages(round));
    const what = round === 0 ? `before any message arrives${this.last > 0 ? ". Press → to go on, ▶ to play" : ""}`
      : `${counts.map((count) => plural(count, "message")).join(" and ")} arrive`;
    this.status.textContent = `Round ${round} of ${this.last}: ${what.replace(/^1 message arrive$/, "1 message arrives")}`;
  }

  // Arrow keys and space, unless the key means something where it was pressed.
  key(event) {
    const at = event.target;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName) || at.getAttribute("role") === "tab") return;
    const moves = { ArrowLeft: -1, ArrowRight: 1 };
    const wide = event.shiftKey && at.closest(".grid-scroll, .scroll");
    if (wide && event.key in moves) wide.scrollBy({ left: SCROLL_PX * moves[event.key] });
    else if (event.key in moves) this.go(this.round + moves[event.key]);
    else if (event.key === "Home") this.go(0);
    else if (event.key === "End") this.go(this.last);
    else if (event.key === " " && at.tagName !== "BUTTON" && at.tagName !== "SUMMARY") this.toggle();
    else return;
    event.preventDefault();
  }

  stop() {
    this.pause();
    this.stopFlight();
  }
}
