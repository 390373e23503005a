"""Numbers as a unit takes them: codes, scales, and what is left to multiply the result by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hwsim.formats.blocks import BlockScale
from hwsim.formats.yamlfile import SpecError
from hwsim.quantize import DelayedScaling, Quantized, quantize
from hwsim.quantize.tensors import MatrixOperand, suits
from hwsim.spec import Unit
from hwsim.study.plan.scaling import SideScaling, by_power, scales_of_one, side_scaling
from hwsim.torch.again import scale_of_first, used

Side = Literal["a", "b"]
Singles = NDArray[np.float32]
RANDOM_BITS = 16


@dataclass(frozen=True)
class FactorRule:
    """How the numbers of one factor become codes and scales.

    scaling: the rule, in codes that the unit takes. block: rows and columns of the unit's blocks where the rule's
    blocks are whole numbers of these, and each scale is written several times; None where they are the same.
    history: scales follow from the magnitudes of earlier calls; None where from the numbers themselves.
    """

    scaling: SideScaling
    block: tuple[int, int] | None = None
    history: DelayedScaling | None = None

    @property
    def direct(self) -> bool:
        """Whether numbers are rounded as they are, without a scale."""
        return self.scaling.scale == 1.0

    @property
    def stochastic(self) -> bool:
        """Whether codes depend on random bits."""
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


def _history(given: Any, scaling: SideScaling, unit: Unit, side: Side) -> DelayedScaling:
    if not isinstance(given, dict) or set(given) - {"length", "margin", "algorithm"}:
        raise SpecError(f"history must be a mapping of length, margin and algorithm, not {given!r}")
    if unit.scale is not None or scaling.rule.block != (None, None) or not suits(unit, side, scaling.rule):
        raise SpecError("history goes with one scale for the whole tensor, of a unit that takes no scales")
    return DelayedScaling(format=scaling.rule.element, kernel="fused", **given)


class Histories:
    """The states of delayed scaling, by layer and factor. A training run keeps and restores them with its weights."""

    def __init__(self) -> None:
        self._states: dict[str, DelayedScaling] = {}
        self._before: dict[str, DelayedScaling] = {}
        self._restored: dict[str, dict[str, Any]] = {}

    def codes(self, key: str, operand: FactorRule, numbers: Singles, again: bool = False) -> MatrixOperand:
        """Numbers under the scale that earlier ones left; the state is updated with these.

        again: numbers are computed again, for the backward pass: they have the scale that they had.
        """
        mine = id(self), key
        state = scale_of_first(mine)
        if state is None:  # the first time, or a compiled model's second, of which PyTorch tells only that it is that
            state = self._state(key, operand)
            if again and key in self._before:
                state = self._before[key]
            else:
                self._before[key] = state
        used(mine, state)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scaled = numbers * np.float32(state.factor)
            amax = float(np.max(np.abs(numbers), initial=0.0))
            scale = np.float32(1) / np.float32(state.factor)
        if not again:
            self._states[key] = state.update(amax)
        return MatrixOperand(state.format.encode(scaled, overflow="saturate"), None, np.full((1, 1), scale))

    def _state(self, key: str, operand: FactorRule) -> DelayedScaling:
        if key not in self._states:
            assert operand.history is not None
            kept = self._restored.pop(key, {})
            self._states[key] = replace(operand.history, **kept)
        return self._states[key]

    def state_dict(self) -> dict[str, dict[str, Any]]:
        """What is kept: from a layer and factor to its factor and history."""
        seen = {key: {"factor": one.factor, "history": one.history} for key, one in self._states.items()}
        return {**self._restored, **seen}

    def load_state_dict(self, kept: dict[str, dict[str, Any]]) -> None:
        """Take up what `state_dict` returned, in place of what is there."""
        self._states = {}
        self._restored = {
            key: {"factor": float(one["factor"]), "history": tuple(one["history"])} for key, one in kept.items()
        }


def coded(operand: FactorRule, unit: Unit, side: Side, numbers: Singles, seed: int) -> MatrixOperand:
    """A factor ready for `hwsim.gemm`, by a rule that knows these numbers alone.

    numbers: (..., M, K) of side a, (..., K, N) of b, float32. seed: of stochastic rounding.
    """
    scaling = operand.scaling
    rule, given = scaling.rule, scaling.scale
    random: dict[str, Any] = {"random_bits": RANDOM_BITS, "seed": seed} if operand.stochastic else {}
    if given == 1.0:
        return MatrixOperand(by_power(rule, given, numbers, **random), scales_of_one(unit, side, numbers.shape))
    made = quantize(numbers, rule, -1 if side == "a" else -2, scale=given, **random)
    if scaling.enters:
        g = made.tensor_scale
        return MatrixOperand(made.codes, _scales(operand, made), None if g is None else np.full((1, 1), g))
    factor = made.scales.astype(np.float32)
    factor = factor.reshape(1, 1) if factor.size == 1 else factor
    return MatrixOperand(made.codes, scales_of_one(unit, side, numbers.shape), factor)


def _scales(operand: FactorRule, made: Quantized) -> NDArray[Any]:
    """Scales of the unit's blocks: each as often as its block has some of these."""
    if operand.block is None:
        return made.scales
    scales, shape = made.scales, made.codes.shape
    for axis, length, own in zip((-2, -1), made.block[-2:], operand.block, strict=True):
        if length != own:
            count = -(-shape[axis] // own)
            scales = np.take(np.repeat(scales, length // own, axis), range(count), axis)
    return scales
