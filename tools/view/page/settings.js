// The machine and the size that times are reckoned for: one form for all views that have times.

import { h, field, choose, bytesText } from "tutti/dom";
import * as state from "tutti/state";
import { isExported } from "tutti/data";

const SIZES = [64, 1024, 16384, 65536, 262144, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30];

// What a simulation is asked with, besides the schedule; defaults are left out.
export function machineParameters() {
  const names = ["topo", "bytes", "slow", "late"];
  names.push(...(state.get("topo") === "model" ? ["alpha", "rate", "reduce"] : ["fail"]));
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
    onchange: () => state.set({ topo: input.value.trim() || "model", fail: "" }) });
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

function trouble(name, text, example, hint) {
  const input = h("input", { value: state.get(name), size: 8, placeholder: example, name,
    spellcheck: "false", autocomplete: "off", onchange: () => state.set({ [name]: input.value.trim() }) });
  return field(text, input, hint);
}

export function settingsForm(catalogue, ranks) {
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
      (bytes) => state.set({ bytes }), { name: "bytes" })),
    isModel && slider("alpha", "α, a message", { least: 10, most: 1e6, unit: "ns" }),
    isModel && slider("rate", "1/β, rate", { least: 0.1, most: 1000, unit: "GB/s" }),
    isModel && slider("reduce", "1/γ, reducing", { least: 0.1, most: 1000, unit: "GB/s", zero: true }),
    trouble("slow", "slow rank", "3*2", "What if rank 3 were half as fast: 3*2"),
    trouble("late", "late rank", "3+5000", "What if rank 3 came 5,000 ns late: 3+5000"),
    !isModel && trouble("fail", "failed link", "gpu0~gpu1", "What if the link between gpu0 and gpu1 were gone: gpu0~gpu1; at half its rate: gpu0~gpu1=0.5"));
}
