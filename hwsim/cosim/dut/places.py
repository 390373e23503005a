"""The keys of a design's file that say where fields are in its ports."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Strict, model_validator

from hwsim.cosim.dut.dutpart import DutPart, Slice
from hwsim.errors import InputError
from hwsim.formats.yamlfile import RuleError

Constant = Annotated[int, Strict()]
Rest = Literal["zeros", "ones", "sign"]
MOST_BIAS = 1 << 20
MOST_APART = 64  # cycles of `first` and `last` from their beats
Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
RESULTS_HAVE = {"copies": "copies", "scale": "an integer and a scale"}
INPUTS = ("a", "b", "c", "scale_a", "scale_b")  # fields that may be constant, or whose codes in wider lanes


def _placed(value: Any) -> Any:
    """The short forms: a port's name, or a list of them; a number, or a list of them."""
    if isinstance(value, str):
        return {"each" if "{}" in value else "port": value}
    if isinstance(value, list):
        return {"constant" if value and all(map(_is_number, value)) else "ports": value}
    return {"constant": value} if _is_number(value) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _numbers(value: Any) -> Any:
    """The short form: one number."""
    return (value,) if _is_number(value) else value


class ScalePlace(DutPart):
    """The scale of a result that is an integer, which stands for integer * 2^(scale - bias).

    port: where the scale is. signed: whether it is in two's complement.
    """

    port: Slice
    bias: Annotated[int, Strict(), Field(ge=-MOST_BIAS, le=MOST_BIAS)]
    signed: Annotated[bool, Strict()] = False


class PortPlace(DutPart):
    """Where a field of a beat or of a result is.

    port: one port, or a part of one, `data[31:0]`, `req.data`, that holds all elements side by side. ports: one port or
    part for each element. each: a port for each element, `{}` standing for its number. pieces: ports or parts that make
    up all elements together, the low bits first.
    lane0: whether element 0 stands in the low or in the high bits of `port`. bits: `reversed`: the least significant
    bit of an element is in the highest place. constant: of an operand that has no port: the number that it always is,
    or one for each element. bits_at: in which bits of a lane that is wider than its code the code
    stands; rest: what the others are driven with. scale: of a result that is an integer and a scale. copies: where the
    same result is once more.
    """

    port: Slice | None = None
    ports: tuple[Slice, ...] | None = None
    each: str | None = None
    pieces: tuple[Slice, ...] | None = None
    constant: Annotated[tuple[Number, ...] | None, BeforeValidator(_numbers)] = None
    lane0: Literal["low", "high"] = "low"
    bits: Literal["normal", "reversed"] = "normal"
    bits_at: Literal["low", "high"] | None = None
    rest: Rest | None = None
    scale: ScalePlace | None = None
    copies: tuple[PlacedField, ...] = ()

    @model_validator(mode="after")
    def _one_form(self) -> PortPlace:
        forms = (self.port, self.ports, self.each, self.pieces, self.constant)
        if sum(form is not None for form in forms) != 1:
            raise InputError("must have one of port, ports, each, pieces and constant")
        if self.constant is not None and self.model_fields_set != {"constant"}:
            raise InputError("must have nothing beside constant, which is at no port")
        if self.rest is not None and self.bits_at is None:
            raise InputError("must not have rest without bits_at")
        if any(copy.copies for copy in self.copies):
            raise InputError("must not have copies of copies")
        return self

    @property
    def named(self) -> str:
        """The place in a few words."""
        return self.port or self.each or ", ".join(self.ports or self.pieces or ())


PlacedField = Annotated[PortPlace, BeforeValidator(_placed)]
PortPlace.model_rebuild()


class ControlPlace(PortPlace):
    """Where a bit of a beat is that says something of the beat, and when.

    active: whether the port is high or low where it is so. at: the cycle of its own in which it is so, counted from
    that of the beat; 0 for the beat's.
    """

    active: Literal["high", "low"] = "high"
    at: Annotated[int, Strict(), Field(ge=-MOST_APART, le=MOST_APART)] = 0

    @property
    def plain(self) -> bool:
        """Whether the port holds the beat's bit as it is."""
        return self.at == 0 and self.active == "high"


PlacedControl = Annotated[ControlPlace, BeforeValidator(_placed)]


class Ports(DutPart):
    """Where the fields of a beat and of a result are.

    a, b, result: needed, unless a schedule has them; scale_a, scale_b: of a scaled unit.
    c: without it the addend is +0.
    first, last: without `last`, a dot product is one beat; `first` may be a pulse in a cycle before it, `last` in one
    after it. context: of beats; result_context: of results. tag, result_tag: the same of dot
    products whose results come in any order.
    """

    a: PlacedField | None = None
    b: PlacedField | None = None
    result: PlacedField | None = None
    c: PlacedField | None = None
    scale_a: PlacedField | None = None
    scale_b: PlacedField | None = None
    first: PlacedControl | None = None
    last: PlacedControl | None = None
    context: PlacedField | None = None
    result_context: PlacedField | None = None
    tag: PlacedField | None = None
    result_tag: PlacedField | None = None

    @model_validator(mode="after")
    def _where_they_mean_something(self) -> Ports:
        for name in type(self).model_fields:
            place: PortPlace | None = getattr(self, name)
            if place is not None and place.bits_at is not None and name not in INPUTS:
                raise RuleError(f"{name}.bits_at", "must not be given: name the bits, as in y[21:0]")
            if place is not None and place.constant is not None and name not in INPUTS:
                raise RuleError(name, f"must be at a port, not constant: only {', '.join(INPUTS)} may be")
            for key in ("copies", "scale") if place is not None and name != "result" else ():
                if getattr(place, key):
                    raise RuleError(f"{name}.{key}", f"must not be given: only a result has {RESULTS_HAVE[key]}")
        return self
