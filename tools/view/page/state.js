// What the page shows, kept in the address after the #, so that a link shows the same.
//
// The address belongs to the person. Somebody may change it (by hand, by Back, by a script) at any
// moment, so every write looks first whether the address is still the one we know. If it is not, it
// is taken over. What a clock wants to write counts only if nobody has wished for anything since the
// clock was started; what a person has just asked for is laid over whatever is there.
//
// Browsers refuse more than about 20 changes of the address a second: while somebody drags a slider
// the state goes ahead and the address follows.

let defaults = {};
let state = {};
let known = null; // the fragment that `state` was read from or written to
let edition = 0; // counts wishes
let lastWrite = -Infinity;
let waiting = null; // how a state that is ahead of the address will be written
const listeners = new Set();

const WRITE_EVERY_MS = 100;
// What goes on while these change.
const HARMLESS = new Set(["speed", "theme", "zoom"]);

function read() {
  return Object.fromEntries(new URLSearchParams(location.hash.replace(/^#/, "")));
}

// Makes the address the state.
function takeOver() {
  known = location.hash;
  state = read();
  waiting = null;
  edition += 1;
}

// Takes over an address that somebody changed; whether there was one.
function adopt() {
  if (location.hash === known) return false;
  takeOver();
  return true;
}

function tell() {
  for (const listener of [...listeners]) listener();
}

function textOf() {
  const kept = Object.entries(state).filter(([name, value]) => value !== String(defaults[name] ?? ""));
  return new URLSearchParams(kept).toString();
}

function hashOf() {
  const text = textOf();
  return text ? `#${text}` : "";
}

function write(how) {
  const hash = hashOf();
  if (hash === location.hash) return;
  const left = lastWrite + WRITE_EVERY_MS - performance.now();
  if (left > 0) {
    if (waiting === null) setTimeout(catchUp, left);
    waiting = waiting === "pushState" ? waiting : how;
    return;
  }
  lastWrite = performance.now();
  waiting = null;
  history[how](null, "", hash || location.pathname + location.search);
  known = location.hash;
}

function catchUp() {
  if (adopt()) return tell();
  const how = waiting;
  waiting = null; // so that a clock that ran early sets another
  if (how !== null) write(how);
}

export function start(initial) {
  defaults = initial;
  adopt();
  for (const event of ["hashchange", "popstate"]) {
    addEventListener(event, () => {
      if (adopt()) tell();
    });
  }
}

export function listen(listener) {
  listeners.add(listener);
}

// The text of a part of the state; what nobody has set has its default.
export function get(name) {
  return state[name] ?? String(defaults[name] ?? "");
}

export function number(name) {
  const value = Number(get(name));
  return Number.isFinite(value) ? value : 0;
}

export function isDefault(name) {
  return get(name) === String(defaults[name] ?? "");
}

// The state without the parts named, as text: what it was when it was last drawn can be compared.
export function without(names) {
  const parts = new URLSearchParams(textOf());
  for (const name of names) parts.delete(name);
  return parts.toString();
}

function change(changes, how) {
  for (const [name, value] of Object.entries(changes)) state[name] = String(value ?? "");
  write(how);
  tell();
}

// A person's wish. `how` is pushState for what Back should undo.
export function set(changes, how = "replaceState") {
  adopt();
  if (!Object.keys(changes).every((name) => HARMLESS.has(name))) edition += 1;
  change(changes, how);
}

// The address of the state: the browser's, or what that will be when it has caught up.
export function address() {
  return waiting === null ? location.hash : hashOf();
}

// The whole state of an address that was shown before, as a step that Back undoes. The address may be
// there still, while a state that is ahead of it is not: that one is given up.
export function goTo(hash) {
  if (hash !== location.hash) history.pushState(null, "", hash || location.pathname + location.search);
  takeOver();
  tell();
}

// A clock takes this along when it starts.
export function currentEdition() {
  return edition;
}

// A clock's wish: dropped if anybody has wished for something since. Whether it was done.
export function advance(changes, since) {
  if (adopt()) tell();
  if (edition !== since) return false;
  change(changes, "replaceState");
  return true;
}
