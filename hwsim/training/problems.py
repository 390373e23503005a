"""What is learned: a network, batches that a seed decides, and how well it does on what it has not seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

import torch
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass
from torch import Tensor, nn
from torch.nn import functional

from hwsim.training.corpus import batch, corpus
from hwsim.training.networks import CharacterTransformer, DigitNetwork

VALIDATION_SEED = 0x5EED
Network: TypeAlias = CharacterTransformer | DigitNetwork


class Judged(NamedTuple):
    """How well a network does on examples that it has not seen.

    loss: the mean cross-entropy, in nats. right: the share of answers that are right.
    """

    loss: float
    right: float


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Characters:
    """The next character of a text: a transformer of `layers` x `width`, batches of `batch` x `context` characters."""

    kind: Literal["characters"] = "characters"
    width: int
    layers: int
    heads: int
    context: int
    batch: int
    validated: int
    """Characters that a network is judged by, a multiple of `context`."""

    @property
    def weights(self) -> int:
        """The weights of all linear layers."""
        return self.layers * 12 * self.width**2 + self.width * corpus().characters

    @property
    def products(self) -> int:
        """Products of a step: forward, and two gradients."""
        return 3 * self.weights * self.batch * self.context

    @property
    def words(self) -> dict[str, int]:
        """What reports say of it."""
        return {"width": self.width, "layers": self.layers, "tokens": self.batch * self.context}

    def network(self) -> CharacterTransformer:
        """A network as PyTorch's present seed draws it."""
        return CharacterTransformer(corpus().characters, self.width, self.layers, self.heads, self.context)

    def batch_of(self, seed: int, step: int, many: int = 1) -> tuple[Tensor, Tensor]:
        """What goes into a step, and what should come out. many: that many batches in one."""
        return batch(corpus().train, self.batch * many, self.context, generator(seed, step))

    def unseen(self) -> tuple[Tensor, Tensor]:
        """What a network is judged by."""
        count = self.validated // self.context
        return batch(corpus().validation, count, self.context, generator(VALIDATION_SEED, 0))

    def probes(self) -> Tensor:
        """What answers are compared on."""
        return self.unseen()[0]


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class DigitPictures:
    """Handwritten digits: a network of convolutions, whose last two have twice as many channels as `width`."""

    kind: Literal["digits"] = "digits"
    width: int
    batch: int

    @property
    def products(self) -> int:
        """Products of a step: forward, and two gradients."""
        width = self.width
        each = 64 * 9 * width + 16 * 9 * width * 2 * width + 16 * 9 * 4 * width**2 + 2 * width * 160
        return 3 * each * self.batch

    @property
    def words(self) -> dict[str, int]:
        """What reports say of it; `sums` are the longest, those of the first layer's gradient."""
        return {"width": self.width, "wider": 2 * self.width, "batch": self.batch, "sums": 64 * self.batch}

    def network(self) -> DigitNetwork:
        """A network as PyTorch's present seed draws it."""
        return DigitNetwork(self.width)

    def batch_of(self, seed: int, step: int, many: int = 1) -> tuple[Tensor, Tensor]:
        """What goes into a step, and what should come out. many: that many batches in one."""
        pictures, labels, *_ = _digits()
        chosen = torch.randint(0, len(labels), (self.batch * many,), generator=generator(seed, step))
        return pictures[chosen], labels[chosen]

    def unseen(self) -> tuple[Tensor, Tensor]:
        """What a network is judged by."""
        return _digits()[2:]

    def probes(self) -> Tensor:
        """What answers are compared on: all pictures, those that were learned too."""
        pictures, _, others, _ = _digits()
        return torch.cat([pictures, others])


Problem: TypeAlias = Characters | DigitPictures
PROBLEMS: dict[str, type[Characters] | type[DigitPictures]] = {"characters": Characters, "digits": DigitPictures}


def generator(seed: int, step: int) -> torch.Generator:
    """What draws the batch of a step."""
    return torch.Generator().manual_seed((seed << 32) + step)


def loss_of(logits: Tensor, expected: Tensor) -> Tensor:
    """The mean cross-entropy, in nats."""
    return functional.cross_entropy(logits.flatten(0, -2), expected.flatten())


@torch.no_grad()
def judged(network: Network, problem: Problem) -> Judged:
    """How well a network does, with its products as they now are; batch norms have their running statistics."""
    x, expected = problem.unseen()
    with evaluating(network):
        logits = network(x)
    return Judged(float(loss_of(logits, expected)), float((logits.argmax(-1) == expected).float().mean()))


@torch.no_grad()
def answers(network: Network, x: Tensor) -> Tensor:
    """What a network answers, as it is judged."""
    with evaluating(network):
        found: Tensor = network(x).argmax(-1)
    return found


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """While a network is not trained."""
    before = network.training
    network.eval()
    try:
        yield
    finally:
        network.train(before)


@cache
def _digits() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    from hwsim.study.network.digits import digits

    found = digits(VALIDATION_SEED)
    train, test = (torch.from_numpy(one).float().reshape(-1, 1, 8, 8) for one in (found.train, found.test))
    return train, torch.from_numpy(found.train_labels), test, torch.from_numpy(found.test_labels)
