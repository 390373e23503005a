"""The claims of any stream; those of quantisers with power-of-two scales, and of dequantisers, are made here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, assert_never, cast

import numpy as np

from hwsim.explain.proof import ProofReport
from hwsim.formats import Class, ExponentFormat, Fields, FloatFormat
from hwsim.model.conversion import dequantize, encode_fields
from hwsim.model.rounding import infinity_code, nan_code
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.terms import product
from hwsim.prove.additions import of_known_sign
from hwsim.prove.blocks import BlockClaims, DividedClaims
from hwsim.prove.circuits import connected
from hwsim.prove.claims import AnyClaim, Claim, StructuralClaim, each, exactly, holds, is_each
from hwsim.prove.rounding import Encoding
from hwsim.prove.run import ProofOptions
from hwsim.prove.streams import StreamFile, alike, converter_claims, steps_of
from hwsim.prove.sweeping import Alike
from hwsim.prove.symbolic import Integer, Path, Truth, as_integer, ite, paths
from hwsim.prove.terms import Kind, Term, both, either, implies, is_one, negated, op, same, value, width
from hwsim.quantize.block import BlockDequantization, BlockQuantization
from hwsim.quantize.rule import Select, infinity_codes
from hwsim.quantize.rule import nan_code as nan_or_zero
from hwsim.quantize.scales import scales_of
from hwsim.rtl import Streamed, stream_plan
from hwsim.rtl.quantizer import dequantized_target, factor_range
from hwsim.rtl.single import F32, FRACTION, Staircase
from hwsim.rtl.single import MOST_POWER as MOST
from hwsim.spec import Rounding
from hwsim.spec.conversion import Conversion
from hwsim.spec.keys import Overflow

FLAGS = ("nan", "positive", "negative")


class ScaledClaims:
    """All claims about a dequantiser with a tensor's scale."""

    def __init__(self, d: BlockDequantization, cuts: Sequence[str] | None = None, text: str | None = None):
        """text: the file's, where it is not the one that hwsim writes."""
        self.d, self.plan, self.text = d, stream_plan(d, cuts), text
        self.steps = steps_of(self.plan)
        self.target, self.factor_bits = dequantized_target(d), factor_range(d)[0]

    def claims(self) -> Iterator[AnyClaim]:
        """Yield the claims in the order of the steps."""
        d, target = self.d, self.target
        yield self._factor()
        yield self._product()
        encoding = Encoding(target, cast(Rounding, d.rounding), cast(Overflow, d.overflow))
        low, high = target.max_exp
        yield from encoding.claims("number", low - target.bias, high - target.bias)
        yield from self._codes(encoding)
        whole = connected([self.steps[name] for name in ("product", "normalize", "round")])
        yield StructuralClaim(
            "lanes", "every lane makes the same", f"{d.lanes} lanes", lambda: alike(whole, "codes", ["codes"], d.lanes)
        )
        yield from self._file()

    def _factor(self) -> Claim:
        circuit, fmt = self.steps["factor"], self.d.scale_format
        ports = circuit.inputs["i__scale"], circuit.inputs["i__tensor_scale"]
        scale, tensor = map(Integer.unsigned, ports)
        out = {name: circuit.outputs[f"o__factor__{name}"] for name in ("sign", "sig", "exp", "nan", "inf")}
        known = (holds(scale & ((1 << fmt.padding) - 1) == 0),) if fmt.padding else ()

        def multiplied() -> Term:
            fields = of_known_sign(fmt.fields(scale >> fmt.padding)), of_known_sign(F32.fields(tensor))
            term = product(*fields, fmt.fraction_bits + F32.fraction_bits)
            if term.cls is Class.NAN:
                return is_one(out["nan"])
            facts = [negated(is_one(out["nan"])), same(out["sign"], value(term.sign, 1))]
            infinite = is_one(out["inf"])
            if term.cls is Class.INFINITY:
                return both(*facts, infinite)
            facts += [negated(infinite), holds(Integer.unsigned(out["sig"]) == term.sig)]
            if term.cls is Class.NORMAL:
                unit_exp = Integer.signed(out["exp"]) - (self.factor_bits - 1)
                facts += [holds(unit_exp == term.exp - term.fraction_bits), self._reached(out["exp"])]
            return both(*facts)

        return Claim(
            "factor", "it is the exact product of the scale and the tensor's, its exponent within what there can be",
            "both codes", known,
            each(paths(multiplied, known)), ports,
        )  # fmt: skip

    def _reached(self, exp: Term) -> Term:
        """The condition that a factor's exponent is one that a factor can have."""
        return exactly(Integer.signed(exp), *factor_range(self.d)[1])

    def _product(self) -> Claim:
        circuit, d = self.steps["product"], self.d
        port = circuit.inputs["i__codes__0"]
        factors = {name: circuit.inputs[f"i__factor__{name}"] for name in ("sign", "sig", "exp", "nan", "inf")}
        code, sig = Integer.unsigned(port), Integer.unsigned(factors["sig"])
        number = both(negated(is_one(factors["nan"])), negated(is_one(factors["inf"])), holds(sig != 0))
        known = (implies(number, self._reached(factors["exp"])), holds(code & ((1 << d.element.padding) - 1) == 0))
        unit_exp = Integer.signed(factors["exp"]) - (self.factor_bits - 1)
        out = {name: circuit.outputs[f"o__lanes__0__{name}"] for name in ("sign", "magnitude", "top_bexp")}
        special = {flag: circuit.outputs[f"o__lanes__0__special__{flag}"] for flag in FLAGS}

        def factor() -> Fields:
            sign = int(Integer.unsigned(factors["sign"]) != 0)
            if Truth(is_one(factors["nan"])):
                return Fields(0, 0, 0, Class.NAN)
            if Truth(is_one(factors["inf"])):
                return Fields(sign, 0, 0, Class.INFINITY)
            return Fields(sign, unit_exp, sig, Class.NORMAL if sig != 0 else Class.ZERO)

        def multiplied() -> Term:
            element = of_known_sign(d.element.fields(code >> d.element.padding))
            term = product(element, factor(), d.element.fraction_bits)
            if term.cls is Class.NAN:
                return is_one(special["nan"])
            facts = [same(special[flag], value(bit, 1)) for flag, bit in self._flags(term).items()]
            if term.cls in (Class.NORMAL, Class.ZERO):
                facts += [
                    same(out["sign"], value(term.sign, 1)), holds(Integer.unsigned(out["magnitude"]) == term.sig)
                ]  # fmt: skip
            if term.cls is Class.NORMAL:
                top = Integer.signed(out["top_bexp"]) - self.target.bias - (self.target.magnitude_bits - 1)
                facts.append(holds(top == term.exp - term.fraction_bits))
            return both(*facts)

        return Claim(
            "lane: product", "it is the exact product of an element and any factor",
            f"codes of {d.element.name}, any factor", known, each(paths(multiplied, known)), (port, *factors.values()),
        )  # fmt: skip

    @staticmethod
    def _flags(term: ModelTerm) -> dict[str, int]:
        infinite = term.cls is Class.INFINITY
        return {"nan": 0, "positive": int(infinite and not term.sign), "negative": int(infinite and bool(term.sign))}

    def _codes(self, encoding: Encoding) -> Iterator[AnyClaim]:
        """Yield the claims about what follows the products: the code of a number, and codes of what is special."""
        circuit, fmt = connected([self.steps["normalize"], self.steps["round"]]), self.d.target
        assert isinstance(fmt, FloatFormat)
        lane = {name.removeprefix("i__lanes__0__"): term for name, term in circuit.inputs.items() if "lanes__0" in name}
        result, flags = circuit.outputs["o__codes__0"], [is_one(lane[f"special__{flag}"]) for flag in FLAGS]
        code = encoding.of(lane["magnitude"], Integer.signed(lane["top_bexp"]), lane["sign"])
        if fmt.padding:
            code = op(Kind.BV_CONCAT, code, value(0, fmt.padding))
        finite = both(*map(negated, flags))
        yield Alike(
            "lane: number", "a number becomes its code", "any number", (finite,), same(result, code), (*lane.values(),)
        )  # fmt: skip
        overflow = cast(Overflow, self.d.overflow)
        wanted = [nan_code(fmt), infinity_code(fmt, 0, overflow), infinity_code(fmt, 1, overflow)]
        alone = [both(flag, *(negated(rival) for rival in flags if rival is not flag)) for flag in flags]
        facts = [
            implies(only, same(result, value(want, width(result)))) for only, want in zip(alone, wanted, strict=True)
        ]
        nan = implies(flags[0], same(result, value(wanted[0], width(result))))
        yield Claim(
            "lane: special", "what is no number becomes the target's NaN or what the rule has for infinities",
            "any magnitude", (), both(nan, *facts), tuple(lane.values()),
        )  # fmt: skip

    def _file(self) -> Iterator[AnyClaim]:
        d, file = self.d, StreamFile(self.plan, self.text)
        yield from file.control()
        outputs = file.of_steps(self.steps)
        numbers = [same(file.field("o", "x", lane), outputs[f"o__codes__{lane}"]) for lane in range(d.lanes)]
        yield Alike(
            "file: numbers", "the numbers that leave are what the steps, one after another, make of what entered",
            "all codes", (), both(*numbers),
        )  # fmt: skip


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
        """Yield the claims in the order of the steps."""
        yield from self._special()
        yield from self._largest()
        yield self._scale()
        yield StructuralClaim(
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
        exponent = ite(
            plain < self.stairs.least, self.stairs.least, ite(plain > self.stairs.most, self.stairs.most + 1, plain)
        )
        for other_field, steps in self.stairs.others.items():
            there: Any = steps.first
            for step in steps.above:
                there = there + (frac > step)
            exponent = ite(field == other_field, there, exponent)
        return exponent

    def _outcome(self, amax: Any, zero: bool) -> tuple[Any, Any]:
        """The scale's code, and whether it is NaN: at an amax, or in a block of zeros."""
        rule, fmt = self.q.rule, self.fmt
        if zero and rule.least_amax == 0:
            return int(rule.zero_scale), fmt.is_nan(int(rule.zero_scale))
        exponent = self._exponent(amax)
        huge = exponent > self.stairs.most
        if rule.huge_scale == "nan" and bool(huge):
            return nan_or_zero(fmt), True
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
        dies = both(died, holds(scale == nan_or_zero(self.fmt)))
        return Claim(
            "scale", "it is the staircase's, amax is within reach of it, and NaN where the block is dead",
            "every amax", known, both(implies(dead, dies), implies(negated(dead), each(alive))), (port,),
        )  # fmt: skip

    def _near(self, amax: Any, result: tuple[Any, Any]) -> Term:
        """The condition that the exponent of amax is no more than the reach above the scale's.

        An infinite amax has the exponent of what is finite below it.
        """
        scale, nan = result
        if nan:
            return holds(True)
        field = ite(amax >= INFINITY, (INFINITY >> FRACTION) - 1, amax >> FRACTION)
        near = field - SINGLE_BIAS <= as_integer(scale) - self.fmt.bias + self.stairs.reach
        return either(holds(near), holds(amax == 0))

    def stretches(self) -> list[tuple[int, int]]:
        """The stretches on which the staircase is level, as first and last codes of binary32: from 1 up to infinity."""
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
        result = Integer.unsigned(circuit.outputs["o__codes__0"])
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

        right = is_each(result, paths(encoded, known))
        drawn = f", each with every word of {q.random_bits} bits" if q.random_bits else ""
        yield Claim(
            "lane: element", f"the code is the model's of x / scale, in {rule.element.name}",
            f"{self._codes}, every scale within reach of them{drawn}", known, right, (port, scale),
        )  # fmt: skip
        yield Claim(
            "lane: dead", "under a scale that is NaN it is the element's NaN, or 0", self._codes, (dead,),
            holds(result == nan_or_zero(rule.element)), (port, scale),
        )  # fmt: skip
        yield StructuralClaim(
            "lanes: elements", "every lane makes the same", f"{q.lanes} lanes",
            lambda: alike(circuit, "codes", ["x", "words"], q.lanes),
        )  # fmt: skip


def _dequantizer_claims(d: BlockDequantization, cuts: Sequence[str] | None, text: str | None) -> Iterator[AnyClaim]:
    """Yield the claims of a dequantiser without a tensor's scale."""
    file = StreamFile(stream_plan(d, cuts), text)
    yield from file.control()
    port = file.field("i", "scale")
    for lane in range(d.lanes):
        stored = [
            (d.element, Integer.unsigned(file.field("i", "codes", lane))),
            (d.scale_format, Integer.unsigned(port)),
        ]
        known = [holds(code & ((1 << fmt.padding) - 1) == 0) for fmt, code in stored if fmt.padding]
        runs = paths(lambda stored=stored: dequantize(d, stored[0][1], stored[1][1]), known)  # type: ignore[misc]
        yield Claim(
            f"lane {lane}", "the number is the exact product, rounded as the model rounds it",
            f"codes of {d.element.name} and of {d.scale_format.name}", tuple(known),
            is_each(Integer.unsigned(file.field("o", "x", lane)), runs), (file.payload,),
        )  # fmt: skip


def stream_claims(of: Streamed, cuts: Sequence[str] | None = None, text: str | None = None) -> Iterator[AnyClaim]:
    """The claims of a converter, a quantiser or a dequantiser. text: its file's, where hwsim does not write it.

    Raises NotImplementedYet for what the RTL does not have, ToolMissing, and FlowFailed with what Yosys said.
    """
    match of:
        case Conversion():
            return converter_claims(of, cuts, text)
        case BlockQuantization():
            divides = of.rule.select is Select.DIVIDE
            return (DividedClaims if divides else PowerClaims)(of, cuts, text).claims()
        case BlockDequantization():
            return ScaledClaims(of, cuts, text).claims() if of.tensor else _dequantizer_claims(of, cuts, text)
        case _:
            assert_never(of)


def prove_stream(
    of: Streamed, cuts: Sequence[str] | None = None, asked: ProofOptions | None = None, command: str = ""
) -> ProofReport:
    """Decide every claim of a stream. command: what asks the same again. Raises as `stream_claims`."""
    claims = stream_claims(of, cuts)
    return (asked or ProofOptions()).decided(of.name, stream_plan(of, cuts).cuts, claims, command)[0]
