// Puts the page together: what to show, which view, and what went wrong.

import { h, choose, field, title } from "tutti/dom";
import { Problem, ask, forgetCatalogue, openFile } from "tutti/data";
import * as state from "tutti/state";
import * as memory from "tutti/memory";
import * as spacetime from "tutti/spacetime";
import * as machine from "tutti/machine";
import * as cost from "tutti/cost";
import * as runs from "tutti/runs";
import * as compare from "tutti/compare";
import * as learn from "tutti/learn";
import { reactToTheme } from "tutti/theme";

const VIEWS = [
  ["memory", "Memory", memory],
  ["learn", "Learn", learn],
  ["compare", "Compare", compare],
  ["spacetime", "Space and time", spacetime],
  ["machine", "Machine", machine],
  ["cost", "Cost", cost],
  ["runs", "Real runs", runs],
];
// What a view draws itself when it changes, without loading anything.
const LIGHT = new Set(["round", "speed", "at", "motion", "theme"]);

const main = document.getElementById("main");
const verdict = document.getElementById("verdict");
let catalogue = null;
let current = {}; // what the view that is shown wants to be told
let drawn = null; // the state, its light parts aside, that is drawn
let turn = 0; // counts loads: a late answer finds that it is late

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

function scheduleParameters() {
  if (state.get("file") !== "") return { file: state.get("file") };
  const parameters = { collective: state.get("collective"), algorithm: algorithmNow(), ranks: state.get("ranks") };
  for (const name of ["root", "peer", "chunks", "radix", "group_size"]) {
    if (state.get(name) !== "" && state.get(name) !== "0") parameters[name] = state.get(name);
  }
  const needsPeer = parameters.collective === "send_recv" && !parameters.peer && !parameters.root && parameters.ranks !== "1";
  if (needsPeer) parameters.peer = "1";
  if (state.get("placement") !== "") parameters.placement = state.get("placement");
  return parameters;
}

function numberField(name, text, hint, least = 0) {
  const input = h("input", { type: "number", min: least, max: 1024, name, value: state.get(name), inputmode: "numeric",
    onchange: () => state.set({ [name]: input.value, round: "" }, "pushState") });
  return field(text, input, hint);
}

function collectiveField() {
  const files = catalogue.files.filter((file) => file.kind === "schedule");
  const choices = [...catalogue.collectives.map(({ name }) => [name, title(name)]),
    ...files.map((file) => [`file ${file.number}`, `file: ${file.name.split("/").at(-1)}`])];
  const now = state.get("file") !== "" ? `file ${state.get("file")}` : state.get("collective");
  return field("collective", choose(now, choices, (value) => {
    const file = value.startsWith("file ") ? value.slice(5) : "";
    const same = { round: "", chunks: "", radix: "", group_size: "", root: "", peer: "" };
    if (file) state.set({ ...same, file }, "pushState");
    else state.set({ ...same, file: "", collective: value, algorithm: algorithmsOf(value)[0].name }, "pushState");
  }, { name: "collective" }));
}

function drawChoice() {
  const form = document.getElementById("choice");
  const focused = form.contains(document.activeElement) ? document.activeElement.name : null;
  const parts = [collectiveField()];
  if (state.get("file") === "") {
    const entry = algorithmsOf(state.get("collective")).find(({ name }) => name === algorithmNow());
    const { rooted } = catalogue.collectives.find(({ name }) => name === state.get("collective")) ?? {};
    parts.push(
      field("algorithm", choose(algorithmNow(), algorithmsOf(state.get("collective")).map(({ name }) => [name, title(name)]),
        (algorithm) => state.set({ algorithm, round: "", chunks: "", radix: "", group_size: "" }, "pushState"), { name: "algorithm" }), entry?.idea),
      numberField("ranks", "ranks", "How many ranks take part", 1),
      rooted && numberField("root", "root", "The rank that has or gets the data"),
      state.get("collective") === "send_recv" && numberField("peer", "peer", "The rank that gets the message; empty: 1"),
      entry?.takes_chunks && numberField("chunks", "chunks", "Pieces that flow one behind the other; empty: the algorithm's choice"),
      entry?.takes_radix && numberField("radix", "radix", "Base of the digits; empty: the algorithm's choice"),
      entry?.takes_group_size && numberField("group_size", "group", "Ranks in a node; empty: the algorithm's choice"));
  }
  form.replaceChildren(...parts.filter(Boolean));
  if (focused) form.querySelector(`[name="${focused}"]`)?.focus();
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
    const entry = catalogue.algorithms.find((its) => its.collective === schedule.collective && its.name === schedule.algorithm);
    return verdict.replaceChildren(h("strong", {}, "✓ proved"), ` ${entry ? entry.idea : `${title(schedule.collective)} ${schedule.algorithm}, ${schedule.ranks} ranks`}`);
  }
  const { refusal, history } = schedule;
  const stopped = history.stopped_by && history.stopped_by.message !== refusal.message ? ` Drawn up to: ${history.stopped_by.message}` : "";
  const stuck = history.stuck.length > 0 ? ` Ranks ${[...new Set(history.stuck.map(([rank]) => rank))].join(", ")} are stuck.` : "";
  verdict.replaceChildren(h("strong", {}, "✗ refused"), ` ${refusal.message}${stopped}${stuck}`);
}

function showProblem(error) {
  if (!(error instanceof Problem)) console.error(error);
  current.stop?.();
  current = {};
  const words = error instanceof Problem ? error.message : `The page has a fault: ${error.message}`;
  main.replaceChildren(h("div", { class: "problem", role: "alert" }, h("p", {}, words),
    h("button", { type: "button", onclick: () => { drawn = null; draw(); } }, "Try again")));
  main.dataset.ready = "problem";
}

async function draw() {
  const heavy = state.without(LIGHT);
  if (heavy === drawn) {
    current.update?.();
    if (main.dataset.ready === "yes") main.dataset.address = location.hash;
    return;
  }
  drawn = heavy;
  turn += 1;
  const mine = turn;
  main.dataset.ready = "";
  try {
    drawTabs();
    drawChoice();
    const [name, , view] = viewOf(state.get("view"));
    const asked = scheduleParameters();
    const shown = { catalogue, scheduleParameters: asked, problem: showProblem };
    // A view of traces needs no schedule, and must not fail for want of one.
    if (view !== runs) shown.schedule = await ask("schedule", asked);
    if (mine !== turn) return;
    drawVerdict(shown.schedule);
    Object.assign(shown, await view.load?.(shown));
    if (mine !== turn) return;
    current.stop?.();
    current = view.show(main, shown);
    main.dataset.view = name;
    main.dataset.address = location.hash; // what is drawn, for those who wait for it
    main.dataset.ready = "yes";
  } catch (error) {
    if (mine === turn) {
      if (!(error instanceof Problem) || error.kind !== "gone") drawVerdict(null);
      showProblem(error);
    }
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
  try {
    const numbers = [];
    for (const file of files) numbers.push(await openFile(file));
    forgetCatalogue();
    catalogue = await ask("catalogue");
    const opened = catalogue.files.filter((file) => numbers.includes(file.number));
    const traces = opened.filter((file) => file.kind === "trace").map((file) => file.number);
    if (traces.length > 0) state.set({ view: "runs", trace: traces.join(",") }, "pushState");
    else state.set({ file: numbers.at(-1), round: "", view: "memory" }, "pushState");
  } catch (error) {
    showProblem(error);
  }
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
  reactToTheme(document.getElementById("theme"));
  takeDrops();
  state.listen(draw);
  addEventListener("keydown", (event) => current.key?.(event));
  let resizing = 0;
  addEventListener("resize", () => {
    clearTimeout(resizing);
    resizing = setTimeout(() => (current.resized ? current.resized() : ((drawn = null), draw())), 150);
  });
  await draw();
}

begin();
