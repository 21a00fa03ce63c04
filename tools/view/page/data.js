// Asks the program that serves the page; an exported page has its answers inside. Says in words
// what went wrong.

const inside = document.getElementById("data");
const answers = inside ? JSON.parse(inside.textContent) : null;
const SCHEMA = 3;
const kept = new Map();
const MOST_KEPT = 60;

export const isExported = answers !== null;

// Something that a person can act on. `kind` is "gone" when the program has ended.
export class Problem extends Error {
  constructor(message, kind = "refused") {
    super(message);
    this.kind = kind;
  }
}

function keyOf(name, parameters) {
  const parts = Object.keys(parameters).sort().map((part) => `${part}=${parameters[part]}`);
  return parts.length ? `${name}?${parts.join("&")}` : name;
}

function fromInside(key) {
  const found = answers[key];
  if (!found) {
    throw new Problem(
      "This is an exported page: it holds the algorithms at one number of ranks, on the plain " +
      "model, and nothing else. For this, run: tutti view", "exported");
  }
  if (found.error) throw new Problem(found.error);
  return found;
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Problem(
      "The program that serves this page does not answer: it has probably ended. Start tutti view " +
      "again and open the address that it prints. The part of this address after # shows the same " +
      "thing there.", "gone");
  }
  if (!response.ok) throw new Problem((await response.text()).trim() || `The program failed to answer (${response.status}): this is a fault of tutti.`);
  return response.json();
}

function check(answer) {
  if (answer.schema !== undefined && answer.schema !== SCHEMA) {
    throw new Problem(
      `The data has version ${answer.schema} and this page reads version ${SCHEMA}: they are of ` +
      "different versions of tutti. Reload the page, or export it again.");
  }
  return answer;
}

export async function ask(name, parameters = {}) {
  const key = keyOf(name, parameters);
  if (isExported) return check(fromInside(key));
  if (kept.has(key)) return kept.get(key);
  const query = new URLSearchParams(parameters).toString();
  const answer = request(`api/${name}${query ? `?${query}` : ""}`).then(check);
  kept.set(key, answer);
  answer.catch(() => kept.delete(key));
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
  return answer;
}

export function forgetCatalogue() {
  kept.delete("catalogue");
}

// Gives a file to the program; its number.
export async function openFile(file) {
  if (isExported) {
    throw new Problem("An exported page cannot open files. Run: tutti view, and drop them there.");
  }
  const path = `api/file?name=${encodeURIComponent(file.name)}`;
  const answer = await request(path, { method: "POST", body: await file.text() });
  return answer.number;
}
