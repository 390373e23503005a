"""A result that is an integer and a scale: Verilog that makes of them the code of the same number."""

from __future__ import annotations

from dataclasses import dataclass

from hwsim.cosim.dut.dutfile import Dut
from hwsim.cosim.dut.places import ScalePlace
from hwsim.cosim.sources.portbits import PortBit
from hwsim.formats import FloatFormat, Format

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
        """A function of the integer and the scale."""
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
    """Raises SpecError, naming the key, where the format lacks a number that integer and scale can make."""
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
