// Space and time of many ranks, summed up: a row for a few neighbouring ranks, and in it, from the
// bottom up, the share of each moment that they spend with each kind of work. What is left is idle.

import { HATCHED, h, s, percentText, plural, timeText } from "tutti/dom";

const LEFT = 76;
const RIGHT = 20;
const BOTTOM = 24;
const ROW = 13;
const ORDER = ["reduce", "recv", "send", "copy", "wait"];
const WORDS = { reduce: "reduces", recv: "receives", send: "sends", copy: "copies", wait: "waits for a peer" };

// The outline of one kind of work in one row, on top of what lies below it.
function outline(lower, upper, x, y) {
  const there = upper.map((value, i) => `L${x(i)} ${y(value)}L${x(i + 1)} ${y(value)}`);
  const back = lower.map((value, i) => `L${x(i + 1)} ${y(value)}L${x(i)} ${y(value)}`).reverse();
  return `M${x(0)} ${y(lower[0])}${there.join("")}${back.join("")}z`;
}

function rowPaths(activity, row, x) {
  const { count, shares } = activity;
  const base = row * ROW + ROW - 1;
  const y = (part) => (base - part * (ROW - 2)).toFixed(1);
  const totals = Array.from({ length: count }, (_, i) =>
    ORDER.reduce((sum, work) => sum + shares[work][row * count + i], 0));
  let lower = new Array(count).fill(0);
  return ORDER.map((work) => {
    const upper = lower.map((below, i) => below + shares[work][row * count + i] / Math.max(1000, totals[i]));
    const path = upper.some((value, i) => value > lower[i])
      ? s("path", { class: `bar ${work}`, fill: work === "wait" ? HATCHED : undefined, d: outline(lower, upper, x, y) }) : null;
    lower = upper;
    return path;
  }).filter(Boolean);
}

function axis(activity, begin, x, bottom, width) {
  const every = Math.ceil(activity.count / Math.max(2, Math.floor(width / 130)));
  return Array.from({ length: Math.floor(activity.count / every) + 1 }, (_, i) => i * every).map((part) =>
    s("text", { class: "time", x: x(part), y: bottom + 16, "text-anchor": "middle" }, timeText(Number((begin + part * activity.ns).toPrecision(begin > 0 ? 6 : 3)))));
}

// Over the whole time, in words: for those who do not see the picture, and those who want a number.
function summary(activity) {
  const all = ORDER.map((work) => [work, activity.shares[work].reduce((sum, value) => sum + value, 0)]);
  const total = Math.max(activity.count * (activity.rows.length - 1) * 1000, all.reduce((sum, [, value]) => sum + value, 0));
  return all.filter(([, value]) => value > 0).map(([work, value]) => `${WORDS[work]} ${percentText(value / total)}`).join(", ");
}

// `begin`: when the first part of the time begins.
export function drawActivity(activity, begin, width, label) {
  const rows = activity.rows.length - 1;
  const inner = Math.max(200, width - LEFT - RIGHT);
  const x = (part) => (LEFT + (part * inner) / activity.count).toFixed(1);
  const bottom = rows * ROW;
  const svg = s("svg", { class: "lanes activity", width, height: bottom + BOTTOM, role: "img",
    "aria-label": `${label}; of the time a rank ${summary(activity)}` });
  for (let row = 0; row < rows; ++row) {
    const [begin, end] = activity.rows.slice(row, row + 2);
    svg.append(s("g", {}, s("title", {}, end - begin === 1 ? `rank ${begin}` : `ranks ${begin} to ${end - 1}`), ...rowPaths(activity, row, x)),
      s("text", { class: "rank", x: LEFT - 8, y: row * ROW + ROW - 3, "text-anchor": "end" }, end - begin === 1 ? `${begin}` : `${begin}–${end - 1}`));
  }
  svg.append(...axis(activity, begin, x, bottom, inner));
  return [h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, svg),
    h("p", { class: "hint" }, `${plural(activity.rows.at(-1), "rank")}, summed up: a row is ${plural(activity.rows[1], "rank")}, and its height all their time. On average a rank ${summary(activity)}.`)];
}
