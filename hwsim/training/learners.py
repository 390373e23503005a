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

import torch
import torch.distributed as dist
from torch import Tensor

from hwsim.runners import ONE_THREAD, WorkersLost
from hwsim.torch import ShardedResidual
from hwsim.training.learner import Course, Found, learn, set_rate
from hwsim.training.method import TrainingMethod, reproducible
from hwsim.training.problems import Network
from hwsim.training.start import started

POLLED = 0.02  # seconds
COURSE, FOUND, MEETING = "course", "found", "meeting"


def trained_together(course: Course) -> Found:
    """What a network does on its course, of as many processes as the method has learners.

    Each has its share of every batch, and statistics of batch norms of its own; the first judges.
    Raises WorkersLost where a process ends early, with the last that it said.
    """
    with tempfile.TemporaryDirectory(prefix="hwsim-learners-") as made:
        folder = Path(made)
        (folder / COURSE).write_bytes(pickle.dumps(course))
        command = [sys.executable, "-m", "hwsim.training.learners", made]
        one_thread = {**os.environ, **ONE_THREAD}
        with ExitStack() as held:
            processes = []
            for rank in range(course.method.learners):
                said = held.enter_context((folder / f"said-{rank}").open("wb"))
                made_one = subprocess.Popen([*command, str(rank)], stdout=said, stderr=said, env=one_thread)
                processes.append(made_one)
                held.callback(made_one.wait)
                held.callback(made_one.kill)
            _wait(course, folder, processes)
        found: Found = pickle.loads((folder / FOUND).read_bytes())
        return found


def _wait(course: Course, folder: Path, processes: list[subprocess.Popen[bytes]]) -> None:
    """Until all have ended. Where one is lost the others would wait for it for ever."""
    while True:
        running = any(process.poll() is None for process in processes)
        for rank, process in enumerate(processes):
            if process.poll():
                lines = (folder / f"said-{rank}").read_text("utf-8", errors="replace").splitlines()
                last = lines[-1] if lines else "nothing"
                raise WorkersLost(f"{course.method.label}: learner {rank} ended with {process.returncode}: {last}")
        if not running:
            return
        time.sleep(POLLED)


class OneOfSeveral:
    """A learner with its share of every batch, and of the weights (HFP8). Its process has a group by now."""

    def __init__(self, network: Network, method: TrainingMethod, rank: int):
        self._network, self._rank, self._learners = network, rank, method.learners
        self._scale = method.scaler().scaling.scale
        self._update = ShardedResidual(network.parameters(), lambda share: method.optimizer_of(share), method.weights)
        self.skipped = 0

    def set_rate(self, rate: float) -> None:
        """Let the next step have this rate of learning."""
        set_rate(self._update.optimizer, rate)

    def share(self, x: Tensor) -> Tensor:
        """Its part, as long as the others'."""
        return x.chunk(self._learners)[self._rank]

    def mean(self, loss: float) -> float:
        """The mean over all learners, which all get."""
        total = torch.tensor(loss)
        dist.all_reduce(total)
        return float(total) / self._learners

    def step(self, loss: Tensor) -> None:
        """Compute gradients, and take the step with the others."""
        self._update.zero_grad()
        (loss * self._scale).backward()  # type: ignore[no-untyped-call]
        for one in self._network.parameters():
            if one.grad is not None:
                one.grad.div_(self._scale)
        self._update.step()


def learn_share(course: Course, rank: int) -> Found:
    """What learner `rank` finds; all find the same but for statistics of batch norms."""
    with reproducible(course.seed):
        network = started(course.problem, course.method, course.seed)
        course.method.convert(network)
        return learn(network, course, OneOfSeveral(network, course.method, rank))


def main(folder: Path, rank: int) -> None:
    """A learner's process."""
    torch.set_num_threads(1)
    course: Course = pickle.loads((folder / COURSE).read_bytes())
    dist.init_process_group(
        "gloo", init_method=f"file://{folder / MEETING}", rank=rank, world_size=course.method.learners
    )
    try:
        found = learn_share(course, rank)
        if rank == 0:
            (folder / FOUND).write_bytes(pickle.dumps(found))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
