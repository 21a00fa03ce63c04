"""torch.distributed over Gloo, measured as loop.h measures the others; started by `tutti run`."""

import argparse
import datetime
import os
import time

os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

WARM_UP_S, WARM_UP_CALLS, MOST_CALLS = 0.05, 400, 20000


def values(rank, first, count):
    place = torch.arange(first, first + count, dtype=torch.float64)
    return (place % 97 + rank * 3 + 1).to(torch.float32)


def max_of_all(numbers):
    tensor = torch.tensor(numbers, dtype=torch.float64)
    dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
    return tensor.tolist()


class Subject:
    def __init__(self, what, size):
        self.what, self.rank, self.ranks = what, dist.get_rank(), dist.get_world_size()
        elems = max(size // 4, 1)
        if what == "all_gather":
            elems = max(elems // self.ranks, 1) * self.ranks
        self.elems, self.part = elems, elems // self.ranks
        self.row = torch.zeros(elems)
        self.own = torch.zeros(self.part)
        self.blocks = [torch.zeros(self.part) for _ in range(self.ranks)]

    def fill(self):
        self.own.copy_(values(self.rank, self.rank * self.part, self.part))
        has_input = self.what != "broadcast" or self.rank == 0
        self.row.copy_(values(self.rank, 0, self.elems) if has_input else torch.zeros(self.elems))

    def clear(self):
        self.row.zero_()
        self.own.zero_()

    def call(self):
        if self.what == "all_reduce":
            dist.all_reduce(self.row)
        elif self.what == "reduce":
            dist.reduce(self.row, 0)
        elif self.what == "broadcast":
            dist.broadcast(self.row, 0)
        else:
            dist.all_gather(self.blocks, self.own)

    def num_wrong(self):
        if self.what == "all_gather":
            return sum(int((block != values(r, r * self.part, self.part)).sum())
                       for r, block in enumerate(self.blocks))
        if self.what == "broadcast":
            return int((self.row != values(0, 0, self.elems)).sum())
        if self.what == "reduce" and self.rank != 0:
            return 0
        want = sum(values(r, 0, self.elems) for r in range(self.ranks))
        return int((self.row != want).sum())


def warm_up(subject, options):
    begin, calls, took = time.perf_counter(), 0, 0.0
    while took < WARM_UP_S and calls < WARM_UP_CALLS:
        for _ in range(4):
            subject.call()
        calls += 4
        took = max_of_all([time.perf_counter() - begin])[0]
    return int(min(max(options.seconds / (took / calls), options.min_iterations), MOST_CALLS))


def measure(what, size, options):
    subject = Subject(what, size)
    subject.fill()
    dist.barrier()
    subject.call()
    wrong = max_of_all([subject.num_wrong()])[0]
    subject.clear()
    iterations = warm_up(subject, options)
    dist.barrier()
    times, begin = [], time.perf_counter()
    last = begin
    for _ in range(iterations):
        subject.call()
        now = time.perf_counter()
        times.append((now - last) * 1e6)
        last = now
    total = max_of_all([(last - begin) * 1e6])[0]
    times = sorted(max_of_all(times))
    if subject.rank == 0:
        at = [times[int(share * (iterations - 1) + 0.5)] for share in (0.5, 0.99)]
        placing = "out" if what == "all_gather" else "in"
        print(f"row,{what},{subject.ranks},{subject.elems * 4},{placing},0,{iterations},"
              f"{at[0]:.3f},{at[1]:.3f},{total / iterations:.3f},{wrong:.0f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--collectives", required=True)
    parser.add_argument("--sizes", required=True)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--min-iterations", type=int, default=10)
    parser.add_argument("--noise", type=float, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{os.environ['TUTTI_JOB_DIR']}/torch",
                            rank=int(os.environ["TUTTI_RANK"]),
                            world_size=int(os.environ["TUTTI_NUM_RANKS"]),
                            timeout=datetime.timedelta(seconds=60))
    for what in options.collectives.split(","):
        for size in options.sizes.split(","):
            measure(what, int(size), options)


main()
