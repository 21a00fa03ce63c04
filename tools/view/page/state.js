// What the page shows, kept in the address after the #, so that a link shows the same.
//
// The address belongs to the person. Somebody may change it (by hand, by Back, by a script) at any
// moment, and the browser tells us only later; so every write looks first whether the address is
// still the one we know. If it is not, it is taken over, and what a clock or a late answer wanted
// to write is dropped. What a person has just asked for is laid over it.

let defaults = {};
let state = {};
let known = null; // the fragment that `state` was read from or written to
const listeners = new Set();

function read() {
  return Object.fromEntries(new URLSearchParams(location.hash.replace(/^#/, "")));
}

// Takes over an address that somebody changed; whether there was one.
function adopt() {
  if (location.hash === known) return false;
  // The link to the main part is an anchor, not a state.
  if (location.hash === "#main") return false;
  known = location.hash;
  state = read();
  return true;
}

function tell() {
  for (const listener of [...listeners]) listener();
}

function write(how) {
  const kept = Object.entries(state).filter(([name, value]) => value !== String(defaults[name] ?? ""));
  const text = new URLSearchParams(kept).toString();
  const hash = text ? `#${text}` : "";
  if (hash === location.hash) return;
  history[how](null, "", hash || location.pathname + location.search);
  known = location.hash;
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

// A person's wish. `how` is pushState for what Back should undo.
export function set(changes, how = "replaceState") {
  adopt();
  for (const [name, value] of Object.entries(changes)) state[name] = String(value ?? "");
  write(how);
  tell();
}

// A clock's wish: gives way to an address that was changed meanwhile. Whether it was done.
export function advance(changes) {
  if (adopt()) {
    tell();
    return false;
  }
  set(changes);
  return true;
}
