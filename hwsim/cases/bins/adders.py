"""Rounded additions of a unit: the two terms of each, and the last bit of the smaller one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product as cross
from typing import NamedTuple, assert_never

from hwsim.cases.bins.declare import Declared, Hits, SampledCase, Subject
from hwsim.cases.bins.outcomes import RoundingPlace, ends_of, in_units, is_raised, rounded, roundings
from hwsim.formats import Class, FixedFormat, FloatFormat, Format, TableFormat
from hwsim.model.methods import Addition, ExactSoFar
from hwsim.model.record import Explanation
from hwsim.model.rounding import add, infinity_code, overflow_code, pack
from hwsim.model.terms import Term
from hwsim.spec import EvenOddSum, ExactSum, LateAdd, PairwiseSum, RoundedSum, SequentialSum, Unit, WindowSum
from hwsim.spec.keys import Number, Overflow, Rounding

TIES: tuple[Rounding, ...] = ("rne", "rna")
WORDS = {True: "added", False: "subtracted"}
PARITY = ("even", "odd")
# What is added: an exact product; a sum so far, or a part of a tree; c; a group's result; a promotion's register.
PRODUCT, SUM, ADDEND, PARTIAL, REGISTER = "product", "sum", "addend", "partial sum", "register"
REST = "rest"  # all terms of an exact sum but one
LATER = {"late addition": (ADDEND, PARTIAL), "promotion": (REGISTER, PARTIAL)}


class Reach(NamedTuple):
    """The numbers that a term can be: significant bits, a multiple of 2^low, its leading one at 2^top at most.

    least: the exponent of the least power of two that it can be; more than `low` where subnormals count as zero.
    largest: whether it can also be the largest number of the sum's format, which takes the place of what is too large.
    """

    bits: int
    low: int
    top: int
    least: int
    largest: bool = False


@dataclass(frozen=True)
class RoundedPair:
    """An addition of a unit whose sum is rounded, with the one of its terms that is larger, and the other.

    place: as `hwsim.cases.bins.outcomes.roundings` calls it. larger, smaller: what they are. format, rounding: of the
    sum. keeps: whether sums that are subnormal keep their bits. zeros: how many places there can be between the last
    bit of the smaller term and the lowest of its other ones, this one counted; of products those that any two formats
    of so many bits reach.
    """

    place: str
    larger: str
    smaller: str
    of_larger: Reach
    of_smaller: Reach
    format: Number
    rounding: Rounding
    keeps: bool
    zeros: int

    @property
    def ties(self) -> bool:
        """True if the edge of the rounding is a tie."""
        return self.rounding in TIES

    @property
    def precision(self) -> int:
        """Bits that a sum keeps; of a fixed format more than any sum has."""
        return self.format.precision if isinstance(self.format, FloatFormat) else 1 << 16

    @property
    def is_number(self) -> bool:
        """True if the larger term always is a number of the sum's format, and never a tie."""
        return self.of_larger.bits <= self.precision and self.of_larger.low >= self.format.quantum_exp

    @property
    def top(self) -> int:
        """The largest exponent of the larger term's leading one, in a sum that does not overflow."""
        return min(self.of_larger.top, _top(self.format))

    @property
    def near(self) -> int:
        """The last distance at which each sign and parity has a bin: the farthest that two terms overlap, and more."""
        overlap = max(min(self.of_larger.bits, 2 * self.precision), self.precision) + self.of_smaller.bits
        return min(self.last, overlap + 2)

    @property
    def last(self) -> int:
        """The largest distance of both, as far as the smaller can decide."""
        apart = max(-1, self.top - self.of_smaller.least)
        return min(apart, self.precision + 1) if self.ties and self.is_number else apart

    def name(self, distance: int, adds: bool, odd: int) -> str:
        """The name of a bin."""
        edge = "a tie" if self.ties else "an exact sum"
        where = f"{self.smaller} {distance} places below {self.larger}"
        return f"{self.place}: {where}, {WORDS[adds]}, takes it off {edge}, last place {PARITY[odd]}"

    def far_name(self, distance: int) -> str:
        """The name of a bin beyond `near`."""
        return f"{self.place}: {self.smaller} {distance} places below {self.larger} decides"

    def depth_name(self, depth: int) -> str:
        """The name of a bin of the place of the bit that decides."""
        return f"{self.place}: last bit of {self.smaller}, {depth} places below {self.larger}'s first, decides"

    @property
    def depths(self) -> range:
        """Places of the bit that decides, below the larger term's leading one, as far as the terms overlap."""
        lowest = self.top - self.of_smaller.low
        first = self.precision + self.ties
        end = min(lowest, max(self.precision + self.zeros, 0 if self.is_number else self.near))
        return range(first, min(end, 1 << 12) + 1)

    def unreachable(self, distance: int, adds: bool, odd: int) -> str | None:
        """The reason why nothing hits a bin; None where something may."""
        bits, p, fmt = self.of_smaller.bits, self.precision, self.format
        # Where the sum's last place is the format's least number, the smaller term may be cut at any distance.
        keeps = self.keeps or isinstance(fmt, FixedFormat)  # whose numbers are all multiples of one
        cut = keeps and self.of_smaller.low < fmt.quantum_exp - self.ties
        alone = not adds and not distance and bits < p + 2 + self.ties
        if not cut and (distance + bits < p + self.ties + (not adds) or alone):
            last_place = "half of the sum's last place" if self.ties else "the sum's last place"
            return f"a {self.smaller} of {bits} bits so near to the {self.larger} has none below {last_place}"
        if self.ties and self.is_number and distance == p + 1 and (adds or not odd):
            return (
                f"the {self.larger} is a number of {fmt.name}, and the {self.smaller} a quarter of its last place: "
                "only of a power of two less that, which is odd in its last place, there is a tie"
            )
        short = self.of_larger.bits < p and (not cut or self.of_larger.low > fmt.quantum_exp)
        if short and not self._meets(distance, adds, odd) and not self._meets_largest(distance):
            return (
                f"a {self.larger} has {self.of_larger.bits} bits, so that the last of {p} places is 0, or that of the "
                f"{self.smaller}'s first bit"
            )
        return None

    def _meets(self, distance: int, adds: bool, odd: int) -> bool:
        """True if a last place that the larger term does not reach may be what it is asked to be."""
        if distance == self.precision - 1:
            return bool(odd) or not adds
        if distance == self.precision:
            return not odd or not adds  # a power of two less one last place is a binade lower
        return distance < self.precision or not odd or self.ties

    def _meets_largest(self, distance: int) -> bool:
        """True if a last place that no other larger term has may be that beside the largest number, which is odd."""
        fmt = self.format
        if not self.of_larger.largest or not isinstance(fmt, FloatFormat) or fmt.max_magnitude % 2 == 0:
            return False
        # One last place more takes a number of ones alone to a power of two, which no tie is next to.
        return not (self.ties and _ends_in_ones(fmt) and distance == self.precision - 1)


def _ends_in_ones(fmt: FloatFormat) -> bool:
    """True if all bits of a format's largest number are 1."""
    return (fmt.max_magnitude + 1) % (1 << fmt.fraction_bits) == 0


def _top(fmt: Number) -> int:
    return fmt.emax if isinstance(fmt, FloatFormat) else fmt.integer_bits


def keeps_subnormals(place: RoundingPlace) -> bool:
    """True if sums that are subnormal keep their bits."""
    return not place.flushes and (not isinstance(place.format, FloatFormat) or place.format.subnormals)


def node_roles(first: int, last: int) -> tuple[str, str]:
    """The roles of the two terms that a node of the tree adds, which sums the products of these lanes."""
    right = split(first, last)
    return f"left {SUM if right - first > 1 else PRODUCT}", f"right {SUM if last > right else PRODUCT}"


def split(first: int, last: int) -> int:
    """The first lane of the right part of a node of a tree: the left one has as large a power of two as can be."""
    return first + (1 << (last - first).bit_length() - 1)


# What a unit adds, from its specification.


@lru_cache(maxsize=64)
def adders(unit: Unit) -> tuple[RoundedPair, ...]:
    """The additions of a unit that are rounded, each with either term the larger one; none where parts are scaled."""
    scaled = not isinstance(unit.sum, EvenOddSum) and unit.sum.subgroup is not None
    return () if scaled else every_adder(unit)


@lru_cache(maxsize=64)
def every_adder(unit: Unit) -> tuple[RoundedPair, ...]:
    """`adders`; and where parts are scaled, which no bins are for, the additions after groups."""
    later = not isinstance(unit.sum, EvenOddSum) and unit.sum.subgroup is not None
    additions: list[RoundedPair] = []
    places = roundings(unit)
    for place, pairs in _terms(unit).items():
        if later and place not in LATER:
            continue
        rounding = places[place]
        for (x, of_x), (y, of_y) in pairs:
            for larger, of_larger, smaller, of_smaller in ((x, of_x, y, of_y), (y, of_y, x, of_x))[: 1 + (x != REST)]:
                if (place, larger, smaller) not in {(pair.place, pair.larger, pair.smaller) for pair in additions}:
                    reaches = of_larger, of_smaller
                    if larger != REST or of_larger.bits:
                        keeps, zeros = keeps_subnormals(rounding), _zeros(unit, smaller, of_smaller)
                        additions.append(
                            RoundedPair(
                                place, larger, smaller, *reaches, rounding.format, rounding.rounding, keeps, zeros
                            )
                        )
    return tuple(additions)


def _zeros(unit: Unit, role: str, reach: Reach) -> int:
    if role.endswith(PRODUCT):
        # Of any odd factor there is another one so that both multiply to 1 modulo a power of two with as many bits.
        return min(reach.bits - 1, max(unit.operands.a.sig_bits, unit.operands.b.sig_bits))
    return reach.bits - 1


Role = tuple[str, Reach]


def _terms(unit: Unit) -> dict[str, list[tuple[Role, Role]]]:
    """The pairs of terms that each place adds."""
    terms: dict[str, list[tuple[Role, Role]]] = {}
    rule, lanes = unit.sum, unit.instruction.lanes
    product, c = product_reach(unit), unit.operands.addend
    addend = None if c is None else format_reach(c)
    inside = addend if unit.promotion is None and unit.late is None else None
    if isinstance(rule, RoundedSum):
        before = _flushed(_rounded_reach(rule.format, product, inside), rule.format, rule.flush)
        term = product
        if rule.product == "rounded":
            term = _rounded_product(unit, rule, product)
        match rule:
            case SequentialSum():
                terms["addition"] = [((SUM, before), (PRODUCT, term))]
            case PairwiseSum(chains=int(chains)):
                whole = _rounded_reach(rule.format, product, None)
                terms["addition"] = [((SUM, whole), (PRODUCT, term))] if lanes > chains else []
                if chains > 1:
                    terms["addition"].append((("left sum", whole), ("right sum", whole)))
                if inside is not None or unit.instruction.chain:
                    terms["addition"].append(((SUM, whole), (ADDEND, _rounded_reach(rule.format, product, inside))))
            case PairwiseSum():
                nodes = {node_roles(first, last) for first, last in tree(lanes)}
                # Of one lane the addend is added to the product itself.
                of = {PRODUCT: term, SUM: term if lanes == 1 else _rounded_reach(rule.format, product, None)}
                terms["addition"] = [((x, of[x.split(" ")[1]]), (y, of[y.split(" ")[1]])) for x, y in sorted(nodes)]
                if inside is not None or unit.instruction.chain:
                    terms["addition"].append(((SUM, of[SUM]), (ADDEND, _rounded_reach(rule.format, product, inside))))
            case _:
                assert_never(rule)
    elif isinstance(rule, ExactSum):
        held, fmt = inside, unit.result.format
        if inside is not None and rule.rounded == "group" and _groups(unit) != 1:
            # A group goes on from a result, of which no fixed one has bits below a last place.
            held = _either(inside, _flushed(format_reach(fmt), fmt, unit.result.subnormals == "flush"))
            inside = held if isinstance(fmt, FloatFormat) else inside
        terms["result"] = [((_rest(unit, product, held)), (PRODUCT, product))]
        if inside is not None:
            terms["result"].append((_rest(unit, product, None), (ADDEND, inside)))
    result = unit.result.format
    partial = _flushed(_rounded_reach(result, product, None), result, unit.result.subnormals == "flush")
    if isinstance(unit.late, LateAdd) and addend is not None:
        held = _flushed(addend, c, unit.late.flush)
        if unit.instruction.groups > 1 or unit.instruction.chain is not None:
            held = _either(held, _flushed(format_reach(unit.late.format), unit.late.format, unit.late.flush))
        terms["late addition"] = [((ADDEND, held), (PARTIAL, partial))]
    if unit.promotion is not None:
        fmt = unit.promotion.format
        register = _rounded_reach(fmt, partial, addend)
        if (scaling := unit.scaled_promotion) is not None:
            scale = scaling.then[1][1]
            if scaling.made == "scaled":
                partial = _rounded_reach(fmt, _times(partial, format_reach(scaling.first[1][1])), None)
            partial = _times(partial, format_reach(scale))
        terms["promotion"] = [((REGISTER, register), (PARTIAL, partial))]
    return terms


def scaled_factors(unit: Unit) -> tuple[int, int] | None:
    """The bits of the two significands that a scaled partial sum is the product of, as cases have them; None of others.

    Where the first product is that of the partial sum and a scale, one of these is a power of two.
    """
    scaling = unit.scaled_promotion
    if scaling is None or unit.promotion is None:
        return None
    most = unit.promotion.format.sig_bits
    if scaling.made == "scale":
        return unit.result.format.sig_bits, most
    return min(most, max(fmt.sig_bits for _, fmt in scaling.first)), scaling.then[1][1].sig_bits


def tree(lanes: int) -> Iterator[tuple[int, int]]:
    """The first and the last lane of every node of a tree of additions."""
    level = [(lane, lane) for lane in range(lanes)]
    while len(level) > 1:
        above = [(x[0], y[1]) for x, y in zip(level[::2], level[1::2], strict=False)]
        yield from above
        level = above + level[len(level) // 2 * 2 :]


def format_reach(fmt: Format) -> Reach:
    """The reach of a format's numbers."""
    low, top = ends_of(fmt)
    if isinstance(fmt, TableFormat):
        return Reach(fmt.precision, low, fmt.emax, fmt.emin)
    if isinstance(fmt, FloatFormat):
        # Without subnormals the least normal power of two is none of the format's numbers: its code is zero's.
        return Reach(fmt.precision, low, fmt.emax, low if fmt.subnormals else fmt.emin + 1)
    return Reach(fmt.precision, low, top, low)


def _times(x: Reach, y: Reach) -> Reach:
    return Reach(x.bits + y.bits, x.low + y.low, x.top + y.top + 1, x.least + y.least)


def product_reach(unit: Unit) -> Reach:
    """The reach of a unit's products."""
    operands, scale = unit.operands, unit.scale
    a, b = (format_reach(fmt) for fmt in (operands.a, operands.b))
    if flushes_factors(unit):
        a, b = (_flushed(reach, fmt, True) for reach, fmt in ((a, operands.a), (b, operands.b)))
    reach = _times(a, b)
    if scale is not None and scale.at != "promotion":
        for fmt in (scale.a.format, scale.b.format):
            factor = format_reach(fmt)
            reach = Reach(reach.bits, reach.low + factor.low, reach.top + factor.top, reach.least + factor.least)
    limit = unit.sum.product_limit
    return reach if limit is None else reach._replace(top=min(reach.top, limit - 1))


def _rounded_reach(fmt: Number, product: Reach, addend: Reach | None) -> Reach:
    """The reach of a sum of products, and of an addend, rounded to a format."""
    parts = [product] if addend is None else [product, addend]
    low, top = min(part.low for part in parts), max(part.top for part in parts)
    least = max(min(part.least for part in parts), format_reach(fmt).least)
    low = fmt.quantum_exp if is_raised(fmt, low) else max(low, fmt.quantum_exp)
    return Reach(fmt.precision, low, min(top, _top(fmt)), least)


def _rounded_product(unit: Unit, rule: RoundedSum, product: Reach) -> Reach:
    """The reach of a product rounded to a sum's format."""
    fmt, reach = rule.format, _rounded_reach(rule.format, product, None)
    raised = is_raised(fmt, product.least) and rule.rounding != "rz"
    bits = fmt.precision if raised else min(fmt.precision, product.bits)
    infinite = unit.operands.a.infinities or unit.operands.b.infinities or rule.product_limit is not None
    too_large = product.top > fmt.emax or (product.top == fmt.emax and not _ends_in_ones(fmt))
    codes = set[int]()
    for sign in (0, 1):
        if too_large:
            codes.add(overflow_code(fmt, sign, rule.rounding, rule.overflow))
        if infinite:
            codes.add(infinity_code(fmt, sign, rule.overflow))
    largest = not codes.isdisjoint(pack(fmt, sign, fmt.max_magnitude) for sign in (0, 1))
    return reach._replace(bits=bits, largest=largest)


def _either(x: Reach, y: Reach) -> Reach:
    """The reach of a number that is one of two terms."""
    return Reach(max(x.bits, y.bits), min(x.low, y.low), max(x.top, y.top), min(x.least, y.least))


def _flushed(reach: Reach, fmt: Format | None, flushes: bool) -> Reach:
    """The same where subnormals of a format count as zero, or become zero."""
    return reach._replace(least=max(reach.least, fmt.emin)) if flushes and isinstance(fmt, FloatFormat) else reach


def flushes_factors(unit: Unit) -> bool:
    """True if subnormal factors count as zero."""
    return unit.operands.daz and unit.operands.convert is None


def _rest(unit: Unit, product: Reach, addend: Reach | None) -> Role:
    """All terms of an exact sum but one: a number that one of them is, or any number, of several."""
    rule, instruction = unit.sum, unit.instruction
    several = instruction.lanes > 1 or (isinstance(rule, ExactSum) and rule.rounded == "end" and _groups(unit) != 1)
    precision = unit.result.format.precision if isinstance(unit.result.format, FloatFormat) else 0
    if addend is None:
        return REST, product._replace(bits=1 << 16 if several else 0)
    if not several:
        return REST, addend
    # A tie has its half from a product, unless the addend has as many bits itself.
    whole = addend.bits > precision or unit.result.rounding not in TIES
    top = addend.top if whole else min(addend.top, product.top + precision)
    least = min(product.least, addend.least)
    return REST, Reach(1 << 16, min(product.low, addend.low), max(top, product.top), least)


def _groups(unit: Unit) -> int | None:
    """The groups that a partial sum is of, at most; None for any number."""
    return unit.restart or (None if unit.instruction.chain else unit.instruction.groups)


class Decision(NamedTuple):
    """A smaller term's last bit that decides: the distance of both terms, by their leading ones, and the bit's place.

    odd: of the last place that the edge is next to. depth: of the bit below the larger term's leading one.
    matters: whether without the smaller term the sum would be rounded to something else.
    """

    place: str
    larger: str
    smaller: str
    distance: int
    adds: bool
    odd: int
    depth: int
    matters: bool


def edge_of(adder_format: Number, ties: bool, keeps: bool, larger: int, smaller: int, unit_exp: int) -> int | None:
    """Last place's parity, where the smaller number's last bit alone takes a sum off the edge of its rounding.

    larger, smaller: in units of 2^unit_exp, with signs. None: it does not.
    """
    low = smaller & -smaller
    rest = abs(larger + (smaller - low if smaller > 0 else smaller + low))
    total = abs(larger + smaller)
    if not rest or not total or not larger:
        return None
    least = adder_format.quantum_exp - unit_exp
    if isinstance(adder_format, FloatFormat):
        place = max(rest.bit_length() - adder_format.precision, least)
        if not keeps and min(rest, total).bit_length() - 1 + unit_exp < adder_format.emin:
            return None
    else:
        place = least
    edge = place - ties
    # The bit is below the edge, and below that of the binade that a borrow leads to.
    if edge < 1 or low.bit_length() > edge or rest & (1 << edge) - 1 or (ties and not rest >> edge & 1):
        return None
    if total < rest and total.bit_length() < rest.bit_length() and low.bit_length() > edge - 1:
        return None
    return rest >> place & 1


def decisions(explanation: Explanation) -> Iterator[Decision]:
    """Every rounding of a sum that the last bit of one of its terms decides."""
    unit = explanation.unit
    for place, fmt, rounding, keeps, terms in _sums(explanation):
        held = [(role, term) for role, term in terms if term.sig]
        if len(held) < 2 or any(term.cls in (Class.NAN, Class.INFINITY) for _, term in terms):
            continue
        ends = [_end(term) for _, term in held]
        end = min(ends)
        if ends.count(end) > 1:
            continue  # the lowest bit is not one term's alone
        place_of_end = ends.index(end)
        role, small = held[place_of_end]
        rest = sum(in_units(term, end) for index, (_, term) in enumerate(held) if index != place_of_end)
        size = in_units(small, end)
        if abs(rest) < abs(size):
            continue
        odd = edge_of(fmt, rounding in TIES, keeps, rest, size, end)
        if odd is None:
            continue
        larger = held[1 - place_of_end][0] if not isinstance(unit.sum, ExactSum) or place != "result" else REST
        leading = abs(rest).bit_length()
        yield Decision(
            place, larger, role, leading - abs(size).bit_length(), (rest > 0) == (size > 0), odd, leading - 1,
            _matters(fmt, rounding, rest, size, end),
        )  # fmt: skip


def _matters(fmt: Number, rounding: Rounding, rest: int, size: int, unit_exp: int) -> bool:
    """True if the sum is rounded to something else than the larger term alone."""
    if isinstance(fmt, FixedFormat):
        return True
    overflow: Overflow = "ieee" if fmt.infinities or fmt.has_nan else "saturate"
    codes = {
        add(fmt, [Term(int(total < 0), unit_exp, abs(total), 0, Class.NORMAL)], rounding, None, overflow)
        for total in (rest, rest + size)
    }
    return len(codes) > 1


def _end(term: Term) -> int:
    """The exponent of the lowest bit."""
    return (term.sig & -term.sig).bit_length() - 1 + term.exp - term.fraction_bits


Sum = tuple[str, Number, Rounding, bool, Sequence[tuple[str, Term]]]


def _sums(explanation: Explanation) -> Iterator[Sum]:
    """Every sum of several terms that is rounded: its place, what it is rounded to and how, and its terms."""
    unit, places = explanation.unit, {place.name: place for place in roundings(explanation.unit).values()}
    if isinstance(unit.sum, RoundedSum):
        rule, keeps = unit.sum, keeps_subnormals(places["addition"])
        for step in (step for group in explanation.groups for step in group.steps if len(step.terms) > 1):
            yield "addition", rule.format, rule.rounding, keeps, list(zip(_roles(unit, step), step.terms, strict=True))
    elif isinstance(unit.sum, ExactSum):
        place = places["result"]
        for terms in _exact_sums(explanation):
            yield "result", place.format, place.rounding, keeps_subnormals(place), terms
    for name, both, _, _ in rounded(explanation):
        if name in LATER:
            place = places[name]
            yield name, place.format, place.rounding, keeps_subnormals(place), list(zip(LATER[name], both, strict=True))


def _exact_sums(explanation: Explanation) -> Iterator[list[tuple[str, Term]]]:
    """The terms of each exact sum that is rounded, of all its groups."""
    held: list[tuple[str, Term]] = []
    groups, ends = explanation.groups, explanation.additions.keys() | explanation.promotions.keys()
    for index, group in enumerate(groups):
        carried = isinstance(group.start, ExactSoFar)
        held = [*(held if carried else ()), *((PRODUCT, term) for term in group.products)]
        if group.addend is not None and not carried:
            held.append((ADDEND, group.addend))
        if index + 1 == len(groups) or index in ends or not isinstance(groups[index + 1].start, ExactSoFar):
            yield held


def _roles(unit: Unit, step: Addition) -> tuple[str, str]:
    """The roles of an addition's two terms."""
    match unit.sum:
        case SequentialSum():
            return SUM, PRODUCT
        case PairwiseSum():
            if step.name == "addend":
                return SUM, ADDEND
            if unit.sum.chains is not None:
                return (SUM, PRODUCT) if step.name.isdigit() else ("left sum", "right sum")
            first, last = map(int, step.name.split(".."))
            return node_roles(first, last)
        case WindowSum() | ExactSum():
            raise TypeError(f"{unit.name} has no rounded additions: sum.method is {unit.sum.method}")
        case _:
            assert_never(unit.sum)


def declare_smaller(subject: Subject, out: Declared) -> None:
    """A bin for each distance of each addition's terms: added and subtracted, with both parities, while they meet."""
    out.section("smaller terms")
    known: dict[str, int] = {}
    every = {(pair.place, pair.larger, pair.smaller): pair for pair in adders(subject.unit)}
    for pair in every.values():
        for distance in range(pair.near + 1):
            for adds, odd in cross((True, False), (0, 1)):
                name = pair.name(distance, adds, odd)
                known[name] = out.bin("G7", name, pair.unreachable(distance, adds, odd))
        names = [pair.far_name(distance) for distance in range(pair.near + 1, pair.last + 1)]
        for name in (*names, *map(pair.depth_name, pair.depths)):
            known[name] = out.bin("G7", name)

    if not every:
        return

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        for decision in decisions(sampled.explanation):
            pair = every.get((decision.place, decision.larger, decision.smaller))
            if pair is None:
                continue
            names = [pair.name(decision.distance, decision.adds, decision.odd), pair.depth_name(decision.depth)]
            if decision.matters and decision.distance > pair.near:
                names.append(pair.far_name(decision.distance))
            hits.update(known[name] for name in names if name in known)
