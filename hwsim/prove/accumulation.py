"""The claims of what follows a group's sum: a late addend, or a register of another format, and an addition to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from amaranth.lib.data import StructLayout

from hwsim.formats import FloatFormat, unpack
from hwsim.model.addition import add, flushed_code
from hwsim.model.definition import Definition
from hwsim.model.promotion import Promoter, promoter_of
from hwsim.model.terms import addend_term
from hwsim.prove.adder import AdderCircuits, AdderClaims, NumberFields, is_decoded
from hwsim.prove.addition import of_known_sign
from hwsim.prove.alike import Alike
from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import circuits, fixed
from hwsim.prove.claims import AnyClaim, Claim
from hwsim.prove.elaborated import adder_circuits
from hwsim.prove.explore import Path, paths
from hwsim.prove.logic import Term, part, same, substituted, value
from hwsim.prove.multiplied import product_claims
from hwsim.prove.promotion import PromotionClaims
from hwsim.prove.relations import adding, each, holds, is_each
from hwsim.prove.symbolic import Integer
from hwsim.rtl.accumulate import Accumulation, ScalesNumber, accumulation, smaller_promotion
from hwsim.rtl.addition import FloatAdder, RoundedNumber
from hwsim.rtl.layouts import result_layout
from hwsim.spec import Unit
from hwsim.spec.keys import Number


class AccumulationClaims:
    """All claims about what a unit adds after a group's sum.

    steps: its circuits, where they are not those of the unit's own RTL.
    """

    def __init__(
        self, unit: Unit, what: Accumulation, cuts: Sequence[str] = (), steps: Mapping[str, Circuit] | None = None
    ):
        self.unit, self.what, self.fmt, name = unit, what, what.format, what.name
        self.model = Definition(unit, keep=False)
        if steps is None:
            steps = adder_circuits(unit, cuts)
        self.scale = steps.get(f"{name}.scale")
        self.decode = steps[f"{name}.decode"]
        self.adder = FloatAdder(what.format, what.rounding, what.x, what.y, what.flushes)
        self.steps = AdderCircuits(*adding(steps, name))

    @property
    def chain(self) -> Sequence[Circuit]:
        """Its steps, one after another."""
        first = () if self.scale is None else (self.scale,)
        return *first, self.decode, self.steps.align, self.steps.sum, self.steps.round

    def claims(self) -> Iterator[AnyClaim]:
        """In the order of the steps."""
        what, name = self.what, self.what.name
        if what.start is None:
            yield self._kept("register", what.format, {})
        else:
            yield self._kept("register", what.format, {"i__starts": 0})
            yield self._kept("addend", what.start, {"i__starts": 1})
        if self.scale is None:
            yield self._added()
        else:
            yield from self._scale(self.scale)
            yield from self._scaled()
        numbers = [
            NumberFields(self.steps.align.inputs, f"i__{side}", span, what.format)
            for side, span in (("x", what.x), ("y", what.y))
        ]
        yield from AdderClaims(name, self.adder, self.steps, numbers).claims()

    def _kept(self, which: str, fmt: Number, given: Mapping[str, int]) -> Claim:
        """What is kept, a code of the format of sums, or of the addend's own format."""
        circuit = fixed(self.decode, {name: value(number, 1) for name, number in given.items()})
        whole = circuit.inputs["i__register"]
        port = part(whole, 0, fmt.bits)
        code, flush = Integer.unsigned(port) << fmt.padding, self.what.flush

        def term() -> Any:
            return addend_term(fmt, flushed_code(fmt, code) if flush and isinstance(fmt, FloatFormat) else code)

        right = [
            Path(found.condition, is_decoded(circuit.outputs, "o__x", self.what.x, self.fmt, found.result))
            for found in paths(term)
        ]
        return Claim(
            f"{self.what.name}: {which}", "a decoded code is the model's term, normalised", f"codes of {fmt.name}", (),
            each(right), (whole,),
        )  # fmt: skip

    def _added(self) -> Claim:
        port, fmt = self.decode.inputs["i__partial"], self.what.partial
        code = Integer.unsigned(port) << fmt.padding
        right = [
            Path(found.condition, is_decoded(self.decode.outputs, "o__y", self.what.y, self.fmt, found.result))
            for found in paths(lambda: addend_term(fmt, code))
        ]
        return Claim(
            f"{self.what.name}: partial", "a decoded code is the model's term, normalised", f"codes of {fmt.name}", (),
            each(right), (port,),
        )  # fmt: skip

    # Scales: of both, and of the partial sum.

    def _scale(self, circuit: Circuit) -> Iterator[AnyClaim]:
        promoter, formats = self._promoter, tuple(self.what.scales.values())
        ports = circuit.inputs["i__scale_a"], circuit.inputs["i__scale_b"]
        a, b = map(Integer.unsigned, ports)
        clean = [
            holds(code & (1 << fmt.padding) - 1 == 0)
            for code, fmt in zip((a, b), formats, strict=True)
            if fmt.padding
        ]  # fmt: skip
        multiplied = ScalesNumber(self.what)
        span = multiplied.range
        rounding = RoundedNumber(self.fmt, span, self.what.rounding, "ieee")
        number, rounded = circuits({"number": multiplied, "rounded": rounding}).values()
        given = {number.inputs[name]: port for name, port in zip(self.what.scales, ports, strict=True)}
        made = substituted(number.outputs["o"], given)
        of_ports = replace(number, outputs=_fields(made, span.layout, "o"))

        def is_product() -> Term:
            term = promoter.scales_product(formats[0], formats[1], a, b)
            return is_decoded(of_ports.outputs, "o", span, self.fmt, term)

        yield from product_claims(
            f"{self.what.name}: scales", "a number is the model's product of both scales, normalised", "both scales",
            of_ports, ports, clean, lambda: (unpack(formats[0], a), unpack(formats[1], b)), is_product,
        )  # fmt: skip
        fields = NumberFields(_fields(rounded.inputs["i"], span.layout, "i"), "i", span, self.fmt)
        code = _fields(rounded.outputs["o"], result_layout(self.fmt), "o")["o__code"]

        def result() -> Any:
            return add(self.fmt, (of_known_sign(fields.read()[0]),), self.what.rounding) >> self.fmt.padding

        yield Claim(
            f"{self.what.name}: scales rounded", "a number is rounded once, as the model rounds it", "any such number",
            fields.known, is_each(Integer.unsigned(code), paths(result, fields.known)), tuple(rounded.inputs.values()),
        )  # fmt: skip
        whole = substituted(code, {rounded.inputs["i"]: made})
        yield Alike(
            f"{self.what.name}: scale", "the step is one after the other", "both scales", tuple(clean),
            same(circuit.outputs["o__scale"], whole), ports,
        )  # fmt: skip

    def _scaled(self) -> Iterator[AnyClaim]:
        """The partial sum times its scale."""
        circuit, promoter, fmt = self.decode, self._promoter, self.what.partial
        ports = circuit.inputs["i__partial"], circuit.inputs["i__scale"]
        partial, scale = (
            Integer.unsigned(port) << one.padding for port, one in zip(ports, (fmt, self.fmt), strict=True)
        )

        def is_product() -> Term:
            return is_decoded(circuit.outputs, "o__y", self.what.y, self.fmt, promoter.scaled(partial, scale))

        yield from product_claims(
            f"{self.what.name}: partial", "a number is the model's product of partial sum and scale, normalised",
            "both codes", circuit, ports, (), lambda: (unpack(fmt, partial), unpack(self.fmt, scale)), is_product,
        )  # fmt: skip

    @property
    def _promoter(self) -> Promoter:
        found = promoter_of(self.unit)
        assert found is not None
        return found


def _fields(packed: Term, layout: StructLayout, place: str) -> dict[str, Term]:
    """The fields of a packed port, by the names that they have as ports of their own."""
    return {f"{place}__{name}": part(packed, layout[name].offset, layout[name].width) for name in layout.members}


def after_claims(
    unit: Unit, cuts: Sequence[str], steps: Mapping[str, Circuit] | None = None
) -> PromotionClaims | AccumulationClaims | None:
    """The claims of what follows a unit's groups' sums; None where nothing does. steps: its circuits, if at hand."""
    rule, what = smaller_promotion(unit, cuts), accumulation(unit)
    if what is None:
        return None
    if rule is not None:
        return PromotionClaims(unit, rule, cuts, steps)
    return AccumulationClaims(unit, what, cuts, steps)
