#!/usr/bin/env python3
"""ddp.py [--ranks 2 4] [--steps 20]: PyTorch trains a small model with DistributedDataParallel over
the backend "nccl", with 1 and then more processes, all on cuda:0, each with its part of the same
batches. The losses must be those of one process, but for the order of additions.

PyTorch's wheels find their own libnccl.so.2, so put ours before it:
  LD_PRELOAD=FOLDER/libnccl.so.2 python3 ddp.py
Run it under MPS (mps.sh): the processes share the GPU.
"""

import argparse
import os
import subprocess
import sys
import tempfile

BATCH = 48  # of all processes together: 2, 3, 4, 6 and 8 divide it
TOLERANCE = 2e-4  # relative, after some steps of float32 added up in another order


def train(steps):
    import torch
    import torch.distributed as dist

    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(0)
    dist.init_process_group("nccl")
    if rank == 0:
        print("NCCL", torch.cuda.nccl.version(), flush=True)
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 256),
                                torch.nn.GELU(), torch.nn.Linear(256, 10)).cuda()
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[0])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    data = torch.Generator().manual_seed(2)
    for step in range(steps):
        inputs = torch.randn(BATCH, 64, generator=data)
        labels = torch.randint(10, (BATCH,), generator=data)
        part = slice(rank * BATCH // world, (rank + 1) * BATCH // world)
        loss = torch.nn.functional.cross_entropy(model(inputs[part].cuda()), labels[part].cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
        if rank == 0:
            print(f"loss {step} {mean.item():.9f}", flush=True)
    # Every rank must have the same weights, bit for bit.
    weights = torch.cat([p.detach().flatten() for p in model.parameters()])
    first = weights.clone()
    dist.broadcast(first, 0)
    print(f"rank {rank} weights {'equal' if torch.equal(weights, first) else 'DIFFERENT'}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def losses_of(world, steps, limit):
    """Runs the training with so many processes; (losses, whether all ended well)."""
    with tempfile.TemporaryDirectory() as folder:
        files = [open(os.path.join(folder, str(r)), "w+", encoding="utf-8") for r in range(world)]
        ranks = []
        for r in range(world):
            env = dict(os.environ, RANK=str(r), WORLD_SIZE=str(world), LOCAL_RANK=str(r),
                       MASTER_ADDR="127.0.0.1", MASTER_PORT=str(29600 + world))
            ranks.append(subprocess.Popen([sys.executable, __file__, "--train", "--steps", str(steps)],
                                          env=env, stdout=files[r], stderr=subprocess.STDOUT))
        good = True
        for rank in ranks:
            try:
                good &= rank.wait(limit) == 0
            except subprocess.TimeoutExpired:
                good = False
                for other in ranks:
                    other.kill()
        output = ""
        for file in files:
            file.seek(0)
            output += file.read()
            file.close()
    good &= output.count("weights equal") == world
    if not good:
        print(output)
    lines = [line.split() for line in output.splitlines()]
    print(*[" ".join(words) for words in lines if words and words[0] == "NCCL"][:1])
    return [float(words[2]) for words in lines if words and words[0] == "loss"], good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--limit", type=int, default=300, help="seconds a run")
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.train:
        return train(arguments.steps)
    alone, all_good = losses_of(1, arguments.steps, arguments.limit)
    print("1 process:  ", " ".join(f"{loss:.4f}" for loss in alone))
    all_good &= len(alone) == arguments.steps
    for world in arguments.ranks:
        losses, good = losses_of(world, arguments.steps, arguments.limit)
        print(f"{world} processes:", " ".join(f"{loss:.4f}" for loss in losses))
        apart = max((abs(a - b) / abs(a) for a, b in zip(alone, losses)), default=float("inf"))
        good &= len(losses) == arguments.steps and apart <= TOLERANCE
        print(f"{world} processes: {'the same losses' if good else 'WRONG'}, at most {apart:.1e} apart")
        all_good &= good
    return 0 if all_good else 1


if __name__ == "__main__":
    sys.exit(main())
