// Space and time as lines: a row for every rank, time to the right. Draws what traces have: steps
// and waits as bars, messages as slanted lines. Also the calls of real runs.

import { s, timeText, bytesText } from "tutti/dom";

const LEFT = 64;
const RIGHT = 30;
const TOP = 8;
const BOTTOM = 28;
const MANY = 2500; // from here on things are drawn in one stroke, without words of their own

const GROUP_OF = {
  copy: "copy", reduce: "reduce", send: "send", recv: "recv", recv_reduce: "reduce",
  recv_copy_send: "recv", recv_reduce_send: "reduce", recv_reduce_copy_send: "reduce",
};
export const GROUPS = [["send", "sends"], ["recv", "receives"], ["reduce", "receives and reduces"],
  ["copy", "copies"], ["wait", "waits for a peer"], ["message", "message on its way"]];

function ticks(total, width) {
  const wanted = Math.max(2, Math.floor(width / 110));
  const raw = total / wanted;
  const power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw) ?? raw;
  return Array.from({ length: Math.floor(total / step) + 1 }, (_, i) => i * step);
}

function rowHeight(numRanks, numLanes) {
  if (numRanks > 32) return 14;
  return Math.max(38, Math.min(64, 20 + 8 * numLanes));
}

// Bars: { rank, lane, begin, end, group, words }; lines: { from, to, begin, end, words }.
export function drawLanes({ numRanks, numLanes = 1, total, width, bars, lines, label }) {
  const height = rowHeight(numRanks, numLanes);
  const inner = Math.max(200, width - LEFT - RIGHT);
  const x = (ns) => LEFT + (total > 0 ? (ns / total) * inner : 0);
  const y = (rank) => TOP + rank * height;
  const bottom = TOP + numRanks * height;
  const svg = s("svg", { class: "lanes", width, height: bottom + BOTTOM, role: "img", "aria-label": label });
  svg.append(s("defs", {}, s("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)" }, s("rect", { width: 2, height: 6, class: "hatch" }))));
  for (let rank = 0; rank < numRanks; ++rank) {
    svg.append(s("line", { class: "row", x1: LEFT, x2: LEFT + inner, y1: y(rank) + height / 2, y2: y(rank) + height / 2 }));
    if (numRanks <= 64 || rank % 8 === 0) {
      svg.append(s("text", { class: "rank", x: LEFT - 8, y: y(rank) + height / 2 + 4, "text-anchor": "end" },
        numRanks > 32 ? `${rank}` : `rank ${rank}`));
    }
  }
  for (const ns of ticks(total, inner)) {
    svg.append(s("line", { class: "tick", x1: x(ns), x2: x(ns), y1: TOP, y2: bottom }),
      s("text", { class: "time", x: x(ns), y: bottom + 16, "text-anchor": "middle" }, timeText(ns)));
  }
  // Between the bars of two ranks there is room to see messages cross.
  const room = height > 20 ? height * 0.5 : height - 4;
  const lanes = Math.min(numLanes, Math.floor(room / 4)) || 1;
  const thick = room / lanes;
  const boxOf = (bar) => ({ left: x(bar.begin), top: y(bar.rank) + (height - room) / 2 + (bar.lane % lanes) * thick,
    wide: Math.max(1.5, x(bar.end) - x(bar.begin)), high: Math.max(2, thick - 1) });
  const fillOf = (group) => (group === "wait" ? "url(#hatch)" : undefined);
  const endsOf = (line) => [x(line.begin), y(line.from) + height / 2, x(line.end), y(line.to) + height / 2];
  if (bars.length + lines.length > MANY) svg.append(...inOneStroke(bars, lines, { boxOf, fillOf, endsOf }));
  else svg.append(...oneByOne(bars, lines, { boxOf, fillOf, endsOf }));
  return svg;
}

function oneByOne(bars, lines, { boxOf, fillOf, endsOf }) {
  return [...bars.map((bar) => {
    const box = boxOf(bar);
    return s("rect", { class: `bar ${bar.group}`, x: box.left, y: box.top, width: box.wide, height: box.high,
      fill: fillOf(bar.group), "data-rank": bar.rank }, s("title", {}, bar.words));
  }), ...lines.map((line) => {
    const [x1, y1, x2, y2] = endsOf(line);
    return s("line", { class: "message", x1, y1, x2, y2 }, s("title", {}, line.words));
  })];
}

function inOneStroke(bars, lines, { boxOf, fillOf, endsOf }) {
  const groups = new Map();
  for (const bar of bars) {
    const { left, top, wide, high } = boxOf(bar);
    if (!groups.has(bar.group)) groups.set(bar.group, []);
    groups.get(bar.group).push(`M${left.toFixed(1)} ${top.toFixed(1)}h${wide.toFixed(1)}v${high.toFixed(1)}h${(-wide).toFixed(1)}z`);
  }
  const strokes = lines.map((line) => {
    const [x1, y1, x2, y2] = endsOf(line).map((part) => part.toFixed(1));
    return `M${x1} ${y1}L${x2} ${y2}`;
  });
  return [...[...groups].map(([group, parts]) => s("path", { class: `bar ${group}`, fill: fillOf(group), d: parts.join("") })),
    s("path", { class: "message", d: strokes.join("") })];
}

// Events of an answer as bars and lines. What was not over when the trace was taken lasts to its end.
export function fromEvents(events) {
  const total = Math.max(0, ...events.map((event) => event[3] ?? event[2]));
  const bars = [];
  const lines = [];
  let numLanes = 1;
  for (const [kind, op, begin, end, rank, lane, , peer, bytes] of events) {
    const until = end ?? total;
    const time = `${timeText(begin)} to ${end === null ? "the end of the trace" : timeText(until)}`;
    if (kind === "message") {
      lines.push({ from: rank, to: peer, begin, end: until, words: `rank ${rank} to rank ${peer}: ${bytesText(bytes)}, ${time}` });
      continue;
    }
    numLanes = Math.max(numLanes, lane + 1);
    const what = kind === "wait" ? `waits for rank ${peer}` : `${op}${peer === null ? "" : ` with rank ${peer}`}, ${bytesText(bytes)}`;
    bars.push({ rank, lane, begin, end: until, group: kind === "wait" ? "wait" : GROUP_OF[op],
      words: `rank ${rank} lane ${lane}: ${what}, ${time}` });
  }
  // Waits lie below what they end in.
  bars.sort((a, b) => Number(b.group === "wait") - Number(a.group === "wait"));
  return { total, bars, lines, numLanes };
}
