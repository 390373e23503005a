"""Directed cases that are laid out, for any unit: at each place where something begins or ends."""

from __future__ import annotations

from collections import Counter as TallyOf
from collections.abc import Iterator
from fractions import Fraction
from itertools import cycle
from itertools import product as cross

from hwsim.cases.bins.adder_rows import ExactNumber
from hwsim.cases.bins.fewterms import WORD_BITS, code_of_one
from hwsim.cases.bins.operands import classes
from hwsim.cases.bins.outcomes import FIRST, outcome, rounded, roundings
from hwsim.cases.case import Pair, Rows, block_lengths, dot
from hwsim.cases.palette import (
    Palette,
    Product,
    exact_code,
    infinities,
    is_finite,
    largest_code,
    nans,
    negate,
    numbers,
    palette_of,
    zeros,
)
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, unpack
from hwsim.formats.blocks import one_code
from hwsim.model.definition import definition_of
from hwsim.spec import RoundedSum, Unit, WindowSum
from hwsim.spec.keys import Factor, Number

EIGHTHS = 9  # of a last place: how far below the least normal number
SIGNIFICANDS = 128  # of one factor, that are tried


def flush_rows(rows: Rows) -> None:
    """Cases for each format in which a rounding of the unit flushes."""
    places = roundings(rows.unit).values()
    formats = {
        place.format.name: place.format for place in places if place.flushes is not None and place.format.subnormals
    }
    a, b = rows.unit.operands.a, rows.unit.operands.b
    for fmt in formats.values():
        if isinstance(fmt, FloatFormat) and isinstance(a, FloatFormat) and isinstance(b, FloatFormat):
            _products(rows, fmt, a, b)
            _differences(rows, fmt, a, b)
            _of_normals(rows, fmt, a, b)


def _products(rows: Rows, fmt: FloatFormat, a: FloatFormat, b: FloatFormat) -> None:
    """One product for each distance below the least normal number."""
    by_distance: dict[str, Pair] = {}
    for x, y, value in _below(fmt, a, b):
        eighths = ((1 << fmt.fraction_bits) - value) * 8
        whole = eighths.numerator // eighths.denominator
        if 0 <= eighths <= EIGHTHS:
            by_distance.setdefault(f"{whole}{'' if eighths == whole else '+'}", (x, y))
    for index, (distance, (x, y)) in enumerate(sorted(by_distance.items())):
        for sign in (0, 1):
            rows.add(f"flush/{fmt.name}-{distance}-{sign}", [[(x ^ sign * _sign(a), y)]], 0, index % rows.lanes)


def _sign(fmt: FloatFormat) -> int:
    return fmt.sign_bit << fmt.padding


def _below(fmt: FloatFormat, a: FloatFormat, b: FloatFormat) -> Iterator[tuple[int, int, Fraction]]:
    """Normal factors of products about the least normal number, and these in last places of its subnormals."""
    least, hidden_a, hidden_b = 1 << fmt.fraction_bits, 1 << a.fraction_bits, 1 << b.fraction_bits
    exp = _split(fmt.emin, a, b)
    if exp is None:
        return
    step = max(1, hidden_a // SIGNIFICANDS) | 1
    for sig_a in range(hidden_a, 2 * hidden_a, step if hidden_a > SIGNIFICANDS else 1):
        for eighths in range(2 * EIGHTHS + 1):
            # The significand of the other factor, of the exponent that makes it a normal one.
            wanted = (least - Fraction(eighths, 16)) / least * (2 * hidden_a * hidden_b) / sig_a
            low = wanted.numerator // wanted.denominator
            for sig_b in (low, low + 1):
                x = exact_code(a, 0, sig_a, exp - a.fraction_bits)
                y = exact_code(b, 0, sig_b, fmt.emin - exp - 1 - b.fraction_bits) if sig_b >= hidden_b else None
                if x is not None and y is not None:
                    yield x, y, Fraction(sig_a * sig_b * least, 2 * hidden_a * hidden_b)


def _split(exp: int, a: FloatFormat, b: FloatFormat) -> int | None:
    """The exponent of a normal factor a whose product with a normal one of b is about 2^exp; None where none is."""
    low, high = max(a.emin, exp - b.emax), min(a.emax, exp - 1 - b.emin)
    return None if low > high else min(max(exp // 2, low), high)


def _differences(rows: Rows, fmt: FloatFormat, a: FloatFormat, b: FloatFormat) -> None:
    """The least normal number less a small product."""
    for eighths in range(1, EIGHTHS + 1):
        small = _power(a, b, eighths, fmt.quantum_exp - 3)
        for sign in (0, 1) if small is not None else ():
            _less(rows, f"flush/{fmt.name}-less-{eighths}-{sign}", ExactNumber(sign, 1, fmt.emin), small, eighths)


def _of_normals(rows: Rows, fmt: FloatFormat, a: FloatFormat, b: FloatFormat) -> None:
    """Differences of two normal numbers, about the least normal number and far below it.

    up: so many places above the least normal number is the larger one; depth: so many below that is the difference.
    """
    end = fmt.fraction_bits
    for up in range(end + 1):
        less = _power(a, b, 1, fmt.emin + up)
        for depth in dict.fromkeys((max(1, up - 1), up or 1, min(up + 1, end), min(up + 2, end), end)):
            larger = ExactNumber(up & 1, 1 << depth | 1, fmt.emin + up - depth)
            _less(rows, f"flush/{fmt.name}-of-normals-{up:02}-{depth:02}", larger, less, depth)


def _less(rows: Rows, name: str, number: ExactNumber, less: Pair | None, turn: int) -> None:
    """A number less a product, which has its sign: the number as the addend, and as the product of another lane."""
    a, b, addend = rows.unit.operands.a, rows.unit.operands.b, rows.unit.operands.addend
    if less is None or not isinstance(a, FloatFormat) or not isinstance(b, FloatFormat):
        return
    sign, minus = number.sign, (less[0] ^ (1 - number.sign) * _sign(a), less[1])
    c = exact_code(addend, sign, number.sig, number.exp) if isinstance(addend, FloatFormat) else None
    if c is not None:
        rows.add(f"{name}-addend", [[minus]], c, turn % rows.lanes)
    larger = _power(a, b, number.sig, number.exp)
    if larger is not None and rows.lanes > 1:
        rows.add(name, [[(larger[0] ^ sign * _sign(a), larger[1]), minus]], 0, turn % rows.lanes)


def _power(a: FloatFormat, b: FloatFormat, sig: int, unit_exp: int) -> Pair | None:
    """Factors whose product is sig * 2^unit_exp, both normal where that can be."""
    exp = _split(unit_exp + sig.bit_length(), a, b)
    if exp is None:
        return None
    x, y = exact_code(a, 0, sig, exp - sig.bit_length() + 1), exact_code(b, 0, 1, unit_exp + sig.bit_length() - 1 - exp)
    return None if x is None or y is None else (x, y)


MOST_DEPTH = 64  # places below half a last place


def sticky_rows(rows: Rows) -> None:
    """A power of two, half a last place of it, and a 1 of either sign at each place below that.

    All three are products; of units with an addend the power of two is that once more. Of rounded sums
    `hwsim.cases.bins.adder_rows` has them.
    """
    unit, fmt, a, b = rows.unit, rows.unit.result.format, rows.unit.operands.a, rows.unit.operands.b
    if isinstance(unit.sum, RoundedSum) or unit.scale is not None or not isinstance(fmt, FloatFormat):
        return
    if not isinstance(a, FloatFormat) or not isinstance(b, FloatFormat):
        return
    least = a.quantum_exp + b.quantum_exp
    tops = [exp for exp in range(a.emax + b.emax - 2, least, -1) if fmt.emin < exp < fmt.emax]
    tops = [exp for exp in tops if exp - fmt.precision >= least]  # of which half a last place is a product
    for top in dict.fromkeys([*tops[:1], *tops[len(tops) // 2 :][:1]]):
        for depth, sign in cross(range(1, MOST_DEPTH + 1), (0, 1)):
            _three(rows, a, b, fmt, top, depth, sign)


def _three(rows: Rows, a: FloatFormat, b: FloatFormat, fmt: FloatFormat, top: int, depth: int, sign: int) -> None:
    addend, half = rows.unit.operands.addend, _power_of_two(a, b, 0, top - fmt.precision)
    low = _power_of_two(a, b, sign, top - fmt.precision - depth)
    if half is None or low is None:
        return
    if (pair := _power_of_two(a, b, 0, top)) is not None:
        terms = [pair, half, low]
        beats = [terms] if len(terms) <= rows.lanes else [[term] for term in terms]
        rows.add(f"sticky/product-{top}-{depth:02}-{sign}", beats, 0, depth % rows.lanes)
    if isinstance(addend, FloatFormat) and (c := exact_code(addend, 0, 1, top)) is not None:
        beats = [[half, low]] if rows.lanes > 1 else [[half], [low]]
        rows.add(f"sticky/addend-{top}-{depth:02}-{sign}", beats, c, depth % rows.lanes)


def _power_of_two(a: FloatFormat, b: FloatFormat, sign: int, exp: int) -> Pair | None:
    """Codes whose product is (-1)^sign * 2^exp; None where there are none."""
    for exponent in (0, *range(b.emax - 1, b.quantum_exp - 1, -1)):
        code_a, code_b = exact_code(a, sign, 1, exp - exponent), exact_code(b, 0, 1, exponent)
        if code_a is not None and code_b is not None:
            return code_a, code_b
    return None


PRODUCTS = 6  # exponents of which some products are taken
BESIDE = 4  # products that stand beside an addend at every distance
MOST_DISTANCES = 160


def _addends(unit: Unit) -> dict[str, int]:
    """Addends at which something begins or ends, in both signs, by name."""
    fmt = unit.operands.addend
    if fmt is None:
        return {"none": 0}
    addends = dict(numbers(fmt))
    addends |= {f"neg-{name}": code for name, plus in addends.items() if (code := negate(fmt, plus)) is not None}
    return {"zero": 0, **addends}


def pair_rows(rows: Rows) -> None:
    """Each class of a times each of b, in each lane in turn, with each addend in turn."""
    a, b = classes(rows.unit.operands.a), classes(rows.unit.operands.b)
    names = cycle(_addends(rows.unit).items())
    for index, (x, y) in enumerate(cross(a, b)):
        for which in (0, -1):
            name, c = next(names)
            case = f"class/{x}-x-{y}-{'last' if which else 'first'}-c-{name}".replace(" ", "-")
            rows.add(case, [[(a[x][which], b[y][which])]], c, index % rows.lanes)


def _some(unit: Unit) -> list[Product]:
    """Products from the least exponent to the largest, of short and of long significands."""
    a, b = unit.operands.a, unit.operands.b
    wide = max(a.container_bits, b.container_bits) > WORD_BITS
    known: _Landmarks | Palette = _Landmarks(a, b) if wide else palette_of(a, b)
    step = max(1, len(known.exps) // PRODUCTS)
    exps = sorted({*known.exps[::step], known.exps[-1]})
    products = []
    for index, exp in enumerate(exps):
        of = known.of(index % 2, exp) or known.of(0, exp)
        products += [of[0], of[-1], *of[len(of) // 2 : len(of) // 2 + 1]]
    return products


class _Landmarks:
    """The products of the numbers at which something begins or ends, where those of a palette are too many."""

    def __init__(self, a: Factor, b: Factor):
        self._of: dict[tuple[int, int], list[Product]] = {}
        for x, y in cross(numbers(a).values(), numbers(b).values()):
            for code in (x, negate(a, x)):
                if code is not None:
                    x_fields, y_fields = unpack(a, code), unpack(b, y)
                    product = Product(
                        x_fields.sign ^ y_fields.sign, x_fields.exp + y_fields.exp, x_fields.sig * y_fields.sig, code, y
                    )
                    self._of.setdefault((product.sign, product.exp), []).append(product)
        self.exps = sorted({exp for _, exp in self._of})

    def of(self, sign: int, exp: int) -> list[Product]:
        """The products of one sign and reference exponent, by significand."""
        return sorted(self._of.get((sign, exp), ()), key=lambda product: product.sig)


def lane_rows(rows: Rows) -> None:
    """Each lane alone; two products in neighbouring lanes; all lanes alike, of each addend in turn."""
    some, names = _some(rows.unit), cycle(_addends(rows.unit).items())
    for lane in range(rows.lanes):
        for index, product in enumerate(some[lane % 3 :: 3]):
            name, c = next(names)
            rows.add(f"lane/{lane:02}-{index}-c-{name}", [[(product.a, product.b)]], c, lane)
    for index, (product, second) in enumerate(cross(some, some) if rows.lanes > 1 else ()):
        name, c = next(names)
        rows.add(f"lane/two-{index}-c-{name}", [[(product.a, product.b), (second.a, second.b)]], c, index % rows.lanes)
    for index, product in enumerate(some):
        name, c = next(names)
        rows.add(f"lane/all-{index}-c-{name}", [[(product.a, product.b)] * rows.lanes], c)


def half_rows(rows: Rows) -> None:
    """Cases of a window: one lane far above others, alike and large; and two that cancel above the least one."""
    unit, lanes = rows.unit, rows.lanes
    if not isinstance(unit.sum, WindowSum) or lanes < 4:
        return
    known = palette_of(unit.operands.a, unit.operands.b)
    largest = {exp: known.of(0, exp)[-1] for exp in known.exps if known.of(0, exp)}
    top, least = largest[max(largest)], known.of(0, min(largest))[0]
    for exp, product in largest.items():
        pair, minus = (product.a, product.b), negate(unit.operands.a, product.a)
        for side in (0, 1):
            row = [pair if lane % 2 == side else (0, 0) for lane in range(lanes)]
            row[1 - side] = top.a, top.b
            rows.add(f"halves/{exp}-{side}", [row])
        if minus is not None:
            rows.add(f"halves/{exp}-cancels", [[pair, (minus, product.b), (least.a, least.b)]], 0, exp % lanes)


def zero_rows(rows: Rows) -> None:
    """Zeros alone, of each sign, in all lanes and in one; the addend a zero of each sign."""
    a, b, fmt = rows.unit.operands.a, rows.unit.operands.b, rows.unit.operands.addend
    minus = [negate(b, code) for code in numbers(b).values()]
    signed = [(x, y) for x in zeros(a) for y in (*zeros(b), *(code for code in minus if code is not None))]
    for (index, pair), (k, c) in cross(enumerate(signed), enumerate(zeros(fmt) if fmt else [0])):
        rows.add(f"zero/{index}-c{k}-all", [[pair] * rows.lanes], c)
        rows.add(f"zero/{index}-c{k}-one", [[pair]], c)
        rows.add(f"zero/{index}-c{k}-twice", [[pair] * rows.lanes] * 2, c)
    for name, c in _addends(rows.unit).items():
        rows.add(f"zero/c-{name}", [[signed[0]]], c)
    # A zero times the largest number has a larger exponent than its neighbour, which must not count.
    large = [(0, largest_code(b)), (largest_code(a), 0)]
    for (index, product), (side, zero) in cross(enumerate(_some(rows.unit)), enumerate(large)):
        if rows.lanes > 1:
            rows.add(f"zero/beside-{index}-{side}", [[zero, (product.a, product.b)]], 0, index % rows.lanes)


def addend_end_rows(rows: Rows) -> None:
    """The ends of a fixed addend, alone, and with the least products, which push it out of the range or back."""
    fmt = rows.unit.operands.addend
    if not isinstance(fmt, FixedFormat):
        return
    least, half = _some(rows.unit)[0], 1 << fmt.bits - 1
    for sign, a in enumerate((0, least.a, negate(rows.unit.operands.a, least.a))):
        for name, c in (("largest", half - 1), ("most-negative", half), ("next", half + 1)):
            if a is not None:
                rows.add(f"end/{name}-{sign}", [[(a, least.b)]], c)


def special_rows(rows: Rows) -> None:
    """NaN and infinities in every lane, against each other, against zeros and against every special addend."""
    unit = rows.unit
    a, b, fmt = unit.operands.a, unit.operands.b, unit.operands.addend
    one_a, one_b = code_of_one(a), code_of_one(b)
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
        for number, neighbour in enumerate(special if rows.lanes > 1 else ()):
            rows.add(f"nan/{index:02}-beside-{number:02}", [[pair, neighbour]], lane=index % rows.lanes)
        rows.add(f"nan/{index:02}-then-one", [[pair], [(one_a, one_b)]])
        rows.add(f"nan/{index:02}-after-one", [[(one_a, one_b)], [pair]])
    for k, c in enumerate(codes):
        for index, pair in enumerate(((0, 0), (one_a, one_b))):
            rows.add(f"nan/addend{k}-{index}", [[pair]], c)


def distance_rows(rows: Rows) -> None:
    """An addend at every distance from a product at which an addition of either could tell them apart; of both signs.

    Among them are ties, sums just beside one, and terms that swamp each other.
    """
    unit = rows.unit
    fmt, precision = unit.operands.addend, _precision(unit)
    if not isinstance(fmt, FloatFormat):
        return
    some = _some(unit)
    for turn in range(BESIDE):
        bits = max(product.sig.bit_length() for product in some)
        reach = range(-bits - precision - 3, bits + precision + 4)
        step = -(-len(reach) // MOST_DISTANCES)
        for d in reach[turn % step :: step]:
            product = some[(d + turn * len(some) // BESIDE) % len(some)]
            top = (
                product.exp
                + product.sig.bit_length()
                - 1
                - unit.operands.a.fraction_bits
                - unit.operands.b.fraction_bits
            )
            for (word, sig), sign in cross(_patterns(fmt), (0, 1)):
                c = exact_code(fmt, sign, sig, top + d - sig.bit_length() + 1)
                if c is not None:
                    rows.add(f"addend/{turn}-d{d:+}-{word}-{sign}", [[(product.a, product.b)]], c, d % rows.lanes)


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


def chain_rows(rows: Rows) -> None:
    """Groups in a row: growing, cancelling, swamped, as long as an instruction, and about promotions."""
    some, beats = _some(rows.unit), rows.unit.promotion_beats
    whole = rows.unit.instruction.fill // rows.lanes
    lengths = {whole, 2 * whole, 3 * whole, rows.unit.instruction.groups}
    lengths |= {beats - 1, beats, beats + 1, 2 * beats + 1} - {0} if beats else set()
    fmt_a = rows.unit.operands.a
    names = cycle(_addends(rows.unit).items())
    for (index, product), length in cross(enumerate(some), sorted(lengths)):
        minus = negate(fmt_a, product.a)
        pair, opposite = (product.a, product.b), ((product.a if minus is None else minus), product.b)
        name, c = next(names)
        rows.add(f"chain/{index}-{length}-grows-c-{name}", [[pair] * rows.lanes] * length, c)
        name, c = next(names)
        turns = [[opposite if beat % 2 else pair] for beat in range(length)]
        rows.add(f"chain/{index}-{length}-turns-c-{name}", turns, c, index % rows.lanes)
        far = some[-1 - index % len(some)]
        rows.add(f"chain/{index}-{length}-far", [[(far.a, far.b)], *[[pair]] * (length - 1)], 0, index % rows.lanes)


def scale_rows(rows: Rows) -> None:
    """Scales at which something begins or ends, with products and addends."""
    scale = rows.unit.scale
    if scale is None:
        return
    some, names = _some(rows.unit), cycle(_addends(rows.unit).items())
    codes_a, codes_b = (_scale_codes(side.format, rows.unit.result.format) for side in (scale.a, scale.b))
    for index, (x, y) in enumerate(cross(codes_a, codes_b)):
        pair = (x,), (y,)
        product = some[index % len(some)]
        name, c = next(names)
        rows.add(f"scale/{index}-c-{name}", [[(product.a, product.b)]], c, index % rows.lanes, pair)
        rows.add(f"scale/{index}-all", [[(product.a, product.b)] * rows.lanes] * 2, 0, 0, pair)
        if (minus := negate(rows.unit.operands.a, some[0].a)) is not None:
            rows.add(f"scale/{index}-least", [[(minus, some[0].b)]], 0, index % rows.lanes, pair)
        for sign, zero in enumerate(zeros(rows.unit.operands.addend) if rows.unit.operands.addend else ()):
            rows.add(f"scale/{index}-zero-{sign}", [[(0, 0)]], zero, 0, pair)
    _own_scales(rows, some)


OF_EACH = 2  # cases of an outcome and a sign


def first_product_rows(rows: Rows) -> None:
    """Partial sums of one product times the scale that they are multiplied by first: each outcome of that rounding."""
    unit = rows.unit
    scaling, scale = unit.scaled_promotion, unit.scale
    if scaling is None or scale is None or scaling.made != "scaled":
        return
    model, place, counts = definition_of(unit), roundings(unit)[FIRST], TallyOf[tuple[str, int]]()
    name, fmt = scaling.first[1]
    neutral = one_code(scale.b.format if name == "scale_a" else scale.a.format)
    near = {one_code(fmt) + (n << fmt.padding) for n in range(-5, 6)}
    codes = [
        code
        for code in (*_scale_codes(fmt, unit.result.format), *sorted(near))
        if 0 <= code < 1 << fmt.container_bits and is_finite(fmt, code)
    ]
    for product, code in cross(_some(unit), dict.fromkeys(codes)):
        laid = [[(product.a, product.b)]], 0, 0, (((code,), (neutral,)) if name == "scale_a" else ((neutral,), (code,)))
        tried = Rows(unit)
        tried.add("tried", *laid)
        for where, terms, rounded_code, overflow in rounded(dot(model, tried.cases["tried"])):
            for word in outcome(place, terms, rounded_code, overflow) if where == FIRST else ():
                counts[word, terms[0].sign] += 1
                if (number := counts[word, terms[0].sign]) <= OF_EACH:
                    rows.add(f"first/{word.replace(', ', ' ').replace(' ', '-')}-{terms[0].sign}-{number}", *laid)


BLOCKS = 3  # in a row, each with a scale of its own


def _own_scales(rows: Rows, some: list[Product]) -> None:
    """Blocks in a row, each with a scale of its own; of a, of b and of both."""
    scale, unit = rows.unit.scale, rows.unit
    if scale is None:
        return
    steps = [_neighbours(side.format) for side in (scale.a, scale.b)]
    ones = [(one_code(side.format),) for side in (scale.a, scale.b)]
    terms = BLOCKS * max(block_lengths(unit))
    beats = -(-max(terms, rows.lanes) // rows.lanes)
    for index, product in enumerate(some[:: max(1, len(some) // 3)]):
        row = [[(product.a, product.b)] * rows.lanes] * beats
        for word, scales in (
            ("a", (steps[0], ones[1])),
            ("b", (ones[0], steps[1])),
            ("both", (steps[0], steps[1][::-1])),
        ):
            rows.add(f"scale/own-{index}-{word}", row, 0, 0, scales)


def _neighbours(fmt: FloatFormat | FixedFormat | ExponentFormat) -> tuple[int, ...]:
    """The codes of 1, 2 and 8, or of three other numbers of a format without them."""
    if isinstance(fmt, ExponentFormat):
        unity = one_code(fmt)
        return tuple(min(max(unity + step, fmt.min_code), fmt.max_code) for step in (0, 1, 3))
    codes = [exact_code(fmt, 0, 1, step) for step in (0, 1, 3)] if isinstance(fmt, FloatFormat) else []
    held = tuple(code for code in codes if code is not None)
    return held if len(held) > 1 else tuple(list(numbers(fmt).values())[-BLOCKS:])


def cancelled_rows(rows: Rows) -> None:
    """Products beside addends that cancel them but for the last place: of the least and of others, in both signs."""
    unit = rows.unit
    a, b, fmt = unit.operands.a, unit.operands.b, unit.operands.addend
    if not isinstance(fmt, FloatFormat) or unit.scale is not None:
        return
    for index, product in enumerate(_some(unit)):
        exp = product.exp - a.fraction_bits - b.fraction_bits
        spare = fmt.precision - product.sig.bit_length()
        for step, sign in cross((-1, 0, 1), (0, 1)):
            sig = (product.sig << spare) + step if spare > 0 else product.sig + step
            c = (
                exact_code(fmt, 1 - product.sign if sign else product.sign, sig, exp - max(spare, 0))
                if sig > 0
                else None
            )
            if c is not None:
                rows.add(f"cancel/{index}{step:+}-{sign}", [[(product.a, product.b)]], c, index % rows.lanes)


def _scale_codes(fmt: FloatFormat | FixedFormat | ExponentFormat, result: Number) -> list[int]:
    if isinstance(fmt, ExponentFormat):
        unity = one_code(fmt)
        # Two of the last take products to below the least result, and not further than a window may hold them.
        codes = [fmt.min_code, unity - 1, unity, unity + 1, fmt.max_code, unity + result.quantum_exp // 2 - 2]
        # Not all of them are codes where there is no 1, or where it is the last.
        inside = (min(max(code, fmt.min_code), fmt.max_code) for code in codes)
        return list(dict.fromkeys([*inside, *fmt.nan]))
    plus = [0, *numbers(fmt).values()]
    minus = [code for code in (negate(fmt, positive) for positive in plus) if code is not None]
    return list(dict.fromkeys([*plus, *minus, *infinities(fmt), *nans(fmt)[:1]]))
