"""Block quantisers and dequantisers: what hardware that takes a block at a time returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hwsim.base.errors import InputError
from hwsim.formats import FieldFormat, FloatFormat, Format, get_format
from hwsim.formats.blocks import NO_TABLE, OF_OPERANDS
from hwsim.formats.codes import fits_single
from hwsim.formats.reference import choices
from hwsim.quantize.rule import Rule, TensorScale, get_rule

BINARY32 = get_format("f32")


@dataclass(frozen=True, kw_only=True)
class BlockQuantization:
    """A block quantiser's results: the codes and the scale that `quantize` gives a block of numbers.

    name: what files and reports call it; the rule's unless given. rule: a rule, or the name of one.
    source: the format of the numbers, one whose values are binary32 numbers.
    lanes: numbers in a block; as many as the rule's blocks have, unless given.
    random_bits: of rounding `stochastic`, 0 of others; a word of so many bits comes with each number.
    Raises ValueError for settings that do not go together.
    """

    rule: Rule
    source: Format = BINARY32
    lanes: int = 0
    random_bits: int = 0
    name: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.rule if isinstance(self.rule, str) else "quantizer")
        object.__setattr__(self, "rule", get_rule(self.rule))
        object.__setattr__(self, "source", get_format(self.source))
        if not (isinstance(self.source, FloatFormat) and self.source.signed and fits_single(self.source)):
            raise InputError(f"source must be a signed float format within f32, not {self.source.name}")
        if not isinstance(self.rule.element, FieldFormat):
            raise InputError(f"the element of a quantiser in hardware {NO_TABLE}, not {self.rule.element.name}")
        across, along = self.rule.block
        if not self.lanes:
            if across is None or along is None:
                raise InputError(f"lanes must be given: blocks of {self.name} have any length")
            object.__setattr__(self, "lanes", across * along)
        if self.lanes < 1:
            raise InputError(f"lanes must be at least 1, not {self.lanes}")
        rule, stochastic = self.rule, self.rule.rounding == "stochastic"
        drawn: dict[str, Any] = {"random_bits": self.random_bits or None}
        drawn |= {"random_bits": self.random_bits, "seed": 0} if stochastic else {}
        choices(rule.element, rule.rounding, rule.overflow, "saturate", **drawn)

    @property
    def float_source(self) -> FloatFormat:
        """The source, which is a float."""
        assert isinstance(self.source, FloatFormat)
        return self.source

    @property
    def row_rule(self) -> Rule:
        """The rule with blocks of `lanes` along a row."""
        return self.rule.replace(block=(1, self.lanes))


@dataclass(frozen=True, kw_only=True)
class BlockDequantization:
    """A block dequantiser's results: every element times its scale, and the tensor's, exactly, rounded once.

    element, scale_format, target: formats, or their names. lanes: elements in a block.
    tensor: whether a binary32 number comes with each block that all its elements are multiplied by too.
    rounding, overflow: to the target, as `encode` has them. name: what files and reports call it.
    Raises ValueError for settings that do not go together.
    """

    element: Format
    scale_format: Format
    lanes: int
    target: Format = BINARY32
    tensor: bool = False
    rounding: str = "rne"
    overflow: str = "infinity"
    name: str = "dequantizer"

    def __post_init__(self) -> None:
        for key in ("element", "scale_format", "target"):
            object.__setattr__(self, key, get_format(getattr(self, key)))
        for key in ("element", "scale_format"):
            if not isinstance(getattr(self, key), FieldFormat):
                raise InputError(f"{key} {NO_TABLE}, not {getattr(self, key).name}")
        if not self.element.of_operands:
            raise InputError(f"element {OF_OPERANDS}; {self.element.name} has others")
        if not isinstance(self.target, FloatFormat) or not self.target.has_nan or not self.target.signed:
            raise InputError(f"target must be a signed float format with a NaN, not {self.target.name}")
        if self.scale_format.without_exponent:
            raise InputError(f"scale_format must be a float or a power of two, not {self.scale_format.name}")
        if self.rounding == "stochastic":
            raise InputError("rounding must not be stochastic here")
        if self.lanes < 1:
            raise InputError(f"lanes must be at least 1, not {self.lanes}")
        choices(self.target, self.rounding, self.overflow, "nan")

    @classmethod
    def of(cls, quantization: BlockQuantization, **changes: Any) -> BlockDequantization:
        """The way back from a quantisation, to its source; changes: of other fields."""
        q, rule = quantization, quantization.rule
        usual: dict[str, Any] = {
            "element": rule.element, "scale_format": rule.scale_format, "lanes": q.lanes, "target": q.source,
            "tensor": rule.tensor_scale is not TensorScale.NONE, "name": q.name,
        }  # fmt: skip
        return cls(**{**usual, **changes})
