// Sets of contributions: in words, and as a bar that has a place for every rank. The places make a
// set readable without colour.

import { hasHues, hue, ramp } from "tutti/palette";

// Which colour a rank has among so many: a hue, or a place on the ramp.
const toneOf = (rank, numRanks) => (hasHues(numRanks) ? { hue: rank } : { ramp: rank / Math.max(1, numRanks - 1) });
const cssOf = (tone) => (tone.hue !== undefined ? hue(tone.hue) : tone.ramp !== undefined ? ramp(tone.ramp) : "var(--wait)");
const paintOf = (tone, paints) => (tone.hue !== undefined ? paints.hue(tone.hue) : tone.ramp !== undefined ? paints.ramp(tone.ramp) : paints.named("--wait"));

export const colourOf = (rank, numRanks) => cssOf(toneOf(rank, numRanks));

// [[0, 3], [5, 6]], half-open, is "0-2,5".
export function setText(ranges) {
  return ranges.map(([begin, end]) => (end - begin === 1 ? `${begin}` : `${begin}-${end - 1}`)).join(",");
}

export function sizeOf(ranges) {
  return ranges.reduce((total, [begin, end]) => total + end - begin, 0);
}

// With many ranks a place is narrower than can be seen. Then the bar's height is how many there are, on
// a scale on which doubling is always the same step, as it is what sums do.
export const MOST_PLACES = 16;
const levelOf = (size, numRanks) => Math.log1p(size) / Math.log1p(numRanks);

// The parts of the bar of a set: { left, right, top } of a box of width and height 1, and the tone.
// `sums`: whether the data is added up; what is only passed on has the colour of where it comes from.
function partsOf(ranges, numRanks, sums) {
  if (ranges.length === 0) return [];
  if (!sums) return [{ left: 0, right: 1, top: 0, tone: toneOf(ranges[0][0], numRanks) }];
  if (numRanks > MOST_PLACES) {
    const size = sizeOf(ranges);
    return [{ left: 0, right: 1, top: 1 - levelOf(size, numRanks), tone: size === 1 ? {} : toneOf(size - 1, numRanks) }];
  }
  return ranges.flatMap(([begin, end]) => Array.from({ length: end - begin }, (_, i) =>
    ({ left: (begin + i) / numRanks, right: (begin + i + 1) / numRanks, top: 0, tone: toneOf(begin + i, numRanks) })));
}

const percent = (part) => `${+(100 * part).toFixed(4)}%`;

// The bar as a CSS background.
export function barOf(ranges, numRanks, sums) {
  const parts = partsOf(ranges, numRanks, sums);
  if (parts.length === 0) return "none";
  if (parts.length === 1 && parts[0].left === 0 && parts[0].right === 1) {
    const level = percent(1 - parts[0].top);
    return `linear-gradient(to top, ${cssOf(parts[0].tone)} ${level}, transparent ${level})`;
  }
  const stops = [];
  let at = 0;
  for (const { left, right, tone } of parts) {
    if (left > at) stops.push(`transparent ${percent(at)} ${percent(left)}`);
    stops.push(`${cssOf(tone)} ${percent(left)} ${percent(right)}`);
    at = right;
  }
  if (at < 1) stops.push(`transparent ${percent(at)} 100%`);
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

// The same, painted into a box of a canvas.
export function paintBar(context, paints, ranges, { numRanks, sums, x, y, wide, high }) {
  for (const { left, right, top, tone } of partsOf(ranges, numRanks, sums)) {
    context.fillStyle = paintOf(tone, paints);
    context.fillRect(x + left * wide, y + top * high, (right - left) * wide, (1 - top) * high);
  }
}
