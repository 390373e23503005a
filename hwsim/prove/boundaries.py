"""A user's design that names the boundaries of our steps: its signals as fields, and the claims about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal

from hwsim.cocotb.expected import largest_number
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.dutfile import NOTHING, SignalPlace, TermSignals
from hwsim.formats import Class, FloatFormat, Format
from hwsim.formats.yamlfile import SpecError
from hwsim.model.terms import Term as ModelTerm
from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.circuits import Circuit, fixed
from hwsim.prove.claims import (
    SPECIAL,
    AnyClaim,
    CasesClaim,
    Claim,
    LateClaim,
    StepCircuits,
    StructuralClaim,
    each,
    holds,
)
from hwsim.prove.symbolic import Integer, Path, as_integer, ite, paths
from hwsim.prove.terms import (
    Cut,
    Folded,
    Kind,
    Term,
    as_bit,
    both,
    choose,
    constant,
    constants_of,
    either,
    implies,
    is_one,
    negated,
    op,
    part,
    same,
    sliced,
    substituted,
    true,
    value,
    width,
)
from hwsim.prove.unrolled import UNNAMED, BeatResult
from hwsim.rtl.terms import WindowRanges
from hwsim.spec import Unit, Unpromised, unpromised

INSTANCE = "dut."  # of the design in its adapter
SLICE = re.compile(r"^(?P<name>.+)\[(?P<high>\d+)(?::(?P<low>\d+))?\]$")
NEAREST, BESIDES = 3, 4  # names that an error gives


@dataclass(frozen=True)
class FieldSignal:
    """One element of a field.

    name: `terms__0__sig`. key: in the file. bits: of the design's signal as it is in the beat's cycle; None of a
    constant, which `plus` is. signed: whether they are two's complement, and wide: whether the field has a bit more.
    given: bits that the signal has, where the highest of them are left out: they repeat the sign.
    """

    name: str
    key: str
    bits: Term | None
    plus: int
    signed: bool
    wide: bool
    given: int = 0

    @property
    def width(self) -> int:
        """The field's number of bits."""
        return (max(1, self.plus.bit_length()) if self.bits is None else width(self.bits)) + self.wide

    def field(self, bits: Term | None) -> Term:
        """Return the field made of the design's bits."""
        if bits is None:
            return value(self.plus, self.width)
        if self.wide:
            bits = op(Kind.BV_SIGN_EXTEND if self.signed else Kind.BV_ZERO_EXTEND, bits, indices=[1])
        return op(Kind.BV_ADD, bits, value(self.plus, self.width)) if self.plus else bits

    def design(self, port: Term) -> Term:
        """Return the design's bits made of the field: `field` makes the same field of them again."""
        if self.plus:
            port = op(Kind.BV_SUB, port, value(self.plus, self.width))
        return sliced(port, 0, self.width - self.wide)


class Boundaries:
    """The steps of a design as circuits, from one boundary to the next.

    Raises SpecError, naming the key, for a signal that is not there or does not fit, and for a boundary through which
    not all goes.
    """

    def __init__(self, design: DutDesign, followed: BeatResult, ranges: WindowRanges):
        self.design, self.followed, self.n = design, followed, ranges
        assert design.dut.file.steps is not None
        self.file = design.dut.file.steps
        self.folded = Folded()
        self.multiply = [*self._terms(), *self._addend(), *self._special()]
        max_exp = self._field("max_exp", "maximum.max_exp", self.file.maximum.max_exp, signed=self.n.max_exp[0] < 0)
        special = [signal for signal in self.multiply if signal.name.startswith("special")]
        self.maximum = [*self.multiply, max_exp]
        self.align = [*self._aligned(), max_exp, *special]
        total = self._field("total", "sum.total", self.file.sum.total, signed=True)
        self.sum = [total, max_exp, *special]

    # Fields.

    def _terms(self) -> list[FieldSignal]:
        lanes, places = self.n.lanes, self.file.multiply.terms
        return self._of_terms("multiply.terms", [f"terms__{lane}" for lane in range(lanes)], places, False)

    def _addend(self) -> list[FieldSignal]:
        places = self.file.multiply.addend
        if places is None:
            if self.design.addend:
                raise self._wrong("multiply.addend", "is missing: ports.c is an addend")
            places = TermSignals(sign=NOTHING, exp=NOTHING, sig=NOTHING)
        return self._of_terms("multiply.addend", ["addend"], places, self.n.addend_exp[0] < 0)

    def _of_terms(self, key: str, names: Sequence[str], places: TermSignals, signed: bool) -> list[FieldSignal]:
        signals = []
        for field, of_signed in (("sign", False), ("exp", signed), ("sig", False)):
            fields = [f"{name}__{field}" for name in names]
            signals += self._fields(fields, f"{key}.{field}", getattr(places, field), of_signed, field == "sign")
        return signals

    def _special(self) -> list[FieldSignal]:
        places = self.file.multiply.special
        return [
            self._field(f"special__{flag}", f"multiply.special.{flag}", getattr(places, flag), flag=True)
            for flag in SPECIAL
        ]

    def _aligned(self) -> list[FieldSignal]:
        places = self.file.align.aligned
        with_addend = self.n.lanes + (self.file.multiply.addend is not None)
        signals = []
        for field, place in (("ones", places.ones), ("carry", places.carry or NOTHING)):
            names = [f"aligned__{lane}__{field}" for lane in range(self.n.lanes + 1)]
            of_design = names[:with_addend]
            signals += self._fields(of_design, f"align.aligned.{field}", place, field == "ones", field == "carry")
            signals += [FieldSignal(name, "", None, 0, False, field == "ones") for name in names[with_addend:]]
        return signals

    def _field(self, name: str, key: str, place: SignalPlace, signed: bool = False, flag: bool = False) -> FieldSignal:
        return self._fields([name], key, place, signed, flag)[0]

    def _fields(
        self, names: Sequence[str], key: str, place: SignalPlace, signed: bool, flag: bool
    ) -> list[FieldSignal]:
        """A field's elements. signed: whether hwsim's are two's complement. flag: whether they are of one bit."""
        if place.constant is not None:
            if flag and place.constant > 1:
                raise self._wrong(key, f"must be of one bit, not {place.constant}")
            return [FieldSignal(name, key, None, place.constant, False, not flag) for name in names]
        of_design = (signed and not place.plus) if place.signed is None else place.signed
        wide = bool(place.plus) or (signed and not of_design)
        if flag and wide:
            raise self._wrong(key, "must be of one bit, without signed and plus")
        signals = []
        for name, bits in zip(names, self._elements(key, place, len(names)), strict=True):
            if flag and width(bits) != 1:
                raise self._wrong(key, f"must be of one bit, not {width(bits)}")
            kept = Cut().without_signs(bits) if of_design else bits
            signals.append(FieldSignal(name, key, kept, place.plus, of_design, wide, width(bits)))
        return signals

    def _elements(self, key: str, place: SignalPlace, count: int) -> list[Term]:
        """The bits of each element."""
        if place.signal is not None:
            whole = self._signal(key, place.signal, place.cycle)
            if width(whole) % count:
                rule = f"must hold {count} elements of as many bits each, not {width(whole)} bits ({place.signal})"
                raise self._wrong(key, rule)
            bits = width(whole) // count
            elements = [sliced(whole, index * bits, bits) for index in range(count)]
        else:
            names = place.signals or tuple((place.each or "").replace("{}", str(index)) for index in range(count))
            if len(names) != count:
                raise self._wrong(key, f"must name {count} signals, one for each element, not {len(names)}")
            elements = [self._signal(key, name, place.cycle) for name in names]
        return elements if place.lane0 == "low" else elements[::-1]

    # Signals.

    @cached_property
    def wires(self) -> Mapping[str, Term]:
        """All named signals of the design, by their paths from its top."""
        circuit = self.followed.circuit
        states = {name: state.now for name, state in circuit.states.items()}
        named = {**circuit.wires, **states}
        return {name.removeprefix(INSTANCE): term for name, term in named.items() if name.startswith(INSTANCE)}

    def _signal(self, key: str, name: str, cycle: int | None) -> Term:
        """A signal's bits in the cycle in which they are the beat's."""
        if name in self.wires:
            return self._in_cycle(key, name, name, cycle)
        match = SLICE.match(name)
        if match is None or match["name"] not in self.wires:
            raise self._unknown(key, name)
        high, low = int(match["high"]), int(match["low"] or match["high"])
        whole = self._in_cycle(key, name, match["name"], cycle)
        if not low <= high < width(whole):
            raise self._wrong(key, f"must be within {match['name']}[{width(whole) - 1}:0], not {name}")
        return sliced(whole, low, high - low + 1)

    def _unknown(self, key: str, name: str) -> SpecError:
        known = sorted(self.wires)
        last = name.rpartition(".")[2]
        near = [path for path in known if path.rpartition(".")[2] == last]  # in another module
        near += [path for path in get_close_matches(name, known, NEAREST, 0.5) if path not in near]
        hint = f"; there {'is' if len(near) == 1 else 'are'} {', '.join(near[:NEAREST])}" if near else ""
        return self._wrong(key, f"must name a signal of {self.design.name}, not {name}{hint}")

    def _in_cycle(self, key: str, called: str, name: str, cycle: int | None) -> Term:
        run = self.followed.run
        if cycle is not None and cycle >= len(run):
            raise self._wrong(key, f"must have a cycle from 0 to {len(run) - 1}, not {cycle} ({called})")
        first: list[str] = []
        constant_one = None
        for index in range(len(run)) if cycle is None else [cycle]:
            term = self.folded.of(run[index].of(self.wires[name]))
            others = self._others(term)
            if not others and (constants_of([term]) or cycle is not None):
                return term
            constant_one = term if not others and constant_one is None else constant_one
            first = first or others
        if constant_one is not None:
            return constant_one
        when = f"in cycle {cycle}" if cycle is not None else f"in none of cycles 0 to {len(run) - 1}"
        raise self._wrong(key, f"{when} is {called} the beat's alone: it depends on {', '.join(first[:BESIDES])}, too")

    def _others(self, term: Term) -> list[str]:
        """The names on which a term depends beside the beat and the bits that the design leaves undefined."""
        names = sorted({term_constant.symbol() for term_constant in constants_of([term])})
        prefixes = ("beat.", UNNAMED)
        return [name.removeprefix("dut.").removeprefix(INSTANCE) for name in names if not name.startswith(prefixes)]

    def _wrong(self, key: str, rule: str) -> SpecError:
        return self.design.dut.wrong(f"steps.{key}", rule)

    # The logic from one boundary to the next.

    @cached_property
    def products(self) -> Circuit:
        """The circuit from the beat to the terms."""
        inputs = {
            f"i__{name}" if name == "c" else f"i__{name}__{index}": term
            for name, terms in self.followed.beat.items()
            for index, term in enumerate(terms)
        }
        inputs["i__chain"] = constant("nothing.chain", 1)
        inputs["i__carried__code"] = constant("nothing.code", self.n.result.bits)
        if "i__c" not in inputs and self.n.window_addend is not None:
            inputs["i__c"] = constant("nothing.c", self.n.window_addend.container_bits)
        return Circuit(inputs, {f"o__{signal.name}": signal.field(signal.bits) for signal in self.multiply})

    def step(self, name: str, before: Sequence[FieldSignal], after: Sequence[FieldSignal]) -> Circuit:
        """Return the step between these fields as a circuit. A field that it does not make leaves as it came."""
        inputs, cut = self._cut(name, before)
        outputs = {}
        passed = {signal.name for signal in before}
        for signal in after:
            if signal.name in passed:
                outputs[f"o__{signal.name}"] = inputs[f"i__{signal.name}"]
                continue
            bits = None if signal.bits is None else self._through(cut, signal.bits, signal.key)
            outputs[f"o__{signal.name}"] = signal.field(bits)
        return Circuit(inputs, outputs)

    def _cut(self, name: str, before: Sequence[FieldSignal]) -> tuple[dict[str, Term], Cut]:
        inputs = {f"i__{signal.name}": constant(f"{name}.i__{signal.name}", signal.width) for signal in before}
        cut = Cut()
        for signal in reversed(before):  # what was made last counts first
            if signal.bits is not None:
                cut.at(signal.bits, signal.design(inputs[f"i__{signal.name}"]))
        return inputs, cut

    def _through(self, cut: Cut, term: Term, key: str) -> Term:
        """A term as a function of a boundary. Raises SpecError where not all of it goes through."""
        result = cut.of(term)
        left = sorted({one.symbol() for one in constants_of([result]) if one.symbol().startswith("beat.")})
        if left:
            by = {self.folded.of(cycle.of(wire)).id(): (signal, wire) for cycle in reversed(self.followed.run)
                  for signal, wire in self.wires.items() if signal not in self._ports}  # fmt: skip
            terms = [self.folded.of(cycle.of(wire)) for cycle in self.followed.run for wire in self.wires.values()]
            names = dict.fromkeys(by[one.id()][0] for one in cut.uncut(term, terms) if one.id() in by)
            beside = [*names][:BESIDES] or [one.removeprefix("beat.") for one in left[:BESIDES]]
            besides = f"also depends on {', '.join(beside)}"
            if key == "sum":
                raise self._wrong(key, f"must be all that the result follows from, which {besides}")
            raise self._wrong(key, f"must follow from what the step before it is said to make, and {besides}")
        return result

    @cached_property
    def _ports(self) -> set[str]:
        return {port.name for port in self.design.module.ports}

    @cached_property
    def container(self) -> Term:
        """The result's container."""
        field = next(field for field in self.design.ports.output.fields if field.name == "result")
        payload = self.followed.run[-1].of(self.followed.circuit.outputs["o__payload"])
        return self.folded.of(sliced(payload, field.offset, field.bits))

    def result(self) -> Circuit:
        """Return the circuit from the total to the result's container, `o__result`."""
        inputs, cut = self._cut("round", self.sum)
        return Circuit(inputs, {"o__result": self._through(cut, self.container, "sum")})

    def signals(self) -> Iterator[FieldSignal]:
        """Yield all fields, each once."""
        yield from {signal.name: signal for signal in (*self.multiply, *self.maximum, *self.align, *self.sum)}.values()


class DesignRanges(WindowRanges):
    """The ranges of a design's numbers.

    lifted: whether subnormal addends have a hidden bit, one exponent further down. addend_bits: the fraction bits of
    its addends.
    """

    def __init__(self, unit: Unit, lifted: bool, addend_bits: int):
        self.lifted, self.addend_bits = lifted, addend_bits
        super().__init__(unit)

    def _has_subnormal_sums(self) -> bool:
        return not self.lifted

    @property
    def addend_fraction_bits(self) -> int:
        """Fraction bits of the addend's significand."""
        return self.addend_bits


class DesignClaims(AlignedClaims):
    """All claims about the steps of a design.

    zeros: `exp` where a product of zero, and no other, has exponent 0; `sig` where its significand alone says so.
    addend: whether the design takes one. carries: whether a term in the window has a bit that completes it.
    constants: ports that always hold one number. container: the design's result, of the last step's inputs.
    """

    n: DesignRanges

    def __init__(
        self,
        unit: Unit,
        parts: StepCircuits,
        ranges: DesignRanges,
        zeros: Literal["exp", "sig"],
        addend: bool,
        carries: bool,
        constants: Mapping[Term, Term],
    ):
        super().__init__(unit, (), parts, ranges)
        self.zeros, self.takes_addend, self.carried, self.constants = zeros, addend, carries, constants

    def claims(self) -> Iterator[AnyClaim]:
        """Yield all claims, with constants in the place of ports that always hold one number."""
        for claim in super().claims():
            yield self.known(claim)
        yield self.known(self._padding())

    def known(self, claim: AnyClaim) -> AnyClaim:
        """Return a claim with constants in the place of ports that always hold one number."""
        if isinstance(claim, StructuralClaim):
            asked = claim.otherwise
            return claim if asked is None else replace(claim, otherwise=lambda: self._of_known(asked()))
        if isinstance(claim, CasesClaim):
            cases = claim.cases
            return replace(claim, cases=lambda: map(self._of_known, cases()))
        if isinstance(claim, LateClaim):
            claim = Claim(claim.name, claim.words, claim.over, claim.assumptions, claim.claim, claim.show)
        return self._of_known(claim)

    def _of_known(self, claim: Claim) -> Claim:
        assumptions = tuple(substituted(term, self.constants) for term in claim.assumptions)
        show = tuple(term for term in claim.show if term not in self.constants)
        return replace(claim, assumptions=assumptions, claim=substituted(claim.claim, self.constants), show=show)

    # Products.

    def _products(self) -> Iterator[AnyClaim]:
        yield self.lane_product()
        yield replace(self._lanes_alike(), otherwise=self._lanes_equal)
        yield self._flags_alike()
        yield self._gathered()
        if self._one_infinity:
            yield self._exclusive()

    @property
    def _one_infinity(self) -> bool:
        """True if no factor can be infinite, so that an addend alone is."""
        return all(fmt.infinity_magnitude is None for fmt in (self.n.a, self.n.b))

    def _exclusive(self) -> Claim:
        outputs = self.parts.products.outputs
        both_signs = both(*(is_one(outputs[f"o__special__{flag}"]) for flag in SPECIAL[1:]))
        return Claim(
            "flags: one infinity", "the flags of both infinities are never set together", "all operands", (),
            negated(both_signs), tuple(self.parts.products.inputs.values()),
        )  # fmt: skip

    def _special(self) -> Iterator[AnyClaim]:
        """Yield the claims of hwsim's own RTL, but of infinities of both signs at once only where they can meet."""
        flags = [is_one(self.parts.round.inputs[f"i__special__{flag}"]) for flag in SPECIAL[1:]]
        for claim in super()._special():
            if self._one_infinity and isinstance(claim, Claim):
                claim = replace(claim, assumptions=(*claim.assumptions, negated(both(*flags))))
            yield claim

    def lane_product(self) -> Claim:
        """Return the claim of one lane, from the codes of its factors and their scales to its term."""
        circuit, names = self.parts.products, self._lane(0)
        factors = {side: self.calls[f"factor {side}"] for side in ("a", "b")}
        product, scaled = self.calls["product"], self.calls["scaled"]
        others = {name: term for name, term in self.neutral.items() if name not in names.values()}
        flags = fixed(circuit, others).outputs
        outputs = {**circuit.outputs, **{f"o__special__{flag}": flags[f"o__special__{flag}"] for flag in SPECIAL}}
        codes = {name: Integer.unsigned(circuit.inputs[port]) for name, port in names.items()}
        known = [*self._padded(self.n.a, codes["a"]), *self._padded(self.n.b, codes["b"])]

        def lane() -> ModelTerm:
            term = product(*(factors[side](codes[side]) for side in ("a", "b")))
            if not self.n.scales:
                return scaled(term)  # type: ignore[no-any-return]
            return scaled(term, self.calls["scales"](codes["scale_a"], codes["scale_b"]))  # type: ignore[no-any-return]

        cases = [Path(path.condition, self._is_product(outputs, path.result)) for path in paths(lane, known)]
        show = tuple(circuit.inputs[port] for port in names.values())
        return Claim(
            "lane: product", "a lane's term is the model's product, and its flags say what is special",
            "codes of a lane, beside any others", tuple(known), each(cases), show,
        )  # fmt: skip

    def _is_model(self, outputs: Mapping[str, Term], term: ModelTerm) -> Term:
        if term.cls is Class.ZERO and self.zeros == "sig":
            sig = Integer.unsigned(outputs["o__terms__0__sig"])
            return both(holds(sig == 0), self._is_term(outputs, 0, "o"))
        return super()._is_model(outputs, term)

    def _is_term(self, ports: Mapping[str, Term], lane: int, prefix: str) -> Term:
        if self.zeros == "exp":
            return super()._is_term(ports, lane, prefix)
        exp, sig = (Integer.unsigned(ports[f"{prefix}__terms__{lane}__{field}"]) for field in ("exp", "sig"))
        within = holds(exp <= self.n.product_most), holds(sig <= self.n.term_most)
        return both(*within, implies(holds(sig != 0), holds(exp >= self.n.product_least)))

    def _is_zero(self, exp: Term, sig: Term) -> tuple[Term, ...]:
        """The conditions on the fields of a product of zero."""
        nothing = same(sig, value(0, width(sig)))
        if self.zeros == "exp":
            return same(exp, value(0, width(exp))), nothing
        return nothing, holds(Integer.unsigned(exp) <= self.n.product_most)

    def _exps(self, ports: Mapping[str, Term]) -> list[Any]:
        exps = super()._exps(ports)
        if self.zeros == "exp":
            return exps
        sigs = [Integer.unsigned(ports[f"i__terms__{lane}__sig"]) for lane in range(self.n.lanes)]
        return [ite(sig != 0, exp, 0) for sig, exp in zip(sigs, exps, strict=True)]

    def _lanes_equal(self) -> Claim:
        front, first, wanted = self.parts.products, self._lane(0), []
        for lane in range(1, self.n.lanes):
            by = {front.inputs[first[side]]: front.inputs[name] for side, name in self._lane(lane).items()}
            for field in ("sign", "exp", "sig"):
                term = substituted(front.outputs[f"o__terms__0__{field}"], by)
                wanted.append(same(term, front.outputs[f"o__terms__{lane}__{field}"]))
        return Claim("lanes: products", "", "", (), both(*wanted), tuple(front.inputs.values()))

    # Addends.

    def decoded_addend(self) -> Iterator[Claim]:
        """Return the claims that say how addends are decoded."""
        return map(self._of_known, super()._addends())

    def _sources(self) -> Iterator[tuple[str, FloatFormat, str, int]]:
        if self.n.window_addend is not None:
            yield "c", self.n.window_addend, "i__c", 0

    def _code_of(self, fmt: Format, port: Term, padded: bool) -> tuple[object, Term]:
        return super()._code_of(fmt, port, padded) if self.takes_addend else (0, true())

    # Groups without a product.

    def _no_product_signs(self) -> AnyClaim:
        circuit = self.parts.maximum
        ports = {name: term for name, term in circuit.inputs.items() if name.startswith("i__terms__")}
        zero = [
            fact
            for lane in range(self.n.lanes)
            for fact in self._is_zero(*(ports[f"i__terms__{lane}__{field}"] for field in ("exp", "sig")))
        ]
        neutral = fixed(self.parts.products, self.neutral).outputs
        by = {term: neutral[f"o{name[1:]}"] for name, term in ports.items()}
        max_exp = circuit.outputs["o__max_exp"]
        return Claim(
            "no product: signs", "what products of zero are changes max_exp in nothing", f"{self.n.lanes} lanes",
            tuple(zero), same(max_exp, substituted(max_exp, by)), tuple(circuit.inputs.values()),
        )  # fmt: skip

    # The window.

    def _leaves(self, window: int) -> list[Term]:
        return super()._leaves(window) if self.zeros == "exp" else []

    @property
    def _carries(self) -> Literal["sign", "bit", "none"]:
        return super()._carries if self.carried else "none"

    def _aligned(self) -> Iterator[AnyClaim]:
        for claim in super()._aligned():
            if isinstance(claim, StructuralClaim) and claim.name == "lanes: aligned":
                claim = replace(claim, otherwise=self._align_equal)
            yield claim

    def _align_equal(self) -> Claim:
        """The claim that every lane makes the same of its term, wherever it can be aligned, or is zero."""
        circuit, wanted = self.parts.align, []
        fields = ("sign", "exp", "sig")
        for lane in range(1, self.n.lanes):
            by = {
                circuit.inputs[f"i__terms__0__{name}"]: circuit.inputs[f"i__terms__{lane}__{name}"] for name in fields
            }
            for field in ("ones", "carry"):
                term = substituted(circuit.outputs[f"o__aligned__0__{field}"], by)
                wanted.append(same(term, circuit.outputs[f"o__aligned__{lane}__{field}"]))
        return Claim("lanes: aligned", "", "", (), both(*wanted), tuple(circuit.inputs.values()))

    def _sum(self, window: int) -> StructuralClaim:
        return replace(super()._sum(window), otherwise=self._adds)

    def _adds(self) -> Claim:
        """The claim of the sum as a question, of terms within their bounds."""
        circuit, known = self.parts.sum, list[Term]()
        total: Any = 0
        for lane in range(self.n.lanes + 1):
            ones, carry = (circuit.inputs[f"i__aligned__{lane}__{field}"] for field in ("ones", "carry"))
            term = as_integer(Integer.signed(ones))
            match self._carries:
                case "sign":
                    known.append(same(carry, part(ones, width(ones) - 1, 1)))
                    term = as_integer(term + Integer.unsigned(carry))
                case "bit":
                    term = as_integer(term + Integer.unsigned(carry))
                case "none":
                    pass
            known.append(holds(abs(term) <= self._bound(lane)))
            total = term + total
        is_sum = holds(Integer.signed(circuit.outputs["o__total"]) == total)
        return Claim("sum", "", "", tuple(known), is_sum, tuple(circuit.inputs.values()))

    # The result.

    def _padding(self) -> Claim:
        """The claim that zeros stand below a number's code."""
        outputs, fmt = self.parts.round.outputs, self.n.result
        whole, nan = outputs["o__result"], outputs["o__nan"]
        low = same(part(whole, 0, fmt.padding), value(0, fmt.padding)) if fmt.padding else true()
        return Claim(
            "result: padding", "below the code of a number there are zeros", "every total", (),
            either(same(nan, value(1, 1)), low), tuple(self.parts.round.inputs.values()),
        )  # fmt: skip


def with_plain_zeros(unit: Unit) -> Unit:
    """Return a unit of one plain window, whose zeros are all +0 where their signs are not promised."""
    if unpromised(unit).zeros is None:
        return unit
    return unit.model_copy(update={"result": unit.result.model_copy(update={"tiny": "positive"})})


def with_code(circuit: Circuit, unit: Unit, model_nan: int, good: Unpromised) -> Circuit:
    """Return the last step with code and NaN of its container `o__result`, as hwsim's own has them.

    good: what of the result is not promised: any NaN is the model's then, and -0 is +0.
    """
    fmt = unit.result.format
    assert isinstance(fmt, FloatFormat)
    whole = circuit.outputs["o__result"]
    canonical = value(model_nan, width(whole))
    if (any_nan := good.nans) is not None:
        magnitude = op(Kind.BV_AND, whole, value((any_nan.sign_bit - 1) << any_nan.padding, width(whole)))
        above = largest_number(any_nan)
        whole = choose(op(Kind.BV_UGT, magnitude, value(above, width(whole))), canonical, whole)
    if good.minus_zero is not None:
        zero = value(0, width(whole))
        whole = choose(same(whole, value(good.minus_zero, width(whole))), zero, whole)
    nan = as_bit(same(whole, canonical)) if fmt.is_nan(model_nan >> fmt.padding) else value(0, 1)
    code = part(whole, fmt.padding, fmt.bits)
    return replace(circuit, outputs={"o__result": whole, "o__nan": nan, "o__code": code})


def constant_ports(circuits: Mapping[str, Circuit], fields: Mapping[str, Term]) -> dict[Term, Term]:
    """Return the ports of steps whose fields always hold one number, each with this number."""
    return {
        term: fields[name[3:]]
        for circuit in circuits.values()
        for name, term in circuit.inputs.items()
        if name[3:] in fields
    }
