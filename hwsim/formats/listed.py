"""Formats by table: the value of every code, listed one by one or by a rule, of up to 16 bits."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, ValidationError, model_validator

from hwsim.base.errors import InputError
from hwsim.formats.base import FormatBase
from hwsim.formats.floats import MOST_FRACTION_BITS, FloatFormat
from hwsim.formats.kind import Class, Fields
from hwsim.formats.rounding import (
    LAST,
    Bools,
    Draw,
    ExactNumbers,
    Ints,
    Overflow,
    Rounding,
    go_beyond,
    rounds_inward,
)
from hwsim.formats.tablerules import MOST_BITS, Rule
from hwsim.formats.yamlfile import RuleError

LEAST_EXP, MOST_EXP = -1022, 1023  # of values, and of the half of the least: normal float64s
QUOTIENT = re.compile(r"([+-]?\d{1,400})/(\d{1,400})")
DECIMAL = re.compile(r"[+-]?(\d{1,1100}\.?\d{0,1100}|\.\d{1,1100})(e[+-]?\d{1,4})?", re.IGNORECASE)
HEXADECIMAL = re.compile(r"[+-]?0x[0-9a-f.]{1,300}(p[+-]?\d{1,5})?", re.IGNORECASE)


def number_in(text: str) -> float:
    """The number that a text says exactly: decimal, hexadecimal, a quotient, `nan`, `inf` or `-inf`.

    Raises InputError for what is none, and for a number that no float64 has, as 0.1.
    """
    plain = text.strip().lower()
    if plain.removeprefix("+").removeprefix("-") in ("nan", "inf"):
        return abs(float(plain)) if "nan" in plain else float(plain)
    quotient = QUOTIENT.fullmatch(plain)
    try:
        if quotient:
            exact = Fraction(int(quotient[1]), int(quotient[2]))
        elif HEXADECIMAL.fullmatch(plain):
            exact = _hexadecimal(plain)
        elif DECIMAL.fullmatch(plain):
            exact = Fraction(plain)
        else:
            raise ValueError
        value = -0.0 if exact == 0 and plain.startswith("-") else float(exact)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"must be a number, as 0.375, 3/8 or 0x1.8p-2, nan, inf or -inf, not {text!r}") from None
    except OverflowError:
        value, exact = math.inf, Fraction(0)
    return _checked(value, text, math.isfinite(value) and Fraction(value) == exact)


def _hexadecimal(plain: str) -> Fraction:
    """The exact value of a hexadecimal number."""
    digits, _, power = plain.lstrip("+-").removeprefix("0x").partition("p")
    whole, _, part = digits.partition(".")
    magnitude = Fraction(int(whole + part or "0", 16)) * Fraction(2) ** (int(power or "0") - 4 * len(part))
    return -magnitude if plain.startswith("-") else magnitude


def _checked(value: float, text: str, exact: bool) -> float:
    if not exact:
        raise InputError(f"must be a multiple of a power of two that float64 holds, not {text}")
    return value


def written(value: float) -> str:
    """A number as text that says it exactly: decimal where that is short, else hexadecimal."""
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    short = repr(value)
    if Fraction(short) != Fraction(value):
        return value.hex()
    return short if short == "-0.0" else short.removesuffix(".0")


def _texts(value: Any) -> Any:
    """Values as texts. A float that YAML read is what its shortest decimal says."""
    if not isinstance(value, (list, tuple)):
        raise InputError("must be a list of values")
    texts = []
    for place, item in enumerate(value):
        if isinstance(item, bool) or not isinstance(item, (int, float, str)):
            raise RuleError(f"{place}", f"must be a number, nan, inf or -inf, not {item!r}")
        try:
            texts.append(written(number_in(repr(item) if isinstance(item, float) else str(item))))
        except InputError as error:
            raise RuleError(f"{place}", str(error)) from None
    return tuple(texts)


class NormalFormat(FloatFormat):
    """The float that the numbers of a table are: each but zero with a hidden bit, up to the table's largest magnitude.

    Nothing is stored in it.
    """

    most: int

    @cached_property
    def max_magnitude(self) -> int:
        """The magnitude bits of the table's largest number."""
        return self.most


class SignedLadder(NamedTuple):
    """The numbers of one sign, by magnitude from zero up, with their codes, and the number halfway to each next one.

    lacking: whether the first, zero, is none of the format's. beyond: what stands above the largest; infinite where
    nothing is too large.
    """

    magnitudes: NDArray[np.float64]
    codes: Ints
    halves: NDArray[np.float64]
    beyond: float
    lacking: bool


class Columns(NamedTuple):
    """The fields of every code, in the order of codes. classes: 0 for NaN, 1 for infinities, 2 for numbers."""

    signs: list[int]
    exps: list[int]
    sigs: list[int]
    classes: list[int]


class TableFormat(FormatBase):
    """A value for every code: listed, or computed once by a rule.

    entries: one for each code, from code 0 up: numbers, exactly (0.375, 3/8, 0x1.8p-2), nan, inf or -inf. -0.0 is a
    zero with a sign. rule: instead of entries, `{name: posit, bits, es}`, `{name: hif8}` or `{name: lns, bits,
    fraction_bits, precision}`.

    Every number but zero is multiplied as 1.fraction times a power of two, with as many fraction bits as the longest
    has: none is subnormal. A number between two values is halfway at their mean, or where the rule says. A tie to even
    takes the neighbour whose code is even, and of two or none the larger; rounding to odd the one whose code is odd,
    and of two or none the smaller. What stands above the largest is as far above it as the one before is below, unless
    the rule says otherwise.
    """

    kind: Literal["table"] = "table"
    entries: Annotated[tuple[str, ...], BeforeValidator(_texts)] = ()
    rule: Rule | None = None
    subnormals: ClassVar[bool] = False

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.entries, self.rule))

    @model_validator(mode="after")
    def _rules(self) -> TableFormat:
        if (self.rule is None) == (not self.entries):
            raise RuleError("entries", "must be given, or a rule, and not both")
        count = len(self.numbers)
        if not 2 <= count <= 1 << MOST_BITS or count & (count - 1):
            raise RuleError("entries", f"must be one for each code of 1 to {MOST_BITS} bits, not {count}")
        finite = [abs(x) for x in self.numbers if math.isfinite(x) and x]
        if not any(0 < x < math.inf for x in self.numbers):
            raise RuleError("entries", "must hold a number above zero")
        if min(finite) < 2.0 ** (LEAST_EXP + 1):
            raise RuleError("entries", f"must be at least 2^{LEAST_EXP + 1} where they are not zero, not {min(finite)}")
        try:
            self.decoded  # noqa: B018
        except ValidationError:
            low, high = math.frexp(min(finite))[1] - 1, math.frexp(max(finite))[1] - 1
            rule = f"must have at most {MOST_FRACTION_BITS} fraction bits, with sign and exponent 32, not "
            raise RuleError("entries", f"{rule}{self._fraction_bits} beside exponents {low} to {high}") from None
        return self

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """The value of every code, in the order of codes; NaNs and infinities are float64's."""
        if self.rule is None:
            return tuple(map(float_of, self.entries))
        return tuple(math.nan if x is None else float(x) for x in self.rule.listed)

    @cached_property
    def written_out(self) -> list[str]:
        """The value of every code as text that says it exactly."""
        return list(map(written, self.numbers))

    @cached_property
    def decoded(self) -> NormalFormat:
        """The float that the numbers are when they are multiplied."""
        exps = [math.frexp(x)[1] - 1 for x in self.numbers if math.isfinite(x) and x]
        largest = max(abs(x) for x in self.numbers if math.isfinite(x))
        special = self.infinities or self.has_nan
        fraction_bits = max(self._fraction_bits, int(self.infinities))
        least, most = min(exps), max(exps)
        exponent_bits = (most - least + 1 + special).bit_length()
        ones = (1 << exponent_bits + fraction_bits) - 1
        nan: Literal["ieee"] | tuple[int, ...] = "ieee" if self.infinities else (ones, 2 * ones + 1) if special else ()
        return NormalFormat(
            name=self.name,
            summary=self.summary,
            source=self.source,
            exponent_bits=exponent_bits,
            fraction_bits=fraction_bits,
            bias=1 - least,
            infinities=self.infinities,
            nan=nan,
            most=((most - least) << fraction_bits) + int(math.ldexp(largest, fraction_bits - most)),
        )

    @cached_property
    def _fraction_bits(self) -> int:
        ratios = (math.frexp(x)[0].as_integer_ratio()[0] for x in self.numbers if math.isfinite(x) and x)
        return max(abs(odd).bit_length() for odd in ratios) - 1

    @cached_property
    def bits(self) -> int:
        return len(self.numbers).bit_length() - 1

    @property
    def fraction_bits(self) -> int:
        """Fraction bits of the longest number, 1.fraction times a power of two."""
        return self.decoded.fraction_bits

    @property
    def emin(self) -> int:
        """The exponent of the least number other than zero; zero counts with it."""
        return self.decoded.emin

    @property
    def emax(self) -> int:
        return self.decoded.emax

    @cached_property
    def signed(self) -> bool:
        return any(x < 0 for x in self.numbers)

    @cached_property
    def signed_zero(self) -> bool:
        return {math.copysign(1, x) for x in self.numbers if x == 0} == {1, -1}

    @cached_property
    def has_zero(self) -> bool:  # type: ignore[override]
        return 0 in self.numbers

    @cached_property
    def infinities(self) -> bool:
        return any(map(math.isinf, self.numbers))

    @cached_property
    def nan(self) -> tuple[int, ...]:
        """The NaN codes."""
        return tuple(code for code, x in enumerate(self.numbers) if math.isnan(x))

    @property
    def has_nan(self) -> bool:
        return self.nan != ()

    @property
    def canonical_nan(self) -> int | None:
        """The first NaN code, or None."""
        return self.nan[0] if self.nan else None

    @cached_property
    def max_code(self) -> int:
        """The code of the largest number."""
        return self.numbers.index(max(x for x in self.numbers if math.isfinite(x)))

    @cached_property
    def min_code(self) -> int:
        """The code of the number nearest to zero, zero included."""
        return self.numbers.index(min((x for x in self.numbers if math.isfinite(x)), key=lambda x: (abs(x), x < 0)))

    def is_nan(self, code: int) -> bool:
        return math.isnan(self.numbers[code])

    def fields(self, code: int) -> Fields:
        """A code's fields; a number's significand has its hidden bit.

        A code of a proof, which stands for all, has a `chosen` of its own for rows by code.
        """
        chosen = getattr(code, "chosen", lambda rows: rows[code])
        of_class, sign = chosen(self._columns.classes), chosen(self._columns.signs)
        for place, cls in enumerate((Class.NAN, Class.INFINITY)):
            if of_class == place:
                return Fields(sign, 0, 0, cls)
        exp, sig = chosen(self._columns.exps), chosen(self._columns.sigs)
        return Fields(sign, exp, sig, Class.NORMAL) if sig else Fields(sign, self.emin, 0, Class.ZERO)

    @cached_property
    def _columns(self) -> Columns:
        """The fields of all codes."""
        finite = [x if math.isfinite(x) else 0.0 for x in self.numbers]
        parts = [math.frexp(abs(x)) for x in finite]
        return Columns(
            signs=[int(math.copysign(1, x) < 0) for x in self.numbers],
            exps=[exp - 1 if fraction else self.emin for fraction, exp in parts],
            sigs=[int(math.ldexp(fraction, self.fraction_bits + 1)) for fraction, _ in parts],
            classes=[0 if math.isnan(x) else 1 if math.isinf(x) else 2 for x in self.numbers],
        )

    @cached_property
    def _values(self) -> NDArray[np.float64]:
        return np.array(self.numbers)

    def values(self, code: Ints) -> NDArray[np.float64]:
        return np.asarray(self._values[code])

    @cached_property
    def _ranks(self) -> Ints:
        """Of every code, how many values lie between zero and its own; of NaNs, more than there are."""
        distinct = np.unique(np.append(self._values[~np.isnan(self._values)], 0.0))
        ranks = np.searchsorted(distinct, self._values) - int(np.searchsorted(distinct, 0.0))
        return np.where(np.isnan(self._values), len(distinct), ranks)

    def order(self, code: Ints) -> Ints:
        """Ranks of the values, zero's being 0; NaNs are above all."""
        return np.asarray(self._ranks[code])

    @cached_property
    def rounds(self) -> bool:
        """True if numbers can be rounded to it: float64 has the number halfway between each two of its values."""
        try:
            return bool(self.sides)
        except InputError:
            return False

    @cached_property
    def sides(self) -> tuple[SignedLadder, SignedLadder]:
        """The numbers from zero up, and from zero down."""
        return self._side(1), self._side(-1)

    def _side(self, sign: int) -> SignedLadder:
        codes: dict[float, int] = {}
        for code, x in enumerate(self.numbers):
            if math.isfinite(x) and (x * sign > 0 or (x == 0 and math.copysign(1, x) == sign)):
                codes.setdefault(abs(x), code)
        other = next((code for code, x in enumerate(self.numbers) if x == 0), None)
        lacking = 0.0 not in codes and other is None
        if 0.0 not in codes:
            codes[0.0] = 0 if other is None else other
        exact = [Fraction(x) for x in sorted(codes)]
        rule = self.rule
        halves = [rule.between(*pair) if rule else sum(pair) / 2 for pair in pairwise(exact)]
        beyond = math.inf
        if not (rule and rule.saturates):
            before = exact[-2] if len(exact) > 1 else Fraction(0)
            above = rule.beyond(exact[-1], before) if rule else 2 * exact[-1] - before
            halves.append((exact[-1] + above) / 2)
            beyond = float(above)
        rounded = [float(half) for half in halves]
        if any(Fraction(half) != exactly for half, exactly in zip(rounded, halves, strict=True)):
            wanted = "float64 must have the number halfway between each two of its values"
            raise InputError(f"{self.name} cannot be rounded to: {wanted}")
        magnitudes = np.array(sorted(codes))
        places = np.array([codes[x] for x in sorted(codes)], dtype=np.int64)
        return SignedLadder(magnitudes, places, np.array(rounded), beyond, lacking)

    def rounded(self, x: ExactNumbers, rounding: Rounding | Draw, overflow: Overflow) -> tuple[Ints, Bools]:
        """Codes, and which numbers are missing: NaNs, zeros and numbers of a sign that the format lacks."""
        codes, lacking = np.zeros(x.sig.shape, np.int64), x.nan & (not self.has_nan)
        for negative, side in zip((False, True), self.sides, strict=True):
            place, over = self._steps(side, x, rounding)
            inward = rounds_inward(rounding, x.negative, self.infinity(negative))
            has = self.infinity(negative) is not None
            beyond = go_beyond(overflow, over | x.infinite, x.infinite, inward, has)
            found = np.where(beyond.infinite & has, self.infinity(negative) or 0, side.codes[place])
            found = np.where(beyond.nan & self.has_nan, self.canonical_nan or 0, found)
            here = (x.negative == negative) & ~x.nan
            codes = np.where(here, found, codes)
            alone = len(side.magnitudes) == 1  # no number of this sign but zero
            lacking = lacking | here & ((place == 0) & side.lacking | alone & (x.sig != 0))
        return np.where(x.nan, self.canonical_nan or 0, codes), lacking

    def infinity(self, negative: bool) -> int | None:
        """The code of an infinity, or None."""
        infinity = -math.inf if negative else math.inf
        return self.numbers.index(infinity) if infinity in self.numbers else None

    def _steps(self, side: SignedLadder, x: ExactNumbers, rounding: Rounding | Draw) -> tuple[Ints, Bools]:
        """The place of each rounded number among a side's, and whether it is beyond the last."""
        # Cut to 53 bits, with which every value and every half can be compared; `rest` says what was cut off.
        small, large = x.exp < LEAST_EXP, x.exp > MOST_EXP
        exp = np.where(small | large, 0, x.exp)
        size = np.where(small, 0.0, np.where(large, np.inf, np.ldexp((x.sig >> 2).astype(np.float64), exp - LAST + 2)))
        rest = np.where(small | large, x.sig != 0, (x.sig & 3) != 0)
        last = len(side.magnitudes) - 1
        place = np.searchsorted(side.magnitudes, size, side="right") - 1
        inexact = (size != side.magnitudes[place]) | rest
        up = inexact & self._grows(side, x, place, size, rest, rounding)
        if math.isinf(side.beyond):
            up = up & (place < last)
        over = (place == last) & (up | (size >= side.beyond))
        return np.minimum(place + up, last), over

    def _grows(
        self, side: SignedLadder, x: ExactNumbers, place: Ints, size: NDArray[np.float64], rest: Bools,
        rounding: Rounding | Draw,
    ) -> Bools:  # fmt: skip
        """True for inexact magnitudes that are rounded up, to the next value."""
        if isinstance(rounding, Draw):
            return self._grows_randomly(side, x, place, rounding)
        half = np.append(side.halves, np.inf)[place]
        odd, after = side.codes[place] & 1, np.append(side.codes, 0)[place + 1] & 1
        # The number above the largest is as if its code were the next.
        after = np.where(place == len(side.codes) - 1, 1 - odd, after)
        above, tie = (size > half) | (size == half) & rest, (size == half) & ~rest
        match rounding:
            case Rounding.RNE:
                return np.asarray(above | tie & ((after == 0) | (odd == 1)))
            case Rounding.RNA:
                return np.asarray(above | tie)
            case Rounding.RZ:
                return np.zeros(size.shape, dtype=bool)
            case Rounding.RU:
                return ~x.negative
            case Rounding.RD:
                return x.negative
            case Rounding.RTO:
                return np.asarray((odd == 0) & (after == 1))

    def _grows_randomly(self, side: SignedLadder, x: ExactNumbers, place: Ints, draw: Draw) -> Bools:
        """A magnitude's part of the way to the next value, cut to random bits, plus as many random ones, carries."""
        exact = [Fraction(number) for number in (*side.magnitudes.tolist(), side.beyond) if math.isfinite(number)]
        up = []
        for sig, exp, at, word in zip(x.sig.tolist(), x.exp.tolist(), place.tolist(), draw.words.tolist(), strict=True):
            if at + 1 == len(exact) or exp > MOST_EXP + 1:
                up.append(True)
                continue
            part = (sig * Fraction(2) ** (exp - LAST) - exact[at]) / (exact[at + 1] - exact[at]) if sig else 0
            up.append(math.floor(part * (1 << draw.bits)) + word >= 1 << draw.bits)
        return np.array(up, dtype=bool)

    def magnitudes(self) -> NDArray[np.float64]:
        """The magnitudes of both signs, those halfway, and what stands above."""
        ends = [2 * side.magnitudes[-1] if math.isinf(side.beyond) else side.beyond for side in self.sides]
        parts = [part for side in self.sides for part in (side.magnitudes, side.halves)]
        return np.unique(np.concatenate([*parts, ends]))

    def steps(self, rounding: Rounding | None, overflow: Overflow) -> None:
        """The compiled arithmetic rounds to no tables."""
        return


def float_of(text: str) -> float:
    """The number of a text from `written`."""
    return float.fromhex(text) if "x" in text else float(text)


def listed_in(text: str) -> list[str]:
    """The values in the text of a file: one a line, or in the last of several columns whose first is the code.

    A line of names of columns, empty lines, and what follows `#` are left out. Raises InputError for a code that is
    not the number of its line, codes before it counted.
    """
    values: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.partition("#")[0].split(",")]
        if cells == [""] or (not values and cells[-1] == "value"):
            continue
        if len(cells) > 1:
            try:
                code = int(cells[0], 0)
            except ValueError:
                raise InputError(f"{number}: must begin with a code, not {cells[0]!r}") from None
            if code != len(values):
                raise InputError(f"{number}: must be of code {len(values):#x}, not {cells[0]}")
        try:
            values.append(written(number_in(cells[-1])))
        except InputError as error:
            raise InputError(f"{number}: {error}") from None
    return values
