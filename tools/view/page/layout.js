// Where the nodes of a machine are drawn: devices on a circle in the order of their ranks, what
// joins them inside it, near what it joins. Machines of a cluster follow one another on the circle.

function meanAngle(angles) {
  const x = angles.reduce((sum, angle) => sum + Math.cos(angle), 0);
  const y = angles.reduce((sum, angle) => sum + Math.sin(angle), 0);
  return { angle: Math.atan2(y, x), weight: Math.hypot(x, y) / Math.max(1, angles.length) };
}

const DEPTH = { device: 1, nic: 0.8, host: 0.42, switch: 0.6 };
const NIC_TURN = 0.12; // beside the switch that it hangs from, seen from the middle

// [x, y] of each node, within the unit circle.
export function placeNodes(topology) {
  const { nodes, links, ranks } = topology;
  const near = nodes.map(() => new Set());
  for (const { from, to } of links) {
    near[from].add(to);
    near[to].add(from);
  }
  const angle = nodes.map(() => null);
  const devices = [...new Set([...ranks, ...nodes.keys()].filter((node) => nodes[node].kind === "device"))];
  devices.forEach((node, i) => { angle[node] = (2 * Math.PI * (i + 0.5)) / devices.length - Math.PI / 2; });
  const place = nodes.map((_, node) => (angle[node] === null ? null : [Math.cos(angle[node]), Math.sin(angle[node])]));
  // From the devices inwards: each node takes the direction of those neighbours that have a place.
  for (let pass = 0; pass < nodes.length && place.includes(null); ++pass) {
    const ready = nodes.map((_, node) => node).filter((node) => place[node] === null &&
      [...near[node]].some((other) => angle[other] !== null && place[other] !== null));
    if (ready.length === 0) break;
    for (const node of ready) {
      const around = [...near[node]].filter((other) => place[other] !== null && !ready.includes(other)).map((other) => angle[other]);
      const { angle: its, weight } = meanAngle(around.length ? around : [0]);
      const isNic = nodes[node].kind === "nic";
      const inwards = isNic ? 1 : (weight < 0.05 ? 0 : Math.min(1, 0.35 + 0.65 * weight)) / (1 + 0.5 * pass);
      const depth = (DEPTH[nodes[node].kind] ?? 0.5) * inwards;
      angle[node] = isNic ? its + NIC_TURN : its;
      place[node] = [depth * Math.cos(angle[node]), depth * Math.sin(angle[node])];
    }
    spread(ready, place, angle);
  }
  return place.map((its) => its ?? [0, 0]);
}

// Nodes that would lie on each other are moved apart along their circle.
function spread(nodes, place, angle) {
  const taken = new Map();
  for (const node of nodes) {
    const key = place[node].map((part) => part.toFixed(1)).join("/");
    const count = taken.get(key) ?? 0;
    taken.set(key, count + 1);
    if (count === 0) continue;
    const shift = 0.16 * Math.ceil(count / 2) * (count % 2 ? 1 : -1);
    place[node] = [place[node][0] - shift * Math.sin(angle[node]), place[node][1] + shift * Math.cos(angle[node])];
  }
}
