// Makes elements, and writes numbers with their units.

const SVG = "http://www.w3.org/2000/svg";

// How waiting is filled: the one pattern of index.html.
export const HATCHED = "url(#hatch)";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(2)) {
    if (child !== undefined && child !== null && child !== false) element.append(child);
  }
  return element;
}

export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function option(value, text = value) {
  return h("option", { value }, text);
}

// A label with its control. Selects take their value once the options are in.
export function field(text, control, hint) {
  return h("label", { class: "field", title: hint }, h("span", {}, text), control);
}

function short(value) {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function scaled(value, step, units) {
  let unit = 0;
  while (Math.abs(value) >= step && unit + 1 < units.length) {
    value /= step;
    unit += 1;
  }
  const number = Number.isInteger(value) ? String(value) : short(value);
  return `${number} ${units[unit]}`;
}

export const bytesText = (bytes) => scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
export const timeText = (ns) =>
  ns > 0 && ns < 1 ? `${short(ns)} ns` : scaled(ns, 1000, ["ns", "µs", "ms", "s"]);
export const percentText = (part) => `${(100 * part).toFixed(part > 0 && part < 0.1 ? 1 : 0)} %`;
export const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
// "Ranks 0, 2 are", with no more names than a person reads.
export function ranksText(ranks) {
  const most = 12;
  const more = ranks.length > most ? ` and ${ranks.length - most} more` : "";
  return `${ranks.length === 1 ? "Rank" : "Ranks"} ${ranks.slice(0, most).join(", ")}${more} ${ranks.length === 1 ? "is" : "are"}`;
}
export const title = (name) => name.replaceAll("_", " ");

// "ceil(log2 p) alpha" in letters that people read.
export function formula(text) {
  return text.replaceAll("alpha", "α").replaceAll("beta", "β").replaceAll("gamma", "γ")
    .replaceAll("log2", "log₂").replaceAll("ceil", "⌈⌉").replace(/⌈⌉\(([^()]*)\)/g, "⌈$1⌉").replaceAll("floor(p/2)", "⌊p/2⌋").replaceAll("floor(log₂ p)", "⌊log₂ p⌋");
}

// The named choice of a row of them: [[value, text], ...].
export function choose(value, choices, onchange, attributes = {}) {
  const select = h("select", { ...attributes, onchange: () => onchange(select.value) },
    choices.map(([its, text]) => option(its, text)));
  select.value = value;
  return select;
}

// By what a control is found again after its part was drawn anew.
const FOUND_BY = ["name", "data-focus", "data-player", "id", "aria-label"];

// Draws a part anew. Who had the focus in it has it again; if that is gone, the part itself has.
export function keepFocus(box, drawAnew) {
  const at = document.activeElement;
  const isInside = at !== box && box.contains(at);
  const known = FOUND_BY.find((attribute) => isInside && at.hasAttribute(attribute));
  const selector = known && `[${known}="${CSS.escape(at.getAttribute(known))}"]`;
  const drawn = drawAnew();
  if (isInside && !at.isConnected) ((selector && box.querySelector(selector)) ?? box).focus({ preventScroll: true });
  return drawn;
}

// How wide a child of the element may be.
export function roomIn(element) {
  const style = getComputedStyle(element);
  return element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
}
