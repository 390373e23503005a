"""The claims of a block quantiser whose scales are quotients, as NVFP4's: of each step, and of the file.

Each step is one operation of `hwsim.quantize`'s in binary32: hwsim/prove/single.py has the claims of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

from hwsim.formats import Class, FloatFormat, Format
from hwsim.model.conversion import convert, encode_fields
from hwsim.prove.alike import Alike
from hwsim.prove.blockclaims import BlockClaims
from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import circuits
from hwsim.prove.claims import AnyClaim, Claim, FormClaim
from hwsim.prove.explore import paths
from hwsim.prove.logic import (
    Kind,
    both,
    choose,
    implies,
    is_one,
    negated,
    op,
    part,
    same,
    substituted,
    value,
    width,
)
from hwsim.prove.relations import holds, is_each
from hwsim.prove.single import Division, Multiplier
from hwsim.prove.symbolic import Integer, Truth, as_integer, ite
from hwsim.prove.thresholds import threshold_claims
from hwsim.quantize.rule import Apply, TensorScale
from hwsim.quantize.special import infinity_codes
from hwsim.quantize.special import nan_code as element_nan
from hwsim.rtl.block_amax import flushes
from hwsim.rtl.block_divided import tensor_fields
from hwsim.rtl.single import F32, INFINITY, Recode
from hwsim.rtl.staircase import nearest_single
from hwsim.rtl.thresholds import single_code
from hwsim.spec.conversion import Conversion

MAGNITUDE = 31  # bits of binary32 below the sign


class DividedClaims(BlockClaims):
    """All claims about a quantiser whose scales are quotients."""

    def claims(self) -> Iterator[AnyClaim]:
        """In the order of the steps."""
        rule = self.q.rule
        yield from self._special()
        yield from self._largest()
        yield self._single()
        if any(name.endswith(".3") for name in self.steps):
            yield self._division.row_claim()
        if rule.tensor_scale is not TensorScale.NONE or rule.apply is not Apply.DIVIDE:
            yield from self._multiplier.claims()
        yield from self._ratio()
        yield self._scale()
        yield from self._operand()
        if rule.apply is Apply.DIVIDE:
            yield from threshold_claims(rule, self.steps["thresholds"])
            yield self._compared()
        else:
            brought = rule.apply is Apply.TENSOR_RECIPROCAL and rule.tensor_scale is not TensorScale.NONE
            dividend = "tensor_factor" if brought else single_code(Fraction(1))
            yield from self._division.claims(self.steps, "reciprocal", dividend, "operand", "factor", self._limited)
            yield from self._scaled()
            yield self._rounded()
        yield FormClaim("lanes: elements", "every lane makes the same", f"{self.q.lanes} lanes", self._elements_alike)
        yield from self._file()

    @cached_property
    def _division(self) -> Division:
        return Division()

    @cached_property
    def _multiplier(self) -> Multiplier:
        return Multiplier()

    # The scale.

    def _single(self) -> Claim:
        circuit = self.steps["single"]
        port = circuit.inputs["i__amax"]
        amax = Integer.unsigned(port)
        least = single_code(nearest_single(Fraction(self.q.rule.least_amax))) if self.q.rule.least_amax else 0
        single, zero = Integer.unsigned(circuit.outputs["o__single"]), is_one(circuit.outputs["o__zero"])
        empty = holds(amax == 0) if not least else holds(False)
        return Claim(
            "single", "what is divided is amax, or the least there may be, and a block of zeros is known", "every amax",
            (), both(holds(single == ite(amax < least, least, amax)), same(zero, empty)), (port,),
        )  # fmt: skip

    def _ratio(self) -> Iterator[AnyClaim]:
        rule = self.q.rule
        largest = Fraction(rule.largest)
        match rule.tensor_scale:
            case TensorScale.NONE | TensorScale.MULTIPLY | TensorScale.DIVIDE:
                yield from self._division.claims(self.steps, "ratio", "single", single_code(largest), "ratio")
            case TensorScale.RECIPROCAL:
                yield self._product("factor", "tensor_factor", single_code(nearest_single(1 / largest)), "factor")
                yield self._product("ratio", "single", "factor", "ratio")
        if rule.tensor_scale is TensorScale.MULTIPLY:
            yield self._product("tensor", "ratio", "tensor_factor", "ratio")
        elif rule.tensor_scale is TensorScale.DIVIDE:
            yield from self._division.claims(self.steps, "tensor", "ratio", "tensor_scale", "ratio")

    def _scale(self) -> Claim:
        circuit, rule = self.steps["scale"], self.q.rule
        fmt = rule.scale_format
        ratio, port = Integer.unsigned(circuit.inputs["i__ratio"]), circuit.inputs["i__ratio"]
        dead, zero = (is_one(circuit.inputs[f"i__{flag}"]) for flag in ("dead", "zero"))
        found, least = Integer.unsigned(circuit.outputs["o__scale"]), int(rule.least_scale)
        narrow = Conversion(source=F32, target=fmt, missing="saturate")
        alive = (negated(dead), negated(zero))

        def rounded() -> Any:
            code = as_integer(convert(narrow, ratio))
            return ite(code < least, least, code)

        right = is_each(found, paths(rounded, alive))
        nan = holds(found == element_nan(fmt))
        empty = holds(found == int(rule.zero_scale))
        return Claim(
            "scale", f"it is the ratio in {fmt.name}, no less than the least; of zeros and of NaNs what the rule says",
            "every ratio", (),
            both(implies(dead, nan), implies(both(negated(dead), zero), empty), implies(both(*alive), right)), (port,),
        )  # fmt: skip

    def _operand(self) -> Iterator[AnyClaim]:
        circuit, rule = self.steps["operand"], self.q.rule
        fmt, port = rule.scale_format, circuit.inputs["i__scale"]
        wide, recode = Conversion(source=fmt, target=F32), self._recode(fmt)
        found = recode.outputs["result"]
        cases = [
            same(substituted(found, {recode.inputs["code"]: value(code, width(port))}), value(convert(wide, code), 32))
            for code in range(fmt.max_code + 1)
        ]
        yield Claim("operand: scale", "a scale's code becomes binary32's", f"codes of {fmt.name}", (), both(*cases))
        scale = substituted(found, {recode.inputs["code"]: port})
        made, words = scale, "what elements are divided by is the scale"
        if "tensor_scale" in tensor_fields(rule) and rule.apply is not Apply.TENSOR_RECIPROCAL:
            made, words = self._multiplier.of(scale, circuit.inputs["i__tensor_scale"]), f"{words} times the tensor's"
        yield Alike("operand", words, "every scale", (), same(circuit.outputs["o__operand"], made), (port,))

    def _limited(self, circuit: Circuit, code: Any) -> Any:
        """What elements are multiplied by: never infinite, and without a scale what the rule says."""
        operand = Integer.unsigned(circuit.inputs["i__operand"]) & (1 << MAGNITUDE) - 1
        limited = ite(as_integer(code) == INFINITY, F32.max_magnitude, code)
        return ite(operand == 0, F32.max_magnitude if self.q.rule.no_scale == "multiplied" else 0, limited)

    def _recode(self, source: Format) -> Circuit:
        """A conversion to binary32."""
        return circuits({"recode": Recode(Conversion(source=source, target=F32, overflow="infinity"))})["recode"]

    def _product(self, name: str, one: str, other: str | int, made: str) -> Claim:
        """A product of two fields of codes in binary32, or of a field and a number's code."""
        circuit = self.steps[name]
        ports = [circuit.inputs[f"i__{each}"] if isinstance(each, str) else value(each, 32) for each in (one, other)]
        return Alike(
            f"{name}: product", "it is the product in binary32, rounded once", "both codes", (),
            same(circuit.outputs[f"o__{made}"], self._multiplier.of(*ports)), tuple(ports),
        )  # fmt: skip

    # Elements, by comparison.

    def _compared(self) -> Claim:
        """An element's code, from the thresholds that its magnitude has reached."""
        circuit, q, rule = self.steps["round"], self.q, self.q.rule
        fmt, source = rule.element, q.float_source
        assert isinstance(fmt, FloatFormat)
        port, dead = circuit.inputs["i__x__0"], is_one(circuit.inputs["i__dead"])
        code = Integer.unsigned(port) >> source.padding
        steps = [Integer.unsigned(circuit.inputs[f"i__thresholds__{at}"]) for at in range(fmt.max_magnitude)]
        found = Integer.unsigned(circuit.outputs["o__codes__0"])
        single = Conversion(source=source, target=F32, overflow="infinity")
        plus, minus = infinity_codes(rule)

        def encoded() -> Any:
            fields = self._fields(code)
            sign = int(as_integer(fields.sign) != 0)
            if fields.cls is Class.NAN or Truth(dead):
                return element_nan(fmt)
            if fields.cls is Class.INFINITY:
                return minus if sign else plus
            number = as_integer(encode_fields(single, fields._replace(sign=0), 0))
            reached: Any = 0
            for step in steps:
                reached = reached + ite(number >= step, 1, 0)
            return reached + (fmt.sign_bit if sign and fmt.signed else 0)

        return Claim(
            "lane: element", "the code counts the thresholds that the magnitude reaches; what is no number becomes "
            "what the rule says",
            f"{self._codes}, any thresholds", self._clean(port), is_each(found, paths(encoded, self._clean(port))),
            (port,),
        )  # fmt: skip

    # Elements, by a product.

    def _scaled(self) -> Iterator[AnyClaim]:
        circuit, q = self.steps["scaled"], self.q
        source, port = q.float_source, circuit.inputs["i__x__0"]
        recode = self._recode(source)
        wide, code = Conversion(source=source, target=F32, overflow="infinity"), Integer.unsigned(recode.inputs["code"])
        clean = (holds(code & ((1 << source.padding) - 1) == 0),) if source.padding else ()
        single = Integer.unsigned(recode.outputs["result"])
        yield Claim(
            "lane: binary32", "a number becomes binary32's", self._codes, clean,
            is_each(single, paths(lambda: convert(wide, code), clean)), (recode.inputs["code"],),
        )  # fmt: skip
        number = substituted(recode.outputs["result"], {recode.inputs["code"]: port})
        if flushes(q.rule, source):
            normal = negated(same(part(number, F32.fraction_bits, F32.exponent_bits), value(0, F32.exponent_bits)))
            kept = choose(normal, part(number, 0, MAGNITUDE), value(0, MAGNITUDE))
            number = op(Kind.BV_CONCAT, part(number, MAGNITUDE, 1), kept)
        yield Alike(
            "lane: product", "it is the product of number and factor in binary32, rounded once", "both codes", (),
            same(circuit.outputs["o__products__0"], self._multiplier.of(number, circuit.inputs["i__factor"])), (port,),
        )  # fmt: skip

    def _rounded(self) -> Claim:
        circuit, q, rule = self.steps["round"], self.q, self.q.rule
        source, element = q.float_source, rule.element
        port, dead = circuit.inputs["i__x__0"], is_one(circuit.inputs["i__dead"])
        code, product = Integer.unsigned(port) >> source.padding, Integer.unsigned(circuit.inputs["i__products__0"])
        word = Integer.unsigned(circuit.inputs["i__words__0"]) if q.random_bits else 0
        found = Integer.unsigned(circuit.outputs["o__codes__0"])
        narrow = Conversion(
            source=F32, target=element, rounding=rule.rounding, overflow=rule.overflow, random_bits=q.random_bits  # type: ignore[arg-type]
        )  # fmt: skip
        plus, minus = infinity_codes(rule)

        def encoded() -> Any:
            fields = self._fields(code)
            if fields.cls is Class.NAN or Truth(dead):
                return element_nan(element)
            if fields.cls is Class.INFINITY:
                return minus if int(as_integer(fields.sign) != 0) else plus
            return convert(narrow, product, word)

        return Claim(
            "lane: element", "the code is the product's, rounded; what is no number becomes what the rule says",
            f"{self._codes}, any product", self._clean(port), is_each(found, paths(encoded, self._clean(port))),
            (port, circuit.inputs["i__products__0"]),
        )  # fmt: skip

    def _elements_alike(self) -> bool:
        """Of products, where there are any, and of codes."""
        names: list[tuple[str, str, tuple[str, ...]]] = [("round", "codes", ("x", "words", "products"))]
        if "scaled" in self.steps:
            names.append(("scaled", "products", ("x",)))
        for step, output, inputs in names:
            circuit = self.steps[step]
            for lane in range(1, self.q.lanes):
                by = {
                    circuit.inputs[f"i__{name}__0"]: circuit.inputs[f"i__{name}__{lane}"]
                    for name in inputs
                    if f"i__{name}__0" in circuit.inputs
                }
                if substituted(circuit.outputs[f"o__{output}__0"], by) != circuit.outputs[f"o__{output}__{lane}"]:
                    return False
        return True
