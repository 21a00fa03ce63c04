// Space and time as lines: a row for every rank, time to the right. Draws what traces have: steps
// and waits as bars, messages as slanted lines. Also the calls of real runs.

import { HATCHED, s, timeText, bytesText } from "tutti/dom";

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

function ticks(first, last, width) {
  const wanted = Math.max(2, Math.floor(width / 110));
  const raw = (last - first) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw) ?? raw;
  const from = Math.ceil(first / step);
  return Array.from({ length: Math.floor(last / step) - from + 1 }, (_, i) => (from + i) * step);
}

// As many digits as tell neighbouring ticks apart in a window far from the beginning.
function tickText(ns, span) {
  const units = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]];
  if (span <= 0 || ns < 10 * span) return timeText(ns);
  const [unit, size] = units.findLast(([, its]) => ns >= its) ?? units[0];
  const digits = Math.max(0, Math.ceil(-Math.log10(span / size / 20)));
  return `${(ns / size).toFixed(digits)} ${unit}`;
}

function rowHeight(numRanks, numLanes) {
  if (numRanks > 32) return 14;
  return Math.max(38, Math.min(96, 20 + 8 * numLanes));
}

export const allRanks = (numRanks) => [...Array(numRanks).keys()];

// Bars: { rank, lane, begin, end, group, words }; lines: { from, to, begin, end, words }. `ranks` are
// those that have a row, in this order; bars and lines are of these alone.
// Time goes from `begin` to `end`; what reaches beyond is cut off there.
export function drawLanes({ ranks, numLanes = 1, begin: first = 0, end: last, width, bars, lines, label }) {
  const numRanks = ranks.length;
  const rowOf = new Map(ranks.map((rank, row) => [rank, row]));
  const height = rowHeight(numRanks, numLanes);
  const inner = Math.max(200, width - LEFT - RIGHT);
  const x = (ns) => LEFT + (last > first ? ((Math.max(first, Math.min(last, ns)) - first) / (last - first)) * inner : 0);
  const y = (rank) => TOP + rowOf.get(rank) * height;
  const bottom = TOP + numRanks * height;
  const svg = s("svg", { class: "lanes", width, height: bottom + BOTTOM, role: "img", "aria-label": label });
  for (const [row, rank] of ranks.entries()) {
    svg.append(s("line", { class: "row", x1: LEFT, x2: LEFT + inner, y1: y(rank) + height / 2, y2: y(rank) + height / 2 }));
    if (numRanks <= 64 || row % 8 === 0) {
      svg.append(s("text", { class: "rank", x: LEFT - 8, y: y(rank) + height / 2 + 4, "text-anchor": "end" },
        numRanks > 32 ? `${rank}` : `rank ${rank}`));
    }
  }
  for (const ns of ticks(first, last, inner)) {
    svg.append(s("line", { class: "tick", x1: x(ns), x2: x(ns), y1: TOP, y2: bottom }),
      s("text", { class: "time", x: x(ns), y: bottom + 16, "text-anchor": "middle" }, tickText(ns, last - first)));
  }
  // Between the bars of two ranks there is room to see messages cross.
  const room = height > 20 ? height * (lines.length > 0 ? 0.5 : 0.75) : height - 4;
  const lanes = Math.min(numLanes, Math.floor(room / 4)) || 1;
  const thick = room / lanes;
  const boxOf = (bar) => ({ left: x(bar.begin), top: y(bar.rank) + (height - room) / 2 + (bar.lane % lanes) * thick,
    wide: Math.max(1.5, x(bar.end) - x(bar.begin)), high: Math.max(2, thick - 1) });
  const fillOf = (group) => (group === "wait" ? HATCHED : undefined);
  const endsOf = (line) => {
    const [from, to, span] = [y(line.from) + height / 2, y(line.to) + height / 2, line.end - line.begin || 1];
    // Where it enters and leaves the time that is drawn: its slope stays what it is.
    const at = (ns) => from + (to - from) * Math.max(0, Math.min(1, (ns - line.begin) / span));
    return [x(line.begin), at(Math.max(first, line.begin)), x(line.end), line.end > last ? at(last) : to];
  };
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
export function fromEvents(events, last) {
  const bars = [];
  const lines = [];
  let numLanes = 1;
  for (const [kind, op, begin, end, rank, lane, , peer, bytes] of events) {
    const until = end ?? last;
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
  return { bars, lines, numLanes };
}
