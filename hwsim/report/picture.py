"""The window of a group as a picture of bits: the aligned terms, what each loses, their sum and the result."""

from __future__ import annotations

from dataclasses import dataclass

from hwsim.formats import Class, unpack
from hwsim.model.record import Group
from hwsim.model.terms import Term
from hwsim.spec import AlignedSum

LOST_SHOWN = 16  # columns below the window; what is further down is only counted
EMPTY = "."


@dataclass(frozen=True, slots=True)
class BitRow:
    """One row of the picture.

    kept: a character for each place of the window, the highest first. lost: the same for the places below it.
    aligned: the integer that the row stands for. note: what the row does not show.
    """

    label: str
    sign: str
    kept: str
    lost: str
    aligned: str
    note: str = ""

    @property
    def bar(self) -> str:
        """The end of the window; the result has none, unless it reaches below."""
        return "|" if self.label != "result" or self.lost.strip() else " "


@dataclass(frozen=True, slots=True)
class Picture:
    """The aligned terms under the window.

    top, last: exponents of the first and the last place of the window. rows: the terms other than zero, sum, result.
    """

    top: int
    max_exp: int
    last: int
    rows: tuple[BitRow, ...]

    @property
    def ruler(self) -> str:
        """A mark over max_exp, as wide as `kept`."""
        return " " * (self.top - self.max_exp) + "v" + " " * (self.max_exp - self.last)

    @property
    def caption(self) -> str:
        """What the places weigh."""
        return f"window 2^{self.top} to 2^{self.last}; v: 2^max_exp = 2^{self.max_exp}; right of |: lost"


def picture(group: Group) -> Picture | None:
    """The window of a group; None where it has none: another method, terms that are all zero, NaN or infinite."""
    if not isinstance(group.unit.sum, AlignedSum) or group.special is not None or group.max_exp is None:
        return None
    last = group.max_exp - group.fraction_bits
    shown = [row for row in zip(*_labelled_terms(group), group.aligned, strict=True) if row[1].cls is Class.NORMAL]
    result, result_unit = _result_bits(group)
    tops = [
        *(term.sig.bit_length() - 1 + term.exp - term.fraction_bits for _, term, _ in shown),
        max(abs(group.total), abs(group.uncut or 0)).bit_length() - 1 + last,
        result.bit_length() - 1 + result_unit if result else last,
    ]
    top = max(group.max_exp, *tops)
    least = min([last, *(_lowest(term) for _, term, _ in shown)])
    depth = min(last - least, LOST_SHOWN)
    rows = [_term_row(*row, (top, last, depth)) for row in shown]
    kept, _, _ = _places(abs(group.total), last, top, last, 0)
    notes = [] if group.growth is None else [f"growth {group.growth:+d}"]
    growth = ", ".join([*notes, "sticky 1"] if group.sticky else notes)
    if group.uncut is not None:
        whole, _, _ = _places(abs(group.uncut), last, top, last, 0)
        rows.append(BitRow("sum", "-" if group.uncut < 0 else "+", whole, " " * depth, str(group.uncut)))
    name = "sum" if group.uncut is None else "cut"
    rows.append(BitRow(name, "-" if group.total < 0 else "+", kept, " " * depth, str(group.total), growth))
    if result:
        rows.append(_result_row(group, result, result_unit, (top, last, depth)))
    return Picture(top, group.max_exp, last, tuple(rows))


def _labelled_terms(group: Group) -> tuple[list[str], list[Term]]:
    """What stands in the window: products by their index along K, subgroups by their first and last one, the addend."""
    labels, terms = [str(index) for index in group.indices], list(group.products)
    if group.subgroups:
        size = len(group.products) // len(group.subgroups)
        labels = [f"{i}-{i + size - 1}" for i in group.indices[::size]]
        terms = [part.term for part in group.subgroups]
    return (labels, terms) if group.addend is None else ([*labels, "addend"], [*terms, group.addend])


def _lowest(term: Term) -> int:
    """The exponent of a term's last one."""
    return (term.sig & -term.sig).bit_length() - 1 + term.exp - term.fraction_bits


def _term_row(label: str, term: Term, aligned: int, window: tuple[int, int, int]) -> BitRow:
    kept, lost, further = _places(term.sig, term.exp - term.fraction_bits, *window)
    note = f"and {further} lost places further down" if further > 0 else ""
    return BitRow(label, "-" if term.sign else "+", kept, lost, str(aligned), note)


def _places(sig: int, unit_exp: int, top: int, last: int, depth: int) -> tuple[str, str, int]:
    """The bits of sig * 2^unit_exp from its leading one to its last place: in the window, below it, and how many more.

    depth: places below the window that are shown.
    """
    leading = sig.bit_length() - 1 + unit_exp

    def bit(exp: int) -> str:
        return str(sig >> (exp - unit_exp) & 1) if unit_exp <= exp <= leading else EMPTY

    kept = "".join(bit(exp) for exp in range(top, last - 1, -1))
    lost = "".join(bit(exp) for exp in range(last - 1, last - 1 - depth, -1))
    ones_end = (sig & -sig).bit_length() - 1 + unit_exp if sig else last
    return kept, lost, last - depth - ones_end


def _result_bits(group: Group) -> tuple[int, int]:
    """A finite result's significand, and the exponent of its last place; 0 for zero, NaN and infinity."""
    fmt = group.unit.result.format
    fields = unpack(fmt, group.code)
    return fields.sig, fields.exp - fmt.fraction_bits


def _result_row(group: Group, sig: int, unit_exp: int, window: tuple[int, int, int]) -> BitRow:
    fmt, rule = group.unit.result.format, group.unit.result
    top, last, depth = window
    kept, lost, _ = _places(sig, unit_exp, top, last, depth)
    sign = "-" if group.total < 0 else "+"
    note = "overflow" if group.overflow else f"{rule.rounding} to {fmt.name}"
    return BitRow("result", sign, kept, lost.replace(EMPTY, " "), "", note)


def picture_lines(shown: Picture) -> list[str]:
    """The picture as lines."""
    labels = max(len(row.label) for row in shown.rows)
    numbers = max(len(row.aligned) for row in shown.rows)
    lines = [shown.caption, f"{'':{labels}}   {shown.ruler}"]
    for row in shown.rows:
        bits = f"{row.kept}{row.bar}{row.lost}"
        lines.append(f"{row.label:>{labels}} {row.sign} {bits}  {row.aligned:>{numbers}}  {row.note}")
    return [line.rstrip() for line in lines]
