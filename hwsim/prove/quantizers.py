"""The claims of a block quantiser with power-of-two scales, step by step, and of its Verilog; and of a dequantiser's.

The scale grows with amax, as the model's does: where
both are equal at both ends of every stretch on which the hardware's stays the same, they are everywhere. An element is
the model's conversion of x / scale; all lanes are one function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hwsim.formats import Class, ExponentFormat
from hwsim.model.conversion import dequantize, encode_fields
from hwsim.prove.blockclaims import BlockClaims
from hwsim.prove.claims import AnyClaim, Claim, FormClaim
from hwsim.prove.converters import StreamFile, decided
from hwsim.prove.dequantized import ScaledClaims
from hwsim.prove.divided import DividedClaims
from hwsim.prove.explore import Path, paths
from hwsim.prove.logic import Term, both, either, implies, is_one, negated, substituted
from hwsim.prove.relations import each, holds
from hwsim.prove.run import Asked
from hwsim.prove.symbolic import Integer, as_integer, ite
from hwsim.quantize.block import BlockDequantization, BlockQuantization
from hwsim.quantize.rule import Select
from hwsim.quantize.scales import scales_of
from hwsim.quantize.special import infinity_codes, nan_code
from hwsim.report.proof import ProofReport
from hwsim.rtl import BlockDequantizer, stream_verilog, supports_dequantizer
from hwsim.rtl.dequantizer import dequantizer_cuts, numbers_layout, scaled_layout
from hwsim.rtl.quantizer import quantizer_cuts
from hwsim.rtl.staircase import FRACTION, MOST, Staircase
from hwsim.spec.conversion import Conversion

INFINITY = 255 << FRACTION  # binary32's, above its largest number
SINGLE_BIAS = 127


class PowerClaims(BlockClaims):
    """All claims about a quantiser whose scales are powers of two."""

    def __init__(self, quantization: BlockQuantization, cuts: Sequence[str] | None = None, text: str | None = None):
        """text: the file's, where it is not the one that hwsim writes."""
        super().__init__(quantization, cuts, text)
        assert isinstance(quantization.rule.scale_format, ExponentFormat)
        self.fmt, self.stairs = quantization.rule.scale_format, Staircase.of(quantization.rule)

    def claims(self) -> Iterator[AnyClaim]:
        """In the order of the steps."""
        yield from self._special()
        yield from self._largest()
        yield self._scale()
        yield FormClaim(
            "scale: quantize", "the scale is that of `hwsim.quantize` at both ends of every stretch of amax",
            f"{len(self.stretches())} stretches, which are all of binary32", self._is_quantized,
        )  # fmt: skip
        yield from self._elements()
        yield from self._file()

    # The scale.

    def _exponent(self, amax: Any) -> Any:
        """The staircase at an amax other than zero."""
        frac, field = amax & MOST, amax >> FRACTION
        plain = field + self.stairs.offset + (frac > self.stairs.above)
        found = ite(
            plain < self.stairs.least, self.stairs.least, ite(plain > self.stairs.most, self.stairs.most + 1, plain)
        )
        for one, steps in self.stairs.others.items():
            there: Any = steps.first
            for step in steps.above:
                there = there + (frac > step)
            found = ite(field == one, there, found)
        return found

    def _outcome(self, amax: Any, zero: bool) -> tuple[Any, Any]:
        """The scale's code, and whether it is NaN: at an amax, or in a block of zeros."""
        rule, fmt = self.q.rule, self.fmt
        if zero and rule.least_amax == 0:
            return int(rule.zero_scale), fmt.is_nan(int(rule.zero_scale))
        exponent = self._exponent(amax)
        huge = exponent > self.stairs.most
        if rule.huge_scale == "nan" and bool(huge):
            return nan_code(fmt), True
        return ite(huge, self.stairs.most, exponent) + fmt.bias, False

    def _scale(self) -> Claim:
        circuit = self.steps["scale"]
        port, dead = circuit.inputs["i__amax"], is_one(circuit.inputs["i__dead"])
        amax = Integer.unsigned(port)
        known = (holds(amax <= INFINITY),)
        scale, died = Integer.unsigned(circuit.outputs["o__scale"]), is_one(circuit.outputs["o__dead"])

        def outcome() -> tuple[Any, Any]:
            return self._outcome(amax, bool(amax == 0))

        def is_outcome(result: tuple[Any, Any]) -> Term:
            return both(holds(scale == result[0]), died if result[1] else negated(died), self._near(amax, result))

        alive = [Path(path.condition, is_outcome(path.result)) for path in paths(outcome, known)]
        dies = both(died, holds(scale == nan_code(self.fmt)))
        return Claim(
            "scale", "it is the staircase's, amax is within reach of it, and NaN where the block is dead",
            "every amax", known, both(implies(dead, dies), implies(negated(dead), each(alive))), (port,),
        )  # fmt: skip

    def _near(self, amax: Any, result: tuple[Any, Any]) -> Term:
        """That the exponent of amax, or of what is finite below it, is no more than the reach above the scale's."""
        scale, nan = result
        if nan:
            return holds(True)
        field = ite(amax >= INFINITY, (INFINITY >> FRACTION) - 1, amax >> FRACTION)
        near = field - SINGLE_BIAS <= as_integer(scale) - self.fmt.bias + self.stairs.reach
        return either(holds(near), holds(amax == 0))

    def stretches(self) -> list[tuple[int, int]]:
        """Codes of binary32, the first and the last, on which the staircase is level: all above 0, up to infinity."""
        edges = {1}
        for field in range(256):
            above = self.stairs.others[field].above if field in self.stairs.others else (self.stairs.above,)
            edges |= {field << FRACTION, *((field << FRACTION) + step + 1 for step in above)}
        starts = sorted(edge for edge in edges if 0 < edge <= INFINITY)
        return list(zip(starts, [*(start - 1 for start in starts[1:]), INFINITY], strict=True))

    def _is_quantized(self) -> bool:
        ends = np.array([end for stretch in self.stretches() for end in stretch], np.uint32)
        with np.errstate(invalid="ignore"):
            amax = ends.view(np.float32).astype(np.float64)
        amax = np.where(np.isinf(amax), 2.0**128, amax)  # what an infinity counts as
        want = scales_of(self.q.rule, amax, np.float32(1)).stored.tolist()
        got = [self._outcome(int(code), zero=False)[0] for code in ends.tolist()]
        zero = scales_of(self.q.rule, np.zeros(1), np.float32(1)).stored.tolist()
        return bool(got == want and [self._outcome(0, zero=True)[0]] == zero)

    # Elements.

    def _elements(self) -> Iterator[AnyClaim]:
        circuit, q = self._joined("scaled", "normalize", "round"), self.q
        rule, source = q.rule, q.float_source
        port, scale = circuit.inputs["i__x__0"], circuit.inputs["i__scale"]
        dead = is_one(circuit.inputs["i__dead"])
        code, exponent = Integer.unsigned(port) >> source.padding, Integer.unsigned(scale) - self.fmt.bias
        word = Integer.unsigned(circuit.inputs["i__words__0"]) if q.random_bits else 0
        element = Conversion(
            source=source, target=rule.element, rounding=rule.rounding, overflow=rule.overflow,  # type: ignore[arg-type]
            random_bits=q.random_bits,
        )  # fmt: skip
        plus, minus = infinity_codes(rule)
        found = Integer.unsigned(circuit.outputs["o__codes__0"])
        field = code >> source.fraction_bits & source.top_bexp
        reached = field - source.bias <= exponent + self.stairs.reach
        # Of infinities and NaNs alone no exponent is asked.
        most = source.max_magnitude
        finite = holds((code & (source.sign_bit - 1)) <= most)
        known = (
            *self._clean(port), holds(Integer.unsigned(scale) <= self.fmt.max_code), negated(dead),
            either(holds(reached), holds(field == 0), negated(finite)),
        )  # fmt: skip

        def encoded() -> object:
            fields = self._fields(code)
            if fields.cls is Class.INFINITY:
                return minus if fields.sign else plus
            there = encode_fields(element, fields, -exponent, word)
            if rule.element.twos_complement and rule.symmetric:
                least = rule.element.max_code + 1
                return ite(as_integer(there) == least, least + 1, there)
            return there

        right = [Path(path.condition, holds(found == path.result)) for path in paths(encoded, known)]
        drawn = f", each with every word of {q.random_bits} bits" if q.random_bits else ""
        yield Claim(
            "lane: element", f"the code is the model's of x / scale, in {rule.element.name}",
            f"{self._codes}, every scale within reach of them{drawn}", known, each(right), (port, scale),
        )  # fmt: skip
        yield Claim(
            "lane: dead", "under a scale that is NaN it is the element's NaN, or 0", self._codes, (dead,),
            holds(found == nan_code(rule.element)), (port, scale),
        )  # fmt: skip
        yield FormClaim("lanes: elements", "every lane makes the same", f"{q.lanes} lanes", self._elements_alike)

    def _elements_alike(self) -> bool:
        circuit = self._joined("scaled", "normalize", "round")
        names = ["i__x", *["i__words"] * bool(self.q.random_bits)]
        for lane in range(1, self.q.lanes):
            by = {circuit.inputs[f"{name}__0"]: circuit.inputs[f"{name}__{lane}"] for name in names}
            if substituted(circuit.outputs["o__codes__0"], by) != circuit.outputs[f"o__codes__{lane}"]:
                return False
        return True


def quantizer_claims(
    quantization: BlockQuantization, cuts: Sequence[str] | None = None, text: str | None = None
) -> Iterator[AnyClaim]:
    """The claims of a block quantiser. text: its file's, where it is not the one that hwsim writes."""
    divides = quantization.rule.select is Select.DIVIDE
    return (DividedClaims if divides else PowerClaims)(quantization, cuts, text).claims()


def prove_quantizer(
    quantization: BlockQuantization, cuts: Sequence[str] | None = None, asked: Asked | None = None, command: str = ""
) -> ProofReport:
    """Decide every claim about a block quantiser. command: what asks the same again.

    Raises NotImplementedYet for a rule that the RTL does not have; ToolMissing and FlowFailed as `circuits` does.
    """
    claims = quantizer_claims(quantization, cuts)
    return decided(quantization.name, quantizer_cuts(quantization, cuts), claims, asked, command)


def dequantizer_claims(
    d: BlockDequantization, cuts: Sequence[str] | None = None, text: str | None = None
) -> Iterator[AnyClaim]:
    """The claims of a dequantiser. text: its file's, where it is not the one that hwsim writes.

    Raises NotImplementedYet for formats that the RTL does not have.
    """
    supports_dequantizer(d)
    if d.tensor:
        yield from ScaledClaims(d, cuts, text).claims()
        return
    chosen = dequantizer_cuts(cuts)
    written = stream_verilog(BlockDequantizer(d, chosen)) if text is None else text
    file = StreamFile(written, len(chosen), scaled_layout(d), numbers_layout(d))
    yield from file.control()
    port = file.field("i", "scale")
    for lane in range(d.lanes):
        code, found = file.field("i", "codes", lane), Integer.unsigned(file.field("o", "x", lane))
        stored = [(fmt, Integer.unsigned(one)) for fmt, one in ((d.element, code), (d.scale_format, port))]
        known = [holds(one & ((1 << fmt.padding) - 1) == 0) for fmt, one in stored if fmt.padding]
        there = paths(lambda stored=stored: dequantize(d, stored[0][1], stored[1][1]), known)  # type: ignore[misc]
        yield Claim(
            f"lane {lane}", "the number is the exact product, rounded as the model rounds it",
            f"codes of {d.element.name} and of {d.scale_format.name}", tuple(known),
            each([Path(path.condition, holds(found == path.result)) for path in there]), (file.payload,),
        )  # fmt: skip


def prove_dequantizer(
    dequantization: BlockDequantization,
    cuts: Sequence[str] | None = None,
    asked: Asked | None = None,
    command: str = "",
) -> ProofReport:
    """Decide every claim about a block dequantiser; as `prove_quantizer`."""
    return decided(
        dequantization.name, dequantizer_cuts(cuts), dequantizer_claims(dequantization, cuts), asked, command
    )
