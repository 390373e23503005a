"""Several learners of one network: processes that share each batch, with HFP8's distributed update of weights."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

from hwsim.study.runners.local import WorkersLost
from hwsim.torch import ShardedResidual
from hwsim.training.method import reproducible, set_rate
from hwsim.training.problems import judged, loss_of

if TYPE_CHECKING:
    from hwsim.training.runs import TrainingRun

POLLED = 0.02  # seconds
RUN, FOUND, MEETING = "run", "found", "meeting"
Found = dict[int, dict[str, float]]


def trained_together(run: TrainingRun) -> Found:
    """The measures of a run, by the number of steps, of as many processes as its method has learners.

    Each has its share of every batch, and statistics of batch norms of its own; the first judges.
    Raises WorkersLost where a process ends early, with the last that it said.
    """
    with tempfile.TemporaryDirectory(prefix="hwsim-learners-") as made:
        folder = Path(made)
        (folder / RUN).write_bytes(pickle.dumps(run))
        command = [sys.executable, "-m", "hwsim.training.learners", made]
        one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        with ExitStack() as held:
            processes = []
            for rank in range(run.method.learners):
                said = held.enter_context((folder / f"said-{rank}").open("wb"))
                made_one = subprocess.Popen([*command, str(rank)], stdout=said, stderr=said, env=one_thread)
                processes.append(made_one)
                held.callback(made_one.wait)
                held.callback(made_one.kill)
            _wait(run, folder, processes)
        found: Found = pickle.loads((folder / FOUND).read_bytes())
        return found


def _wait(run: TrainingRun, folder: Path, processes: list[subprocess.Popen[bytes]]) -> None:
    """Until all have ended. Where one is lost the others would wait for it for ever."""
    while True:
        running = any(process.poll() is None for process in processes)
        for rank, process in enumerate(processes):
            if process.poll():
                lines = (folder / f"said-{rank}").read_text("utf-8", errors="replace").splitlines()
                last = lines[-1] if lines else "nothing"
                raise WorkersLost(f"{run.method.label}: learner {rank} ended with {process.returncode}: {last}")
        if not running:
            return
        time.sleep(POLLED)


def learn_share(run: TrainingRun, rank: int) -> Found:
    """What learner `rank` does; all have a process group by now."""
    problem, method, many = run.problem, run.method, run.method.learners
    found: Found = {}
    losses: list[float] = []
    with reproducible(run.seed):
        network = problem.network()
        method.convert(network)
        steps = ShardedResidual(network.parameters(), lambda share: method.optimizer_of(share), fmt=method.weights)
        scaler = method.scaler()
        network.train()
        for step in range(1, run.steps + 1):
            set_rate(steps.optimizer, method.rate_at(step - 1, run.steps))
            x, expected = (one.chunk(many)[rank] for one in problem.batch_of(run.seed, step - 1))
            steps.zero_grad()
            loss = loss_of(network(x), expected)
            scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            for one in network.parameters():
                if one.grad is not None:
                    one.grad.div_(scaler.scaling.scale)
            steps.step()
            mean = loss.detach()
            dist.all_reduce(mean)
            losses.append(float(mean) / many)
            if step in run.recorded and rank == 0:
                seen = judged(network, problem)
                lost = sum(losses) / len(losses)
                found[step] = {"loss": lost, "validation": seen.loss, "right": seen.right, "skipped": 0.0}
                losses.clear()
    return found


def main(folder: Path, rank: int) -> None:
    """A learner's process."""
    torch.set_num_threads(1)
    run: TrainingRun = pickle.loads((folder / RUN).read_bytes())
    dist.init_process_group("gloo", init_method=f"file://{folder / MEETING}", rank=rank, world_size=run.method.learners)
    try:
        found = learn_share(run, rank)
        if rank == 0:
            (folder / FOUND).write_bytes(pickle.dumps(found))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
