"""Which bit of which port of a user's design holds what: operands, results, flags, and controls of one bit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, assert_never

from hwsim.base.errors import InputError
from hwsim.cases.case import operand_counts, operand_formats
from hwsim.cosim.dutfile import Dut, PortPlace, Rest, ScalePlace, flagged
from hwsim.cosim.elaborate import NAME, Module, PortBit, named_bits
from hwsim.cosim.protocols import ControlPort, NamedControl
from hwsim.formats import FloatFormat, Format
from hwsim.tb.fields import Field, side_by_side

MOST_SCALE_BITS = 16

FUNCTION = """  // integer_part * 2^(scale - ({bias})) as a code of {fmt}.
  function [{code_high}:0] {name};
    input signed [{integer_high}:0] integer_part;
    input [{scale_high}:0] scale;
    reg negative, known;
    reg [{wide_high}:0] magnitude, moved;
    reg [{sign_place}:0] made;
    integer place, lead, unit, bexp;
    begin
      negative = integer_part[{integer_high}];
      magnitude = {{{zeros}'d0, negative ? -integer_part : integer_part}};
      lead = 0;
      for (place = 0; place < {integer_bits}; place = place + 1)
        if (magnitude[place]) lead = place;
      unit = $signed({{{{{above_bits}{{{above}}}}}, scale}}) - ({bias});
      bexp = lead + unit + ({exponent_bias});
      if (magnitude == 0 || lead + unit < {emin}) begin
        moved = {subnormal};
        made = {{negative, moved[{sign_place}-1:0]}};
      end else begin
        moved = (magnitude << ({leading} - lead)) >> {cut};
        made = {{negative, bexp[{exponent_high}:0]{fraction}}};
      end
      // What is unknown of either makes all of the code unknown.
      known = ^{{integer_part, scale, moved, bexp}};
      {name} = {{made ^ {{{bits}{{known ^ known}}}}{padding}}};
    end
  endfunction
"""


@dataclass(frozen=True)
class ScaledResult:
    """integer * 2^(scale - bias), the integer in two's complement, as a code of a format that has every such number.

    integer_bits: width of the integer. scale: the bits of the scale, the least significant first. signed: whether they
    are in two's complement.
    """

    fmt: FloatFormat
    integer_bits: int
    scale: tuple[PortBit, ...]
    bias: int
    signed: bool

    def function(self, name: str) -> str:
        """The Verilog function from the integer and the scale to the code."""
        fmt = self.fmt
        top = len(self.scale) - 1
        leading = max(self.integer_bits, fmt.precision) - 1  # where the first 1 is shifted to
        return FUNCTION.format(
            name=name,
            fmt=fmt.name,
            bias=self.bias,
            above=f"scale[{top}]" if self.signed else "1'd0",
            above_bits=31 - top,
            integer_high=self.integer_bits - 1,
            integer_bits=self.integer_bits,
            scale_high=top,
            code_high=fmt.container_bits - 1,
            zeros=leading + 1 + fmt.bits - self.integer_bits,
            wide_high=leading + fmt.bits,
            bits=fmt.bits,
            sign_place=fmt.bits - 1,
            emin=fmt.emin,
            subnormal=f"magnitude << (unit - ({fmt.quantum_exp}))" if fmt.subnormals else "0",
            exponent_bias=fmt.bias,
            exponent_high=fmt.exponent_bits - 1,
            leading=leading,
            cut=leading - fmt.fraction_bits,
            fraction=f", moved[{fmt.fraction_bits - 1}:0]" if fmt.fraction_bits else "",
            padding=f", {fmt.padding}'d0" if fmt.padding else "",
        )


def scaled_result(
    dut: Dut, key: str, place: ScalePlace, integer_bits: int, scale: tuple[PortBit, ...], fmt: Format
) -> ScaledResult:
    """The scaled result at a place. Raises SpecError, naming the key, where the format lacks one of its numbers."""
    if len(scale) > MOST_SCALE_BITS:
        raise dut.wrong(f"{key}.scale", f"must have at most {MOST_SCALE_BITS} bits, not {len(scale)}")
    if not isinstance(fmt, FloatFormat) or not fmt.signed:
        raise dut.wrong(f"{key}.scale", f"needs a result that is a float with a sign, not {fmt.name}")
    if fmt.signed_zero and dut.unit.result.zero_sign != "any":
        rule = "needs result.zero_sign: any in the unit's file, because an integer has one zero"
        raise dut.wrong(f"{key}.scale", f"{rule} and {fmt.name} has two")
    least = -(1 << len(scale) - 1) if place.signed else 0
    most = least + (1 << len(scale)) - 1
    low, high, precision = least - place.bias, most - place.bias + integer_bits - 1, integer_bits - 1
    lowest = fmt.quantum_exp if fmt.subnormals else fmt.emin + 1
    if fmt.precision < precision or lowest > low or fmt.emax < high:
        needed = f"{precision} significant bits from 2^{low} to 2^{high}"
        rule = f"needs a result with every number that it can make, {needed}"
        raise dut.wrong(f"{key}.scale", f"{rule}; {fmt.name} has {fmt.precision} from 2^{lowest} to 2^{fmt.emax}")
    return ScaledResult(fmt, integer_bits, scale, place.bias, place.signed)


Element = tuple[PortBit, ...]  # the bits of one, the least significant first
Direction = Literal["in", "out"]
COPIES = "copies."
MOST_LABEL_BITS = 16  # of a context's port, or a tag's


@dataclass(frozen=True)
class Wiring:
    """The fields of a beat and of a result, as the bench's payloads hold them, and where the design has them.

    places: for each field that the design has, the bits of its ports, by element, the least significant first; they
    stand for the element's bits from `shift` on. held: bits of inputs that are no field's: what each of them is, a
    constant or another bit of an input. scaled: results whose places are an integer, with the scale of each.
    """

    input: tuple[Field, ...]
    output: tuple[Field, ...]
    places: dict[str, tuple[Element, ...]]
    shift: dict[str, int]
    held: dict[PortBit, int | PortBit] = field(default_factory=dict)
    scaled: dict[str, ScaledResult] = field(default_factory=dict)

    @property
    def extra(self) -> tuple[Field, ...]:
        """The fields beside result and context: copies of the result, and flags."""
        return self.output[2:]

    @property
    def input_width(self) -> int:
        """The width of a beat's payload, in bits."""
        return sum(field.bits * field.count for field in self.input)

    @property
    def output_width(self) -> int:
        """The width of a result's payload, in bits."""
        return sum(field.bits * field.count for field in self.output)


def copy_name(number: int) -> str:
    """The name of the field of a result's copy, which is also its key."""
    return f"{COPIES}{number}"


def operands_of(dut: Dut) -> dict[str, tuple[int, Format]]:
    """The number of elements and the format of every operand that the unit has."""
    unit = dut.sparse or dut.unit
    counts = operand_counts(unit, dut.products)
    return {name: (counts[name], fmt) for name, fmt in operand_formats(unit).items()}


def wiring(dut: Dut, module: Module) -> Wiring:
    """Work out every field's bits. Raises SpecError, naming the key, for what does not fit the design's ports."""
    return _Wirer(dut, module).wired()


class _Wirer:
    def __init__(self, dut: Dut, module: Module):
        self.dut, self.module, self.ports = dut, module, dut.file.ports
        self.places: dict[str, tuple[Element, ...]] = {}
        self.shift: dict[str, int] = {}
        self.held: dict[PortBit, int | PortBit] = {}
        self.scaled: dict[str, ScaledResult] = {}

    def wired(self) -> Wiring:
        file = self.dut.file
        context_bits = max(1, (file.labels - 1).bit_length())
        label, result_label = file.label_keys
        inputs = [(name, fmt.container_bits, count) for name, (count, fmt) in operands_of(self.dut).items()]
        for name, (count, fmt) in operands_of(self.dut).items():
            self._operand(name, count, fmt)
        controls = (("first", "first", 1), ("last", "last", 1), ("context", label, context_bits))
        for name, key, bits in controls:
            self._control(name, key, bits)
        output, results = self.dut.unit.output, self.ports.result
        if results is not None:
            self._result("result", results, output)
        label_bits = self._label(result_label, context_bits)
        for name, value in file.constants.items():
            self._constant(name, value)
        outputs = [("result", output.container_bits, 1), ("context", label_bits, 1)]
        for number, place in enumerate(results.copies if results is not None else ()):
            name = copy_name(number)
            self._result(name, place, output)
            outputs.append((name, output.container_bits, 1))
        for flag, port in flagged(file.flags):
            self._flag(flag, port)
            outputs.append((flag, 1, 1))
        return Wiring(
            side_by_side([*inputs, *((name, bits, 1) for name, _, bits in controls)]),
            side_by_side(outputs),
            self.places,
            self.shift,
            self.held,
            self.scaled,
        )

    def _flag(self, name: str, port: str) -> None:
        bits = self._bits(f"flags.{name}", port, "out")
        if len(bits) != 1:
            raise self.dut.wrong(f"flags.{name}", f"must have 1 bit, not {len(bits)}")
        self.places[name] = (bits,)

    def _operand(self, name: str, count: int, fmt: Format) -> None:
        place: PortPlace | None = getattr(self.ports, name)
        if place is None or place.constant is not None:
            return
        key = f"ports.{name}"
        lanes = self._lanes(key, place, count, "in")
        if place.bits_at is None:
            elements = [_in_order(lane, place) for lane in lanes]
            self.shift[name] = _shift(self.dut, name, fmt, len(elements[0]))
        else:
            elements, self.shift[name] = self._in_wider(key, place, lanes, fmt.bits), fmt.padding
        self.places[name] = tuple(elements)

    def _in_wider(self, key: str, place: PortPlace, lanes: Sequence[Element], bits: int) -> list[Element]:
        """The codes' bits in wider lanes; the drivers of the other bits are noted."""
        width, elements = len(lanes[0]), list[Element]()
        if width <= bits:
            raise self.dut.wrong(f"{key}.bits_at", f"must not be given: lanes of {width} bits hold codes of {bits}")
        for lane in lanes:
            low = 0 if place.bits_at == "low" else width - bits
            element = _in_order(lane[low : low + bits], place)
            elements.append(element)
            filling = _filling(place.rest or "zeros", element)
            self.held |= dict.fromkeys((*lane[:low], *lane[low + bits :]), filling)
        return elements

    def _control(self, name: str, key: str, bits: int) -> None:
        """Place a control field of a beat; a context's port may be wider than the contexts need."""
        element = self._no_number(key, bits, "in")
        if element is not None:
            self.places[name] = (element[:bits],)
            self.held |= dict.fromkeys(element[bits:], 0)

    def _label(self, key: str, bits: int) -> int:
        """Place the context or the tag of a result. Return its width, which is the port's: no wrong bit goes unseen."""
        element = self._no_number(key, bits, "out")
        if element is None:
            return bits
        if len(element) > MOST_LABEL_BITS:
            raise self.dut.wrong(f"ports.{key}", f"must have at most {MOST_LABEL_BITS} bits, not {len(element)}")
        self.places["result_context"] = (element,)
        return len(element)

    def _no_number(self, key: str, bits: int, direction: Direction) -> Element | None:
        place: PortPlace | None = getattr(self.ports, key)
        if place is None:
            return None
        (lane,) = self._lanes(f"ports.{key}", place, 1, direction)
        element = _in_order(lane, place)
        if len(element) < bits or (key in ("first", "last") and len(element) != 1):
            rule = f"must have {bits} {'bit' if bits == 1 else 'bits'}, not {len(element)}"
            raise self.dut.wrong(f"ports.{key}", rule)
        return element

    def _result(self, name: str, place: PortPlace, fmt: Format) -> None:
        key = "ports.result" if name == "result" else f"ports.result.{name}"
        (lane,) = self._lanes(key, place, 1, "out")
        element = _in_order(lane, place)
        self.places[name] = (element,)
        if place.scale is None:
            self.shift[name] = _shift(self.dut, name, fmt, len(element))
        else:
            scale = self._bits(f"{key}.scale.port", place.scale.port, "out")
            self.scaled[name] = scaled_result(self.dut, key, place.scale, len(element), scale, fmt)

    def _constant(self, name: str, value: int) -> None:
        key = f"constants.{name}"
        bits = self._bits(key, name, "in")
        if not -(1 << len(bits) - 1) <= value < 1 << len(bits):
            raise self.dut.wrong(key, f"must fit {len(bits)} {'bit' if len(bits) == 1 else 'bits'}, not {value}")
        for place, bit in enumerate(bits):
            if bit in self.held:
                raise self.dut.wrong(key, f"drives bit {bit[2]} of {bit[0]}, which something else drives too")
            self.held[bit] = value >> place & 1

    def _lanes(self, key: str, place: PortPlace, count: int, direction: Direction) -> list[Element]:
        """The bits that hold each element, in the order of the ports."""

        def bits(name: str) -> Element:
            return self._bits(key, name, direction)

        if place.port is not None or place.pieces is not None:
            names = place.pieces if place.port is None else (place.port,)
            every = [bit for name in names or () for bit in bits(name)]
            if len(every) % count or len(every) < count:
                rule = f"must hold {count} elements of the same width, not {len(every)} bits ({place.named})"
                raise self.dut.wrong(key, rule)
            width = len(every) // count
            lanes = [tuple(every[first : first + width]) for first in range(0, len(every), width)]
        else:
            lanes = self._each(key, place, count, bits)
        return lanes[::-1] if place.lane0 == "high" else lanes

    def _each(self, key: str, place: PortPlace, count: int, bits: Callable[[str], Element]) -> list[Element]:
        named = place.ports or tuple((place.each or "").replace("{}", str(index)) for index in range(count))
        if len(named) != count:
            raise self.dut.wrong(key, f"must name {count} ports, one for each element, not {len(named)}")
        lanes = [bits(name) for name in named]
        if len({len(lane) for lane in lanes}) > 1:
            raise self.dut.wrong(key, "must have elements of the same width")
        return lanes

    def _bits(self, key: str, text: str, direction: Direction) -> Element:
        return bits_of(self.dut, self.module, key, text, direction)


def bits_of(dut: Dut, module: Module, key: str, text: str, direction: Direction) -> Element:
    """The bits that a name stands for, the least significant first. Raises SpecError, naming the key."""
    try:
        return named_bits(module, text, direction)
    except InputError as error:
        raise dut.wrong(key, str(error)) from None


def bit_of(dut: Dut, module: Module, key: str, text: str, direction: Direction) -> PortBit:
    """The bit that a name stands for. Raises SpecError, naming the key, for one of several bits."""
    bits = bits_of(dut, module, key, text, direction)
    if len(bits) != 1:
        raise dut.wrong(key, f"must name one bit, not {text} ({len(bits)} bits)")
    return bits[0]


def port_bit(bit: PortBit, module: Module) -> str:
    """A bit of a port as an expression of the adapter's Verilog, which has a wire for each port."""
    name, word, index = bit
    wire = f"port_{name}{''.join(f'[{place}]' for place in word)}"
    return wire if module.by_name[name].width == 1 else f"{wire}[{index}]"


def _in_order(bits: Element, place: PortPlace) -> Element:
    return bits[::-1] if place.bits == "reversed" else bits


def _filling(rest: Rest, element: Element) -> int | PortBit:
    """The driver of the bits of a lane beside its code."""
    match rest:
        case "zeros":
            return 0
        case "ones":
            return 1
        case "sign":
            return element[-1]
        case _:
            assert_never(rest)


def _shift(dut: Dut, name: str, fmt: Format, width: int) -> int:
    """The lowest bit of the container that an element of the design stands for: above the padding, or 0."""
    if width == fmt.container_bits:
        return 0
    result = name == "result" or name.startswith(COPIES)
    if width == fmt.bits and not (fmt.padding and result):
        return fmt.padding
    widths = {fmt.container_bits} if result and fmt.padding else {fmt.bits, fmt.container_bits}
    wider = "" if result or width < fmt.bits else "; of a wider lane say bits_at"
    raise dut.wrong(
        f"ports.{f'result.{name}' if name.startswith(COPIES) else name}",
        f"must have {' or '.join(map(str, sorted(widths)))} bits for each element ({fmt.name}), not {width}{wider}",
    )


INDEXED = re.compile(r"(\w+)\[\d+\]")
PLAIN_NAME = re.compile(r"\w+(\[\d+\])?")
CONSTANTS = ("1'd0", "1'd1")  # bits that are put together to numbers
ALWAYS, NEVER = "1'b1", "1'b0"
DIRECTIONS = {"in": "input", "out": "output"}


@dataclass(frozen=True)
class Driven:
    """A bit of an input, and the expression that drives it. key: the file's key for it."""

    key: str
    bit: PortBit
    source: str


@dataclass(frozen=True)
class Controls:
    """The control ports that a file names, looked up in the design."""

    dut: Dut
    module: Module

    def driven(self, control: NamedControl, high: str) -> Driven:
        """The driver of an input of the protocol, which is active where `high` is.

        Raises SpecError where there is no such input of one bit.
        """
        return self.driven_as(f"protocol.{control.key}", control.port, high)

    def driven_as(self, key: str, port: ControlPort, high: str) -> Driven:
        """The driver of an input, which is active where `high` is. key: the file's. Raises SpecError as `driven`."""
        return Driven(key, self._bit(key, port, "in"), high if port.active == "high" else inverted(high))

    def seen(self, control: NamedControl) -> str:
        """The expression that is high where an output is active. Raises SpecError as `driven`."""
        wire = port_bit(self._bit(f"protocol.{control.key}", control.port, "out"), self.module)
        return wire if control.port.active == "high" else inverted(wire)

    def _bit(self, key: str, control: ControlPort, direction: Direction) -> PortBit:
        named, module = NAME.match(control.port), self.module
        port = module.by_name.get(named[0]) if named else None
        if port is None or port.direction != direction or port.arrays:
            ports = ", ".join(port.name for port in module.ports if port.direction == direction)
            rule = f"must name an {DIRECTIONS[direction]} of {module.name} ({ports}), not {control.port}"
            raise self.dut.wrong(key, rule)
        if port.width != 1 and control.port == port.name:
            rule = f"must name an {DIRECTIONS[direction]} of one bit, not {port.name} ({port.width} bits)"
            raise self.dut.wrong(key, rule)
        return bit_of(self.dut, module, key, control.port, direction)


def inverted(expression: str) -> str:
    """The inverse of an expression of one bit."""
    if expression in (ALWAYS, NEVER):
        return ALWAYS if expression == NEVER else NEVER
    if expression.startswith("~") and _is_plain(expression[1:]):
        return expression[1:]
    return f"~{expression}" if _is_plain(expression) else f"~({expression})"


def _is_plain(expression: str) -> bool:
    return PLAIN_NAME.fullmatch(expression) is not None


def all_of(*expressions: str) -> str:
    """The expression that is high where all of these are, each of one bit."""
    kept = [term for term in dict.fromkeys(expressions) if term != ALWAYS]
    if NEVER in kept:
        return NEVER
    return " & ".join(f"({term})" if "|" in term or "?" in term else term for term in kept) or ALWAYS


def joined(bits: Iterable[str]) -> str:
    """Join bits, the least significant first, into one expression.

    Bits of a vector that follow one another become a slice, and constants a number.
    """
    parts = []
    for _, run in groupby(enumerate(bits), key=lambda item: _follows(*item)):
        sources = [source for _, source in run]
        vector = INDEXED.fullmatch(sources[0])
        if vector and sources[1:]:
            parts.append(f"{vector[1]}[{_index(sources[-1])}:{_index(sources[0])}]")
        elif sources[0] in CONSTANTS:
            value = sum(CONSTANTS.index(source) << place for place, source in enumerate(sources))
            parts.append(f"{len(sources)}'d{value}")
        else:
            parts += sources
    return parts[0] if len(parts) == 1 else "{" + ", ".join(reversed(parts)) + "}"


def _index(source: str) -> int:
    return int(source[source.index("[") + 1 : -1])


def _follows(position: int, source: str) -> object:
    """The key that groups adjacent bits: equal for bits of a vector that follow one another, and for constants."""
    if source in CONSTANTS:
        return CONSTANTS
    vector = INDEXED.fullmatch(source)
    return (vector[1], _index(source) - position) if vector else (position, source)
