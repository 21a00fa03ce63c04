"""An independent reading of a schedule: its text form interpreted step by step, with a set of ranks
for every value. Of the program's own history only the order of steps is taken; an order that could
not happen is an error here."""
import re

REGION = re.compile(r"(\w+)\[(\d+)(?::(\d+))?\]$")
TAKES = {"recv", "recv_reduce", "recv_copy_send", "recv_reduce_send", "recv_reduce_copy_send"}
GIVES = {"send", "recv_copy_send", "recv_reduce_send", "recv_reduce_copy_send"}


def region(text):
    if not text:
        return []
    buffer, begin, end = REGION.match(text).groups()
    return [(buffer, i) for i in range(int(begin), int(end or int(begin) + 1))]


class Reading:
    """The memory of all ranks: cells[rank][buffer, index] is (chunk, frozenset of ranks)."""

    def __init__(self, schedule):
        self.schedule = schedule
        self.kind = schedule["collective"]
        self.p = schedule["num_ranks"]
        self.root = schedule.get("root", 0)
        self.cells = [dict(self.inputs(rank)) for rank in range(self.p)]
        self.done = {(r, lane): 0 for r in range(self.p)
                     for lane in range(len(schedule["ranks"][r]["lanes"]))}
        self.mail = {}

    def blocks_of_input(self, rank):
        if self.kind in ("broadcast", "send_recv"):
            return [0] if rank == self.root else []
        if self.kind in ("all_reduce", "reduce"):
            return [0]
        if self.kind in ("all_gather", "gather"):
            return [rank]
        if self.kind == "scatter":
            return list(range(self.p)) if rank == self.root else []
        if self.kind == "reduce_scatter":
            return list(range(self.p))
        if self.kind == "all_to_all":
            return [rank * self.p + other for other in range(self.p)]
        return []

    def blocks_of_output(self, rank):
        if self.kind in ("all_reduce", "broadcast"):
            return [0]
        if self.kind == "reduce":
            return [0] if rank == self.root else []
        if self.kind == "send_recv":
            return [0] if rank == self.schedule.get("peer", 0) else []
        if self.kind == "all_gather":
            return list(range(self.p))
        if self.kind == "gather":
            return list(range(self.p)) if rank == self.root else []
        if self.kind in ("scatter", "reduce_scatter"):
            return [rank]
        if self.kind == "all_to_all":
            return [other * self.p + rank for other in range(self.p)]
        return []

    def chunks(self, blocks):
        k = self.schedule["chunks_per_block"]
        return [block * k + part for block in blocks for part in range(k)]

    def inputs(self, rank):
        for i, chunk in enumerate(self.chunks(self.blocks_of_input(rank))):
            yield ("input", i), (chunk, frozenset([rank]))

    def wanted(self, rank):
        """What the outputs of a rank must hold at the end."""
        for i, chunk in enumerate(self.chunks(self.blocks_of_output(rank))):
            block = chunk // self.schedule["chunks_per_block"]
            if self.kind in ("all_reduce", "reduce", "reduce_scatter"):
                ranks = range(self.p)
            elif self.kind in ("all_gather", "gather"):
                ranks = [block]
            elif self.kind == "all_to_all":
                ranks = [block // self.p]
            else:
                ranks = [self.root]
            yield ("output", i), (chunk, frozenset(ranks))

    def run(self, rank, lane, index):
        step = self.schedule["ranks"][rank]["lanes"][lane]["steps"][index]
        if self.done[rank, lane] != index:
            raise AssertionError(f"rank {rank} lane {lane}: step {index} out of its turn")
        for dep_lane, dep_step in step.get("after", []):
            if self.done[rank, dep_lane] <= dep_step:
                raise AssertionError(f"rank {rank} lane {lane} step {index} before what it is after")
        self.done[rank, lane] += 1
        channel = self.schedule["ranks"][rank]["lanes"][lane]["channel"]
        kind, memory = step["step"], self.cells[rank]
        values = None
        if kind in TAKES:
            waiting = self.mail.get((step["from"], rank, channel), [])
            if not waiting:
                raise AssertionError(f"rank {rank} lane {lane} step {index} takes what was not sent")
            values = waiting.pop(0)
        if "src" in step:
            own = [memory[cell] for cell in region(step["src"])]
            values = own if values is None else list(map(add, values, own))
        if kind == "reduce":
            values = list(map(add, values, [memory[cell] for cell in region(step["dst"])]))
        for cell, value in zip(region(step.get("dst")), values or []):
            memory[cell] = value
        if kind in GIVES:
            self.mail.setdefault((rank, step["to"], channel), []).append(values or [])

    def tiles(self):
        """{(rank, buffer, index): (chunk, "0-2,4")} of all cells that hold something."""
        return {(rank, buffer, index): (chunk, text_of(ranks))
                for rank, memory in enumerate(self.cells)
                for (buffer, index), (chunk, ranks) in memory.items()}


def add(a, b):
    assert a[0] == b[0], f"chunk {a[0]} is reduced with chunk {b[0]}"
    assert not a[1] & b[1], f"{a[1] & b[1]} counted twice"
    return a[0], a[1] | b[1]


def text_of(ranks):
    """{0, 1, 2, 4} is "0-2,4"."""
    parts, row = [], sorted(ranks)
    while row:
        last = 0
        while last + 1 < len(row) and row[last + 1] == row[last] + 1:
            last += 1
        parts.append(str(row[0]) if last == 0 else f"{row[0]}-{row[last]}")
        row = row[last + 1:]
    return ",".join(parts)
