"""Rules for bits that are shifted out, in C."""

from __future__ import annotations

from typing import Literal, NamedTuple, assert_never

from hwsim.spec import Lost, Rounding

Mode = Literal["rz", "rd", "ru", "rto", "rne", "rna", "ones"]


class CutMode(NamedTuple):
    """A rule for the bits that a shift cuts off.

    words: for the header's reader. narrow, wide: when 1 is added to the magnitude that is kept, as an expression of C
    on an integer, and on words of 32 bits; empty for never.
    """

    name: Mode
    words: str
    narrow: str
    wide: str


def cut_mode(mode: Mode) -> CutMode:
    """A mode with its expressions of C."""
    match mode:
        case "rz":
            return CutMode(mode, "magnitudes are cut off", "", "")
        case "rd":
            return CutMode(mode, "numbers are rounded down", "sign & (lost_bits != 0)", "sign && rest")
        case "ru":
            return CutMode(mode, "numbers are rounded up", "!sign & (lost_bits != 0)", "!sign && rest")
        case "rto":
            jam = "a lost 1 is OR-ed into the last bit"
            return CutMode(mode, jam, "!(kept & 1) & (lost_bits != 0)", "rest && !(kept.word[0] & 1)")
        case "rna":
            away = "to nearest, ties away from zero"
            return CutMode(mode, away, "(lost_bits >= half) & (lost_bits != 0)", "rest > 1")
        case "rne":
            narrow = "(lost_bits > half) | ((lost_bits == half) & (lost_bits != 0) & (kept & 1))"
            wide = "rest == 3 || (rest == 2 && (kept.word[0] & 1))"
            return CutMode(mode, "to nearest, ties to even", narrow, wide)
        case "ones":
            ones = "magnitudes are cut off, and a negative number's is one more"
            return CutMode(mode, ones, "sign & (sig != 0)", "sign && !u_is_zero(sig)")
        case _:
            assert_never(mode)


def mode_of(lost: Lost) -> Mode:
    """The mode of a rule for lost bits."""
    match lost:
        case "truncate":
            return "rz"
        case "floor":
            return "rd"
        case "ceil":
            return "ru"
        case "jam":
            return "rto"
        case "rne" | "rna":
            return lost
        case "ones-complement":
            return "ones"
        case _:
            assert_never(lost)


def modes(lost: list[Lost], rounding: Rounding | None = None) -> tuple[CutMode, ...]:
    """The modes that a unit needs, in the order of their names. rounding: of a result in a fixed format."""
    names: set[Mode] = {mode_of(each) for each in lost} | ({rounding} if rounding is not None else set())
    return tuple(cut_mode(name) for name in sorted(names))
