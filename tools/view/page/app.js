// Puts the page together: what to show, which view, and what went wrong.

import { h, choose, field, keepFocus, ranksText, title } from "tutti/dom";
import { Problem, ask, forgetCatalogue, openFile } from "tutti/data";
import * as state from "tutti/state";
import * as memory from "tutti/memory";
import * as spacetime from "tutti/spacetime";
import * as machine from "tutti/machine";
import * as cost from "tutti/cost";
import * as runs from "tutti/runs";
import * as compare from "tutti/compare";
import * as order from "tutti/order";
import * as learn from "tutti/learn";
import { GOALS } from "tutti/lessons";
import { makingParameters, settingsForm } from "tutti/settings";
import { reactToTheme } from "tutti/theme";

const VIEWS = [
  ["memory", "Memory", memory],
  ["learn", "Learn", learn],
  ["compare", "Compare", compare],
  ["order", "Any order", order],
  ["spacetime", "Space and time", spacetime],
  ["machine", "Machine", machine],
  ["cost", "Cost", cost],
  ["runs", "Real runs", runs],
];
// What a view draws itself when it changes, without loading anything.
const LIGHT = new Set(["round", "speed", "at", "motion", "theme", "trees"]);

const main = document.getElementById("main");
const verdict = document.getElementById("verdict");
const busy = document.getElementById("busy");
const BUSY_AFTER_MS = 400; // what is drawn sooner needs no word
let catalogue = null;
let current = {}; // what the view that is shown wants to be told
let drawn = null; // the state, its light parts aside, that is drawn
let lastShown = ""; // the address of what was last drawn without a problem
let turn = 0; // counts loads: a late answer finds that it is late
let busyTimer = 0;

const viewOf = (name) => VIEWS.find(([its]) => its === name) ?? VIEWS[0];

function algorithmsOf(collective) {
  return catalogue.algorithms.filter((algorithm) => algorithm.collective === collective);
}

// An address may name a collective and leave the algorithm to us, or name one of another collective.
function algorithmNow() {
  const known = algorithmsOf(state.get("collective"));
  const asked = state.get("algorithm");
  const wasGiven = !state.isDefault("algorithm");
  return known.some(({ name }) => name === asked) || wasGiven ? asked : known[0]?.name ?? asked;
}

// What the library says of the algorithm that is shown; of a file it says nothing, whatever its name.
const entryNow = () => (state.get("file") !== "" ? undefined : libraryEntry());
const libraryEntry = () => algorithmsOf(state.get("collective")).find(({ name }) => name === algorithmNow());

function scheduleParameters() {
  if (state.get("file") !== "") return { file: state.get("file") };
  const parameters = { collective: state.get("collective"), algorithm: algorithmNow(), ranks: state.get("ranks") };
  for (const name of ["root", "peer", "chunks", "radix", "group_size"]) {
    if (state.get(name) !== "" && state.get(name) !== "0") parameters[name] = state.get(name);
  }
  const needsPeer = parameters.collective === "send_recv" && !parameters.peer && !parameters.root && parameters.ranks !== "1";
  if (needsPeer) parameters.peer = "1";
  if (state.get("placement") !== "") parameters.placement = state.get("placement");
  // What is made for a machine is not the same on another.
  return entryNow()?.needs_machine ? { ...parameters, ...makingParameters() } : parameters;
}

function numberField(name, text, hint, least = 0) {
  const input = h("input", { type: "number", min: least, max: 1024, name, value: state.get(name), inputmode: "numeric",
    onchange: () => state.set({ [name]: input.value, round: 0 }, "pushState") });
  return field(text, input, hint);
}

function collectiveField() {
  const files = catalogue.files.filter((file) => file.kind === "schedule");
  const choices = [...catalogue.collectives.map(({ name }) => [name, title(name)]),
    ...files.map((file) => [`file ${file.number}`, `file: ${file.name.split("/").at(-1)}`])];
  const now = state.get("file") !== "" ? `file ${state.get("file")}` : state.get("collective");
  return field("collective", choose(now, choices, (value) => {
    const file = value.startsWith("file ") ? value.slice(5) : "";
    const same = { round: 0, chunks: "", radix: "", group_size: "", root: "", peer: "" };
    if (file) state.set({ ...same, file }, "pushState");
    else state.set({ ...same, file: "", collective: value, algorithm: algorithmsOf(value)[0].name }, "pushState");
  }, { name: "collective" }));
}

function showsTrace() {
  const [, , view] = viewOf(state.get("view"));
  return view === runs || (view === spacetime && spacetime.isOfTrace());
}

function choiceFields() {
  if (showsTrace()) return []; // what was run is in the traces
  // Any order is played with ring all-reduces of its own.
  if (viewOf(state.get("view"))[2] === order) return [numberField("ranks", "ranks", "How many ranks take part", 2)];
  const parts = [collectiveField()];
  if (state.get("file") === "") {
    const entry = entryNow();
    const { rooted } = catalogue.collectives.find(({ name }) => name === state.get("collective")) ?? {};
    parts.push(
      field("algorithm", choose(algorithmNow(), algorithmsOf(state.get("collective")).map(({ name }) => [name, title(name)]),
        (algorithm) => state.set({ algorithm, round: 0, chunks: "", radix: "", group_size: "" }, "pushState"), { name: "algorithm" }), entry?.idea),
      numberField("ranks", "ranks", "How many ranks take part", 1),
      rooted && numberField("root", "root", "The rank that has or gets the data"),
      state.get("collective") === "send_recv" && numberField("peer", "peer", "The rank that gets the message; empty: 1"),
      entry?.takes_chunks && numberField("chunks", "chunks", "Pieces that flow one behind the other; empty: the algorithm's choice"),
      entry?.takes_radix && numberField("radix", "radix", "Base of the digits; empty: the algorithm's choice"),
      entry?.takes_group_size && numberField("group_size", "group", "Ranks in a node; empty: the algorithm's choice"));
  }
  return parts.filter(Boolean);
}

function drawChoice() {
  const form = document.getElementById("choice");
  keepFocus(form, () => form.replaceChildren(...choiceFields()));
}

function drawTabs() {
  const tabs = document.getElementById("views");
  const [now] = viewOf(state.get("view"));
  if (tabs.childElementCount === 0) {
    tabs.append(...VIEWS.map(([name, text]) => h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "main",
      onclick: () => state.set({ view: name }, "pushState"), onkeydown: moveTab }, text)));
    main.setAttribute("role", "tabpanel");
  }
  for (const [name] of VIEWS) {
    const tab = document.getElementById(`tab-${name}`);
    tab.setAttribute("aria-selected", String(name === now));
    tab.tabIndex = name === now ? 0 : -1;
  }
  main.setAttribute("aria-labelledby", `tab-${now}`);
}

function moveTab(event) {
  const moves = { ArrowLeft: -1, ArrowRight: 1 };
  if (!(event.key in moves)) return;
  const at = VIEWS.findIndex(([name]) => `tab-${name}` === event.target.id);
  const [name] = VIEWS[(at + moves[event.key] + VIEWS.length) % VIEWS.length];
  state.set({ view: name }, "pushState");
  document.getElementById(`tab-${name}`).focus();
  event.preventDefault();
}

function drawVerdict(schedule) {
  verdict.className = schedule ? (schedule.proved ? "proved" : "refused") : "";
  if (!schedule) return verdict.replaceChildren();
  if (schedule.proved) {
    const entry = entryNow();
    const idea = entry ? entry.idea.replace(" (needs --topo)", "") : `${schedule.algorithm}, ${schedule.ranks} ranks.`;
    return verdict.replaceChildren(h("span", { class: "goal" }, `${capital(title(schedule.collective))}: ${GOALS[schedule.collective]}`), ` ${capital(title(schedule.algorithm))}: ${lower(idea)}${/[.!?]$/.test(idea) ? "" : "."} `,
      h("strong", { title: "The verifier has followed every chunk of this schedule: all results are right, nothing can hang, and no rank overwrites what another still reads." }, "✓ proved right"));
  }
  const { refusal } = schedule;
  const replay = schedule.history ?? schedule.overview;
  const stopped = replay.stopped_by && replay.stopped_by.message !== refusal.message ? `\nDrawn up to: ${replay.stopped_by.message}` : "";
  const stuck = replay.stuck.length > 0 ? `\n${ranksText([...new Set(replay.stuck.map(([rank]) => rank))])} stuck.` : "";
  verdict.replaceChildren(h("strong", {}, "✗ refused"), " ", h("span", { class: "reason" }, `${refusal.message}${stopped}${stuck}`));
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);
const lower = (text) => (/^[A-Z][a-z]* /.test(text) && !/^Blink/.test(text) ? text[0].toLowerCase() + text.slice(1) : text);

function showProblem(error) {
  if (!(error instanceof Problem)) console.error(error);
  current.stop?.();
  current = {};
  const words = error instanceof Problem ? error.message : `The page has a fault: ${error.message}`;
  keepFocus(main, () => main.replaceChildren(...settingsNow(), h("div", { class: "problem", role: "alert" }, h("p", {}, words),
    h("button", { type: "button", "data-focus": "again", onclick: () => { drawn = null; draw(); } }, "Try again"),
    h("button", { type: "button", "data-focus": "back", onclick: () => { drawn = null; state.goTo(lastShown); } }, "Go back"))));
  main.dataset.ready = "problem";
}

// What the view is set with, so that a wrong setting can be mended where it was made.
function settingsNow() {
  if (!catalogue) return [];
  const [, , view] = viewOf(state.get("view"));
  const shown = { catalogue, collective: state.get("collective"), ranks: Math.max(1, Math.min(1024, state.number("ranks") || 1)), openFiles };
  if (view.settings) return [view.settings(shown)].flat();
  return entryNow()?.needs_machine ? [settingsForm(catalogue, shown.ranks)] : [];
}

// Says that an answer is being made; what is shown until then is that of the address before.
function sayBusy(is) {
  clearTimeout(busyTimer);
  main.setAttribute("aria-busy", String(is));
  busy.textContent = "";
  if (is) busyTimer = setTimeout(() => { busy.textContent = "Working on it. Many ranks and plans for a machine take a while…"; }, BUSY_AFTER_MS);
}

async function draw() {
  const heavy = state.without(LIGHT);
  if (heavy === drawn) {
    current.update?.();
    if (main.dataset.ready === "yes") main.dataset.address = lastShown = state.address();
    return;
  }
  drawn = heavy;
  turn += 1;
  const mine = turn;
  main.dataset.ready = "";
  sayBusy(true);
  try {
    drawTabs();
    drawChoice();
    const [name, , view] = viewOf(state.get("view"));
    const asked = scheduleParameters();
    const shown = { catalogue, entry: entryNow(), scheduleParameters: asked, openFiles, problem: showProblem };
    // These need no schedule, and must not fail for want of one.
    if (!showsTrace() && view !== order) shown.schedule = await ask("schedule", asked);
    if (mine !== turn) return;
    drawVerdict(shown.schedule);
    Object.assign(shown, await view.load?.(shown));
    if (mine !== turn) return;
    current.stop?.();
    current = keepFocus(main, () => view.show(main, shown));
    main.dataset.view = name;
    main.dataset.address = lastShown = state.address(); // what is drawn, for those who wait for it
    main.dataset.ready = "yes";
  } catch (error) {
    if (mine === turn) {
      if (!(error instanceof Problem) || error.kind !== "gone") drawVerdict(null);
      showProblem(error);
    }
  } finally {
    if (mine === turn) sayBusy(false);
  }
}

// Files may be dropped anywhere: a trace goes to Real runs, a schedule is shown.
function takeDrops() {
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", async (event) => {
    if (event.defaultPrevented || !event.dataTransfer?.files.length) return;
    event.preventDefault();
    await openFiles([...event.dataTransfer.files]);
  });
}

async function openFiles(files) {
  if (files.length === 0) return;
  try {
    const numbers = [];
    for (const file of files) numbers.push(await openFile(file));
    forgetCatalogue();
    catalogue = await ask("catalogue");
    const opened = catalogue.files.filter((file) => numbers.includes(file.number));
    const traces = opened.filter((file) => file.kind === "trace").map((file) => file.number);
    if (traces.length > 0) state.set({ view: "runs", trace: traces.join(",") }, "pushState");
    else state.set({ file: numbers.at(-1), round: 0, view: "memory" }, "pushState");
  } catch (error) {
    showProblem(error);
  }
}

// The link over the tabs moves the focus; the address keeps the state.
function skipWithoutAddress() {
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
}

// Views are laid out for a width. Phones change the height alone, whenever their bars come and go:
// nothing is drawn anew for that, and what somebody is about to press stays where it is.
function reactToWidth() {
  let width = innerWidth;
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (innerWidth === width) return;
      width = innerWidth;
      if (current.resized) return current.resized();
      drawn = null;
      draw();
    }, 150);
  });
}

async function begin() {
  try {
    catalogue = await ask("catalogue");
  } catch (error) {
    return showProblem(error);
  }
  const first = (kind) => catalogue.files.filter((file) => file.kind === kind).map((file) => file.number);
  state.start({ ...catalogue.defaults, view: first("trace").length > 0 ? "runs" : "memory", speed: 1, zoom: 1,
    trace: first("trace").join(","), file: first("schedule")[0] ?? "", round: 0 });
  reactToTheme(document.getElementById("theme"), () => current.recoloured?.());
  takeDrops();
  skipWithoutAddress();
  document.getElementById("choice").addEventListener("submit", (event) => event.preventDefault());
  state.listen(draw);
  addEventListener("keydown", (event) => current.key?.(event));
  reactToWidth();
  await draw();
}

begin();
