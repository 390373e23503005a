"""Directed cases of units without window bins: classes, special values, and addends at every distance of a product."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from itertools import product as cross

from hwsim.cases.bins.flushrows import flush_rows
from hwsim.cases.bins.operands import classes
from hwsim.cases.bins.stickyrows import sticky_rows
from hwsim.cases.landmarks import exact_code, infinities, nans, negate, numbers, zeros
from hwsim.cases.palette import Palette, Product
from hwsim.cases.rows import Pair, Rows
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, unpack
from hwsim.formats.blocks import one_code
from hwsim.spec import RoundedSum, Unit
from hwsim.spec.keys import Number

PRODUCTS = 6  # exponents of which some products are taken
BESIDE = 4  # products that stand beside an addend at every distance
MOST_DISTANCES = 160
WORD_BITS = 32  # of codes, with whose products palettes reckon


def arranged(rows: Rows) -> None:
    """All directed cases."""
    addends = _addends(rows.unit.operands.addend)
    for solve in (_pairs, _lanes, _zeros, _ends, _special, _distances, _chains, _scales, _cancelled):
        solve(rows, addends)
    sticky_rows(rows)
    flush_rows(rows)


def _addends(fmt: Number | None) -> dict[str, int]:
    """Addends at which something begins or ends, in both signs, by name."""
    if fmt is None:
        return {"none": 0}
    found = dict(numbers(fmt))
    found |= {f"neg-{name}": code for name, plus in found.items() if (code := negate(fmt, plus)) is not None}
    return {"zero": 0, **found}


def _pairs(rows: Rows, addends: dict[str, int]) -> None:
    """Each class of a times each of b, in each lane in turn, with each addend in turn."""
    a, b = classes(rows.unit.operands.a), classes(rows.unit.operands.b)
    names = cycle(addends.items())
    for index, (x, y) in enumerate(cross(a, b)):
        for which in (0, -1):
            name, c = next(names)
            case = f"class/{x}-x-{y}-{'last' if which else 'first'}-c-{name}".replace(" ", "-")
            rows.add(case, [[(a[x][which], b[y][which])]], c, index % rows.lanes)


def _some(unit: Unit) -> list[Product]:
    """Products from the least exponent to the largest, of short and of long significands."""
    a, b = unit.operands.a, unit.operands.b
    wide = max(a.container_bits, b.container_bits) > WORD_BITS
    known: _Landmarks | Palette = _Landmarks(a, b) if wide else Palette(a, b)
    step = max(1, len(known.exps) // PRODUCTS)
    exps = sorted({*known.exps[::step], known.exps[-1]})
    found = []
    for index, exp in enumerate(exps):
        of = known.of(index % 2, exp) or known.of(0, exp)
        found += [of[0], of[-1], *of[len(of) // 2 : len(of) // 2 + 1]]
    return found


class _Landmarks:
    """The products of the numbers at which something begins or ends, where those of a palette are too many."""

    def __init__(self, a: Number, b: Number):
        self._of: dict[tuple[int, int], list[Product]] = {}
        for x, y in cross(numbers(a).values(), numbers(b).values()):
            for code in (x, negate(a, x)):
                if code is not None:
                    one, other = unpack(a, code), unpack(b, y)
                    made = Product(one.sign ^ other.sign, one.exp + other.exp, one.sig * other.sig, code, y)
                    self._of.setdefault((made.sign, made.exp), []).append(made)
        self.exps = sorted({exp for _, exp in self._of})

    def of(self, sign: int, exp: int) -> list[Product]:
        """The products of one sign and reference exponent, by significand."""
        return sorted(self._of.get((sign, exp), ()), key=lambda one: one.sig)


def _lanes(rows: Rows, addends: dict[str, int]) -> None:
    """Each lane alone; two products in neighbouring lanes; all lanes alike, of each addend in turn."""
    some, names = _some(rows.unit), cycle(addends.items())
    for lane in range(rows.lanes):
        for index, one in enumerate(some[lane % 3 :: 3]):
            name, c = next(names)
            rows.add(f"lane/{lane:02}-{index}-c-{name}", [[(one.a, one.b)]], c, lane)
    for index, (one, other) in enumerate(cross(some, some) if rows.lanes > 1 else ()):
        name, c = next(names)
        rows.add(f"lane/two-{index}-c-{name}", [[(one.a, one.b), (other.a, other.b)]], c, index % rows.lanes)
    for index, one in enumerate(some):
        name, c = next(names)
        rows.add(f"lane/all-{index}-c-{name}", [[(one.a, one.b)] * rows.lanes], c)


def _zeros(rows: Rows, addends: dict[str, int]) -> None:
    """Zeros alone, of each sign, in all lanes and in one; the addend a zero of each sign."""
    a, b, fmt = rows.unit.operands.a, rows.unit.operands.b, rows.unit.operands.addend
    minus = [negate(b, code) for code in numbers(b).values()]
    signed = [(x, y) for x in zeros(a) for y in (*zeros(b), *(code for code in minus if code is not None))]
    for (index, pair), (k, c) in cross(enumerate(signed), enumerate(zeros(fmt) if fmt else [0])):
        rows.add(f"zero/{index}-c{k}-all", [[pair] * rows.lanes], c)
        rows.add(f"zero/{index}-c{k}-one", [[pair]], c)
        rows.add(f"zero/{index}-c{k}-twice", [[pair] * rows.lanes] * 2, c)
    for name, c in addends.items():
        rows.add(f"zero/c-{name}", [[signed[0]]], c)


def _ends(rows: Rows, addends: dict[str, int]) -> None:
    """The ends of a fixed addend, alone, and with the least products, which push it out of the range or back."""
    fmt = rows.unit.operands.addend
    if not isinstance(fmt, FixedFormat):
        return
    least, half = _some(rows.unit)[0], 1 << fmt.bits - 1
    for sign, a in enumerate((0, least.a, negate(rows.unit.operands.a, least.a))):
        for name, c in (("largest", half - 1), ("most-negative", half), ("next", half + 1)):
            if a is not None:
                rows.add(f"end/{name}-{sign}", [[(a, least.b)]], c)


def _special(rows: Rows, addends: dict[str, int]) -> None:
    """NaN and infinities in every lane, against each other, against zeros and against every special addend."""
    unit = rows.unit
    a, b, fmt = unit.operands.a, unit.operands.b, unit.operands.addend
    one_a, one_b = _one(a), _one(b)
    special: list[Pair] = [
        *((code, one_b) for code in (*nans(a), *infinities(a))),
        *((one_a, code) for code in (*nans(b), *infinities(b))),
        *((code, 0) for code in infinities(a)), *((0, code) for code in infinities(b)),
    ]  # fmt: skip
    codes = [*nans(fmt), *infinities(fmt)] if fmt else []
    for index, pair in enumerate(special):
        for lane in range(rows.lanes):
            rows.add(f"nan/{index:02}-lane{lane:02}", [[pair]], lane=lane)
        for k, c in enumerate(codes):
            rows.add(f"nan/{index:02}-addend{k}", [[pair]], c, index % rows.lanes)
        for other, beside in enumerate(special if rows.lanes > 1 else ()):
            rows.add(f"nan/{index:02}-beside-{other:02}", [[pair, beside]], lane=index % rows.lanes)
        rows.add(f"nan/{index:02}-then-one", [[pair], [(one_a, one_b)]])
        rows.add(f"nan/{index:02}-after-one", [[(one_a, one_b)], [pair]])
    for k, c in enumerate(codes):
        for index, pair in enumerate(((0, 0), (one_a, one_b))):
            rows.add(f"nan/addend{k}-{index}", [[pair]], c)


def _one(fmt: Number) -> int:
    """The code of 1, or of another number of a format without it."""
    named = numbers(fmt)
    return named.get("one", next(reversed(named.values())))


def _distances(rows: Rows, addends: dict[str, int]) -> None:
    """An addend at every distance from a product at which an addition of either could tell them apart; of both signs.

    Among them are ties, sums just beside one, and terms that swamp each other.
    """
    unit = rows.unit
    fmt, precision = unit.operands.addend, _precision(unit)
    if not isinstance(fmt, FloatFormat):
        return
    some = _some(unit)
    for turn in range(BESIDE):
        bits = max(one.sig.bit_length() for one in some)
        reach = range(-bits - precision - 3, bits + precision + 4)
        step = -(-len(reach) // MOST_DISTANCES)
        for d in reach[turn % step :: step]:
            one = some[(d + turn * len(some) // BESIDE) % len(some)]
            top = one.exp + one.sig.bit_length() - 1 - unit.operands.a.fraction_bits - unit.operands.b.fraction_bits
            for (word, sig), sign in cross(_patterns(fmt), (0, 1)):
                c = exact_code(fmt, sign, sig, top + d - sig.bit_length() + 1)
                if c is not None:
                    rows.add(f"addend/{turn}-d{d:+}-{word}-{sign}", [[(one.a, one.b)]], c, d % rows.lanes)


def _precision(unit: Unit) -> int:
    """The most bits that any sum of a unit keeps."""
    formats = [unit.result.format, unit.output]
    if isinstance(unit.sum, RoundedSum):
        formats.append(unit.sum.format)
    return max(fmt.precision for fmt in formats)


def _patterns(fmt: FloatFormat) -> Iterator[tuple[str, int]]:
    """Significands of an addend, by name."""
    hidden = 1 << fmt.fraction_bits
    yield "power", 1
    yield "odd", hidden | 1
    yield "ones", 2 * hidden - 1


def _chains(rows: Rows, addends: dict[str, int]) -> None:
    """Groups in a row: growing, cancelling, swamped, as long as an instruction, and about promotions."""
    some, beats = _some(rows.unit), rows.unit.promotion_beats
    whole = rows.unit.instruction.fill // rows.lanes
    lengths = {whole, 2 * whole, 3 * whole, rows.unit.instruction.groups}
    lengths |= {beats - 1, beats, beats + 1, 2 * beats + 1} - {0} if beats else set()
    fmt_a = rows.unit.operands.a
    names = cycle(addends.items())
    for (index, one), length in cross(enumerate(some), sorted(lengths)):
        minus = negate(fmt_a, one.a)
        pair, other = (one.a, one.b), ((one.a if minus is None else minus), one.b)
        name, c = next(names)
        rows.add(f"chain/{index}-{length}-grows-c-{name}", [[pair] * rows.lanes] * length, c)
        name, c = next(names)
        turns = [[other if beat % 2 else pair] for beat in range(length)]
        rows.add(f"chain/{index}-{length}-turns-c-{name}", turns, c, index % rows.lanes)
        far = some[-1 - index % len(some)]
        rows.add(f"chain/{index}-{length}-far", [[(far.a, far.b)], *[[pair]] * (length - 1)], 0, index % rows.lanes)


def _scales(rows: Rows, addends: dict[str, int]) -> None:
    """Scales at which something begins or ends, with products and addends."""
    scale = rows.unit.scale
    if scale is None:
        return
    some, names = _some(rows.unit), cycle(addends.items())
    codes_a, codes_b = (_scale_codes(side.format, rows.unit.result.format) for side in (scale.a, scale.b))
    for index, pair in enumerate(cross(codes_a, codes_b)):
        one = some[index % len(some)]
        name, c = next(names)
        rows.add(f"scale/{index}-c-{name}", [[(one.a, one.b)]], c, index % rows.lanes, pair)
        rows.add(f"scale/{index}-all", [[(one.a, one.b)] * rows.lanes] * 2, 0, 0, pair)
        if (minus := negate(rows.unit.operands.a, some[0].a)) is not None:
            rows.add(f"scale/{index}-least", [[(minus, some[0].b)]], 0, index % rows.lanes, pair)


def _cancelled(rows: Rows, addends: dict[str, int]) -> None:
    """Products beside addends that cancel them but for the last place: of the least and of others, in both signs."""
    unit = rows.unit
    a, b, fmt = unit.operands.a, unit.operands.b, unit.operands.addend
    if not isinstance(fmt, FloatFormat) or unit.scale is not None:
        return
    for index, one in enumerate(_some(unit)):
        exp = one.exp - a.fraction_bits - b.fraction_bits
        spare = fmt.precision - one.sig.bit_length()
        for step, sign in cross((-1, 0, 1), (0, 1)):
            sig = (one.sig << spare) + step if spare > 0 else one.sig + step
            c = exact_code(fmt, 1 - one.sign if sign else one.sign, sig, exp - max(spare, 0)) if sig > 0 else None
            if c is not None:
                rows.add(f"cancel/{index}{step:+}-{sign}", [[(one.a, one.b)]], c, index % rows.lanes)


def _scale_codes(fmt: FloatFormat | FixedFormat | ExponentFormat, result: Number) -> list[int]:
    if isinstance(fmt, ExponentFormat):
        one = one_code(fmt)
        # Two of the last take products to below the least result, and not further than a window may hold them.
        found = [fmt.min_code, one - 1, one, one + 1, fmt.max_code, one + result.quantum_exp // 2 - 2]
        # Not all of them are codes where there is no 1, or where it is the last.
        inside = (min(max(code, fmt.min_code), fmt.max_code) for code in found)
        return list(dict.fromkeys([*inside, *fmt.nan]))
    plus = [0, *numbers(fmt).values()]
    minus = [code for code in (negate(fmt, one) for one in plus) if code is not None]
    return list(dict.fromkeys([*plus, *minus, *infinities(fmt), *nans(fmt)[:1]]))
