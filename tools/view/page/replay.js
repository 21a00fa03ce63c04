// What every cell holds after each round, from the history that the verifier wrote. Holds the
// memory of the round that was last asked for, and goes from there.

export class Replay {
  constructor(schedule) {
    this.schedule = schedule;
    this.history = schedule.history;
    this.numRounds = this.history.rounds.length;
    this.wanted = new Map(this.history.wanted.map(([cell, chunk, set]) => [cell, `${chunk}/${set}`]));
    this.faults = this.findFaults();
    this.reset();
  }

  // Whether the run ended before its end: at a fault, or where nothing could go on. A wrong result is
  // found when all is over.
  get hasStopped() {
    const { stopped_by: stopped, stuck } = this.history;
    return (stopped !== undefined && stopped.rule !== "result") || stuck.length > 0;
  }

  // The steps that the schedule is refused for, and the round from which they are seen: that in which
  // they run, or the last if they do not.
  findFaults() {
    const { stuck, stopped_by: stopped, rounds } = this.history;
    const refusal = stopped ?? this.schedule.refusal;
    const named = refusal?.step === undefined ? [] : [[refusal.rank, refusal.lane, refusal.step]];
    return (stuck.length > 0 ? stuck : named).map((name) => {
      const ran = rounds.findIndex(({ steps }) => steps.some((step) => `${step}` === `${name}`));
      return { name, round: ran < 0 ? this.lastRound : ran };
    });
  }

  faultsIn(round) {
    return this.faults.filter((fault) => fault.round <= round).map(({ name }) => name);
  }

  isFault(name) {
    return this.faults.some((fault) => `${fault.name}` === `${name}`);
  }

  reset() {
    this.cells = new Map(this.history.start.map(([cell, chunk, set]) => [cell, { chunk, set }]));
    this.done = 0; // rounds that are in `cells`
  }

  get lastRound() {
    return Math.max(0, this.numRounds - 1);
  }

  // The cells after round `round`, which may be -1: before anything has run.
  after(round) {
    const until = Math.min(round + 1, this.numRounds);
    if (until < this.done) this.reset();
    for (; this.done < until; ++this.done) {
      for (const [cell, chunk, set] of this.history.rounds[this.done].writes) {
        this.cells.set(cell, { chunk, set });
      }
    }
    return this.cells;
  }

  messages(round) {
    return this.history.rounds[round]?.messages ?? [];
  }

  // What was sent up to this round and is taken in a later one, or never.
  underWay(round) {
    const later = this.history.rounds.slice(round + 1).flatMap((its) => its.messages);
    return [...later, ...this.history.never_taken].filter((message) => message.sent_in <= round);
  }

  isAsWanted(cell, held) {
    return this.wanted.get(cell) === `${held.chunk}/${held.set}`;
  }

  step([rank, lane, step]) {
    return this.schedule.lanes[rank][lane].steps[step];
  }

  // "recv_reduce input[0] -> output[0] from rank 2"
  static words(step) {
    const way = [step.src, step.dst].filter(Boolean).join(" → ");
    const from = step.from === undefined ? "" : ` from rank ${step.from}`;
    const to = step.to === undefined ? "" : ` to rank ${step.to}`;
    return `${step.kind}${way ? ` ${way}` : ""}${from}${to}`;
  }
}

// "output[2:4]" is the buffer and its positions.
export function regionOf(text) {
  const parts = /^(\w+)\[(\d+)(?::(\d+))?\]$/.exec(text ?? "");
  if (!parts) return null;
  const begin = Number(parts[2]);
  return { buffer: parts[1], begin, end: parts[3] ? Number(parts[3]) : begin + 1 };
}
