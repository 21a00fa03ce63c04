// What each step of a schedule does in its round, so that Learn can tell two steps of one kind apart:
// the first half of an all-reduce sends parts of sums, the second half whole ones.

import { sizeOf } from "tutti/sets";
import { regionOf } from "tutti/replay";

const keyOf = ([chunk, set]) => `${chunk}/${set}`;

// Of each round the steps that run in it:
// { kind, rank, from, to, p, groupSize, writes: the name of a buffer, given, taken: chunks of
//   the messages, givesWhole, takesWhole: sums over all ranks, givesTaken: what the rank has taken itself }
export function doingsOf(schedule, replay, groupSize) {
  const { rounds, sets, never_taken: neverTaken } = schedule.history;
  const messages = [...rounds.flatMap((round) => round.messages), ...neverTaken];
  const givenBy = new Map(messages.map((message) => [`${message.sender}`, message.data]));
  const takenBy = new Map(messages.map((message) => [`${message.taker}`, message.data]));
  const isWhole = (data) => data.length > 0 && data.every(([, set]) => sizeOf(sets[set]) === schedule.ranks);
  const has = schedule.lanes.map(() => new Set()); // what a rank has taken so far
  return rounds.map(({ steps }) => steps.map((name) => {
    const [rank] = name;
    const { kind, from, to, dst } = replay.step(name);
    const taken = (from !== undefined && takenBy.get(`${name}`)) || [];
    const given = (to !== undefined && givenBy.get(`${name}`)) || [];
    for (const held of taken) has[rank].add(keyOf(held));
    return { kind, rank, from, to, groupSize, p: schedule.ranks, writes: regionOf(dst)?.buffer,
      given: given.map(([chunk]) => chunk), taken: taken.map(([chunk]) => chunk),
      givesWhole: isWhole(given), takesWhole: isWhole(taken), givesTaken: given.some((held) => has[rank].has(keyOf(held))) };
  }));
}

// The same of more ranks than have their steps here: of steps that do alike, the program names one.
export function doingsOfOverview({ overview, ranks }, groupSize) {
  return overview.rounds.map(({ doings }) => doings.map((its) => ({ kind: its.kind, rank: its.rank, from: its.from, to: its.to,
    groupSize, p: ranks, writes: its.writes, given: its.gives_its_own ? [its.to] : [], taken: its.takes_its_own ? [its.rank] : [],
    givesWhole: its.gives_whole === true, takesWhole: its.takes_whole === true, givesTaken: its.gives_taken === true })));
}

// Whether a line of code, { kinds, when }, stands for what a step does.
export const isMeant = (line, doing) => line.kinds.includes(doing.kind) && (!line.when || line.when(doing));
