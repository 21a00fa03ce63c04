"""Who is measured, and how each is started: a command for N ranks, and what it can do.

A library appears in each configuration that is the best one somewhere: pinned or not, over Open
MPI's own shared memory (vader) or UCX. In place and out of place are measured by every program
itself. The reports take the best figure per cell, on both sides.
"""

import importlib.util
import os
import sys

HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
UCX = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"]
ADAPT = ["--mca", "coll_adapt_priority", "100"]


class Contender:
    def __init__(self, name, library, command, slow_above_cores=False, collectives=None,
                 missing=""):
        self.name, self.library, self.command = name, library, command
        # Milliseconds a call when ranks outnumber cores: measured there once, and not in a hurry.
        self.slow_above_cores = slow_above_cores
        self.collectives = collectives  # None: all
        self.missing = missing  # why it cannot be run


def contenders(folder, tutti, num_ranks):
    """All of them for this many ranks; `folder` has the programs, `tutti` is the launcher."""
    enough_cores = num_ranks <= len(os.sched_getaffinity(0))
    yield from tutti_ones(folder, tutti, num_ranks)
    yield from openmpi_ones(folder, num_ranks, enough_cores)
    yield mpich(folder, num_ranks, enough_cores)
    yield from gloo_ones(folder, tutti, num_ranks)
    yield torch(tutti, num_ranks)


def ranks_by_tutti(tutti, num_ranks):
    return [tutti, "run", "-n", str(num_ranks), "--no-prefix", "--"]


def tutti_ones(folder, tutti, num_ranks):
    program = f"{folder}/peer_tutti"
    start = ranks_by_tutti(tutti, num_ranks)
    yield Contender("tutti", "tutti", [*start, program])
    yield Contender("tutti.pin", "tutti", [*start, program, "--pin"])


def mpirun_openmpi(num_ranks, options):
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return ["mpirun.openmpi", *root, *options, "-x", "GLIBC_TUNABLES", "-np", str(num_ranks)]


def openmpi_ones(folder, num_ranks, enough_cores):
    program = f"{folder}/peer_openmpi"
    missing = "" if os.path.exists(program) else "not installed"
    bound = ["--bind-to", "core"] if enough_cores else ["--oversubscribe"]
    free = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    start = mpirun_openmpi(num_ranks, bound)
    yield Contender("openmpi.vader", "Open MPI", [*start, program], missing=missing)
    if enough_cores:
        start = mpirun_openmpi(num_ranks, bound + UCX)
        yield Contender("openmpi.ucx", "Open MPI", [*start, program], missing=missing)
    else:
        start = mpirun_openmpi(num_ranks, free + UCX)
        yield Contender("openmpi.ucx.pin", "Open MPI", [*start, program, "--pin"], missing=missing)


def mpich(folder, num_ranks, enough_cores):
    program = f"{folder}/peer_mpich"
    bound = ["-bind-to", "core"] if enough_cores else []
    return Contender("mpich", "MPICH", ["mpirun.mpich", *bound, "-np", str(num_ranks), program],
                     slow_above_cores=True,
                     missing="" if os.path.exists(program) else "not installed")


def gloo_ones(folder, tutti, num_ranks):
    program = f"{folder}/peer_gloo"
    missing = "" if os.path.exists(program) else "not installed"
    start = [*ranks_by_tutti(tutti, num_ranks), program, "--variant"]
    yield Contender("gloo.ring", "Gloo", [*start, "ring"], True, missing=missing)
    yield Contender("gloo.hd", "Gloo", [*start, "halving_doubling"], True, ["all_reduce"], missing)
    yield Contender("gloo.poll", "Gloo", [*start, "busy_poll"], True,
                    ["all_reduce", "reduce_scatter"], missing)


def torch(tutti, num_ranks):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_gloo.py")
    is_there = importlib.util.find_spec("torch") is not None
    return Contender("torch.gloo", "torch", [*ranks_by_tutti(tutti, num_ranks), sys.executable, script],
                     True, ["all_reduce", "reduce", "broadcast", "all_gather"],
                     missing="" if is_there else "not installed")


def noise_contenders(folder, tutti, num_ranks):
    """For the benchmark with noise: tutti as it comes, Open MPI with two algorithms, MPICH."""
    yield Contender("tutti", "tutti", [*ranks_by_tutti(tutti, num_ranks), f"{folder}/peer_tutti"])
    program = f"{folder}/peer_openmpi"
    missing = "" if os.path.exists(program) else "not installed"
    free = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    for name, options in (("openmpi.tuned", []), ("openmpi.adapt", ADAPT)):
        yield Contender(name, "Open MPI", [*mpirun_openmpi(num_ranks, free + options), program],
                        missing=missing)
    yield mpich(folder, num_ranks, False)
