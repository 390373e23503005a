"""One matrix product of numbers as a unit computes it: transformed, quantised, multiplied, scaled."""

from __future__ import annotations

import hashlib
import math
import warnings
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Protocol, cast, get_args

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError
from hwsim.compute.planned import planned
from hwsim.compute.products import no_progress
from hwsim.compute.products import product as multiplied
from hwsim.formats.blocks import BlockScale
from hwsim.formats.stochastic import random_words
from hwsim.formats.yamlfile import SpecError
from hwsim.quantize import DelayedScaling, Quantized, Rule, quantize
from hwsim.quantize.tensors import MatrixOperand, suits
from hwsim.spec import Unit
from hwsim.spec.plan import Number, ProductPlan
from hwsim.spec.profile import NotCaptured, Profile, ProfiledCall, Scaling
from hwsim.study.plan.scaling import SideScaling, by_power, scales_of_one, side_scaling
from hwsim.torch.checkpoints import scale_of_first, used

Singles = NDArray[np.float32]


def check_size(size: int | None) -> None:
    """Raise SpecError unless the size of a transform is 4, 16, 64 or 256: there 1 / sqrt(size) is a power of two."""
    if size not in (None, 4, 16, 64, 256):
        raise SpecError(f"hadamard must be 4, 16, 64 or 256, not {size!r}")


@lru_cache(maxsize=16)
def signs(size: int, seed: int) -> Singles:
    """Random signs, the same for every run of numbers."""
    return np.where(random_words(seed, 0, size, 1) == 1, np.float32(-1), np.float32(1))


def transformed(numbers: Singles, axis: int, size: int, seed: int) -> Singles:
    """H S x / sqrt(size) of each run x of `size` numbers along an axis, S random signs, H Sylvester's matrix.

    axis: -1 or -2, a multiple of `size`. Sums by halves (butterflies), each rounded to binary32, so that every machine
    returns the same bits. The product of two factors that are both transformed along K is that of the factors, but for
    roundings. (NVIDIA, arXiv 2509.25149, section 4.3.)
    """
    along = np.moveaxis(numbers, axis, -1)
    runs = np.ascontiguousarray(along).reshape(-1, size) * signs(size, seed)
    half = 1
    while half < size:
        pairs = runs.reshape(len(runs), -1, 2, half)
        runs = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        half *= 2
    scaled = runs.reshape(along.shape) * np.float32(size**-0.5)
    return np.moveaxis(scaled, -1, axis)


Side = Literal["a", "b"]
RANDOM_BITS = 16


@dataclass(frozen=True)
class FactorRule:
    """The rule by which the numbers of one factor become codes and scales.

    scaling: the rule, in codes that the unit takes. block: rows and columns of the unit's blocks where the rule's
    blocks are whole numbers of these, and each scale is written several times; None where they are the same.
    history: scales follow from the magnitudes of earlier calls; None where from the numbers themselves.
    """

    scaling: SideScaling
    block: tuple[int, int] | None = None
    history: DelayedScaling | None = None

    @property
    def direct(self) -> bool:
        """True if numbers are rounded as they are, without a scale."""
        return self.scaling.scale == 1.0

    @property
    def stochastic(self) -> bool:
        """True if codes depend on random bits."""
        return self.scaling.rule.rounding == "stochastic"


def operand_of(entry: Any, unit: Unit, side: Side) -> FactorRule:
    """An entry of a recipe, as `hwsim.study.plan.scaling.resolve` takes them, and two keys more.

    entry: a name or {rule: NAME, FIELD: VALUE, history: {length: 16, margin: 0, algorithm: max}}. A `block` may be
    several of the unit's blocks. Raises SpecError as `resolve` does.
    """
    keys = dict(entry) if isinstance(entry, dict) else {"rule": entry}
    delayed, wide = keys.pop("history", None), keys.get("block")
    scale: BlockScale | None = None if unit.scale is None else unit.scale.of(side)
    block = None
    if scale is not None and wide is not None and keys.get("rule") != "block":
        across, along = scale.block if side == "a" else (scale.block[1], scale.block[0])
        if wide not in ([across, along], (across, along)):
            block = _several(wide, (across, along), side)
            keys["block"] = [across, along]
    scaling = side_scaling(keys, unit, side)
    if block is not None and wide is not None:
        scaling = SideScaling(scaling.rule.replace(block=tuple(wide)), scaling.scale, scaling.enters)
    return FactorRule(scaling, block, None if delayed is None else _history(delayed, scaling, unit, side))


def _several(wide: Any, own: tuple[int, int], side: Side) -> tuple[int, int]:
    """The unit's block, as rows and columns, where a rule's block is several of it."""
    fits = (
        isinstance(wide, (list, tuple))
        and len(wide) == 2
        and all(type(size) is int and size > 0 and size % part == 0 for size, part in zip(wide, own, strict=True))
    )
    if not fits:
        raise SpecError(
            f"block must be two multiples of {own[0]} and {own[1]}, the unit's block of {side}, not {wide!r}"
        )
    return own if side == "a" else (own[1], own[0])


def _history(history: Any, scaling: SideScaling, unit: Unit, side: Side) -> DelayedScaling:
    if not isinstance(history, dict) or set(history) - {"length", "margin", "algorithm"}:
        raise SpecError(f"history must be a mapping of length, margin and algorithm, not {history!r}")
    if unit.scale is not None or scaling.rule.block != (None, None) or not suits(unit, side, scaling.rule):
        raise SpecError("history goes with one scale for the whole tensor, of a unit that takes no scales")
    return DelayedScaling(format=scaling.rule.element, kernel="fused", **history)


class DeviceScale(Protocol):
    """The state of a delayed scale on a device."""

    def read(self) -> tuple[float, tuple[float, ...]]:
        """The factor and the history, copied to the host."""


ScaleState = DelayedScaling | DeviceScale


class Histories:
    """The states of delayed scaling, by layer and factor. A training run keeps and restores them with its weights."""

    def __init__(self) -> None:
        self._states: dict[str, ScaleState] = {}
        self._before: dict[str, ScaleState] = {}
        self._restored: dict[str, dict[str, Any]] = {}

    def codes(self, key: str, operand: FactorRule, numbers: Singles, again: bool = False) -> MatrixOperand:
        """Numbers under the scale that earlier ones left; the state is updated with these.

        again: numbers are computed again, for the backward pass: they have the scale that they had.
        """
        state = self.state(key, operand, again)
        if not isinstance(state, DelayedScaling):
            assert operand.history is not None
            factor, history = state.read()
            state = replace(operand.history, factor=factor, history=history)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scaled = numbers * np.float32(state.factor)
            amax = float(np.max(np.abs(numbers), initial=0.0))
            scale = np.float32(1) / np.float32(state.factor)
        self.keep(key, state.update(amax), again)
        return MatrixOperand(state.format.encode(scaled, overflow="saturate"), None, np.full((1, 1), scale))

    def state(self, key: str, operand: FactorRule, again: bool) -> ScaleState:
        """The state that a factor's numbers have now, where it was computed last: on the host, or on a device."""
        mine = id(self), key
        state: ScaleState | None = scale_of_first(mine)
        if state is None:  # the first time, or a compiled model's second, of which PyTorch tells only that it is that
            state = self._state(key, operand)
            if again and key in self._before:
                state = self._before[key]
            else:
                self._before[key] = state
        used(mine, state)
        return state

    def keep(self, key: str, state: ScaleState, again: bool) -> None:
        """Take up the state after a factor's numbers, unless they were computed again."""
        if not again:
            self._states[key] = state

    def _state(self, key: str, operand: FactorRule) -> ScaleState:
        if key not in self._states:
            assert operand.history is not None
            restored = self._restored.pop(key, {})
            self._states[key] = replace(operand.history, **restored)
        return self._states[key]

    def state_dict(self) -> dict[str, dict[str, Any]]:
        """The factor and history of each delayed scale, by layer and side."""
        seen = {}
        for key, state in self._states.items():
            factor, history = (state.factor, state.history) if isinstance(state, DelayedScaling) else state.read()
            seen[key] = {"factor": factor, "history": history}
        return {**self._restored, **seen}

    def load_state_dict(self, kept: dict[str, dict[str, Any]]) -> None:
        """Take up what `state_dict` returned, in place of what is there."""
        self._states = {}
        self._restored = {
            key: {"factor": float(state["factor"]), "history": tuple(state["history"])} for key, state in kept.items()
        }


def coded(operand: FactorRule, unit: Unit, side: Side, numbers: Singles, seed: int) -> MatrixOperand:
    """A factor ready for `hwsim.gemm`, by a rule that knows these numbers alone.

    numbers: (..., M, K) of side a, (..., K, N) of b, float32. seed: of stochastic rounding.
    """
    scaling = operand.scaling
    rule, scale = scaling.rule, scaling.scale
    random: dict[str, Any] = {"random_bits": RANDOM_BITS, "seed": seed} if operand.stochastic else {}
    if scale == 1.0:
        return MatrixOperand(by_power(rule, scale, numbers, **random), scales_of_one(unit, side, numbers.shape))
    quantized = quantize(numbers, rule, -1 if side == "a" else -2, scale=scale, **random)
    if scaling.enters:
        g = quantized.tensor_scale
        return MatrixOperand(quantized.codes, _scales(operand, quantized), None if g is None else np.full((1, 1), g))
    factor = quantized.scales.astype(np.float32)
    factor = factor.reshape(1, 1) if factor.size == 1 else factor
    return MatrixOperand(quantized.codes, scales_of_one(unit, side, numbers.shape), factor)


def _scales(operand: FactorRule, quantized: Quantized) -> NDArray[Any]:
    """Scales of the unit's blocks: each as often as its block has some of these."""
    if operand.block is None:
        return quantized.scales
    scales, shape = quantized.scales, quantized.codes.shape
    for axis, length, size in zip((-2, -1), quantized.block[-2:], operand.block, strict=True):
        if length != size:
            count = -(-shape[axis] // size)
            scales = np.take(np.repeat(scales, length // size, axis), range(count), axis)
    return scales


Which = Literal["forward", "input", "weight"]
Output = Literal["f32", "bf16", "f16"]
Unknown = Literal["refuse", "one-sum"]


@dataclass(frozen=True)
class UnitProduct:
    """A matrix product of a recipe: the unit, how its factors become codes, and a transform of both along K."""

    unit: Unit
    a: FactorRule
    b: FactorRule
    hadamard: int | None = None

    @property
    def step(self) -> int:
        """The divisor that K must have; factors are filled with zeros up to its next multiple."""
        scale = self.unit.scale
        of_scales = 1 if scale is None else math.lcm(scale.a.block[1], scale.b.block[0])
        return math.lcm(of_scales, self.hadamard or 1)

    @property
    def random(self) -> bool:
        """True if the result depends on a seed."""
        return self.a.stochastic or self.b.stochastic

    @property
    def delayed(self) -> bool:
        """True if a scale follows from earlier calls."""
        return self.a.history is not None or self.b.history is not None


class LibraryShape(NamedTuple):
    """The shape of a product, and the rest of what a library is asked for beside its call.

    batch: whether there are several products. addend: the axes of what is added to the result, None for nothing.
    factor: what multiplies the result before.
    """

    m: int
    n: int
    k: int
    batch: bool
    addend: int | None
    factor: float


@dataclass(frozen=True)
class Library:
    """A GPU's library, as a profile knows it, in whose way products are made: splits of K, scales, bias, roundings.

    unknown: what becomes of a product that the profile does not know: `refuse` raises NotCaptured, `one-sum` computes
    it as without a profile, and warns.
    """

    profile: Profile
    unknown: Unknown = "refuse"

    def plan(self, product: UnitProduct, output: Output, shape: LibraryShape, where: str) -> ProductPlan | None:
        """The plan by which the library makes a product; None for one sum.

        Raises NotCaptured, where that is not allowed.
        """
        try:
            return self._known(product, output, shape)
        except NotCaptured as error:
            message = f"{where}: {error}" if where else str(error)
            if self.unknown == "refuse":
                raise NotCaptured(message) from None
            warnings.warn(f"{message}; computed as one sum", stacklevel=2)
            return None

    def _known(self, product: UnitProduct, output: Output, shape: LibraryShape) -> ProductPlan:
        if shape.batch:
            raise NotCaptured("profiles know products of two matrices, not batches of them, nor convolutions")
        if shape.factor != 1 or shape.addend not in (None, 1):
            raise NotCaptured("profiles know of a recipe's products no factor and no addend but a bias")
        scaling = _scaling(product)
        operands = product.unit.operands
        call = ProfiledCall(
            operation="mm" if scaling == "none" else "scaled_mm", a=operands.a.name, b=operands.b.name, output=output,
            scaling=scaling, bias="none" if shape.addend is None else output,
        )  # fmt: skip
        units: list[str] = []
        for fast in (True, False):  # of these calls one has the recipe's unit
            asked = call.model_copy(update={"fast": fast})
            for unit in (row.whole_unit() for row in self.profile.rows if row.call == asked):
                if unit == product.unit:
                    return self.profile.known(asked, shape.m, shape.n, shape.k).plan
                units.append(unit.name)
        if not units:
            self.profile.known(call, shape.m, shape.n, shape.k)  # raises NotCaptured, with what there is
        raise NotCaptured(
            f"profile {self.profile.name} computes {call} by {' or '.join(dict.fromkeys(units))}, not by "
            f"{product.unit.name}"
        )


def _scaling(product: UnitProduct) -> Scaling:
    """The scaling of a product's factors, as a profile names it. Raises NotCaptured for others."""
    unit = product.unit
    if unit.scale is not None:
        if not (product.a.scaling.enters and product.b.scaling.enters):
            raise NotCaptured("no profile knows a unit with scales of one")
        (rows, along), (down, columns) = unit.scale.a.block, unit.scale.b.block
        named = f"{rows}x{along},{columns}x{down}"
        if named not in get_args(Scaling):
            raise NotCaptured(f"no profile knows scales of {rows} x {along} and {down} x {columns}")
        return cast(Scaling, named)
    if {unit.operands.a.name, unit.operands.b.name} == {"tf32"}:
        raise NotCaptured("how a library rounds float32 to TF32 was not captured")
    blocks = {None if rule.direct else rule.scaling.rule.block for rule in (product.a, product.b)}
    if blocks <= {None, (None, None)}:
        return "none" if blocks == {None} and unit.operands.a.bits == 16 else "tensor"
    if blocks == {(1, None)}:
        return "row"
    raise NotCaptured("profiles know scales of both tensors, or of rows and columns")


@dataclass(frozen=True)
class Products:
    """The three products of a layer; None is left to PyTorch, in float32.

    forward: activations @ weights. input: gradients @ weights^T. weight: gradients^T @ activations.
    output: the format that results are rounded to. keep: the rule by which the first factor is kept for the backward
    pass; None keeps it as it is. library: in whose way they are made; None sums all of K in one unit.
    key: a word by which an operator finds these products, the same for equal ones in every process. random: whether
    any of them depends on a seed.
    """

    forward: UnitProduct | None
    input: UnitProduct | None
    weight: UnitProduct | None
    output: Output = "f32"
    keep: Rule | None = None
    library: Library | None = None
    key: str = field(init=False, repr=False, compare=False)
    random: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Here, and not where they are asked for: `torch.compile` looks on there.
        key = hashlib.sha256(repr(self).encode()).hexdigest()[:16]
        every = (self.forward, self.input, self.weight)
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "random", any(product is not None and product.random for product in every))
        _known[key] = self

    def __reduce__(self) -> tuple[type[Products], tuple[Any, ...]]:
        """Pickled as its own constructor call: a process that reads it knows its key."""
        return Products, (self.forward, self.input, self.weight, self.output, self.keep, self.library)

    def of(self, which: Which) -> UnitProduct | None:
        """The product of that name."""
        return {"forward": self.forward, "input": self.input, "weight": self.weight}[which]


_known: dict[str, Products] = {}


def products_of(key: str) -> Products:
    """The products of a key. Raises ValueError where no recipe of this process has them."""
    if key not in _known:
        raise InputError(f"no recipe of this process has the products {key}: call hwsim.torch.load_recipe first")
    return _known[key]


class ComputedProduct(NamedTuple):
    """A product that was computed, for those who measure.

    where: the layer. a, b: the factors' numbers, filled up, before a transform. result: float32, before it is rounded
    to the recipe's output; by a plan, after its last step.
    """

    where: str
    which: Which
    product: UnitProduct
    a: Singles
    b: Singles
    operands: tuple[MatrixOperand, MatrixOperand]
    result: Singles


def computed(
    product: UnitProduct,
    a: Singles,
    b: Singles,
    *,
    seed: int,
    where: str,
    which: Which,
    histories: Histories,
    threads: int | None = None,
    again: bool = False,
    plan: ProductPlan | None = None,
    bias: Singles | None = None,
) -> ComputedProduct:
    """A @ B of numbers, (..., M, K) and (..., K, N), as the unit returns it.

    Results are numbers of binary32: d * (scale of A * scale of B), both products rounded to it, where the unit takes
    no scales, as `hwsim gemm --quantize` does it.
    seed: of stochastic rounding. histories: of delayed scaling, by `where` and `which`. threads: None for as many as
    `hwsim.gemm` takes. again: the last call of `where` and `which` is computed again. plan: how a library makes the
    result, and what bias it adds, (N,).
    """
    a, b = filled(a, -1, product.step), filled(b, -2, product.step)
    factors: dict[Side, Singles] = {"a": a, "b": b}
    if product.hadamard is not None:
        size = product.hadamard
        factors = {"a": transformed(a, -1, size, 0), "b": transformed(b, -2, size, 0)}
    operands = tuple(
        histories.codes(f"{where}:{which}:{side}", operand, factors[side], again)
        if operand.history is not None
        else coded(operand, product.unit, side, factors[side], 2 * seed + (side == "b"))
        for side, operand in zip(factors, (product.a, product.b), strict=True)
    )
    of_a, of_b = operands
    if plan is not None:
        result = _by_plan(product.unit, plan, of_a, of_b, bias, threads)
        return ComputedProduct(where, which, product, a, b, (of_a, of_b), result)
    returned = multiplied(
        product.unit, of_a.codes, of_b.codes, None, of_a.scales, of_b.scales, progress=no_progress, threads=threads,
        again=True,
    )  # fmt: skip
    result = as_singles(product.unit, returned)
    scales = [operand.factor for operand in operands if operand.factor is not None]
    if scales:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            result = result * (scales[0] if len(scales) == 1 else scales[0] * scales[1])
    return ComputedProduct(where, which, product, a, b, (of_a, of_b), result)


def _by_plan(
    unit: Unit, plan: ProductPlan, a: MatrixOperand, b: MatrixOperand, bias: Singles | None, threads: int | None
) -> Singles:
    """A product as a library makes it, as numbers of binary32."""
    numbers: dict[Number, Any] = {"bias": bias}
    if unit.scale is not None:
        numbers |= {"scale_a": a.scales, "scale_b": b.scales}
    elif "scale_a" in plan.numbers:
        one = np.ones((1, 1), np.float32)
        numbers |= {"scale_a": one if a.factor is None else a.factor, "scale_b": one if b.factor is None else b.factor}
    returned = planned(unit, plan, a.codes, b.codes, numbers, progress=no_progress, threads=threads)
    return returned if returned.dtype == np.float32 else plan.output(unit).decode(returned).astype(np.float32)


def filled(x: Singles, axis: int, step: int) -> Singles:
    """Numbers with zeros added along K up to a whole number of steps."""
    missing = -x.shape[axis] % step
    if not missing:
        return x
    widths = [(0, 0)] * x.ndim
    widths[axis] = 0, missing
    return np.pad(x, widths)


def as_singles(unit: Unit, results: NDArray[Any]) -> Singles:
    """Results of a unit as binary32 numbers; those of i32 and binary64 are rounded to it."""
    if results.dtype == np.float32:
        return results
    if results.dtype.kind != "f":
        if not unit.output.in_float64:
            raise InputError(f"{unit.name} has results in {unit.output.name}, which float64 does not hold")
        results = unit.output.decode(results)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return results.astype(np.float32)
