"""Lost bits: what becomes of a term's bits below the window. All that the RTL knows of `sum.lost`."""

from __future__ import annotations

from typing import NamedTuple, assert_never

from amaranth.hdl import Cat, Const, Module, Signal, Value

from hwsim.spec.keys import AlignedLost, Lost


class LostBits(NamedTuple):
    """What a rule for lost bits asks of the widths of a window.

    guard_bits: places below the last one that shift amounts must reach.
    truncates: magnitudes are cut off, and nothing knows of what was lost: less hardware will do in several places.
    adds_one: a magnitude grows by one though nothing is lost.
    """

    guard_bits: int = 0
    truncates: bool = False
    adds_one: bool = False


def lost_bits(lost: AlignedLost) -> LostBits:
    """What a rule asks of the widths of a window."""
    match lost:
        case "truncate":
            return LostBits(truncates=True)
        case "floor" | "ceil" | "jam" | "sticky":
            return LostBits()
        case "rne" | "rna":
            return LostBits(guard_bits=1)
        case "ones-complement":
            return LostBits(adds_one=True)
        case _:
            assert_never(lost)


def shifted(
    m: Module, name: str, window: Value, sign: Value, shift: Value, drop: int, lost: Lost
) -> tuple[Value, Value]:
    """Ones' complement and carry of a magnitude, shifted right by `shift` and `drop`; bits that fall out are lost.

    name: what the signals begin with that it needs.
    """
    below = drop + (1 << len(shift)) - 1
    moved = Cat(Const(0, below - drop), window) >> shift
    wide = Signal(len(moved), name=f"{name}_wide")
    m.d.comb += wide.eq(moved)
    kept = wide[below:]
    # Where nothing can be shifted out there is no place below the last one, and wide[-1] is the top bit.
    guard, sticky = (wide[below - 1], wide[: below - 1].any()) if below else (Const(0), Const(0))
    match lost:
        case "truncate":
            return truncated(window, sign, shift, drop)
        case "floor":
            return complement(kept, sign), sign & ~(guard | sticky)
        case "ceil":
            return complement(kept, sign), sign | guard | sticky
        case "jam":
            return complement(kept | guard | sticky, sign), sign
        case "rne":
            return complement(kept, sign), sign ^ (guard & (sticky | kept[0]))
        case "rna":
            return complement(kept, sign), sign ^ guard
        case "ones-complement":
            # A negative term is left as its complement, without a carry; only zero is not.
            return truncated(window, sign & window.any(), shift, drop)[0], Const(0)
        case _:
            assert_never(lost)


def any_lost(m: Module, name: str, window: Value, shift: Value, drop: int) -> Value:
    """Whether a 1 falls out of a magnitude, shifted right by `shift` and `drop`. name: of the signal that it needs."""
    below = drop + (1 << len(shift)) - 1
    moved = Cat(Const(0, below - drop), window) >> shift
    wide = Signal(len(moved), name=f"{name}_moved")
    m.d.comb += wide.eq(moved)
    return wide[:below].any() if below else Const(0)


def truncated(window: Value, sign: Value, shift: Value, drop: int) -> tuple[Value, Value]:
    """The same, truncated: complementing before an arithmetic shift needs no bit that is shifted out."""
    wide = Cat(window, Const(0, 1 << len(shift)))  # the sign bit of the result, and all that is shifted in
    return ((wide ^ sign.replicate(len(wide))) >> shift)[drop : len(window) + 1].as_signed(), sign


def complement(magnitude: Value, sign: Value) -> Value:
    """The ones' complement of a magnitude, where `sign` is set."""
    return Cat(magnitude ^ sign.replicate(len(magnitude)), sign).as_signed()
