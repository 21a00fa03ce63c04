// The machine and the size that times are reckoned for: one form for all views that have times.

import { h, field, choose, bytesText } from "tutti/dom";
import * as state from "tutti/state";
import { isExported } from "tutti/data";

const SIZES = [64, 1024, 16384, 65536, 262144, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30];
const MOST_LINKS = 300;

// What a simulation is asked with, besides the schedule; defaults are left out.
export function machineParameters() {
  return given(["topo", "bytes", "slow", "late", "fail", ...modelNames()]);
}

// What a schedule is made with that is made for a machine.
export function makingParameters() {
  return given(["topo", "bytes", "fail", ...modelNames()]);
}

const modelNames = () => (state.get("topo") === "model" ? ["alpha", "rate", "reduce"] : []);

function given(names) {
  const parameters = {};
  for (const name of names) {
    if (!state.isDefault(name) && state.get(name) !== "") parameters[name] = state.get(name);
  }
  return parameters;
}

function machineName(entry, ranks) {
  return entry.name.replace(/:N$/, `:${ranks}`);
}

function machineField(catalogue, ranks) {
  const names = ["model", ...catalogue.machines.map((entry) => machineName(entry, ranks))
    .filter((name) => !name.includes("["))];
  const input = h("input", { list: "machines", value: state.get("topo"), size: 14, name: "topo",
    spellcheck: "false", autocomplete: "off",
    onchange: () => state.set({ topo: input.value.trim() || "model", fail: "" }, "pushState") });
  return [field("machine", input, "model: a plain switch of α and β; or dgx-1v, ring:8, dgx-a100*2, …"),
    h("datalist", { id: "machines" }, names.map((name) => h("option", { value: name })))];
}

// A slider over powers; the text says the value.
function slider(name, text, { least, most, unit, zero }) {
  const value = state.number(name);
  const steps = 60;
  const toPlace = (its) => (zero && its === 0 ? 0 : Math.round((steps * Math.log(its / least)) / Math.log(most / least)));
  const toValue = (place) => (zero && place === 0 ? 0 : Number((least * (most / least) ** (place / steps)).toPrecision(3)));
  const shown = (its) => (zero && its === 0 ? "free" : `${its} ${unit}`);
  const output = h("output", {}, shown(value));
  const input = h("input", { type: "range", min: 0, max: steps, value: toPlace(value), name,
    "aria-label": text, "aria-valuetext": shown(value),
    oninput: () => { output.textContent = shown(toValue(Number(input.value))); },
    onchange: () => state.set({ [name]: toValue(Number(input.value)) }) });
  return field(text, h("span", { class: "slider" }, input, output));
}

// What if? Two choices that make one text of the address: a rank or link, and how bad it is.
function trouble(name, text, { choices, sign, degrees, hint }) {
  const [which = "", degree = ""] = state.get(name).split(sign);
  const isKnown = which === "" || choices.includes(which);
  const known = degrees.some(([value]) => value === degree) || which === "" ? degrees : [...degrees, [degree, degree]];
  const set = () => state.set({ [name]: first.value === "" ? "" : second.value === "" ? first.value : `${first.value}${sign}${second.value}` }, "pushState");
  const first = choose(which, [["", "none"], ...(isKnown ? choices : [...choices, which]).map((its) => [its, its])], set, { name, "aria-label": text });
  const second = choose(which === "" ? known[0][0] : degree, known, set, { name: `${name}-degree`, "aria-label": `${text}: how bad` });
  return h("div", { class: "field", title: hint }, h("span", { "aria-hidden": "true" }, text), h("span", { class: "pair" }, first, which !== "" && second));
}

const SLOW = [["2", "½ speed"], ["4", "¼ speed"], ["10", "⅒ speed"], ["100", "1/100 speed"]];
const LATE = [["1000", "1 µs late"], ["5000", "5 µs late"], ["20000", "20 µs late"], ["100000", "100 µs late"], ["1000000", "1 ms late"]];
const LINK = [["0.5", "½ rate"], ["0.1", "⅒ rate"], ["", "gone"]];

// "gpu0~gpu1", once for both directions.
function linkNames(topology) {
  const names = new Map();
  for (const { from, to } of topology.links) {
    const key = `${Math.min(from, to)}/${Math.max(from, to)}`;
    if (!names.has(key)) names.set(key, `${topology.nodes[from].name}~${topology.nodes[to].name}`);
  }
  return [...names.values()].slice(0, MOST_LINKS);
}

function troubles(ranks, topology) {
  const names = Array.from({ length: ranks }, (_, rank) => String(rank));
  return [trouble("slow", "slow rank", { choices: names, sign: "*", degrees: SLOW, hint: "What if this rank were slower than the others?" }),
    trouble("late", "late rank", { choices: names, sign: "+", degrees: LATE, hint: "What if this rank called later than the others?" }),
    (topology || state.get("fail") !== "") && trouble("fail", "bad link", { choices: topology ? linkNames(topology) : [], sign: "=", degrees: LINK, hint: "What if this link were slow, or gone? Both directions." })];
}

// `topology` is that of the answer, where there is one: its links can be chosen.
export function settingsForm(catalogue, ranks, topology) {
  if (isExported) {
    const where = state.get("topo") === "model"
      ? `a plain switch, α = ${state.get("alpha")} ns and ${state.get("rate")} GB/s` : state.get("topo");
    return h("p", { class: "note" }, `Times are for ${bytesText(state.number("bytes"))} on ${where}. ` +
      "For other machines and sizes run: tutti view");
  }
  const sizes = [...new Set([...SIZES, state.number("bytes")])].sort((a, b) => a - b);
  const isModel = state.get("topo") === "model";
  return h("form", { class: "settings", "aria-label": "Machine and size", onsubmit: (event) => event.preventDefault() },
    machineField(catalogue, ranks),
    field("size", choose(state.get("bytes"), sizes.map((size) => [String(size), bytesText(size)]),
      (bytes) => state.set({ bytes }, "pushState"), { name: "bytes" })),
    isModel && slider("alpha", "α, a message", { least: 10, most: 1e6, unit: "ns" }),
    isModel && slider("rate", "1/β, rate", { least: 0.1, most: 1000, unit: "GB/s" }),
    isModel && slider("reduce", "1/γ, reducing", { least: 0.1, most: 1000, unit: "GB/s", zero: true }),
    h("fieldset", { class: "what-if" }, h("legend", {}, "What if"), troubles(ranks, topology)));
}
