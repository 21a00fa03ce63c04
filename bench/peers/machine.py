"""The machine that figures come from: what it is, whether others use it, how close its cores are."""

import os
import platform
import resource
import signal
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")
DISTURBED = 0.05  # cores' worth of other people's work, above which a figure is marked


def busy_seconds():
    with open("/proc/stat") as file:
        fields = [int(word) for word in file.readline().split()[1:]]
    user, nice, system, irq, softirq = (fields[i] for i in (0, 1, 2, 5, 6))
    return (user + nice + system + irq + softirq) / TICKS


def own_seconds():
    return sum(usage.ru_utime + usage.ru_stime for usage in
               map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def wait_for_quiet(limit_s):
    """Returns when nobody else has used the machine for a quarter of a second, or after the limit."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        before = busy_seconds()
        time.sleep(0.25)
        if busy_seconds() - before < 0.06 * 0.25 + 1.5 / TICKS:
            return


class Outcome:
    """What a command did: its output, or in `gap` why there is none; and who else was at work."""

    def __init__(self, text, errors, gap, foreign):
        self.text, self.errors, self.gap, self.foreign = text, errors, gap, foreign


def run(command, limit_s, environment=None, accept=(0,)):
    """Never takes longer than the limit, and leaves no process of the command's session behind."""
    busy, own, begin = busy_seconds(), own_seconds(), time.monotonic()
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="replace",
                                   env={**os.environ, **(environment or {})},
                                   start_new_session=True)
    except OSError as error:
        return Outcome("", "", f"cannot be started: {error.strerror}", 0)
    gap = ""
    try:
        text, errors = process.communicate(timeout=limit_s)
        if process.returncode not in accept:
            gap = f"ended with {process.returncode}"
    except subprocess.TimeoutExpired:
        end_session(process)
        text, errors = process.communicate()
        gap = f"not over after {limit_s:g} s"
    wall = max(time.monotonic() - begin, 1e-3)
    foreign = max(0.0, (busy_seconds() - busy) - (own_seconds() - own)) / wall
    return Outcome(text, errors, gap, foreign)


def end_session(process):
    """mpirun ends its ranks when it is told to; what does not listen is killed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=3)
        except (subprocess.TimeoutExpired, ProcessLookupError):
            pass
    for pid in members_of(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def members_of(session):
    """Ranks lead process groups of their own, but stay in the session."""
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.getsid(int(entry)) == session:
                yield int(entry)
        except (ProcessLookupError, PermissionError):
            pass


def placement(probe):
    """"near", "far" or "siblings"; "?" when the probe did not answer."""
    words = run([probe], 20).text.split()
    return words[0] if words else "?"


def describe():
    def lines(path, word):
        with open(path) as file:
            return [line for line in file if line.startswith(word)]

    models = lines("/proc/cpuinfo", "model name")
    model = models[0].split(":", 1)[1].strip() if models else platform.machine()
    memory = int(lines("/proc/meminfo", "MemTotal")[0].split()[1])
    return (f"{model}, {len(os.sched_getaffinity(0))} cores, {memory / 2**20:.0f} GiB, "
            f"Linux {platform.release()}")


def version_of(command):
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return "not installed"
    return " ".join(text.strip().splitlines()[0].split()) if text.strip() else "unknown"


def libraries():
    return (f"Open MPI: {version_of(['mpirun.openmpi', '--version'])}; "
            f"{version_of(['mpichversion', '--version'])}")


def commit():
    return version_of(["git", "describe", "--always", "--dirty"])
