"""A transformer whose operations beside products are rounded in one way, so that two devices must agree in every bit.

Norms, softmax and sums are made of additions, multiplications, divisions and square roots of binary32, one operation of
PyTorch each: IEEE 754 fixes the bits of these, where kernels for whole functions differ between devices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from hwsim.formats.stochastic import random_words


class TransformerSizes(NamedTuple):
    """Words of the vocabulary, positions, numbers of a position, heads, layers."""

    words: int
    positions: int
    width: int
    heads: int
    layers: int


GPT2_SMALL = TransformerSizes(50257, 1024, 768, 12, 12)  # of its dimensions: 124 million parameters


def summed(x: Tensor) -> Tensor:
    """The sum along the last axis, which stays with one number: halves are added until one is left."""
    length = 1 << (x.shape[-1] - 1).bit_length()
    x = functional.pad(x, (0, length - x.shape[-1]))
    while length > 1:
        length //= 2
        x = x[..., :length] + x[..., length:]
    return x


def exponential(x: Tensor) -> Tensor:
    """e^x of numbers up to 0, to about 2^-20 of it; 0 below the least normal number."""
    t = x * 1.4426950408889634
    whole = torch.floor(t).clamp(min=-127.0)
    part = (t - whole) * 0.6931471805599453
    total = torch.full_like(part, 1 / 5040)
    for coefficient in (1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2, 1.0, 1.0):
        total = total * part + coefficient
    power = ((whole.to(torch.int32) + 127) << 23).view(torch.float32)
    return (total * power).masked_fill(whole == -127.0, 0.0)


class _Softmax(torch.autograd.Function):
    """Softmax along the last axis; masked numbers have no part in it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, masked: Tensor) -> Tensor:
        """masked: bool, in a shape that broadcasts with x; not all along the last axis."""
        x = x.masked_fill(masked, -1e30)
        power = exponential(x - x.amax(-1, keepdim=True)).masked_fill(masked, 0.0)
        y = torch.div(power, summed(power))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """The gradient of x."""
        (y,) = ctx.saved_tensors
        return y * (gradients[0] - summed(gradients[0] * y)), None


class _Norm(torch.autograd.Function):
    """x over the root of its mean square along the last axis."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Each number times one factor of its row."""
        mean = summed(x * x) * (1 / x.shape[-1])
        factor = torch.div(torch.ones_like(mean), torch.sqrt(mean + 1e-5))
        y = x * factor
        ctx.save_for_backward(y, factor)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        """The gradient of x."""
        y, factor = ctx.saved_tensors
        along = summed(gradients[0] * y) * (1 / y.shape[-1])
        of_x: Tensor = factor * (gradients[0] - y * along)
        return of_x


def softmax(x: Tensor, masked: Tensor) -> Tensor:
    """Softmax along the last axis, of what is not masked."""
    y: Tensor = _Softmax.apply(x, masked)  # type: ignore[no-untyped-call]
    return y


def norm(x: Tensor) -> Tensor:
    """x over the root of its mean square along the last axis."""
    y: Tensor = _Norm.apply(x)  # type: ignore[no-untyped-call]
    return y


class TransformerBlock(nn.Module):
    """Attention to what came before, and two linear layers with ReLU; both behind a norm."""

    def __init__(self, sizes: TransformerSizes):
        super().__init__()
        width, self.heads = sizes.width, sizes.heads
        self.mixed, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor, later: Tensor) -> Tensor:
        """x: (batch, positions, width). later: bool, whether a position is later than another."""
        normed = norm(x)
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.mixed(normed).chunk(3, -1)
        )
        scores = torch.matmul(query, key.mT) * query.shape[-1] ** -0.5
        weights = softmax(scores, later)
        x = x + self.out(torch.matmul(weights, value).transpose(1, 2).flatten(2))
        return x + self.down(torch.relu(self.up(norm(x))))  # type: ignore[no-any-return]


class Transformer(nn.Module):
    """A language model; its last product takes the table of words, as GPT-2's does. Weights follow from a seed."""

    def __init__(self, sizes: TransformerSizes, seed: int):
        super().__init__()
        self.words, self.places = nn.Embedding(sizes.words, sizes.width), nn.Embedding(sizes.positions, sizes.width)
        self.blocks = nn.ModuleList(TransformerBlock(sizes) for _ in range(sizes.layers))
        with torch.no_grad():
            for place, one in enumerate(self.parameters()):
                words = random_words(seed, place << 32, one.numel(), 16)
                one.copy_(torch.from_numpy(words).reshape(one.shape).sub(1 << 15).float() * 2.0**-20)

    def forward(self, tokens: Tensor) -> Tensor:
        """Scores of every word after each position. tokens: (batch, positions)."""
        count = tokens.shape[1]
        place = torch.arange(count, device=tokens.device)
        x = self.words(tokens) + self.places(place)
        for block in self.blocks:
            x = block(x, place > place[:, None])
        return functional.linear(norm(x), self.words.weight)


def stepped(model: Transformer, tokens: Tensor, following: Tensor, rate: float) -> None:
    """A step of training: weights minus rate times the gradient of the mean cross entropy.

    The bits are the same on every device where no word of `tokens` is there twice: gradients of one word are added in
    any order.
    """
    scores = model(tokens)
    with torch.no_grad():
        gradient = softmax(scores, torch.zeros((), dtype=torch.bool, device=scores.device))
        at = following[..., None]
        gradient = gradient.scatter(-1, at, gradient.gather(-1, at) - 1.0) * (1 / tokens.numel())
    scores.backward(gradient)
    with torch.no_grad():
        for one in model.parameters():
            assert one.grad is not None
            one.sub_(one.grad * rate)
            one.grad = None
