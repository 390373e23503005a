"""The claims of a rounding: what normalises any magnitude and rounds it to a format."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from hwsim.formats import FloatFormat
from hwsim.model.rounding import pack, round_to
from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import circuits, connected, fixed
from hwsim.prove.claims import AnyClaim, Claim
from hwsim.prove.explore import paths
from hwsim.prove.logic import Kind, Term, constant, is_one, negated, op, part, same, value, width
from hwsim.prove.relations import exactly, holds, is_each
from hwsim.prove.symbolic import Integer, as_integer
from hwsim.rtl.encode import EncodeTarget
from hwsim.spec import Rounding
from hwsim.spec.keys import Overflow


class Encoding:
    """A target's steps, from a magnitude to a code without its padding. rounding, overflow: the target's."""

    def __init__(self, target: EncodeTarget, rounding: Rounding, overflow: Overflow):
        assert isinstance(target.to, FloatFormat)
        self.target, self.fmt, self.rounding, self.overflow = target, target.to, rounding, overflow

    @cached_property
    def circuit(self) -> Circuit:
        """The steps as one."""
        return connected(list(circuits({step.name: step for step in self.target.steps()}).values()))

    def of(self, magnitude: Term, top: Any, sign: Term) -> Term:
        """The code of a magnitude. top: the exponent field of its top bit."""
        inputs = self.circuit.inputs
        exponent = as_integer(top).at(width(inputs["i__top_bexp"]))
        given = {"i__magnitude": magnitude, "i__top_bexp": exponent, "i__sign": sign}
        quiet = {name: value(0, width(term)) for name, term in inputs.items() if name not in given}
        return fixed(self.circuit, {**given, **quiet}).outputs["o__code"]

    def claims(self, name: str, least: int, most: int) -> Iterator[AnyClaim]:
        """That any number is rounded as the model rounds it. least, most: exponents of the magnitude's top bit."""
        target, fmt = self.target, self.fmt
        bits = target.magnitude_bits
        magnitude, sign = constant("any.magnitude", bits), constant("any.sign", 1)
        top = constant("any.top", width(self.circuit.inputs["i__top_bexp"]))
        exponent, number = Integer.signed(top), Integer.unsigned(magnitude)
        within = exactly(exponent, least + target.bias, most + target.bias)
        some = negated(same(magnitude, value(0, bits)))
        places = bits - number.bit_length()
        there, led = self.of(magnitude, exponent, sign), op(Kind.BV_SHL, magnitude, as_integer(places).at(bits))
        yield Claim(
            f"{name}: normalized", "the code is that of the same number with its leading one on top", "any magnitude",
            (some, within), same(there, self.of(led, exponent - places, sign)), (magnitude, top),
        )  # fmt: skip
        on_top = (
            is_one(part(magnitude, bits - 1, 1)),
            exactly(exponent, least + target.bias - bits, most + target.bias),
        )

        def rounded() -> int:
            negative = int(as_integer(Integer.unsigned(sign)) != 0)
            unit_exp = exponent - target.bias - bits + 1
            return round_to(fmt, negative, number, unit_exp, self.rounding, self.overflow).code >> fmt.padding

        yield Claim(
            f"{name}: rounded", "a number with its leading one on top is rounded once", "any such number and exponent",
            on_top, is_each(Integer.unsigned(there), paths(rounded, on_top)), (magnitude, top, sign),
        )  # fmt: skip
        zero = Integer.unsigned(self.of(value(0, bits), exponent, sign))
        signed = as_integer(Integer.unsigned(sign)) if fmt.signed_zero else 0
        yield Claim(
            f"{name}: zero", "of zero a zero of its sign is left, where there is one", "every exponent", (within,),
            holds(zero == pack(fmt, signed, 0) >> fmt.padding), (top,),  # type: ignore[arg-type]
        )  # fmt: skip
