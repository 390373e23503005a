"""The claims of binary32 arithmetic: a division row by row, and a product of any numbers.

Of each row of a division: it keeps rest + 2 * divisor * quotient at twice what that was, and the rest below twice the
divisor. So after all rows the quotient is the exact one, cut off, and there is a rest just where it was not whole; what
is below half of a last place matters only as being there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from hwsim.formats import Class, Fields
from hwsim.model.rounding import infinity_code, nan_code, pack, round_to
from hwsim.prove.addition import of_known_sign
from hwsim.prove.alike import Alike
from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import circuits, connected, fixed
from hwsim.prove.claims import AnyClaim, Claim
from hwsim.prove.encoding import Encoding
from hwsim.prove.explore import paths
from hwsim.prove.logic import (
    Kind,
    Term,
    both,
    constant,
    either,
    implies,
    is_one,
    negated,
    op,
    same,
    substituted,
    value,
    width,
)
from hwsim.prove.maxima import children_first
from hwsim.prove.multiplied import narrowed
from hwsim.prove.relations import each, holds, is_each
from hwsim.prove.symbolic import Integer, Truth, as_integer, ite
from hwsim.rtl.single import F32, ROWS, Multiply32, product_target, row_stage

STATE = ("rest", "quotient", "divisor", "sign", "top_bexp", "nan", "inf", "zero")
Finish = Callable[[Circuit, Any], Any]  # of the last step, and of a quotient's code: what leaves


def rounded_quotient(sign: int, bits: Any, more: Any, top: Any) -> int:
    """The code of a quotient. bits: the first `ROWS`, cut off. more: 1 where there is a rest. top: of the first bit.

    Below half of a last place it matters only that there is something.
    """
    return round_to(F32, sign, 2 * bits + more, top - ROWS, "rne", "infinity").code


def quotient(x: Fields, y: Fields) -> int:
    """The code of x / y in binary32, rounded once to nearest even. x, y: of binary32's codes."""
    sign = x.sign ^ y.sign
    special = {x.cls, y.cls} & {Class.NAN, Class.INFINITY}
    if Class.NAN in special or x.cls is y.cls is Class.INFINITY or x.cls is y.cls is Class.ZERO:
        return nan_code(F32)
    if x.cls is Class.INFINITY or y.cls is Class.ZERO:
        return infinity_code(F32, sign, "infinity")
    if y.cls is Class.INFINITY or x.cls is Class.ZERO:
        return pack(F32, sign, 0)
    left, right = (F32.precision - fields.sig.bit_length() for fields in (x, y))
    bits, rest = divmod(x.sig << left + ROWS - 1, y.sig << right)
    return rounded_quotient(sign, bits, int(rest > 0), x.exp - left - (y.exp - right))


class Division:
    """What divisions share: their rows."""

    @cached_property
    def row(self) -> Circuit:
        """One row."""
        return circuits({"row": row_stage()})["row"]

    def row_claim(self) -> Claim:
        """What a row keeps."""
        row = self.row
        before, after = (
            {field: Integer.unsigned(ports[f"{side}__division__{field}"]) for field in ("rest", "quotient", "divisor")}
            for side, ports in (("i", row.inputs), ("o", row.outputs))
        )
        divisor, bit = before["divisor"], after["quotient"] & 1
        kept = [same(row.inputs[f"i__division__{field}"], row.outputs[f"o__division__{field}"]) for field in STATE[2:]]
        return Claim(
            "division: row", "rest + 2 * divisor * quotient becomes twice that, of a quotient one bit longer, and the "
            "rest stays below twice the divisor",
            "every rest below twice a divisor", (holds(before["rest"] < 2 * divisor),),
            both(
                holds(after["rest"] < 2 * divisor),
                holds(after["rest"] + 2 * ite(bit == 1, divisor, 0) == 2 * before["rest"]),
                holds(after["quotient"] == (2 * before["quotient"] + bit) % (1 << ROWS)),
                *kept,
            ),
            tuple(row.inputs.values()),
        )  # fmt: skip

    def claims(
        self, steps: Mapping[str, Circuit], name: str, dividend: str | int, divisor: str | int, made: str,
        finish: Finish = lambda circuit, code: code,
    ) -> Iterator[AnyClaim]:  # fmt: skip
        """A division of fields of codes, or of a number's code. made: the field that its last step makes."""
        begin = steps[f"{name}.1"]
        ports = tuple(begin.inputs[f"i__{one}"] for one in (dividend, divisor) if isinstance(one, str))
        x, y = (
            Integer.unsigned(begin.inputs[f"i__{one}"]) if isinstance(one, str) else one for one in (dividend, divisor)
        )
        out = {field: begin.outputs[f"o__division__{field}"] for field in STATE}

        def begun() -> Term:
            one, other = of_known_sign(F32.fields(x)), of_known_sign(F32.fields(y))
            kinds = one.cls, other.cls
            nan = Class.NAN in kinds or kinds in ((Class.INFINITY,) * 2, (Class.ZERO,) * 2)
            if nan:
                return is_one(out["nan"])
            infinite = one.cls is Class.INFINITY or other.cls is Class.ZERO
            empty = other.cls is Class.INFINITY or one.cls is Class.ZERO
            flags = {"nan": 0, "inf": int(infinite), "zero": int(empty), "sign": one.sign ^ other.sign}
            said = [same(out[flag], value(bit, 1)) for flag, bit in flags.items()]
            if not infinite and not empty:
                tops = []
                for fields, field in ((one, "rest"), (other, "divisor")):
                    length = as_integer(fields.sig).bit_length()
                    said.append(holds(Integer.unsigned(out[field]) == fields.sig << F32.precision - length))
                    tops.append(fields.exp + length - F32.precision)
                said.append(holds(Integer.signed(out["top_bexp"]) == tops[0] - tops[1] + F32.bias))
                said.append(same(out["quotient"], value(0, ROWS)))
            return both(*said)

        yield Claim(
            f"{name}: begin", "it begins with both significands, leading ones on top, an exponent and a sign, and "
            "knows what is no number",
            "both codes", (), each(paths(begun)), ports,
        )  # fmt: skip
        rows = connected([self.row] * ROWS)
        through = connected([steps[f"{name}.2"], steps[f"{name}.3"]])
        given = {f"i__division__{field}": through.inputs[f"i__division__{field}"] for field in STATE}
        made_rows = fixed(rows, given).outputs
        yield Alike(
            f"{name}: rows", f"{ROWS} rows follow", "any state", (),
            both(*(same(through.outputs[port], made_rows[port]) for port in made_rows)), tuple(given.values()),
        )  # fmt: skip
        yield _quotient(steps[name], name, made, finish)


class Multiplier:
    """The multiplier, and what it makes of two codes."""

    @cached_property
    def circuit(self) -> Circuit:
        """It by itself."""
        return circuits({"product": Multiply32()})["product"]

    def of(self, a: Term, b: Term) -> Term:
        """The product of two codes."""
        return substituted(self.circuit.outputs["product"], {self.circuit.inputs["a"]: a, self.circuit.inputs["b"]: b})

    def claims(self) -> Iterator[AnyClaim]:
        """That it is binary32's."""
        circuit, encoding = self.circuit, Encoding(product_target(), "rne", "infinity")
        target = encoding.target
        ports = circuit.inputs["a"], circuit.inputs["b"]
        a, b = map(Integer.unsigned, ports)
        (product,) = (node for node in children_first(circuit.outputs["product"]) if node.kind() == Kind.BV_MUL)
        sigs = [narrowed(side) for side in product.children()]
        bits = target.magnitude_bits
        any_product = constant("any.product", bits)

        def significands() -> Term:
            said = [
                holds(Integer.unsigned(sig) == fields.sig)
                for sig, fields in zip(sigs, (F32.fields(a), F32.fields(b)), strict=True)
                if fields.cls not in (Class.NAN, Class.INFINITY)
            ]
            return both(*said)

        yield Claim(
            "product: significands", "what is multiplied are the model's significands", "both codes", (),
            each(paths(significands)), ports,
        )  # fmt: skip
        found = substituted(circuit.outputs["product"], {product: any_product})
        empty = same(any_product, value(0, bits))
        # A product of significands is zero just where one is.
        facts = op(Kind.EQUAL, empty, either(*(same(sig, value(0, width(sig))) for sig in sigs)))

        def entering() -> Term:
            one, other = of_known_sign(F32.fields(a)), of_known_sign(F32.fields(b))
            kinds, sign = {one.cls, other.cls}, one.sign ^ other.sign
            if Class.NAN in kinds or kinds == {Class.INFINITY, Class.ZERO}:
                return same(found, value(nan_code(F32), 32))
            if Class.INFINITY in kinds:
                return same(found, value(infinity_code(F32, sign, "infinity"), 32))
            top = one.exp + other.exp + 1 + target.bias
            return same(found, encoding.of(any_product, top, value(sign, 1)))

        yield Alike(
            "product: entering", "any product is rounded with the sum of both exponents and both signs'; what is no "
            "number becomes what IEEE 754 says",
            "both codes, any product that is zero just where a significand is", (facts,),
            each(paths(entering, (facts,))), (any_product, *ports),
        )  # fmt: skip
        yield from encoding.claims("product", 2 * F32.emin + 1, 2 * F32.emax + 1)


def _quotient(end: Circuit, name: str, made: str, finish: Finish) -> Claim:
    state = {field: end.inputs[f"i__division__{field}"] for field in STATE}
    bits, rest = Integer.unsigned(state["quotient"]), Integer.unsigned(state["rest"])
    top, found = Integer.signed(state["top_bexp"]), Integer.unsigned(end.outputs[f"o__{made}"])
    nan, inf, zero = (is_one(state[flag]) for flag in ("nan", "inf", "zero"))
    reach = F32.emax - F32.emin + F32.fraction_bits + 1
    known = (
        # Both significands were in [1, 2), so that the quotient is above a half; one of the flags at most is set.
        implies(negated(either(nan, inf, zero)), both(
            holds(bits >= 1 << ROWS - 2), holds(top >= F32.bias - reach), holds(top <= F32.bias + reach)
        )),
        negated(both(inf, zero)),
    )  # fmt: skip

    def result() -> Any:
        sign = int(as_integer(Integer.unsigned(state["sign"])) != 0)
        if Truth(nan):
            code = nan_code(F32)
        elif Truth(inf):
            code = infinity_code(F32, sign, "infinity")
        elif Truth(zero):
            code = pack(F32, sign, 0)
        else:
            code = rounded_quotient(sign, bits, ite(rest == 0, 0, 1), top - F32.bias)
        return finish(end, code)

    return Claim(
        f"{name}: quotient", "the quotient in binary32 leaves, rounded once", "any quotient and rest", known,
        is_each(found, paths(result, known)), tuple(state.values()),
    )  # fmt: skip
