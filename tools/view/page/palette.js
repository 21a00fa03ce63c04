// The colours that tell ranks, trees and lines apart, and the ramp that tells more from less. They are
// the theme's (style.css), so what is drawn with them changes with it; tests/view/palette_test.py says
// what they promise: contrast with the paper, and a difference that colour-blind eyes see.

export const NUM_HUES = 8;
const NUM_RAMP = 5;

export const hue = (i) => `var(--hue-${i % NUM_HUES})`;
export const hasHues = (count) => count <= NUM_HUES;

// From little (0) to much (1).
export function ramp(part) {
  const at = Math.max(0, Math.min(1, part)) * (NUM_RAMP - 1);
  const below = Math.min(Math.floor(at), NUM_RAMP - 2);
  return `color-mix(in srgb, var(--ramp-${below + 1}) ${(100 * (at - below)).toFixed(1)}%, var(--ramp-${below}))`;
}

// A canvas knows no variables: the colours of the theme as they are now. Ask again when it changes.
export class Paints {
  constructor() {
    this.style = getComputedStyle(document.documentElement);
    this.known = new Map();
    this.stops = Array.from({ length: NUM_RAMP }, (_, i) => channelsOf(this.named(`--ramp-${i}`)));
  }

  named(name) {
    if (!this.known.has(name)) this.known.set(name, this.style.getPropertyValue(name).trim());
    return this.known.get(name);
  }

  hue(i) {
    return this.named(`--hue-${i % NUM_HUES}`);
  }

  ramp(part) {
    const at = Math.max(0, Math.min(1, part)) * (NUM_RAMP - 1);
    const below = Math.min(Math.floor(at), NUM_RAMP - 2);
    const mixed = this.stops[below].map((its, i) => Math.round(its + (this.stops[below + 1][i] - its) * (at - below)));
    return `rgb(${mixed.join(" ")})`;
  }
}

const channelsOf = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
