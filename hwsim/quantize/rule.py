"""Quantisation rules: as data, by name, as integers for compiled loops, and their codes of NaNs and infinities."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from hwsim.base.errors import InputTypeError
from hwsim.formats import FieldFormat, Format, get_format
from hwsim.formats.blocks import NO_TABLE, OF_OPERANDS
from hwsim.formats.catalog import nearest
from hwsim.formats.reference import encode_reference
from hwsim.formats.yamlfile import SpecError


class Select(StrEnum):
    """A way from a block's largest magnitude, amax, to its scale. `largest` and emax are the element format's.

    The first five give powers of two, limited to the scale format's.
    """

    FLOOR = "floor"  # 2^(floor(log2 amax) - emax): OCP MX 1.0, section 6.3
    CEIL = "ceil"  # 2^(ceil(log2 amax) - emax)
    EVEN = "even"  # floor, of amax + half an ulp of an element in its binade
    RCEIL = "rceil"  # the power of two at or above amax / largest, the quotient rounded to binary32
    RCEIL_RECIPROCAL = "rceil-reciprocal"  # the same of amax * (1 / largest), each rounded to binary32
    DIVIDE = "divide"  # amax / largest, rounded to binary32 and then to the scale format


class Apply(StrEnum):
    """A way to scale an element before it is rounded. All but EXACT in binary32, every step rounded to nearest.

    With a power of two all agree, except on results below binary32's normal numbers or above its largest.
    """

    EXACT = "exact"  # x / scale, rounded once, to the element format
    DIVIDE = "divide"  # x / scale
    RECIPROCAL = "reciprocal"  # x * (1 / scale)
    MULTIPLY = "multiply"  # x * (largest / amax); the scale is the reciprocal of that factor
    TENSOR_RECIPROCAL = "tensor-reciprocal"  # x * ((1 / g) / scale), g the tensor's scale


class Special(StrEnum):
    """The effect of a NaN or an infinity."""

    BLOCK = "block"  # the scale of its block is NaN
    ELEMENT = "element"  # its element is NaN, or infinite where the format can; it takes no part in amax
    SATURATE = "saturate"  # infinities alone: the element is the largest number; it takes no part in amax
    AMAX = "amax"  # infinities alone: the element is the largest number, and counts as 2^128 in amax
    ERROR = "error"


class TensorScale(StrEnum):
    """A second scale, a binary32 number g for the whole tensor, that brings block scales into their format's range.

    For a tensor of zeros g is 1. All divide a block's amax / largest by g, in different roundings.
    """

    NONE = "none"
    MULTIPLY = "multiply"  # G = range / tensor amax, g = 1 / G; scale = (amax / largest) * G
    DIVIDE = "divide"  # g = tensor amax / range; scale = (amax / largest) / g
    RECIPROCAL = "reciprocal"  # G and g as under MULTIPLY; scale = amax * (G * (1 / largest))


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule that takes real numbers to codes and scales.

    element, scale_format: formats of the codes and of the scales, or their names. Scales in f32
    are float32 arrays, others are codes.
    block: how many elements share a scale (across, along): `along` the axis that is quantised, `across` the other one
    of the last two. None is the whole axis; `across` None is every other axis.
    select, apply: how the scale is found and used.
    rounding, overflow: of the elements, as `Format.encode` takes them.
    nan, infinity: what a NaN, or an infinity, does.
    zero_scale: the scale of a block of zeros: a code, or a number in f32.
    least_scale: the least scale of other blocks, in the same way; of blocks that `select` divides for.
    huge_scale: what a scale above the format's largest becomes: `saturate` or `nan`.
    no_scale: what elements become under a scale that is rounded to 0: `zeros`; or `multiplied` by binary32's largest
    number, which is what 1 / 0 becomes in kernels that limit their factors.
    least_amax: what a smaller amax counts as, in blocks of zeros too; 0 changes nothing.
    tensor_scale: the second scale, and its range: the largest scale times the largest element.
    flush: binary32 subnormal inputs (below 2^-126) count as zeros, their signs kept.
    symmetric: of a two's complement format the most negative code is not used.
    source: where the rule is published.
    Raises SpecError (a ValueError) for settings that do not go together.
    """

    element: Format
    scale_format: Format
    block: tuple[int | None, int | None] = (1, 32)
    select: Select = Select.FLOOR
    apply: Apply = Apply.EXACT
    rounding: str = "rne"
    overflow: str = "saturate"
    nan: Special = Special.BLOCK
    infinity: Special = Special.BLOCK
    zero_scale: float = 0
    least_scale: float = 0
    huge_scale: str = "saturate"
    no_scale: str = "zeros"
    least_amax: float = 0.0
    tensor_scale: TensorScale = TensorScale.NONE
    flush: bool = False
    symmetric: bool = True
    source: str = ""

    def __post_init__(self) -> None:
        for key in ("element", "scale_format"):
            object.__setattr__(self, key, get_format(getattr(self, key)))
        for key, kind in (
            ("select", Select), ("apply", Apply), ("nan", Special), ("infinity", Special), ("tensor_scale", TensorScale)
        ):  # fmt: skip
            left_out = {Special.SATURATE, Special.AMAX} if key == "nan" else set()
            object.__setattr__(self, key, _member(key, kind, getattr(self, key), left_out))
        _check_block(self.block)
        if not self.element.of_operands:
            raise SpecError(f"element {OF_OPERANDS}; {self.element.name} has others")
        if not (self.element.signed and self.element.has_zero):
            raise SpecError(f"element must be a signed format with a zero, not {self.element.name}")
        if not isinstance(self.scale_format, FieldFormat):
            raise SpecError(f"scale_format {NO_TABLE}, not {self.scale_format.name}")
        if self.scale_format.without_exponent:
            raise SpecError(f"scale_format must be a float or exponent format, not {self.scale_format.name}")
        if self.scale_format.powers_of_two and self.select is Select.DIVIDE:
            raise SpecError(f"select must give powers of two where scales are {self.scale_format.name}, not 'divide'")
        self._check_specials()
        if self.huge_scale not in ("saturate", "nan"):
            raise SpecError(f"huge_scale must be saturate or nan, not {self.huge_scale!r}")
        if self.no_scale not in ("zeros", "multiplied"):
            raise SpecError(f"no_scale must be zeros or multiplied, not {self.no_scale!r}")
        if self.no_scale == "multiplied" and self.apply not in (Apply.RECIPROCAL, Apply.TENSOR_RECIPROCAL):
            raise SpecError("no_scale 'multiplied' goes with apply 'reciprocal' or 'tensor-reciprocal'")
        if not (math.isfinite(self.least_amax) and self.least_amax >= 0):
            raise SpecError(f"least_amax must be a number of at least 0, not {self.least_amax}")
        if self.apply is Apply.MULTIPLY and (self.select is not Select.DIVIDE or not is_f32(self.scale_format)):
            raise SpecError("apply 'multiply' goes with select 'divide' and scales in f32")
        if self.tensor_scale is not TensorScale.NONE and (
            self.select is not Select.DIVIDE or self.apply is Apply.EXACT or is_f32(self.scale_format)
        ):
            raise SpecError("tensor_scale goes with select 'divide', apply in binary32 and scales in a narrow format")

    def _check_specials(self) -> None:
        if Special.BLOCK in (self.nan, self.infinity) and not self.scale_format.has_nan:
            raise SpecError(f"nan and infinity must not be 'block': {self.scale_format.name} has no NaN")
        if self.huge_scale == "nan" and self.select is not Select.DIVIDE and not self.scale_format.has_nan:
            raise SpecError(f"huge_scale must not be 'nan': {self.scale_format.name} has no NaN")
        if self.nan is Special.ELEMENT and not self.element.has_nan:
            raise SpecError(f"nan must not be 'element': {self.element.name} has no NaN")
        if self.infinity is Special.ELEMENT and not (self.element.infinities or self.element.has_nan):
            raise SpecError(f"infinity must not be 'element': {self.element.name} has neither infinity nor NaN")

        # 2^128 is infinite in binary32, and so would a quotient of it be, or a tensor's scale.
        unlimited = is_f32(self.scale_format) or self.tensor_scale is not TensorScale.NONE
        if self.infinity is Special.AMAX and self.select is Select.DIVIDE and unlimited:
            raise SpecError("infinity 'amax' goes with scales that are powers of two, or narrow and alone")

    def replace(self, **changes: Any) -> Rule:
        """The rule with some fields changed. Raises SpecError for an unknown field, naming the nearest."""
        known = [field.name for field in dataclasses.fields(self)]
        for key, value in changes.items():
            if key not in known:
                # A value says best which field was meant: `mode="ceil"` is `select`.
                suggestions = [name for name, words in _WORDS.items() if isinstance(value, str) and value in words]
                if suggestions:
                    raise SpecError(f"unknown field of a rule {key!r}: did you mean {', '.join(suggestions)}?")
                raise SpecError(nearest("field of a rule", key, known))
        return dataclasses.replace(self, **changes)

    @property
    def largest(self) -> float:
        """The largest element, which amax is scaled to."""
        return self.element.largest

    @property
    def emax(self) -> int:
        """Exponent of the largest element; 0 of MXINT8."""
        return math.frexp(self.largest)[1] - 1

    @property
    def fraction_bits(self) -> int:
        """Bits below the leading one of the largest element."""
        return self.element.precision - 1


# Fields that take words, and these.
_WORDS = {
    "select": [*Select],
    "apply": [*Apply],
    "nan": [*Special],
    "infinity": [*Special],
    "tensor_scale": [*TensorScale],
    "no_scale": ["zeros", "multiplied"],
}


def is_f32(fmt: Format) -> bool:
    """True if scales in this format are float32 arrays."""
    return fmt.own_dtype == "float32" and fmt.padding == 0


def _member(key: str, kind: type[StrEnum], value: Any, left_out: Iterable[StrEnum]) -> StrEnum:
    known = [member.value for member in kind if member not in left_out]
    if value not in known:
        raise SpecError(f"{key} must be one of {', '.join(known)}, not {value!r}")
    return kind(value)


def _check_block(block: Any) -> None:
    sizes = block if isinstance(block, tuple) and len(block) == 2 else (0,)
    if any(size is not None and (type(size) is not int or size < 1) for size in sizes):
        raise SpecError(f"block must be two numbers of at least 1, or None for a whole axis, not {block!r}")


MX_ELEMENTS = {
    "mxfp8-e4m3": "e4m3",
    "mxfp8-e5m2": "e5m2",
    "mxfp6-e3m2": "e3m2",
    "mxfp6-e2m3": "e2m3",
    "mxfp4-e2m1": "e2m1",
    "mxint8": "mxint8",
}
OCP = "OCP Microscaling Formats (MX) 1.0, section 6.3"
PAPER = (
    "Rouhani et al. 2023, arXiv 2310.10537, Algorithm 1; microxcaling, mx/mx_ops.py, whose own flag for subnormals "
    "is off by default and flushes whole blocks"
)
TRAINING = "Micikevicius et al. 2022, arXiv 2209.05433, section 3; the order of operations is ours"
DEEPSEEK = {
    1: "DeepSeek-V3, inference/kernel.py, act_quant_kernel, to 2025-08-26",
    128: "DeepSeek-V3 Technical Report, 2024, arXiv 2412.19437, section 3.3.2; divided as its act_quant_kernel divides",
}
CLAMPED = "DeepSeek-V3, inference/kernel.py, act_quant_kernel, from 2025-08-27"
DEEPGEMM = "DeepGEMM 54e2261, deep_gemm/utils/math.py, ceil_to_ue8m0"
NVFP4 = "NVIDIA, Pretraining Large Language Models with NVFP4, 2025, arXiv 2509.25149, appendix C; x is divided"
TORCHAO = "torchao, prototype/mx_formats/nvfp4_tensor.py, nvfp4_quantize"
TRANSFORMER_ENGINE = "Transformer Engine d0067d0, common/cast/nvfp4/core_nvfp4.cuh; without its Hadamard transform"


@cache
def rules() -> MappingProxyType[str, Rule]:
    """Every rule that ships with hwsim, by name."""
    e8m0, f32 = get_format("e8m0"), get_format("f32")
    named: dict[str, Rule] = {}
    for name, element in MX_ELEMENTS.items():
        fmt = get_format(element)
        named[name] = Rule(element=fmt, scale_format=e8m0, source=OCP)
        named[f"mx-algorithm-1-{element}"] = Rule(
            element=fmt, scale_format=e8m0, flush=True, huge_scale="nan", source=PAPER
        )
    named |= _nvfp4()
    # 2^-149, not 0, is the scale of the smallest tensors; 1 that of zeros.
    divided: dict[str, Any] = {"scale_format": f32, "select": Select.DIVIDE, "apply": Apply.DIVIDE}
    divided |= {"zero_scale": 1.0, "least_scale": 2.0**-149}
    e4m3 = get_format("e4m3")
    for rows in (1, 128):
        named[f"deepseek-v3-{rows}x128"] = Rule(element=e4m3, block=(rows, 128), source=DEEPSEEK[rows], **divided)
        named[f"deepseek-v3-{rows}x128-power-of-two"] = Rule(
            element=e4m3, block=(rows, 128), scale_format=f32, select=Select.RCEIL, apply=Apply.RECIPROCAL,
            least_amax=1e-4, zero_scale=1.0, source=DEEPGEMM,
        )  # fmt: skip
    named["deepseek-v3.1-1x128"] = named["deepseek-v3-1x128"].replace(least_amax=1e-4, source=CLAMPED)
    wide: tuple[tuple[str, Format, str], ...] = (
        ("e4m3", e4m3, TRAINING),
        ("e5m2", get_format("e5m2"), TRAINING),
        ("int8", get_format("int8"), "Wu et al. 2020, arXiv 2004.09602, section 3.1.2, scale quantisation"),
    )
    for name, fmt, source in wide:
        for kind, block in (("tensor", (None, None)), ("channel", (1, None))):
            key = f"{name}-{kind}" if name == "int8" else f"{kind}-{name}"
            named[key] = Rule(element=fmt, block=block, source=source, **divided)
    return MappingProxyType(named)


def _nvfp4() -> dict[str, Rule]:
    common: dict[str, Any] = {"element": get_format("e2m1"), "scale_format": get_format("ue4m3"), "block": (1, 16)}
    common |= {"select": Select.DIVIDE, "apply": Apply.DIVIDE}
    block = Rule(source=NVFP4, **common)
    torchao = block.replace(zero_scale=0x08, least_scale=0x08, source=f"{TORCHAO}, to 0.16")
    later: dict[str, Any] = {"apply": Apply.TENSOR_RECIPROCAL, "source": f"{TORCHAO}, from 0.17"}
    return {
        "nvfp4": block.replace(tensor_scale=TensorScale.MULTIPLY),
        "nvfp4-block": block,
        "nvfp4-torchao": torchao.replace(tensor_scale=TensorScale.DIVIDE),
        "nvfp4-torchao-0.17": torchao.replace(tensor_scale=TensorScale.DIVIDE, **later),
        "nvfp4-block-torchao": torchao,
        "nvfp4-block-torchao-0.17": torchao.replace(**later),
        "nvfp4-transformer-engine": block.replace(
            tensor_scale=TensorScale.RECIPROCAL, apply=Apply.RECIPROCAL, no_scale="multiplied",
            source=TRANSFORMER_ENGINE,
        ),
    }  # fmt: skip


def get_rule(rule: str | Rule) -> Rule:
    """The rule of that name, or the rule itself.

    Raises SpecError (a ValueError) for an unknown name, naming the nearest; TypeError for anything else.
    """
    if isinstance(rule, Rule):
        return rule
    if not isinstance(rule, str):
        raise InputTypeError(f"rule must be a rule or the name of one, not {type(rule).__name__}")
    known = rules()
    if rule not in known:
        raise SpecError(nearest("rule", rule, known))
    return known[rule]


def nan_code(fmt: Format) -> int:
    """The canonical NaN; code 0 in a format without NaN."""
    return fmt.canonical_nan or 0


def infinity_codes(rule: Rule) -> tuple[int, int]:
    """The elements of +infinity and -infinity, in a block whose scale is a number."""
    fmt, overflow = rule.element, "saturate"
    if rule.infinity is Special.ELEMENT:
        overflow = "infinity" if fmt.infinities else "nan"
    plus, minus = encode_reference(fmt, [np.inf, -np.inf], overflow=overflow).tolist()
    if fmt.twos_complement and rule.symmetric and minus == fmt.max_code + 1:
        minus += 1
    return plus, minus


MULTIPLY, DIVIDE = 1, 2


class Powers(NamedTuple):
    """The integers by which blocks get power-of-two scales and special values. `hwsim.quantize.fast` makes them.

    add, offset: the exponent is (the bits of amax as a binary64, + add) >> 52, less offset.
    division: 0; DIVIDE where amax is first divided by `largest`, MULTIPLY where it is multiplied by its reciprocal.
    least, most: limits of the scale's exponent. bias: of its codes. zero, nan: its codes for such blocks.
    zero_is_nan, huge_is_nan: 1 where a block of zeros, or one whose exponent is above `most`, has scale NaN.
    nan_apart, infinity_apart: 1 where NaNs, or infinities, take no part in amax. refused: 1 where either is an
    error, or an infinity counts in amax: such arrays are left to NumPy code.
    flush: 1 where subnormal inputs are zeros. emin: of the elements. dead: the code of an element under scale NaN.
    """

    add: int
    offset: int
    division: int
    least: int
    most: int
    bias: int
    zero: int
    nan: int
    zero_is_nan: int
    huge_is_nan: int
    nan_apart: int
    infinity_apart: int
    refused: int
    flush: int
    emin: int
    dead: int
