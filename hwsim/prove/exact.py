"""The claims of an exact sum: integers in units of one power of two, products, and their sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hwsim.formats import Class, FixedFormat, FloatFormat, Format
from hwsim.model.terms import Term as ModelTerm
from hwsim.prove.circuits import Circuit, datapath_circuits, fixed
from hwsim.prove.claims import (
    SPECIAL,
    AnyClaim,
    CasesClaim,
    Claim,
    ExactCircuits,
    StructuralClaim,
    each,
    exactly,
    holds,
)
from hwsim.prove.factors import FactorClaims
from hwsim.prove.following import followed
from hwsim.prove.lemmas import exact_sum_claims, specials_claim, zero_terms
from hwsim.prove.linear import Bounded, Forms, Variable, children_first, equal, form
from hwsim.prove.rounding import by_leading_one, is_result, leading_ones, special_result, unit_exp_claims
from hwsim.prove.symbolic import Integer, Path, as_integer, ite, paths
from hwsim.prove.terms import (
    Kind,
    Term,
    both,
    choose,
    constant,
    constants_of,
    implies,
    is_one,
    negated,
    part,
    same,
    simplified,
    substituted,
    true,
    value,
    width,
)
from hwsim.rtl.exact import ExactRanges
from hwsim.rtl.windows import PRODUCT
from hwsim.spec import Unit

START = "start__special"


class ExactTermClaims(FactorClaims[ExactRanges]):
    """The claims of the steps before rounding."""

    def __init__(self, unit: Unit, cuts: Sequence[str] = (), steps: Mapping[str, Circuit] | None = None):
        self.parts = ExactCircuits.joined(datapath_circuits(unit, cuts) if steps is None else steps)
        super().__init__(unit, ExactRanges(unit), self.parts, cuts)

    @property
    def chain(self) -> Sequence[Circuit]:
        """The datapath, one circuit after another."""
        parts = self.parts
        return parts.decode, parts.multiply, parts.align, parts.sum, parts.round

    # Products.

    def _flag(self, outputs: Mapping[str, Term], flag: str) -> Term:
        return is_one(outputs[f"o__{START}__{flag}"])

    def _products(self) -> Iterator[AnyClaim]:
        yield self._factor("a")
        yield self._factor("b")
        if self.n.scales:
            yield self._scales("o__scale_nan")
            yield self._scale_flag()
            yield self._segments()
        yield self._product()
        yield self._lanes_alike(("sign", "sig", "places"))
        yield self._flags_alike()
        yield self._gathered()

    def _scale_flag(self) -> Claim:
        front = self.front.products
        return Claim(
            "scales: NaN", "a scale that is NaN makes the group NaN", "all operands", (),
            implies(is_one(self.front.decode.outputs["o__scale_nan"]), self._flag(front.outputs, "nan")),
            tuple(front.inputs.values()),
        )  # fmt: skip

    def _segments(self) -> StructuralClaim:
        """The claim that each lane of a segment has the scales of the segment's first lane."""

        def shared() -> bool:
            outputs, names = self.front.products.outputs, range(self.n.lanes // self.n.length)
            decoded = self.front.decode.outputs
            return all(
                decoded[f"o__scale_exp__{segment * self.n.length + lane}"] == outputs[f"o__scale_exp__{segment}"]
                for segment in names
                for lane in range(self.n.length)
            )

        return StructuralClaim("scales: segments", "lanes that are summed together have one scale", "all lanes", shared)

    def _product(self) -> Claim:
        known, lane = self._lane_product()
        outputs, n = self._lane_flags(self.front.multiply), self.n
        sign, sig, places = (Integer.unsigned(outputs[f"o__terms__0__{field}"]) for field in ("sign", "sig", "places"))
        scale: Any = Integer.unsigned(self.front.multiply.inputs["i__scale_exp__0"]) if n.scales else 0

        def is_product(term: ModelTerm) -> Term:
            special = self._special_as(outputs, term, f"o__{START}")
            if term.cls in (Class.NAN, Class.INFINITY):
                return special
            right = [sign == term.sign, sig == term.sig, term.fraction_bits == n.product_fraction_bits]
            right.append(term.exp - term.fraction_bits >= n.unit_exp)
            if term.cls is Class.NORMAL:
                right += [places + scale == term.exp + n.product_bias - PRODUCT, sig != 0]
            return both(special, *map(holds, right), self._is_term(outputs, 0, "o"))

        cases = [Path(path.condition, is_product(path.result)) for path in paths(lane, known)]
        show = [term for name, term in self.front.multiply.inputs.items() if "__0" in name]
        return Claim(
            "lane: product", "a lane's term is the model's product, and its flags say what is special",
            "decoded factors of a lane", tuple(known), each(cases), tuple(show),
        )  # fmt: skip

    @property
    def _most_places(self) -> int:
        return self.n.product_most - self.n.scale_most - PRODUCT

    def _is_term(self, ports: Mapping[str, Term], lane: int, prefix: str) -> Term:
        """The condition on each product that is not special: the relation between multiplication and alignment."""
        sig, places = (Integer.unsigned(ports[f"{prefix}__terms__{lane}__{field}"]) for field in ("sig", "places"))
        within = implies(holds(sig != 0), holds(places <= self._most_places))
        return both(holds(sig <= self.n.most_product), within)

    # What a group starts from.

    @property
    def _begins(self) -> int:
        """The largest integer that a group starts from."""
        return self.n.most - self._group

    @property
    def _group(self) -> int:
        n = self.n
        return n.lanes * n.local_most << n.scale_most + n.product_unit - n.unit_exp

    def _starts(self) -> Iterator[AnyClaim]:
        alone = fixed(self.front.products, self._quiet)
        decoded = fixed(self.front.decode, {})
        for name, fmt, port, chain in self._sources():
            outputs = fixed(alone, {"i__chain": value(chain, 1)}).outputs
            nothing = fixed(decoded, {"i__chain": value(chain, 1)}).outputs["o__nothing"]
            code, clean = self._code_of(fmt, self.front.products.inputs[port], padded=name == "c")

            sign = fixed(decoded, {"i__chain": value(chain, 1)}).outputs["o__start__zero_sign"]

            def right(source: str = name, code: Any = code, outputs: Any = outputs, sign: Term = sign) -> Term:
                term = self._addend(source, code)
                sign_kept = true() if term.cls is Class.NAN else self._equal(sign, term.sign)
                return both(self._is_start(outputs, term), sign_kept)

            cases = paths(right, [clean])
            yield Claim(
                f"start: {name}", "it is the integer of the model's term", f"codes of {fmt.name}", (clean,),
                both(each(cases), same(nothing, value(0, 1))), (self.front.products.inputs[port],),
            )  # fmt: skip
        if self.n.carries:
            yield self._carried_over()
        if self.n.addend is None:
            yield self._nothing()
        front, fields = self.front.products, ("o__start__total",)
        yield Claim(
            "start: alone", "factors and scales do not change what a group starts from", "all operands", (),
            both(*(same(front.outputs[name], alone.outputs[name]) for name in fields)), tuple(front.inputs.values()),
        )  # fmt: skip

    def _sources(self) -> Iterator[tuple[str, Format, str, int]]:
        if self.n.addend is not None:
            yield "c", self.n.addend, "i__c", 0
        if not self.n.carries:
            yield "partial sum", self.n.result, "i__carried__code", 1

    def _is_start(self, outputs: Mapping[str, Term], term: ModelTerm) -> Term:
        special = self._special_as(outputs, term, f"o__{START}")
        if term.cls in (Class.NAN, Class.INFINITY):
            return special
        places = as_integer(term.exp - term.fraction_bits - self.n.unit_exp)
        most = self._begins.bit_length()
        number = as_integer(term.sig) << places.between(0, most)
        signed = ite(as_integer(term.sign) == 1, -as_integer(number), number)
        total = Integer.signed(outputs["o__start__total"])
        return both(special, exactly(places, 0, most), holds(total == signed), holds(abs(total) <= self._begins))

    def _carried_over(self) -> StructuralClaim:
        """The claim that a group that continues takes over the sum so far."""

        def taken() -> bool:
            outputs = fixed(self.front.decode, {"i__chain": value(1, 1)}).outputs
            inputs = self.front.decode.inputs
            names = ["total", "zero_sign", *(f"special__{flag}" for flag in SPECIAL)]
            return all(
                Claim("", "", "", (), same(outputs[f"o__start__{name}"], inputs[f"i__carried__{name}"])).decide(60).word
                == "proved"
                for name in names
            )

        return StructuralClaim(
            "start: carried", "a group that continues starts from the sum so far", "every sum", taken
        )

    def _nothing(self) -> Claim:
        outputs = fixed(self.front.decode, {"i__chain": value(0, 1)}).outputs
        nothing = "addend zero" not in self.calls
        start = None if nothing else self.calls["addend zero"]()  # all of whose fields are zeros in the RTL
        is_zero = start is None or (start.cls is Class.ZERO and start.sign == 0)
        zero = [name for name in outputs if name.startswith("o__start__")]
        return Claim(
            "start: none", "a group that continues nothing starts from +0, or from nothing", "all that is carried", (),
            both(holds(is_zero), *(same(outputs[name], value(0, width(outputs[name]))) for name in zero),
                 same(outputs["o__nothing"], value(nothing, 1))),
            tuple(self.front.decode.inputs.values()),
        )  # fmt: skip

    def _zero_sign(self) -> Iterator[Claim]:
        """Yield the claims that a sum of zero has the model's sign, of all products and of the group's start."""
        circuit, rule = self.front.multiply, self.calls["total"]
        signs = [Integer.unsigned(circuit.outputs[f"o__terms__{lane}__sign"]) for lane in range(self.n.lanes)]
        total, zero = circuit.inputs["i__start__total"], circuit.inputs["i__start__zero_sign"]
        sign = choose(same(total, value(0, width(total))), zero, part(total, width(total) - 1, 1))
        nothing = is_one(circuit.inputs["i__nothing"])
        for words, every, known in (
            ("", [*signs, Integer.unsigned(sign)], negated(nothing)), (": nothing before", signs, nothing),
        ):  # fmt: skip
            terms = zero_terms(every)
            cases = paths(lambda terms=terms: rule(0, 0, terms).sign)  # type: ignore[misc]
            got = circuit.outputs["o__start__zero_sign"]
            yield Claim(
                f"sign of zero{words}", "a sum of zero has the model's sign", f"the signs of {len(every)} terms",
                (known,), each([Path(path.condition, self._equal(got, path.result)) for path in cases]),
                (*(term for term in circuit.inputs.values() if width(term) == 1), total),
            )  # fmt: skip

    # Integers, and their sum.

    def _aligned(self) -> Iterator[AnyClaim]:
        circuit = self.parts.align
        fields = ("sign", "sig", "places")
        sign, sig, places = (Integer.unsigned(circuit.inputs[f"i__terms__0__{field}"]) for field in fields)
        aligned = Integer.signed(circuit.outputs["o__aligned__0"])
        known = (self._is_term(circuit.inputs, 0, "i"),)

        def right() -> Term:
            if not sig:
                return holds(aligned == 0)
            number = as_integer(sig.between(0, self.n.most_product) << places.between(0, self._most_places))
            return holds(aligned == ite(sign == 1, -number, number))

        yield Claim(
            "lane: aligned", "it is the product in its units, and within its bound", "a product", known,
            both(each(paths(right, known)), holds(abs(aligned) <= self.n.local_most)),
            tuple(term for name, term in circuit.inputs.items() if "terms__0" in name),
        )  # fmt: skip

        def alike() -> bool:
            for lane in range(1, self.n.lanes):
                by = {circuit.inputs[f"i__terms__0__{field}"]: circuit.inputs[f"i__terms__{lane}__{field}"]
                      for field in ("sign", "sig", "places")}  # fmt: skip
                if substituted(circuit.outputs["o__aligned__0"], by) != circuit.outputs[f"o__aligned__{lane}"]:
                    return False
            return True

        yield StructuralClaim("lanes: aligned", "every lane is aligned alike", f"{self.n.lanes} lanes", alike)

    def _signed(self, port: Term, most: int) -> tuple[dict[Variable, int], Bounded]:
        """A two's complement as a form, and its bounds."""
        top = width(port) - 1
        factors = {Variable(port.symbol(), 0, top): 1, Variable(port.symbol(), top, 1): -(1 << top)}
        return factors, Bounded(factors, -most, most)

    def _sum(self) -> Iterator[AnyClaim]:
        circuit, n = self.parts.sum, self.n
        total = circuit.outputs["o__sum__total"]
        segments = n.lanes // n.length
        shifts = self._shifts(total) if n.scales else []
        scaled = [constant(f"scaled{index}", width(shift)) for index, shift in enumerate(shifts)]
        by = dict(zip(shifts, scaled, strict=True))
        if n.scales:
            for segment, shift in enumerate(shifts):
                yield from self._scaled(segment, shift)

        def is_sum() -> bool:
            if n.scales and len(shifts) != segments:
                return False
            parts = scaled if n.scales else [circuit.inputs[f"i__aligned__{lane}"] for lane in range(n.lanes)]
            most = n.length * n.local_most << n.scale_most if n.scales else n.local_most
            known, wanted = list[Bounded](), dict[Variable, int]()
            places = n.product_unit - n.unit_exp
            for port in parts:
                factors, bounded = self._signed(port, most)
                known.append(bounded)
                wanted |= {variable: factor << places for variable, factor in factors.items()}
            factors, bounded = self._signed(circuit.inputs["i__start__total"], self._begins)
            known.append(bounded)
            wanted |= factors
            sum_form = Forms({}, known).of(substituted(total, by))
            return self._so_far() and equal(sum_form, form(width(total), 0, wanted))

        yield StructuralClaim(
            "sum", "the total is the sum of all products and of what the group starts from, exactly",
            f"{n.lanes + 1} terms", is_sum,
        )  # fmt: skip

    def _shifts(self, total: Term) -> list[Term]:
        """The shifts of the segments' sums, in the order of their scales."""
        scales = [
            self.parts.sum.inputs[f"i__scale_exp__{segment}"].id() for segment in range(self.n.lanes // self.n.length)
        ]
        shifts = dict[int, Term]()
        for node in children_first(total):
            if node.kind() == Kind.BV_SHL:
                by = (term.id() for term in constants_of([node.children()[1]]))
                shifts |= {scales.index(scale): node for scale in by if scale in scales}
        return [shifts[segment] for segment in sorted(shifts)]

    def _so_far(self) -> bool:
        """True if the next group gets the sum that is rounded here."""
        outputs = self.parts.sum.outputs
        names = ("total", "zero_sign", *(f"special__{flag}" for flag in SPECIAL))
        return not self.n.carries or all(outputs[f"o__so_far__{name}"] == outputs[f"o__sum__{name}"] for name in names)

    def _scaled(self, segment: int, shift: Term) -> Iterator[AnyClaim]:
        """Yield the claims of a segment's sum times its scales."""
        circuit, n = self.parts.sum, self.n
        lanes = range(segment * n.length, (segment + 1) * n.length)

        def is_sum() -> bool:
            known, wanted = list[Bounded](), dict[Variable, int]()
            for lane in lanes:
                factors, bounded = self._signed(circuit.inputs[f"i__aligned__{lane}"], n.local_most)
                known.append(bounded)
                wanted |= factors
            summed = shift.children()[0]
            return equal(Forms({}, known).of(summed), form(width(summed), 0, wanted))

        yield StructuralClaim(
            f"segment {segment}: sum",
            "products with the same scales are added, exactly",
            f"{n.length} products",
            is_sum,
        )
        most = n.length * n.local_most
        number = constant(f"segment{segment}", width(shift.children()[0]))
        inside, places = Integer.signed(number), Integer.unsigned(circuit.inputs[f"i__scale_exp__{segment}"])
        known = (holds(abs(inside) <= most), holds(places <= n.scale_most))
        scaled = Integer.signed(substituted(shift, {shift.children()[0]: number}))

        def right() -> Term:
            return holds(scaled == inside.between(-most, most) << places.between(0, n.scale_most))

        yield Claim(
            f"segment {segment}: scaled", "their sum is shifted by their scales", "every sum and scale", known,
            each(paths(right, known)), (number, circuit.inputs[f"i__scale_exp__{segment}"]),
        )  # fmt: skip


def largest_start(n: ExactRanges, fmt: Format) -> int:
    """Return the largest magnitude of a format's numbers, in units of the sum."""
    if isinstance(fmt, FixedFormat):
        return 1 << fmt.bits - 1 - fmt.fraction_bits - n.unit_exp
    assert isinstance(fmt, FloatFormat)
    return (2 << fmt.fraction_bits) - 1 << fmt.emax - fmt.fraction_bits - n.unit_exp


MANY_GROUPS = 40  # bits of how many groups a sum is shown for that never starts again, as `hwsim docs proof` says


def groups_of(unit: Unit) -> int:
    """Return the bits of the number of groups of an exact sum that goes on, as the model starts it again, or not."""
    following, instruction = followed(unit), unit.instruction
    if following is not None:
        return following.groups.bit_length()
    return MANY_GROUPS if instruction.chain and instruction.start != "zero" else instruction.groups.bit_length()


class ExactClaims(ExactTermClaims):
    """All claims about the datapath of a unit that sums exactly."""

    def claims(self) -> Iterator[AnyClaim]:
        """Yield the claims in the order of the steps, then those of the cases and of the whole."""
        yield from self._products()
        yield from self._starts()
        yield from self._zero_sign()
        yield from self._aligned()
        yield from self._sum()
        yield from self._rounded()
        yield from self._passed()
        yield from self._composition()

    # The result.

    def _rounded(self) -> Iterator[AnyClaim]:
        circuit, fmt = self.parts.round, self.n.result
        sign, names = circuit.inputs["i__sum__zero_sign"], [f"i__sum__special__{flag}" for flag in SPECIAL]
        flags = [circuit.inputs[name] for name in names if name in circuit.inputs]
        if isinstance(fmt, FloatFormat):
            is_code = is_result(circuit, fmt, self.model.nan)
            yield special_result(circuit, self.calls["round special"], fmt, self._never, "i__sum__special")
        else:
            yield self._nothing_special()
            code, nan = Integer.unsigned(circuit.outputs["o__code"]), circuit.outputs["o__nan"]

            def is_code(result: object) -> Term:
                return both(holds(code << fmt.padding == result), same(nan, value(0, 1)))

        port = circuit.inputs["i__sum__total"]
        zero = {port: value(0, width(port))}
        of_zero = [self.calls["round"](zero_terms([minus])[0]) for minus in (0, 1)]
        set_sign = is_one(sign)
        wanted = both(implies(set_sign, is_code(of_zero[1])), implies(negated(set_sign), is_code(of_zero[0])))
        clean = tuple(negated(is_one(flag)) for flag in flags)
        yield Claim(
            "result: zero", "a total of zero is a zero of its sign", "both signs", clean, substituted(wanted, zero),
            (sign,),
        )  # fmt: skip

        yield from self._of_magnitudes() if isinstance(fmt, FloatFormat) else self._of_totals(is_code, clean)
        yield leading_ones("result", self.n.most)

    def _of_totals(self, is_code: Callable[[object], Term], clean: tuple[Term, ...]) -> Iterator[AnyClaim]:
        """Yield the claim of rounding, of each total by itself."""
        port = self.parts.round.inputs["i__sum__total"]

        def of(total: Integer, show: tuple[Term, ...], known: tuple[Term, ...], name: str) -> Claim:
            right = substituted(self._is_rounded(total, known, is_code), {port: total.at(width(port))})
            return Claim(name, "", "", (*known, *clean), right, show)

        yield self._result(lambda: by_leading_one(of, self.n.most))

    def _of_magnitudes(self) -> Iterator[AnyClaim]:
        """Yield the claims of a total's sign and magnitude, and of the rounding of these."""
        step, code = self.parts.magnitude, self.parts.code
        assert step is not None and isinstance(self.n.result, FloatFormat)
        total, sign = Integer.signed(step.inputs["i__sum__total"]), Integer.unsigned(step.outputs["o__sum__sign"])
        size = Integer.unsigned(step.outputs["o__sum__magnitude"])
        flags = [f"__sum__special__{flag}" for flag in SPECIAL]
        negative = sign == ite(total < 0, 1, 0)
        yield Claim(
            "magnitude", "a total's sign and magnitude are its own; what is special stays so", "every total but zero",
            (holds(abs(total) <= self.n.most), holds(total != 0)),
            both(
                holds(size == abs(total)), holds(negative),
                *(same(step.outputs[f"o{flag}"], step.inputs[f"i{flag}"]) for flag in flags),
            ),
            (step.inputs["i__sum__total"],),
        )  # fmt: skip
        ports = {name: code.inputs[f"i__sum__{name}"] for name in ("sign", "magnitude", "top_bexp")}
        exp = step.outputs["o__sum__top_bexp"]  # of an exact sum one number
        clean = tuple(negated(is_one(code.inputs[f"i{flag}"])) for flag in flags)
        is_code = is_result(code, self.n.result, self.model.nan)

        def of(number: Integer, show: tuple[Term, ...], known: tuple[Term, ...], name: str) -> Claim:
            size = as_integer(abs(number))
            by = {
                ports["sign"]: value(number.high < 0, 1),
                ports["magnitude"]: size.at(width(ports["magnitude"])),
                ports["top_bexp"]: exp,
            }
            right = substituted(self._is_rounded(number, known, is_code), by)
            return Claim(name, "", "", (*known, *clean), right, show)

        yield self._result(lambda: by_leading_one(of, self.n.most))

    def _code(self, total: Any) -> int:
        """The model's code of a total other than zero, in units of the RTL."""
        return self.calls["round"](self.calls["total"](total, self.n.unit_exp, ()))  # type: ignore[no-any-return]

    def _nothing_special(self) -> StructuralClaim:
        """The claim of a result without NaN and infinities that no operand makes one."""
        assert self.calls["round special"]
        return StructuralClaim("special", "no term is NaN or an infinity", "all operands", self._never_special)

    def _never_special(self) -> bool:
        carried = {name: value(0, 1) for name in self.front.products.inputs if name.startswith("i__carried__special__")}
        outputs = fixed(self.front.products, carried).outputs
        return all(simplified(term) == value(0, 1) for name, term in outputs.items() if "__special__" in name)

    def _is_rounded(self, total: Integer, known: Sequence[Term], is_code: Callable[[object], Term]) -> Term:
        """The condition that a code is the model's rounding of a total."""
        cases = paths(lambda: self._code(total), known)
        return each([Path(path.condition, is_code(path.result)) for path in cases])

    def _result(self, cases: Callable[[], Iterator[Claim]]) -> CasesClaim:
        words = "the code is the model's rounding of the total"
        return CasesClaim("result", words, "every place of its leading one, both signs", cases)

    def _passed(self) -> Iterator[StructuralClaim]:
        """Yield the claim that what a step does not make leaves as it came."""

        def passed() -> bool:
            align, total = self.parts.align, self.parts.sum
            names = [name for name in align.outputs if "aligned" not in name]
            kept = all(align.outputs[name] == align.inputs[f"i{name[1:]}"] for name in names)
            flags = ("zero_sign", *(f"special__{flag}" for flag in SPECIAL))
            kept &= all(total.outputs[f"o__sum__{field}"] == total.inputs[f"i__start__{field}"] for field in flags)
            if not self.n.carries:
                return kept
            last = self.parts.round
            goes_on = ("total", *flags)
            return kept and all(last.outputs[f"o__{field}"] == last.inputs[f"i__so_far__{field}"] for field in goes_on)

        yield StructuralClaim(
            "passed on", "what a step does not make leaves as it came, and goes on", "all steps", passed
        )

    # How the steps compose.

    def _composition(self) -> Iterator[AnyClaim]:
        n = self.n

        def fits() -> bool:
            most = sum(largest_start(n, fmt) for fmt in n.addends) + (self._group << n.groups_bits)
            ports = self.parts.sum.outputs["o__sum__total"], self.parts.sum.inputs["i__start__total"]
            enough = not n.carries or groups_of(self.unit) <= n.groups_bits
            unit = n.product_unit == PRODUCT - n.product_bias - n.product_fraction_bits
            return unit and enough and most <= n.most and all(n.most < 1 << width(port) - 1 for port in ports)

        groups = f"at most 2^{n.groups_bits} groups" if n.carries else "one group"
        yield StructuralClaim(
            "composition: sum", f"the bounds of all terms fit the total, of {groups}", f"{n.lanes} products", fits
        )
        yield specials_claim(self.calls["special"], [n.lanes, n.lanes + 1])
        sigs = [n.most_product, *(1 << fmt.bits for fmt in n.addends), *([n.most] if n.carries else [])]
        call, places = self.calls["exact sum"], n.most.bit_length()
        yield from exact_sum_claims(call, n.lanes + 1, max(sigs).bit_length(), places)
        if not all(isinstance(fmt, FixedFormat) for fmt in (*n.formats, *n.addends)) or n.scales:
            low = n.unit_exp + 1  # integers have one unit
            yield from unit_exp_claims(
                "composition", self.model.rounding, n.most // 2, (low, n.unit_exp + n.most.bit_length())
            )
