"""The claims of block quantisers: what counts in amax, quotients as scales, thresholds, binary32 arithmetic."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any

from hwsim.formats import Class, Fields, FloatFormat, Format
from hwsim.formats.blocks import field_format
from hwsim.model.conversion import convert, encode_fields
from hwsim.model.rounding import infinity_code, nan_code, pack, round_to
from hwsim.prove.additions import of_known_sign
from hwsim.prove.circuits import Circuit, circuits, connected, fixed
from hwsim.prove.claims import AnyClaim, CasesClaim, Claim, StructuralClaim, each, holds, is_each
from hwsim.prove.factors import narrowed
from hwsim.prove.linear import children_first, without_maxima
from hwsim.prove.rounding import Encoding, by_leading_one, leading_ones
from hwsim.prove.streams import StreamFile, alike, steps_of
from hwsim.prove.sweeping import Alike
from hwsim.prove.symbolic import Integer, Path, Truth, as_integer, ite, paths
from hwsim.prove.terms import (
    Kind,
    Term,
    below,
    both,
    choose,
    constant,
    either,
    implies,
    is_one,
    negated,
    op,
    part,
    possible,
    same,
    substituted,
    value,
    width,
)
from hwsim.quantize.block import BlockQuantization
from hwsim.quantize.rule import Apply, Rule, Special, TensorScale, infinity_codes
from hwsim.quantize.rule import nan_code as element_nan
from hwsim.rtl import stream_plan
from hwsim.rtl.quantizer import flushes, tensor_fields
from hwsim.rtl.single import (
    F32,
    INFINITY,
    ROWS,
    Multiply32,
    Recode,
    Threshold,
    magnitude,
    nearest_single,
    product_target,
    row_stage,
    single_code,
)
from hwsim.spec.conversion import Conversion


class BlockClaims:
    """Claims about a block quantiser. Raises NotImplementedYet for a rule that the RTL does not have."""

    def __init__(self, quantization: BlockQuantization, cuts: Sequence[str] | None = None, text: str | None = None):
        """text: the file's text, where it is not the one that hwsim writes."""
        self.q, self.plan, self.text = quantization, stream_plan(quantization, cuts), text

    @cached_property
    def steps(self) -> dict[str, Circuit]:
        """Each step by itself, in order."""
        return steps_of(self.plan)

    def _joined(self, *names: str) -> Circuit:
        return connected([self.steps[name] for name in names])

    @property
    def _amax(self) -> list[str]:
        return [name for name in self.steps if name.startswith("amax")]

    # What counts in amax.

    def _special(self) -> Iterator[AnyClaim]:
        circuit, q, rule = self.steps["special"], self.q, self.q.rule
        source = q.float_source
        port = circuit.inputs["i__x__0"]
        code = Integer.unsigned(port) >> source.padding

        def counted() -> tuple[object, bool]:
            """Return a number's magnitude bits in amax, and True if it makes the scale NaN."""
            fields, bits = self._fields(code), code & (source.sign_bit - 1)
            match fields.cls:
                case Class.NAN:
                    return 0, rule.nan is Special.BLOCK
                case Class.INFINITY:
                    return bits if rule.infinity is Special.AMAX else 0, rule.infinity is Special.BLOCK
                case Class.ZERO:
                    return 0, False
                case _:
                    return bits, False

        quiet = {name: value(0, width(term)) for name, term in circuit.inputs.items() if name != "i__x__0"}
        alone = fixed(circuit, {name: term for name, term in quiet.items() if name.startswith("i__x__")}).outputs
        counts, dead = Integer.unsigned(alone["o__maxima__0"]), is_one(alone["o__dead"])
        right = [
            Path(path.condition, both(holds(counts == path.result[0]), dead if path.result[1] else negated(dead)))
            for path in paths(counted, self._clean(port))
        ]
        yield Claim(
            "lane: counted", "a number counts in amax, or makes the scale NaN, as the rule says", self._codes,
            self._clean(port), each(right), (port,),
        )  # fmt: skip
        yield StructuralClaim(
            "lanes: counted", "every lane counts alike", f"{q.lanes} lanes",
            lambda: alike(circuit, "maxima", ["x"], q.lanes),
        )  # fmt: skip
        every = []
        for lane in range(q.lanes):
            others = {name: term for name, term in circuit.inputs.items() if name.startswith("i__x__")}
            others.pop(f"i__x__{lane}")
            zeros = {name: value(0, width(term)) for name, term in others.items()}
            every.append(is_one(fixed(circuit, zeros).outputs["o__dead"]))
        yield Claim(
            "flag: gathered", "the scale is NaN where one number alone would make it so", "all numbers", (),
            same(is_one(circuit.outputs["o__dead"]), either(*every)), tuple(circuit.inputs.values()),
        )  # fmt: skip

    @property
    def _codes(self) -> str:
        return f"codes of {self.q.source.name}"

    def _clean(self, port: Term) -> tuple[Term, ...]:
        """The condition that a code's padding is zeros."""
        padding = self.q.source.padding
        return (holds(Integer.unsigned(port) & ((1 << padding) - 1) == 0),) if padding else ()

    def _fields(self, code: Any) -> Fields:
        """The model's fields of a code, flushed where the rule says so."""
        source, rule = self.q.float_source, self.q.rule
        fields = source.fields(code)
        # Binary32's subnormals alone are flushed: no other source's number that is one is below 2^-126.
        if rule.flush and fields.cls is Class.SUBNORMAL and source.emin == -126:
            return fields._replace(sig=0, cls=Class.ZERO)
        return fields

    def _largest(self) -> Iterator[AnyClaim]:
        circuit, q = self._joined(*self._amax), self.q
        source = q.float_source
        leaves = [circuit.inputs[f"i__maxima__{lane}"] for lane in range(q.lanes)]
        tree = without_maxima(circuit.outputs["o__amax"], leaves)
        whole = len(tree.groups) == 1 and frozenset(leaves) in tree.groups.values()
        yield StructuralClaim(
            "amax: tree", "one magnitude is left, the largest of all", f"{q.lanes} lanes", lambda: whole
        )
        if not whole:
            return
        (largest,) = tree.groups
        single = Conversion(source=source, target="f32", overflow="infinity")  # type: ignore[arg-type]
        bits = Integer.unsigned(largest)
        top = source.max_magnitude if source.infinity_magnitude is None else source.infinity_magnitude
        known = (holds(bits <= top),)
        right = is_each(
            Integer.unsigned(tree.term), paths(lambda: encode_fields(single, source.fields(bits), 0), known)
        )
        yield Claim("amax: binary32", "amax is that magnitude in binary32", self._codes, known, right, (largest,))

    # The file.

    def _file(self) -> Iterator[AnyClaim]:
        q, file = self.q, StreamFile(self.plan, self.text)
        yield from file.control()
        whole = file.of_steps(self.steps)
        codes = [same(file.field("o", "codes", lane), whole[f"o__codes__{lane}"]) for lane in range(q.lanes)]
        yield Alike(
            "file: codes", "the codes that leave are what the steps, one after another, make of what entered",
            "all numbers", (), both(*codes),
        )  # fmt: skip
        yield Alike(
            "file: scale", "and so is the scale", "all numbers", (), same(file.field("o", "scale"), whole["o__scale"]),
        )  # fmt: skip


STATE = ("rest", "quotient", "divisor", "sign", "top_bexp", "nan", "inf", "zero")
Finish = Callable[[Circuit, Any], Any]  # of the last step, and of a quotient's code: what leaves


def rounded_quotient(sign: int, bits: Any, more: Any, top: Any) -> int:
    """Return the code of a quotient.

    bits: the first `ROWS`, cut off. more: 1 where there is a rest. top: the exponent of the first bit. Below half of a
    last place it matters only that there is something.
    """
    return round_to(F32, sign, 2 * bits + more, top - ROWS, "rne", "infinity").code


def quotient(x: Fields, y: Fields) -> int:
    """Return the code of x / y in binary32, rounded once to nearest even. x, y: of binary32's codes."""
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
    """The claims that divisions share: those of their rows."""

    @cached_property
    def row(self) -> Circuit:
        """One row's circuit."""
        return circuits({"row": row_stage()})["row"]

    def row_claim(self) -> Claim:
        """Return the claim of what a row keeps."""
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
        """Yield the claims of a division of fields of codes, or of a number's code.

        made: the field that its last step makes.
        """
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
            conditions = [same(out[flag], value(bit, 1)) for flag, bit in flags.items()]
            if not infinite and not empty:
                tops = []
                for fields, field in ((one, "rest"), (other, "divisor")):
                    length = as_integer(fields.sig).bit_length()
                    conditions.append(holds(Integer.unsigned(out[field]) == fields.sig << F32.precision - length))
                    tops.append(fields.exp + length - F32.precision)
                conditions.append(holds(Integer.signed(out["top_bexp"]) == tops[0] - tops[1] + F32.bias))
                conditions.append(same(out["quotient"], value(0, ROWS)))
            return both(*conditions)

        yield Claim(
            f"{name}: begin", "it begins with both significands, leading ones on top, an exponent and a sign, and "
            "knows what is no number",
            "both codes", (), each(paths(begun)), ports,
        )  # fmt: skip
        rows = connected([self.row] * ROWS)
        through = connected([steps[f"{name}.2"], steps[f"{name}.3"]])
        state = {f"i__division__{field}": through.inputs[f"i__division__{field}"] for field in STATE}
        made_rows = fixed(rows, state).outputs
        yield Alike(
            f"{name}: rows", f"{ROWS} rows follow", "any state", (),
            both(*(same(through.outputs[port], made_rows[port]) for port in made_rows)), tuple(state.values()),
        )  # fmt: skip
        yield _quotient(steps[name], name, made, finish)


class Multiplier:
    """The multiplier, and its products of two codes."""

    @cached_property
    def circuit(self) -> Circuit:
        """The multiplier's circuit by itself."""
        return circuits({"product": Multiply32()})["product"]

    def of(self, a: Term, b: Term) -> Term:
        """Return the product of two codes."""
        return substituted(self.circuit.outputs["product"], {self.circuit.inputs["a"]: a, self.circuit.inputs["b"]: b})

    def claims(self) -> Iterator[AnyClaim]:
        """Yield the claims that it is binary32's."""
        circuit, encoding = self.circuit, Encoding(product_target(), "rne", "infinity")
        target = encoding.target
        ports = circuit.inputs["a"], circuit.inputs["b"]
        a, b = map(Integer.unsigned, ports)
        (product,) = (node for node in children_first(circuit.outputs["product"]) if node.kind() == Kind.BV_MUL)
        sigs = [narrowed(side) for side in product.children()]
        bits = target.magnitude_bits
        any_product = constant("any.product", bits)

        def significands() -> Term:
            equalities = [
                holds(Integer.unsigned(sig) == fields.sig)
                for sig, fields in zip(sigs, (F32.fields(a), F32.fields(b)), strict=True)
                if fields.cls not in (Class.NAN, Class.INFINITY)
            ]
            return both(*equalities)

        yield Claim(
            "product: significands", "what is multiplied are the model's significands", "both codes", (),
            each(paths(significands)), ports,
        )  # fmt: skip
        result = substituted(circuit.outputs["product"], {product: any_product})
        empty = same(any_product, value(0, bits))
        # A product of significands is zero just where one is.
        facts = op(Kind.EQUAL, empty, either(*(same(sig, value(0, width(sig))) for sig in sigs)))

        def entering() -> Term:
            first, second = of_known_sign(F32.fields(a)), of_known_sign(F32.fields(b))
            kinds, sign = {first.cls, second.cls}, first.sign ^ second.sign
            if Class.NAN in kinds or kinds == {Class.INFINITY, Class.ZERO}:
                return same(result, value(nan_code(F32), 32))
            if Class.INFINITY in kinds:
                return same(result, value(infinity_code(F32, sign, "infinity"), 32))
            top = first.exp + second.exp + 1 + target.bias
            return same(result, encoding.of(any_product, top, value(sign, 1)))

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
    top, output = Integer.signed(state["top_bexp"]), Integer.unsigned(end.outputs[f"o__{made}"])
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
        is_each(output, paths(result, known)), tuple(state.values()),
    )  # fmt: skip


def smallest_reaching(product: Fields, denominator: int) -> int:
    """Return binary32's least code, at most infinity's, of a number no less than a number times a factor.

    product: the number's fields, with the product of its significand and the factor's numerator. denominator: the
    factor's.
    """
    unit_exp = product.exp - F32.fraction_bits - (denominator.bit_length() - 1)
    return round_to(F32, 0, product.sig, unit_exp, "ru", "infinity").code


def threshold_claims(rule: Rule, circuit: Circuit) -> Iterator[AnyClaim]:
    """Yield the claims of a step that makes thresholds of what elements are divided by."""
    fmt = rule.element
    assert isinstance(fmt, FloatFormat)
    yield StructuralClaim(
        "thresholds: meaning", "x / d, rounded to binary32 and then, reaches a magnitude where x is above d "
        "times a factor of 25 bits, which no x equals",
        f"{fmt.max_magnitude} magnitudes of {fmt.name}", lambda: _mean(rule),
    )  # fmt: skip
    for step in range(1, fmt.max_magnitude + 1):
        yield from _threshold(rule, circuit, step)


def _threshold(rule: Rule, circuit: Circuit, step: int) -> Iterator[AnyClaim]:
    factor = Threshold.of(rule, step).factor
    port, output = circuit.inputs["i__operand"], circuit.outputs[f"o__thresholds__{step - 1}"]
    operand = Integer.unsigned(port)
    known = (holds(operand <= INFINITY),)  # no NaN, and no sign: scales have none
    (multiplied,) = (node for node in children_first(output) if node.kind() == Kind.BV_MUL)
    sig, number = map(narrowed, multiplied.children())
    bits, most = width(multiplied), factor.numerator * ((1 << F32.precision) - 1)
    # What is kept of the product where any number takes its place.
    empty = [same(term, value(0, width(term))) for term in (multiplied, sig)]
    facts = both(
        op(Kind.EQUAL, *empty), negated(below(value(most, bits), multiplied)),
        either(empty[1], negated(below(multiplied, value(factor.numerator, bits)))),
    )  # fmt: skip

    def significand() -> Term:
        fields = F32.fields(operand)
        return holds(fields.cls is Class.INFINITY or Integer.unsigned(sig) == fields.sig)

    yield Claim(
        f"threshold {step}: product", "the model's significand is multiplied by the factor's; the product is zero "
        "just where the significand is, or else no less than the factor's",
        "every operand that is no NaN", known,
        both(same(number, value(factor.numerator, width(number))), each(paths(significand, known)), facts), (port,),
    )  # fmt: skip

    def of(product: Any, show: tuple[Term, ...], few: tuple[Term, ...], case: str) -> Claim | None:
        """The claim where the product is a number; None where it cannot be: none is less than the factor's."""
        by = {multiplied: as_integer(product).at(bits)}
        assumed = (*known, *few, substituted(facts, by))
        if not possible(assumed):
            return None

        def least() -> Any:
            fields = F32.fields(operand)
            if fields.cls in (Class.INFINITY, Class.ZERO):
                return INFINITY
            return smallest_reaching(fields._replace(sign=0, sig=product), factor.denominator)

        right = is_each(Integer.unsigned(output), paths(least, assumed))
        return Claim(case, "", "", assumed, substituted(right, by), (port, *show))

    yield CasesClaim(
        f"threshold {step}", "it is the least number of binary32 above that product, or infinity",
        "every operand that is no NaN; every place of the leading one of any product",
        lambda: filter(None, chain([of(0, (), (), "zero")], by_leading_one(of, most, signs=False))),
    )  # fmt: skip
    yield leading_ones(f"threshold {step}", most)


def _mean(rule: Rule) -> bool:
    """True if thresholds are right, by the model's conversion of the codes beside each step; it grows with the code."""
    fmt = rule.element
    assert isinstance(fmt, FloatFormat)
    narrow = Conversion(source=F32, target=fmt, rounding=rule.rounding, overflow=rule.overflow)  # type: ignore[arg-type]
    for step in range(1, fmt.max_magnitude + 1):
        factor = Threshold.of(rule, step).factor
        above = bisect_left(range(INFINITY), factor, key=lambda code: magnitude(F32, code))
        sides = [convert(narrow, code) & (fmt.sign_bit - 1) for code in (above - 1, above)]
        middle = (magnitude(F32, above) + magnitude(F32, above - 1)) / 2
        odd = factor.numerator % 2 == 1 and factor.numerator.bit_length() == F32.precision + 1
        if not (sides[0] < step <= sides[1] and factor == middle and odd):
            return False
    return True


MAGNITUDE = 31  # bits of binary32 below the sign


class DividedClaims(BlockClaims):
    """All claims about a quantiser whose scales are quotients."""

    def claims(self) -> Iterator[AnyClaim]:
        """Yield the claims in the order of the steps."""
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
        yield StructuralClaim(
            "lanes: elements", "every lane makes the same", f"{self.q.lanes} lanes", self._elements_alike
        )
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
        output, least = Integer.unsigned(circuit.outputs["o__scale"]), int(rule.least_scale)
        narrow = Conversion(source=F32, target=field_format(fmt), missing="saturate")
        alive = (negated(dead), negated(zero))

        def rounded() -> Any:
            code = as_integer(convert(narrow, ratio))
            return ite(code < least, least, code)

        right = is_each(output, paths(rounded, alive))
        nan = holds(output == element_nan(fmt))
        empty = holds(output == int(rule.zero_scale))
        return Claim(
            "scale", f"it is the ratio in {fmt.name}, no less than the least; of zeros and of NaNs what the rule says",
            "every ratio", (),
            both(implies(dead, nan), implies(both(negated(dead), zero), empty), implies(both(*alive), right)), (port,),
        )  # fmt: skip

    def _operand(self) -> Iterator[AnyClaim]:
        circuit, rule = self.steps["operand"], self.q.rule
        fmt, port = rule.scale_format, circuit.inputs["i__scale"]
        wide, recode = Conversion(source=field_format(fmt), target=F32), self._recode(fmt)
        result = recode.outputs["result"]
        cases = [
            same(substituted(result, {recode.inputs["code"]: value(code, width(port))}), value(convert(wide, code), 32))
            for code in range(fmt.max_code + 1)
        ]
        yield Claim("operand: scale", "a scale's code becomes binary32's", f"codes of {fmt.name}", (), both(*cases))
        scale = substituted(result, {recode.inputs["code"]: port})
        operand, words = scale, "what elements are divided by is the scale"
        if "tensor_scale" in tensor_fields(rule) and rule.apply is not Apply.TENSOR_RECIPROCAL:
            operand, words = (
                self._multiplier.of(scale, circuit.inputs["i__tensor_scale"]),
                f"{words} times the tensor's",
            )
        yield Alike("operand", words, "every scale", (), same(circuit.outputs["o__operand"], operand), (port,))

    def _limited(self, circuit: Circuit, code: Any) -> Any:
        """The code by which elements are multiplied: never infinite, and without a scale what the rule says."""
        operand = Integer.unsigned(circuit.inputs["i__operand"]) & (1 << MAGNITUDE) - 1
        limited = ite(as_integer(code) == INFINITY, F32.max_magnitude, code)
        return ite(operand == 0, F32.max_magnitude if self.q.rule.no_scale == "multiplied" else 0, limited)

    def _recode(self, source: Format) -> Circuit:
        """The circuit of a conversion to binary32."""
        return circuits({"recode": Recode(Conversion(source=field_format(source), target=F32, overflow="infinity"))})[
            "recode"
        ]

    def _product(self, name: str, one: str, other: str | int, made: str) -> Claim:
        """The claim of a product of two fields of codes in binary32, or of a field and a number's code."""
        circuit = self.steps[name]
        ports = [
            circuit.inputs[f"i__{field}"] if isinstance(field, str) else value(field, 32) for field in (one, other)
        ]
        return Alike(
            f"{name}: product", "it is the product in binary32, rounded once", "both codes", (),
            same(circuit.outputs[f"o__{made}"], self._multiplier.of(*ports)), tuple(ports),
        )  # fmt: skip

    # Elements, by comparison.

    def _compared(self) -> Claim:
        """The claim of an element's code, from the thresholds that its magnitude has reached."""
        circuit, q, rule = self.steps["round"], self.q, self.q.rule
        fmt, source = rule.element, q.float_source
        assert isinstance(fmt, FloatFormat)
        port, dead = circuit.inputs["i__x__0"], is_one(circuit.inputs["i__dead"])
        code = Integer.unsigned(port) >> source.padding
        steps = [Integer.unsigned(circuit.inputs[f"i__thresholds__{index}"]) for index in range(fmt.max_magnitude)]
        element = Integer.unsigned(circuit.outputs["o__codes__0"])
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
            f"{self._codes}, any thresholds", self._clean(port), is_each(element, paths(encoded, self._clean(port))),
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
        result = Integer.unsigned(circuit.outputs["o__codes__0"])
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
            f"{self._codes}, any product", self._clean(port), is_each(result, paths(encoded, self._clean(port))),
            (port, circuit.inputs["i__products__0"]),
        )  # fmt: skip

    def _elements_alike(self) -> bool:
        """True if all lanes make alike products, where there are any, and codes."""
        products = "scaled" not in self.steps or alike(self.steps["scaled"], "products", ["x"], self.q.lanes)
        return products and alike(self.steps["round"], "codes", ["x", "words", "products"], self.q.lanes)
