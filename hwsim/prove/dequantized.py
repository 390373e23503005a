"""The claims of a dequantiser whose tensor has a scale too: three numbers are multiplied, and rounded once.

The scale times the tensor's is one exact number, an element times it another, and any number is rounded as the model
rounds it; all lanes are one function, and the file is these steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from hwsim.formats import Class, Fields, FloatFormat
from hwsim.model.rounding import infinity_code, nan_code
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.terms import product
from hwsim.prove.addition import of_known_sign
from hwsim.prove.alike import Alike
from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import circuits, connected, fixed, without_undriven
from hwsim.prove.claims import AnyClaim, Claim, FormClaim
from hwsim.prove.converters import StreamFile
from hwsim.prove.encoding import Encoding
from hwsim.prove.explore import paths
from hwsim.prove.logic import Kind, Term, both, implies, is_one, negated, op, same, substituted, value, width
from hwsim.prove.relations import each, exactly, holds
from hwsim.prove.symbolic import Integer, Truth
from hwsim.quantize.block import BlockDequantization
from hwsim.rtl import BlockDequantizer, stream_verilog
from hwsim.rtl.dequantizer import (
    dequantized_stages,
    dequantized_target,
    dequantizer_cuts,
    factor_range,
    numbers_layout,
    scaled_layout,
)
from hwsim.rtl.single import F32
from hwsim.spec import Rounding
from hwsim.spec.keys import Overflow

FLAGS = ("nan", "positive", "negative")


class ScaledClaims:
    """All claims about a dequantiser with a tensor's scale."""

    def __init__(self, d: BlockDequantization, cuts: Sequence[str] | None = None, text: str | None = None):
        """text: the file's, where it is not the one that hwsim writes."""
        self.d, self.cuts, self.text = d, dequantizer_cuts(cuts), text
        made = circuits({stage.name: stage for stage in dequantized_stages(d)})
        self.steps = {name: without_undriven(circuit) for name, circuit in made.items()}
        self.target, self.factor_bits = dequantized_target(d), factor_range(d)[0]

    def claims(self) -> Iterator[AnyClaim]:
        """In the order of the steps."""
        d, target = self.d, self.target
        yield self._factor()
        yield self._product()
        encoding = Encoding(target, cast(Rounding, d.rounding), cast(Overflow, d.overflow))
        low, high = target.max_exp
        yield from encoding.claims("number", low - target.bias, high - target.bias)
        yield from self._codes(encoding)
        yield FormClaim("lanes", "every lane makes the same", f"{d.lanes} lanes", self._alike)
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
            said = [negated(is_one(out["nan"])), same(out["sign"], value(term.sign, 1))]
            infinite = is_one(out["inf"])
            if term.cls is Class.INFINITY:
                return both(*said, infinite)
            said += [negated(infinite), holds(Integer.unsigned(out["sig"]) == term.sig)]
            if term.cls is Class.NORMAL:
                unit_exp = Integer.signed(out["exp"]) - (self.factor_bits - 1)
                said += [holds(unit_exp == term.exp - term.fraction_bits), self._reached(out["exp"])]
            return both(*said)

        return Claim(
            "factor", "it is the exact product of the scale and the tensor's, its exponent within what there can be",
            "both codes", known,
            each(paths(multiplied, known)), ports,
        )  # fmt: skip

    def _reached(self, exp: Term) -> Term:
        """That a factor's exponent is one that a factor can have."""
        return exactly(Integer.signed(exp), *factor_range(self.d)[1])

    def _product(self) -> Claim:
        circuit, d = self.steps["product"], self.d
        port = circuit.inputs["i__codes__0"]
        given = {name: circuit.inputs[f"i__factor__{name}"] for name in ("sign", "sig", "exp", "nan", "inf")}
        code, sig = Integer.unsigned(port), Integer.unsigned(given["sig"])
        number = both(negated(is_one(given["nan"])), negated(is_one(given["inf"])), holds(sig != 0))
        known = (implies(number, self._reached(given["exp"])), holds(code & ((1 << d.element.padding) - 1) == 0))
        unit_exp = Integer.signed(given["exp"]) - (self.factor_bits - 1)
        out = {name: circuit.outputs[f"o__lanes__0__{name}"] for name in ("sign", "magnitude", "top_bexp")}
        special = {flag: circuit.outputs[f"o__lanes__0__special__{flag}"] for flag in FLAGS}

        def factor() -> Fields:
            sign = int(Integer.unsigned(given["sign"]) != 0)
            if Truth(is_one(given["nan"])):
                return Fields(0, 0, 0, Class.NAN)
            if Truth(is_one(given["inf"])):
                return Fields(sign, 0, 0, Class.INFINITY)
            return Fields(sign, unit_exp, sig, Class.NORMAL if sig != 0 else Class.ZERO)

        def multiplied() -> Term:
            element = of_known_sign(d.element.fields(code >> d.element.padding))
            term = product(element, factor(), d.element.fraction_bits)
            if term.cls is Class.NAN:
                return is_one(special["nan"])
            said = [same(special[flag], value(bit, 1)) for flag, bit in self._flags(term).items()]
            if term.cls in (Class.NORMAL, Class.ZERO):
                said += [
                    same(out["sign"], value(term.sign, 1)), holds(Integer.unsigned(out["magnitude"]) == term.sig)
                ]  # fmt: skip
            if term.cls is Class.NORMAL:
                top = Integer.signed(out["top_bexp"]) - self.target.bias - (self.target.magnitude_bits - 1)
                said.append(holds(top == term.exp - term.fraction_bits))
            return both(*said)

        return Claim(
            "lane: product", "it is the exact product of an element and any factor",
            f"codes of {d.element.name}, any factor", known, each(paths(multiplied, known)), (port, *given.values()),
        )  # fmt: skip

    @staticmethod
    def _flags(term: ModelTerm) -> dict[str, int]:
        infinite = term.cls is Class.INFINITY
        return {"nan": 0, "positive": int(infinite and not term.sign), "negative": int(infinite and bool(term.sign))}

    def _codes(self, encoding: Encoding) -> Iterator[AnyClaim]:
        """What follows the products: of a number its code, of what is special the target's."""
        circuit, fmt = connected([self.steps["normalize"], self.steps["round"]]), self.d.target
        assert isinstance(fmt, FloatFormat)
        lane = {name.removeprefix("i__lanes__0__"): term for name, term in circuit.inputs.items() if "lanes__0" in name}
        found, flags = circuit.outputs["o__codes__0"], [is_one(lane[f"special__{flag}"]) for flag in FLAGS]
        code = encoding.of(lane["magnitude"], Integer.signed(lane["top_bexp"]), lane["sign"])
        if fmt.padding:
            code = op(Kind.BV_CONCAT, code, value(0, fmt.padding))
        finite = both(*map(negated, flags))
        yield Alike(
            "lane: number", "a number becomes its code", "any number", (finite,), same(found, code), (*lane.values(),)
        )  # fmt: skip
        overflow = cast(Overflow, self.d.overflow)
        wanted = [nan_code(fmt), infinity_code(fmt, 0, overflow), infinity_code(fmt, 1, overflow)]
        alone = [both(flag, *(negated(other) for other in flags if other is not flag)) for flag in flags]
        said = [implies(one, same(found, value(want, width(found)))) for one, want in zip(alone, wanted, strict=True)]
        nan = implies(flags[0], same(found, value(wanted[0], width(found))))
        yield Claim(
            "lane: special", "what is no number becomes the target's NaN or what the rule has for infinities",
            "any magnitude", (), both(nan, *said), tuple(lane.values()),
        )  # fmt: skip

    def _alike(self) -> bool:
        whole = connected([self.steps[name] for name in ("product", "normalize", "round")])
        first = whole.outputs["o__codes__0"]
        return all(
            substituted(first, {whole.inputs["i__codes__0"]: whole.inputs[f"i__codes__{lane}"]})
            == whole.outputs[f"o__codes__{lane}"]
            for lane in range(1, self.d.lanes)
        )

    def _file(self) -> Iterator[AnyClaim]:
        d = self.d
        text = stream_verilog(BlockDequantizer(d, self.cuts)) if self.text is None else self.text
        file = StreamFile(text, len(self.cuts), scaled_layout(d), numbers_layout(d))
        yield from file.control()
        chain: Circuit = connected(list(self.steps.values()))
        given = {f"i__{name}": file.field("i", name) for name in ("scale", "tensor_scale")}
        given |= {f"i__codes__{lane}": file.field("i", "codes", lane) for lane in range(d.lanes)}
        made = fixed(chain, given).outputs
        numbers = [same(file.field("o", "x", lane), made[f"o__codes__{lane}"]) for lane in range(d.lanes)]
        yield Alike(
            "file: numbers", "the numbers that leave are what the steps, one after another, make of what entered",
            "all codes", (), both(*numbers),
        )  # fmt: skip
