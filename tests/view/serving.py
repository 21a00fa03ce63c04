"""Starts `tutti view` for a test, and makes the files that a test shows."""
import collections
import json
import subprocess
import zlib


class Serving:
    """A running `tutti view`; ends it on exit."""

    def __init__(self, program, *arguments):
        self.process = subprocess.Popen([program, "view", "--no-browser", *arguments],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise RuntimeError(f"tutti view did not start: {self.process.stderr.read()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends the program as a person would; its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self.process.stdout.close()
            self.process.stderr.close()


def run(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120)


# The page's plain model, as the program writes it.
MODEL = "switch:{ranks}@25GB/s,1000ns"


def plan(program, collective, algorithm, ranks, topo=None):
    """The schedule, as text; of an algorithm that is made for a machine, for that one."""
    more = ["--peer", 1] if collective == "send_recv" else []
    more += ["--topo", topo] if topo else ["--ranks", ranks]
    made = run(program, "plan", collective, "--algo", algorithm, *more)
    if made.returncode != 0:
        raise RuntimeError(made.stderr)
    return made.stdout


def operations_of(calls):
    """Of each call which operation it is: the n-th with the same words is the same on all ranks."""
    seen = collections.Counter()
    for _, _, what in calls:
        seen[what] += 1
        yield f"{zlib.crc32(what.encode()):08x}{seen[what]:08x}"


def trace_of(rank, ranks, calls, version=2, events=(), error=None, operations=None):
    """A trace file of one rank; calls are (begin, end, what). Events are (kind, op, begin, end, step,
    peer, bytes, call), or with the peer's step as a ninth. `error` is how far its clock may be off."""
    header = {"tutti_trace": version, "source": "engine", "schedule": "run", "ranks": ranks,
              "ticks_per_ns": 1, "lost": 0}
    lines = [json.dumps(header)]
    lines += [json.dumps(["call", rank, i, begin, end, what, operation])
              for i, ((begin, end, what), operation) in enumerate(zip(calls, operations or operations_of(calls)))]
    if error is not None:
        lines.insert(1, json.dumps(["clock", rank, 0, error]))
    lines += [json.dumps([kind, op, begin, end, rank, 0, step, peer, 0, *(peer_step or [0]), num_bytes, call])
              for kind, op, begin, end, step, peer, num_bytes, call, *peer_step in events]
    return "\n".join(lines) + "\n"
