// The trees of a schedule, as the library packed them; of one from a file, which does not say them, the
// channels.

import { regionOf } from "tutti/replay";

const chunksOf = (step) => {
  const region = regionOf(step.kind === "send" ? step.src : step.dst ?? step.src);
  return region ? region.end - region.begin : 0;
};

function gather(schedule) {
  const channels = new Map();
  schedule.lanes.forEach((lanes, rank) => lanes.forEach(({ channel, steps }) => {
    if (!steps.some((step) => step.from !== undefined || step.to !== undefined)) return;
    if (!channels.has(channel)) channels.set(channel, { channel, edges: new Map(), ranks: new Set(), given: new Set(), giving: new Set() });
    const flow = channels.get(channel);
    flow.ranks.add(rank);
    for (const step of steps) {
      if (step.kind === "recv" || step.kind === "recv_copy_send") flow.given.add(rank);
      if (step.to === undefined) continue;
      flow.giving.add(rank);
      const key = `${rank}/${step.to}`;
      const edge = flow.edges.get(key) ?? { from: rank, to: step.to, chunks: 0 };
      edge.chunks += chunksOf(step);
      flow.edges.set(key, edge);
    }
  }));
  return [...channels.values()].sort((a, b) => a.channel - b.channel);
}

// The one rank that gives and is not given anything, or, where sums only go up, takes and does not give.
function rootOf({ ranks, given, giving }, collective) {
  const isUp = collective === "reduce" || collective === "reduce_scatter";
  const roots = [...ranks].filter((rank) => !(isUp ? giving : given).has(rank));
  return roots.length === 1 ? roots[0] : null;
}

function depthFrom(root, edges) {
  const near = new Map();
  for (const { from, to } of edges) {
    for (const [a, b] of [[from, to], [to, from]]) near.set(a, [...(near.get(a) ?? []), b]);
  }
  const depth = new Map([[root, 0]]);
  for (const rank of depth.keys()) {
    for (const other of near.get(rank) ?? []) if (!depth.has(other)) depth.set(other, depth.get(rank) + 1);
  }
  return { depth: Math.max(...depth.values()), reached: depth.size };
}

function flowOf({ root, parents, depth, share }, collective) {
  const isUp = collective.startsWith("reduce");
  const isBoth = collective === "all_reduce";
  const edges = parents.flatMap((parent, rank) => (parent < 0 ? [] : [
    ...(isUp || isBoth ? [{ from: rank, to: parent }] : []),
    ...(isUp ? [] : [{ from: parent, to: rank }]),
  ]));
  return { edges, root, depth, isTree: true, share };
}

// [{ edges: [{ from, to }], isTree, root, depth, share }], `share` of a block of the data; none for a
// schedule with one channel, or one too large to have its steps here.
export function flowsOf(schedule) {
  if (schedule.trees) return schedule.trees.map((tree) => flowOf(tree, schedule.collective));
  if (!schedule.lanes) return [];
  const flows = gather(schedule).map((flow) => {
    const edges = [...flow.edges.values()];
    const root = rootOf(flow, schedule.collective);
    const pairs = new Set(edges.map(({ from, to }) => [from, to].sort((a, b) => a - b).join("/")));
    const { depth, reached } = root === null ? { depth: 0, reached: 0 } : depthFrom(root, edges);
    const isTree = root !== null && pairs.size === flow.ranks.size - 1 && reached === flow.ranks.size;
    const share = Math.max(0, ...edges.map(({ chunks }) => chunks)) / schedule.chunks_per_block;
    return { edges, root, depth, isTree, share };
  });
  return flows.length > 1 ? flows : [];
}
