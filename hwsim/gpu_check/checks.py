"""The checks: products of every family, their rates, a layer under every recipe, a transformer's training."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import hwsim
import hwsim.torch as ht
from hwsim.compute.cuda import Variant, variants
from hwsim.compute.cuda.device import dot_of_host_tensors, gemm_of_host_tensors, gemm_on_gpu
from hwsim.gpu_check.operands import FAMILIES, Drawn, drawn, length_of
from hwsim.gpu_check.transformer import GPT2_SMALL, Transformer, TransformerSizes, norm, softmax, stepped
from hwsim.spec import Unit, load_unit
from hwsim.torch.devices import in_place_of_gpu, refused_product
from hwsim.torch.products import Which

DRAWN: tuple[Drawn, Drawn] = ("any codes", "numbers")
WHICH: tuple[Which, ...] = ("forward", "input", "weight")
TRAINED = ("hopper-unpromoted", "fp8-tensorwise-delayed", "nvfp4")
# Of each arithmetic: windows in binary32, with a promotion, in binary64, in integers.
TIMED = ("hopper-wgmma-e4m3-f32", "deepseek-v3-e4m3-f32", "mxfp8-e4m3-f32", "blackwell-mxf4nvf4-e2m1-f32")


class CheckSizes(NamedTuple):
    """How much is checked.

    every: all families, arithmetics and recipes. bits: M, N and a wish for K of products that are compared. side: of
    square products that are timed. layer: rows, inputs and outputs of a layer that is timed. trained: a transformer
    whose weights are compared; its positions are the tokens of a step. timed: one whose step is timed.
    """

    every: bool
    bits: tuple[int, int, int]
    side: int
    layer: tuple[int, int, int]
    trained: TransformerSizes
    timed: TransformerSizes


WHOLE = CheckSizes(True, (130, 67, 300), 4096, (4096, 4096, 4096), TransformerSizes(512, 32, 128, 2, 2), GPT2_SMALL)
TINY_SIZES = TransformerSizes(16, 8, 16, 2, 1)
TINY = CheckSizes(False, (9, 7, 40), 64, (16, 32, 32), TINY_SIZES, TINY_SIZES)
SOME_FAMILIES = TIMED[:1] + TIMED[2:3]


class CheckedRow(NamedTuple):
    """What a check found. compared, different: numbers; 0 where only time was taken. rate: in units of `per`, or None.

    error: what was raised instead.
    """

    compared: int = 0
    different: int = 0
    seconds: float = 0.0
    rate: float | None = None
    per: str = ""
    error: str = ""

    @property
    def passed(self) -> bool:
        """True unless something differs or failed."""
        return not (self.different or self.error)


@dataclass(frozen=True)
class CheckedPlace:
    """What is checked: a GPU, or the source built for the host in its place."""

    on_host: bool
    sizes: CheckSizes
    seed: int

    @property
    def device(self) -> str:
        """The name of its device in PyTorch."""
        return "cpu" if self.on_host else "cuda"

    def gemm(self, unit: Unit, *operands: Any, variant: Variant | None = None) -> Tensor:
        """`hwsim.gemm` of its tensors."""
        multiply = gemm_of_host_tensors if self.on_host else gemm_on_gpu
        return multiply(unit, *operands, variant=variant)  # type: ignore[no-any-return]

    def dot(self, unit: Unit, *operands: Any) -> Tensor:
        """`hwsim.dot` of its tensors."""
        return (dot_of_host_tensors if self.on_host else hwsim.dot)(unit, *operands)  # type: ignore[return-value]

    def tensors(self, given: list[NDArray[Any] | None]) -> list[Tensor | None]:
        """Arrays as its tensors."""
        return [None if array is None else torch.from_numpy(array).to(self.device) for array in given]

    def computing(self) -> AbstractContextManager[None]:
        """A context manager in which `hwsim.torch` computes there."""
        return in_place_of_gpu(gemm_of_host_tensors) if self.on_host else nullcontext()

    def seconds(self, work: Callable[[], Any], best_of: int = 1) -> float:
        """The shortest time that work takes, until the GPU has done it; slow work is not repeated."""
        times: list[float] = []
        while len(times) < best_of and sum(times) < 3:
            self._wait()
            start = time.perf_counter()
            work()
            self._wait()
            times.append(time.perf_counter() - start)
        return min(times)

    def _wait(self) -> None:
        if not self.on_host:
            torch.cuda.synchronize()


Check = tuple[str, str, Callable[[], CheckedRow]]


def checks(place: CheckedPlace) -> Iterator[Check]:
    """Every check: its name, what it looks at, and the function that does it."""
    every = place.sizes.every
    for name in FAMILIES if every else SOME_FAMILIES:
        unit = load_unit(name)
        for variant in variants(unit) if every else variants(unit)[:1]:
            yield "bits of products", f"{name}, {variant}", partial(products, place, unit, variant)
    for name in SOME_FAMILIES:
        yield "bits of dot products", name, partial(pairs, place, load_unit(name))
    yield "bits between products", "norm and softmax, both ways", partial(between, place)
    for name in ht.recipes() if every else TRAINED:
        key = ht.load_recipe(name).products.key
        host = sum(bool(refused_product(key, which)) for which in WHICH)
        whose = f", {host} of 3 products the host's" if host else ""
        yield "bits of a layer", f"{name}{whose}", partial(layer, place, name)
    count = parameters(place.sizes.trained)
    for name in TRAINED:
        what = f"{name}, {count:,} weights, two steps"
        yield "bits of training", what, partial(training, place, name)
    for name in TIMED if every else TIMED[:1]:
        yield "rate of products", f"{name}, {place.sizes.side}^3", partial(products_timed, place, load_unit(name))
    m, k, n = place.sizes.layer
    for name in TRAINED:
        yield "rate of a layer", f"{name}, {m} x {k} x {n}, three products", partial(layer_timed, place, name)
    count = parameters(place.sizes.timed)
    for name in TRAINED:
        yield "rate of training", f"{name}, {count:,} weights", partial(training_timed, place, name)


def differing(found: Tensor, expected: Any) -> tuple[int, int]:
    """How many numbers were compared, and how many differ in bits."""
    one = np.ascontiguousarray(found.detach().cpu().numpy())
    other = np.ascontiguousarray(expected.detach().numpy() if isinstance(expected, Tensor) else expected)
    if one.shape != other.shape or one.dtype != other.dtype:
        return one.size, one.size or 1
    return one.size, int((one.view(f"u{one.itemsize}") != other.view(f"u{one.itemsize}")).sum())


def _compared(found: Iterable[tuple[Tensor, Any]]) -> tuple[int, int]:
    counts = [differing(one, other) for one, other in found]
    return sum(count for count, _ in counts), sum(differ for _, differ in counts)


def products(place: CheckedPlace, unit: Unit, variant: Variant) -> CheckedRow:
    """Products of a unit, in one arithmetic of its windows, against `hwsim.gemm` on the host."""
    m, n, wanted = place.sizes.bits
    found = []
    for kind in DRAWN:
        given = drawn(unit, (m, n, length_of(unit, wanted)), place.seed, kind)
        found.append((place.gemm(unit, *place.tensors(given), variant=variant), hwsim.gemm(unit, *given)))
    return CheckedRow(*_compared(found))


def pairs(place: CheckedPlace, unit: Unit) -> CheckedRow:
    """Dot products of pairs of rows, more than one launch takes, against `hwsim.dot` on the host."""
    found = []
    for kind in DRAWN:
        k = length_of(unit, place.sizes.bits[2])
        a, b, _, *scales = drawn(unit, (70, 70, k), place.seed, kind)
        assert b is not None
        given = [a, b.T.copy(), None, *(scales and [scales[0], scales[1].T.copy()])]  # type: ignore[union-attr]
        found.append((place.dot(unit, *place.tensors(given)), hwsim.dot(unit, *given)))
    return CheckedRow(*_compared(found))


def numbers(place: CheckedPlace, shape: tuple[int, ...], stream: int, to: str) -> Tensor:
    """Normal numbers of a seed, the same on every device."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(place.seed * 16 + stream)).to(to)


def between(place: CheckedPlace) -> CheckedRow:
    """What a transformer does between products: where this differs, the bits of training must."""
    results: list[list[Tensor]] = []
    for device in ("cpu", place.device):
        found: list[Tensor] = []
        masked = torch.ones(64, 64, dtype=torch.bool, device=device).triu(1)
        for function in (norm, partial(softmax, masked=masked)):
            x = (4 * numbers(place, (4, 64, 64), 0, device)).requires_grad_()
            y: Tensor = function(x)
            torch.autograd.backward(y, numbers(place, (4, 64, 64), 1, device))
            assert x.grad is not None
            found += [y.detach(), x.grad]
        results.append(found)
    return CheckedRow(*_compared(zip(results[1], results[0], strict=True)))


def _layer(place: CheckedPlace, recipe: str, shape: tuple[int, int, int], device: str) -> Callable[[], list[Tensor]]:
    """A function that computes a linear layer, forward and backward: each call is a step of delayed scaling."""
    rows, inputs, outputs = shape
    net = nn.Linear(inputs, outputs, bias=False).to(device)
    emulation = ht.convert(net, recipe)
    with torch.no_grad():
        net.weight.copy_(numbers(place, (outputs, inputs), 1, device))
    x, gradient = numbers(place, (rows, inputs), 0, device), numbers(place, (rows, outputs), 2, device)
    x.requires_grad_()

    def run() -> list[Tensor]:
        assert emulation.report is not None  # kept with the function: it has the scales
        x.grad = net.weight.grad = None
        torch.manual_seed(place.seed)
        y = net(x)
        y.backward(gradient)
        assert x.grad is not None and net.weight.grad is not None
        return [y.detach(), x.grad, net.weight.grad]

    return run


def layer(place: CheckedPlace, recipe: str) -> CheckedRow:
    """A linear layer, forward and backward, in two steps, against the host."""
    m, n, k = place.sizes.bits
    run = _layer(place, recipe, (m, k, n), "cpu")
    expected = [one for _ in range(2) for one in run()]
    with place.computing():
        run = _layer(place, recipe, (m, k, n), place.device)
        found = [one for _ in range(2) for one in run()]
    return CheckedRow(*_compared(zip(found, expected, strict=True)))


def layer_timed(place: CheckedPlace, recipe: str) -> CheckedRow:
    """A linear layer, forward and backward, quantisation included."""
    m, k, n = place.sizes.layer
    with place.computing():
        run = _layer(place, recipe, place.sizes.layer, place.device)
        run()
        taken = place.seconds(run, 3)
    return CheckedRow(0, 0, taken, 3 * m * k * n / taken / 1e12, "T products/s")


def products_timed(place: CheckedPlace, unit: Unit) -> CheckedRow:
    """A square product of ordinary numbers."""
    side = place.sizes.side
    given = drawn(unit, (side, side, side), place.seed, "numbers")
    there = place.tensors(given)
    place.gemm(unit, *there)
    taken = place.seconds(lambda: place.gemm(unit, *there), 3)
    return CheckedRow(0, 0, taken, side**3 / taken / 1e12, "T products/s")


def parameters(sizes: TransformerSizes) -> int:
    """The number of a transformer's weights."""
    return (sizes.words + sizes.positions) * sizes.width + 12 * sizes.layers * sizes.width**2


def _tokens(place: CheckedPlace, sizes: TransformerSizes, device: str) -> tuple[Tensor, Tensor]:
    """Tokens of a step, none twice, and those that follow them."""
    order = torch.randperm(sizes.words, generator=torch.Generator().manual_seed(place.seed))[: sizes.positions + 1]
    return order[None, :-1].to(device), order[None, 1:].to(device)


def _trained(place: CheckedPlace, recipe: str, device: str, steps: int) -> list[Tensor]:
    sizes = place.sizes.trained
    torch.manual_seed(place.seed)
    model = Transformer(sizes, place.seed).to(device)
    with ht.emulate(model, recipe, strict=True):
        for _ in range(steps):
            stepped(model, *_tokens(place, sizes, device), 2.0**-3)
    return [one.detach() for one in model.parameters()]


def training(place: CheckedPlace, recipe: str) -> CheckedRow:
    """A transformer's weights after two steps, against the host's; they must have moved."""
    expected = _trained(place, recipe, "cpu", 2)
    start = _trained(place, recipe, "cpu", 0)
    with place.computing():
        found = _trained(place, recipe, place.device, 2)
    compared, different = _compared(zip(found, expected, strict=True))
    moved = any(differing(one, other)[1] for one, other in zip(expected, start, strict=True))
    return CheckedRow(compared, different, error="" if moved else "no weight has moved")


def training_timed(place: CheckedPlace, recipe: str) -> CheckedRow:
    """A transformer's step, forward, backward and update, after one that compiles."""
    sizes = place.sizes.timed
    model = Transformer(sizes, place.seed).to(place.device)
    tokens, following = _tokens(place, sizes, place.device)
    with place.computing(), ht.emulate(model, recipe, strict=True):
        stepped(model, tokens, following, 2.0**-3)
        taken = place.seconds(lambda: stepped(model, tokens, following, 2.0**-3))
    return CheckedRow(0, 0, taken, tokens.numel() / taken, "tokens/s")
