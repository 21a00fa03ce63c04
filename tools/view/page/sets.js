// Sets of contributions: in words, and as a bar that has a place for every rank. The places make a
// set readable without colour; the colours are safe for colour-blind eyes (Okabe and Ito's for up
// to eight ranks, with a yellow that is seen on white, a ramp from dark to light for more).

const EIGHT = ["#e69f00", "#56b4e9", "#009e73", "#a08f00", "#0072b2", "#d55e00", "#cc79a7", "#7f7f7f"];
const RAMP = [[0, 34, 78], [66, 78, 108], [124, 123, 120], [186, 172, 108], [253, 231, 37]];

export function colourOf(rank, numRanks) {
  if (numRanks <= EIGHT.length) return EIGHT[rank];
  return rampColour(rank / Math.max(1, numRanks - 1));
}

// From dark (0) to light (1).
export function rampColour(part) {
  const at = part * (RAMP.length - 1);
  const below = Math.min(Math.floor(at), RAMP.length - 2);
  const mixed = RAMP[below].map((part, i) =>
    Math.round(part + (RAMP[below + 1][i] - part) * (at - below)));
  return `rgb(${mixed.join(" ")})`;
}

// [[0, 3], [5, 6]], half-open, is "0-2,5".
export function setText(ranges) {
  return ranges.map(([begin, end]) => (end - begin === 1 ? `${begin}` : `${begin}-${end - 1}`)).join(",");
}

export function sizeOf(ranges) {
  return ranges.reduce((total, [begin, end]) => total + end - begin, 0);
}

// How a bar is filled, as a CSS background: each rank of the set its place.
export function barOf(ranges, numRanks) {
  const stops = [];
  let at = 0;
  const add = (from, to, colour) => {
    stops.push(`${colour} ${(100 * from) / numRanks}% ${(100 * to) / numRanks}%`);
  };
  for (const [begin, end] of ranges) {
    if (begin > at) add(at, begin, "transparent");
    for (let rank = begin; rank < end; ++rank) add(rank, rank + 1, colourOf(rank, numRanks));
    at = end;
  }
  if (at < numRanks) add(at, numRanks, "transparent");
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

// With many ranks a place is narrower than can be seen. Then the bar's height is how many there are, on
// a scale on which doubling is always the same step, as it is what sums do.
export const MOST_PLACES = 16;

export function levelBar(ranges, numRanks) {
  if (ranges.length === 0) return "none";
  const size = sizeOf(ranges);
  const level = (100 * Math.log1p(size)) / Math.log1p(numRanks);
  const colour = size === 1 ? "#7f7f7f" : colourOf(size - 1, numRanks);
  return `linear-gradient(to top, ${colour} ${level}%, transparent ${level}%)`;
}

// The same for data that is only passed on: the whole bar is the colour of where it comes from.
export function sourceBar(ranges, numRanks) {
  const colour = ranges.length ? colourOf(ranges[0][0], numRanks) : "transparent";
  return `linear-gradient(${colour}, ${colour})`;
}
