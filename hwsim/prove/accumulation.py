"""The claims of what follows a group's sum: a late addend, a promotion's register, and the addition to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

from amaranth.lib.data import StructLayout

from hwsim.formats import Class, FloatFormat, Format, unpack
from hwsim.model.late import exact_product
from hwsim.model.rounding import add
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.terms import align
from hwsim.prove.additions import (
    AdderCircuits,
    AdderClaims,
    NumberFields,
    PlacedNumber,
    RoundedAddition,
    is_decoded,
    is_sum_of_both,
    of_known_sign,
    special_codes,
)
from hwsim.prove.circuits import Circuit, adder_circuits, circuits, connected, fixed
from hwsim.prove.claims import SPECIAL, AnyClaim, Claim, StructuralClaim, adding, each, exactly, holds, is_each
from hwsim.prove.composition import Calls, ModelCall, Unmet
from hwsim.prove.factors import product_claims
from hwsim.prove.following import followed
from hwsim.prove.lemmas import zero_terms
from hwsim.prove.sweeping import Alike
from hwsim.prove.symbolic import Integer, Path, as_integer, ite, paths
from hwsim.prove.terms import Term, both, either, implies, is_one, negated, part, same, substituted, true, value
from hwsim.rtl.accumulate import Accumulation, Adder, FirstProduct, accumulation, smaller_promotion
from hwsim.rtl.addition import FloatAdder, RoundedNumber
from hwsim.rtl.numbers import FieldRange, as_float, result_layout
from hwsim.spec import Unit
from hwsim.spec.keys import Number
from hwsim.spec.parts import Promotion, ScaledPromotion

OPERANDS = ("register", "partial")


class PromotionClaims:
    """All claims about the adder of a unit's promotion register.

    steps: its circuits, where they are not those of the unit's own RTL.
    """

    def __init__(
        self, unit: Unit, rule: Promotion, cuts: Sequence[str] = (), steps: Mapping[str, Circuit] | None = None
    ):
        self.unit, self.rule, self.fmt, self.partial = unit, rule, rule.format, as_float(unit.result.format)
        self.adder = Adder(self.partial, rule)
        if steps is None:
            steps = adder_circuits(unit, cuts)
        self.decode = steps["promote.decode"]
        self.align, self.sum, self.round = adding(steps, "promote")
        self.bias = FieldRange.of(self.fmt).bias
        self.calls = after_calls(unit)
        add = self.calls["add"]
        if (add["fmt"], add["rounding"], add["flush"], add["overflow"]) != (self.fmt, rule.rounding, None, "ieee"):
            raise Unmet(f"partial sums are added otherwise than the RTL does: {add.arguments}")
        self.addition = RoundedAddition(add, self.adder.fraction_bits + 1, (1, self.adder.most), self._exps[0])

    @property
    def what(self) -> Accumulation:
        """The addition to the register."""
        return Accumulation(self.unit, self.rule)

    @property
    def chain(self) -> Sequence[Circuit]:
        """The circuits of its steps, one after another."""
        return self.decode, self.align, self.sum, self.round

    def claims(self) -> Iterator[AnyClaim]:
        """Yield the claims in the order of the steps."""
        for name, fmt in (("register", self.fmt), ("partial", self.partial)):
            for call in [f"kept {kept}" for kept in KEPT] if name == "register" else [name]:
                if call in self.calls:
                    yield self._decoded(name, fmt, self.calls[call])
        begins_with_zero(self.unit, self.calls)
        for name in OPERANDS:
            yield self._aligned(name)
        yield StructuralClaim("promotion: sum", "the total is the sum of both, exactly", "both operands", self._is_sum)
        yield self._rounded()
        yield self._special()
        yield self._zero_sign()
        yield self.addition.composition("promotion", [self._placed(name) for name in OPERANDS])
        yield from self.addition.claims("promotion")

    def _fields(self, ports: Mapping[str, Term], name: str, prefix: str) -> tuple[Any, Any, Any, Term, Term]:
        sign, bexp, sig, nan, inf = (
            ports[f"{prefix}__{name}__{field}"] for field in ("sign", "bexp", "sig", "nan", "inf")
        )
        signed = name == "partial" and min(1 + self.adder.move, 1) < 1
        exp = (Integer.signed if signed else Integer.unsigned)(bexp)
        return Integer.unsigned(sign), exp, Integer.unsigned(sig), nan, inf

    def _decoded(self, name: str, fmt: FloatFormat, call: ModelCall) -> Claim:
        sign, exp, sig, nan, inf = self._fields(self.decode.outputs, name, "o")
        port = self.decode.inputs[f"i__{name}"]
        code = Integer.unsigned(port) << fmt.padding

        def right(term: ModelTerm) -> Term:
            is_nan, is_inf = is_one(nan), is_one(inf)
            match term.cls:
                case Class.NAN:
                    return is_nan
                case Class.INFINITY:
                    return both(negated(is_nan), is_inf, holds(sign == term.sign))
            finite = both(negated(is_nan), negated(is_inf), holds(sign == term.sign))
            if term.cls is Class.ZERO:
                return both(finite, holds(sig == 0), self._decodes_to(name, exp, sig))
            # The same number, at the exponent of the RTL: shifted where a subnormal becomes normal.
            up = as_integer(term.exp) + self.bias - exp
            number = as_integer(term.sig) << (self.fmt.fraction_bits - term.fraction_bits)
            moved: Term = true()
            most = self.partial.fraction_bits
            for places in range(-most, most + 1):
                same = holds(sig == number << places) if places >= 0 else holds(sig << -places == number)
                moved = both(moved, implies(holds(up == places), same))
            near = exactly(up, -most, most)
            return both(finite, moved, near, holds(sig != 0), self._decodes_to(name, exp, sig))

        runs = paths(lambda: call(code))
        claim = each([Path(path.condition, right(path.result)) for path in runs])
        return Claim(
            f"promotion: {name}", "a decoded code is the model's term, at an exponent of the register's",
            f"codes of {fmt.name}", (), claim, (port,),
        )  # fmt: skip

    @property
    def _exps(self) -> tuple[int, int]:
        return min(1 + self.adder.move, 1), self.adder.most

    def _decodes_to(self, name: str, exp: Any, sig: Any) -> Term:
        """The condition on every finite operand: the relation between decoding and alignment.

        Its significand is normal, unless it stands at the least exponent: none can hide behind a larger one.
        """
        least, most = self._exps
        within = exactly(exp, 1 if name == "register" else least, most)
        return both(within, self.addition.leads(sig, exp, self.fmt.precision))

    def _placed(self, name: str) -> PlacedNumber:
        _, exp, sig, _, _ = self._fields(self.align.inputs, name, "i")
        show = tuple(term for port, term in self.align.inputs.items() if port.startswith(f"i__{name}__"))
        return PlacedNumber(sig, exp, self.fmt.precision, (self._decodes_to(name, exp, sig),), show)

    def _aligned(self, name: str) -> Claim:
        """The claim about an operand in the window, below the larger exponent of both."""
        rival_name = OPERANDS[1 - OPERANDS.index(name)]
        sign, exp, sig, _, _ = self._fields(self.align.inputs, name, "i")
        _, rival, rival_sig, _, _ = self._fields(self.align.inputs, rival_name, "i")
        known = [self._decodes_to(name, exp, sig), self._decodes_to(rival_name, rival, rival_sig)]
        term = ModelTerm(sign, exp.between(*self._exps), sig, self.fmt.fraction_bits, Class.NORMAL)
        ones, carry = (self.align.outputs[f"o__{name}_{field}"] for field in ("ones", "carry"))
        number = Integer.signed(ones) + Integer.unsigned(carry)
        top = as_integer(self._larger(exp, rival)).between(1, self.adder.most)

        def aligned() -> object:
            return align(term, top, self.adder.fraction_bits, "jam") if term.sig else 0

        claim = each([Path(path.condition, holds(number == path.result)) for path in paths(aligned, known)])
        same_top = holds(Integer.unsigned(self.align.outputs["o__max_exp"]) == top)
        show = [signal for port, signal in self.align.inputs.items() if port.split("__")[1] in OPERANDS]
        return Claim(
            f"promotion: {name} aligned", "it is shifted below the larger exponent, and its lost bits are jammed",
            "both operands", tuple(known), both(claim, same_top), tuple(show),
        )  # fmt: skip

    @staticmethod
    def _larger(first: Any, second: Any) -> Any:
        return ite(first > second, first, second)

    def _is_sum(self) -> bool:
        inputs = self.sum.inputs
        pairs = [(inputs[f"i__{name}_ones"], inputs[f"i__{name}_carry"]) for name in OPERANDS]
        passed = all(self.sum.outputs[f"o__{name}"] == inputs[f"i__{name}"] for name in ("max_exp", "zero_sign"))
        return passed and is_sum_of_both(self.sum.outputs["o__total"], pairs, (2 << self.adder.fraction_bits) - 1)

    def _rounded(self) -> Claim:
        inputs = self.round.inputs
        total, top = Integer.signed(inputs["i__total"]), Integer.unsigned(inputs["i__max_exp"])
        most = 2 * ((1 << self.adder.fraction_bits + 1) - 1)
        known = [
            exactly(total, -most, most), exactly(top, 1, self.adder.most),
            *(negated(is_one(inputs[f"i__special__{flag}"])) for flag in SPECIAL),
        ]  # fmt: skip
        inside, exp = total.between(-most, most), top.between(1, self.adder.most)

        def rounded() -> object:
            return self.addition.code_of(inside, exp) if inside else None

        code, sign = Integer.unsigned(self.round.outputs["o__code"]), Integer.unsigned(inputs["i__zero_sign"])
        zero = sign << self.fmt.bits - 1 if self.fmt.signed_zero else 0
        right = [
            Path(path.condition, holds(code == zero) if path.result is None
                 else holds(code << self.fmt.padding == path.result))
            for path in paths(rounded, known)
        ]  # fmt: skip
        return Claim(
            "promotion: result", "the code is the model's rounding of the total", "every total and exponent",
            tuple(known), each(right), (inputs["i__total"], inputs["i__max_exp"]),
        )  # fmt: skip

    def _special(self) -> Claim:
        """The claim that flags alone decide the code where an operand is special."""
        inputs = self.align.inputs
        fields = [self._fields(inputs, name, "i") for name in OPERANDS]
        nan = either(*(is_one(operand[3]) for operand in fields))
        signs = [[both(is_one(operand[4]), holds(operand[0] == sign)) for operand in fields] for sign in (0, 1)]
        positive, negative = (either(*each) for each in signs)
        not_a_number = either(nan, both(positive, negative))
        code = Integer.unsigned(connected([self.align, self.sum, self.round]).outputs["o__code"]) << self.fmt.padding
        padding = (1 << self.fmt.padding) - 1  # of a NaN that has ones there, which the RTL's code has not
        codes = special_codes(self.addition)
        infinite = [both(flag, negated(not_a_number)) for flag in (positive, negative)]
        wanted = [
            implies(when, holds(code == result & ~padding))
            for when, result in zip((not_a_number, *infinite), codes, strict=True)
        ]
        return Claim(
            "promotion: special", "NaN and infinities give the model's code, whatever the numbers are", "all operands",
            (), both(*wanted), tuple(inputs.values()),
        )  # fmt: skip

    def _zero_sign(self) -> Claim:
        ports = [self.align.inputs[f"i__{name}__sign"] for name in OPERANDS]
        zero_sign = self.align.outputs["o__zero_sign"]
        wanted = []
        for signs in product((0, 1), repeat=2):
            right = int(self.addition.code(*zero_terms(signs)) != 0) if self.fmt.signed_zero else 0
            here = both(*(same(port, value(sign, 1)) for port, sign in zip(ports, signs, strict=True)))
            wanted.append(implies(here, same(zero_sign, value(right, 1))))
        return Claim(
            "promotion: sign of zero", "a sum of zero has the sign that both share, or that of the rounding",
            "all signs", (), both(*wanted), tuple(ports),
        )  # fmt: skip


class AccumulationClaims:
    """All claims about what a unit adds after a group's sum.

    steps: its circuits, where they are not those of the unit's own RTL.
    """

    def __init__(
        self, unit: Unit, what: Accumulation, cuts: Sequence[str] = (), steps: Mapping[str, Circuit] | None = None
    ):
        self.unit, self.what, self.fmt, name = unit, what, what.format, what.name
        self.calls = after_calls(unit)
        if steps is None:
            steps = adder_circuits(unit, cuts)
        self.first = None if what.scaling is None else steps[f"{name}.scale"]
        self.decode = steps[f"{name}.decode"]
        self.adder = FloatAdder(what.format, what.rounding, what.x, what.y, what.flushes)
        self.steps = AdderCircuits(*adding(steps, name))

    @property
    def chain(self) -> Sequence[Circuit]:
        """The circuits of its steps, one after another."""
        first = () if self.first is None else (self.first,)
        return *first, self.decode, self.steps.align, self.steps.sum, self.steps.round

    def claims(self) -> Iterator[AnyClaim]:
        """Yield the claims in the order of the steps."""
        what, name = self.what, self.what.name
        of_addend = [source for source in ("c", "entered") if f"kept {source}" in self.calls]
        if what.start is None:
            yield from self._kept("register", what.format, ["register", *of_addend], {})
        else:
            yield from self._kept("register", what.format, ["register"], {"i__starts": 0})
            yield from self._kept("addend", what.start, of_addend, {"i__starts": 1})
        begins_with_zero(self.unit, self.calls)
        if self.first is None or what.scaling is None:
            yield self._added()
        else:
            yield from self._first(self.first, what.scaling)
            yield from self._scaled(what.scaling)
        numbers = [
            NumberFields(self.steps.align.inputs, f"i__{side}", span, what.format)
            for side, span in (("x", what.x), ("y", what.y))
        ]
        yield from AdderClaims(name, self.adder, self.steps, numbers, self.calls["add"]).claims()

    def _kept(self, which: str, fmt: Number, sources: Sequence[str], given: Mapping[str, int]) -> Iterator[Claim]:
        """Yield the claims about a kept code, of the format of sums or of the addend's own format.

        sources: the codes that the model keeps.
        """
        circuit = fixed(self.decode, {name: value(number, 1) for name, number in given.items()})
        whole = circuit.inputs["i__register"]
        port = part(whole, 0, fmt.bits)
        code, shown = Integer.unsigned(port) << fmt.padding, list[tuple[ModelCall, ModelCall | None]]()
        for source in sources:
            flush = self.calls.get(f"flush {source}")
            term = self.calls[f"kept {source}"]
            if any(
                term.same(earlier) and (its_flush is flush or (its_flush and flush and its_flush.same(flush)))
                for earlier, its_flush in shown
            ):
                continue
            shown.append((term, flush))
            right = [
                Path(path.condition, is_decoded(circuit.outputs, "o__x", self.what.x, self.fmt, path.result))
                for path in paths(lambda term=term, flush=flush: term(code if flush is None else flush(code)))  # type: ignore[misc]
            ]
            yield Claim(
                f"{self.what.name}: {which}", "a decoded code is the model's term, normalised", f"codes of {fmt.name}",
                (), each(right), (whole,),
            )  # fmt: skip

    def _added(self) -> Claim:
        port, fmt = self.decode.inputs["i__partial"], self.what.partial
        code = Integer.unsigned(port) << fmt.padding
        right = [
            Path(path.condition, is_decoded(self.decode.outputs, "o__y", self.what.y, self.fmt, path.result))
            for path in paths(lambda call=self.calls["partial"]: call(code))  # type: ignore[misc]
        ]
        return Claim(
            f"{self.what.name}: partial", "a decoded code is the model's term, normalised", f"codes of {fmt.name}", (),
            each(right), (port,),
        )  # fmt: skip

    # Scales: what is multiplied first, and what that is multiplied by.

    def _codes(self, circuit: Circuit, factors: Sequence[tuple[str, Format]]) -> TwoCodes:
        """Two codes that are multiplied: only scales have their padding at ports."""
        ports, codes, clean = list[Term](), list[Any](), list[Term]()
        for name, fmt in factors:
            port = circuit.inputs[f"i__{name}"]
            code = Integer.unsigned(port)
            if name not in self.what.scales:
                code = code << fmt.padding
            elif fmt.padding:
                clean.append(holds(code & (1 << fmt.padding) - 1 == 0))
            ports.append(port)
            codes.append(code)
        return TwoCodes((ports[0], ports[1]), (codes[0], codes[1]), tuple(clean))

    def _first(self, circuit: Circuit, scaling: ScaledPromotion) -> Iterator[AnyClaim]:
        promoter, *formats = self.calls["first product"].arguments[:3]
        names, words = ("scales", "both scales") if scaling.made == "scale" else ("product", "partial sum and scale")
        ports, (x, y), clean = self._codes(circuit, scaling.first)
        multiplied = FirstProduct(self.what, scaling)
        span = multiplied.range
        rounding = RoundedNumber(self.fmt, span, self.what.rounding, "ieee")
        number, rounded = circuits({"number": multiplied, "rounded": rounding}).values()
        by = {number.inputs[name]: port for (name, _), port in zip(scaling.first, ports, strict=True)}
        packed = substituted(number.outputs["o"], by)
        of_ports = replace(number, outputs=_fields(packed, span.layout, "o"))

        def is_product() -> Term:
            return is_decoded(of_ports.outputs, "o", span, self.fmt, exact_product(formats[0], formats[1], x, y))

        yield from product_claims(
            f"{self.what.name}: {names}", f"a number is the model's product of {words}, normalised", words,
            of_ports, ports, clean, lambda: (unpack(formats[0], x), unpack(formats[1], y)), is_product,
        )  # fmt: skip
        fields = NumberFields(_fields(rounded.inputs["i"], span.layout, "i"), "i", span, self.fmt)
        code = _fields(rounded.outputs["o"], result_layout(self.fmt), "o")["o__code"]

        def result() -> Any:
            return add(promoter.format, (of_known_sign(fields.read()[0]),), promoter.rounding) >> self.fmt.padding

        yield Claim(
            f"{self.what.name}: {names} rounded", "a number is rounded once, as the model rounds it", "any such number",
            fields.known, is_each(Integer.unsigned(code), paths(result, fields.known)), tuple(rounded.inputs.values()),
        )  # fmt: skip
        whole = substituted(code, {rounded.inputs["i"]: packed})
        yield Alike(
            f"{self.what.name}: scale", "the step is one after the other", words, clean,
            same(circuit.outputs[f"o__{scaling.made}"], whole), ports,
        )  # fmt: skip

    def _scaled(self, scaling: ScaledPromotion) -> Iterator[AnyClaim]:
        """Yield the claims about what is added.

        It is the partial sum times its scale, or what is made first times the other scale.
        """
        circuit, scaled = self.decode, self.calls["scaled partial"]
        fmt_x, fmt_y = scaled.arguments[:2]
        ports, (x, y), clean = self._codes(circuit, scaling.then)
        words = "partial sum and scale" if scaling.made == "scale" else "scaled partial sum and scale"

        def is_product() -> Term:
            return is_decoded(circuit.outputs, "o__y", self.what.y, self.fmt, scaled(x, y))

        yield from product_claims(
            f"{self.what.name}: partial", f"a number is the model's product of {words}, normalised",
            "both codes", circuit, ports, clean, lambda: (unpack(fmt_x, x), unpack(fmt_y, y)), is_product,
        )  # fmt: skip


class TwoCodes(NamedTuple):
    """Two codes that a step multiplies.

    ports: their terms in the circuit. codes: as the model has them. clean: the conditions that padding is zero.
    """

    ports: tuple[Term, Term]
    codes: tuple[Any, Any]
    clean: tuple[Term, ...]


def _fields(packed: Term, layout: StructLayout, place: str) -> dict[str, Term]:
    """The fields of a packed port, by the names that they have as ports of their own."""
    return {f"{place}__{name}": part(packed, layout[name].offset, layout[name].width) for name in layout.members}


KEPT = ("register", "c", "entered")


def after_calls(unit: Unit) -> Calls:
    """The model's calls after groups' sums. Raises Unmet where there are none."""
    after = followed(unit)
    if after is None:
        raise Unmet("an addition follows groups in the RTL, and none in the model")
    return Calls(after.calls)


def begins_with_zero(unit: Unit, calls: Calls) -> None:
    """Raise Unmet where the model's register begins otherwise than the RTL's: with zero, or with c."""
    zero, of_addend = "kept zero" in calls, any(f"kept {source}" in calls for source in KEPT[1:])
    if zero and calls["kept zero"].arguments != (calls["kept register"]["fmt"], 0):
        raise Unmet(f"a register begins with {calls['kept zero'].arguments}")
    takes = of_addend or any(name.startswith("entering") for name in calls.every)
    if zero == (unit.operands.addend is not None) or takes == zero:
        raise Unmet("the model's register begins otherwise than the RTL's: with zero, or with c")


def after_claims(
    unit: Unit, cuts: Sequence[str], steps: Mapping[str, Circuit] | None = None
) -> PromotionClaims | AccumulationClaims | None:
    """The claims about the addition after a unit's groups' sums; None where nothing is added.

    steps: its circuits, if at hand.
    """
    rule, what = smaller_promotion(unit, cuts), accumulation(unit)
    if what is None:
        return None
    if rule is not None:
        return PromotionClaims(unit, rule, cuts, steps)
    return AccumulationClaims(unit, what, cuts, steps)
