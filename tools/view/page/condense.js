// A machine with more nodes than a picture holds, condensed: servers become a node each, or else
// neighbouring ranks do. Links between two such nodes become one, with their rates and bytes added.

const MOST_NODES = 200;
const MOST_GROUPS = 32;

// Of each node, the group that it goes into.
function groupsOf({ nodes, ranks }) {
  const machines = new Set(ranks.map((node) => nodes[node].machine));
  const rankOf = new Map(ranks.map((node, rank) => [node, rank]));
  if (machines.size > 1 && machines.size <= MOST_NODES) {
    return nodes.map((node, i) => (machines.has(node.machine) ? `server ${node.machine}` : `node ${i}`));
  }
  const size = Math.ceil(ranks.length / MOST_GROUPS);
  return nodes.map((_, i) => {
    if (!rankOf.has(i)) return `node ${i}`;
    const first = Math.floor(rankOf.get(i) / size) * size;
    return `ranks ${first}–${Math.min(ranks.length, first + size) - 1}`;
  });
}

function condensedNodes({ nodes, ranks }, groups) {
  const held = new Set(ranks.map((node) => groups[node]));
  const names = [...new Set(groups)];
  return { names, nodes: names.map((name) => (held.has(name) ? { name, kind: "device", machine: 0 } : nodes[Number(name.slice(5))])) };
}

function addLink(links, bins, simulation, index, pair) {
  const { gbps } = simulation.topology.links[index];
  const { bytes, busy_ns: busy } = simulation.report.links[index];
  const into = links.get(pair) ?? { gbps: 0, bytes: 0, busy_ns: 0, bins: new Array(simulation.bins.count).fill(0) };
  into.gbps += gbps;
  into.bytes += bytes;
  into.busy_ns = Math.max(into.busy_ns, busy);
  (bins.get(index) ?? []).forEach((value, i) => { into.bins[i] += value; });
  links.set(pair, into);
}

// The simulation on the condensed machine; the same if it is small enough as it is.
export function condensed(simulation) {
  const { topology, report, bins } = simulation;
  if (topology.nodes.length <= MOST_NODES) return simulation;
  const groups = groupsOf(topology);
  const { names, nodes } = condensedNodes(topology, groups);
  const number = new Map(names.map((name, i) => [name, i]));
  const binsOf = new Map(bins.links.map(({ link, bytes }) => [link, bytes]));
  const links = new Map();
  topology.links.forEach(({ from, to }, index) => {
    const pair = [number.get(groups[from]), number.get(groups[to])];
    if (pair[0] !== pair[1]) addLink(links, binsOf, simulation, index, pair.join("/"));
  });
  const all = [...links].map(([pair, its]) => ({ ends: pair.split("/").map(Number), ...its }));
  return {
    topology: { name: topology.name, nodes, ranks: [...new Set(topology.ranks.map((node) => number.get(groups[node])))],
      links: all.map(({ ends, gbps }) => ({ from: ends[0], to: ends[1], gbps: Number(gbps.toPrecision(4)) })), isCondensed: true },
    report: { ...report, links: all.map(({ bytes, busy_ns, gbps }) => ({ bytes, busy_ns, utilisation: report.time_ns > 0 ? bytes / (gbps * report.time_ns) : 0 })) },
    bins: { ...bins, links: all.map((its, link) => ({ link, bytes: its.bins })) },
  };
}
