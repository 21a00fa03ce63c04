"""Starts `tutti view` for a test, and makes the files that a test shows."""
import json
import subprocess


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


def plan(program, collective, algorithm, ranks):
    """The schedule, as text."""
    peer = ["--peer", 1] if collective == "send_recv" else []
    made = run(program, "plan", collective, "--algo", algorithm, "--ranks", ranks, *peer)
    if made.returncode != 0:
        raise RuntimeError(made.stderr)
    return made.stdout


def trace_of(rank, ranks, calls, version=1):
    """A trace file of one rank; calls are (begin, end, what)."""
    header = {"tutti_trace": version, "source": "engine", "schedule": "run", "ranks": ranks,
              "ticks_per_ns": 1, "lost": 0}
    lines = [json.dumps(header)]
    lines += [json.dumps(["call", rank, i, begin, end, what])
              for i, (begin, end, what) in enumerate(calls)]
    return "\n".join(lines) + "\n"
