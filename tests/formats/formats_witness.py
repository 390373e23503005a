"""What encode must return, found by search among the values of the codes: no rounding arithmetic, nothing of the codec.

A format is a ladder: rung 0 is zero, rung i the i-th number above it, and the rung above the largest is the first that
an unbounded exponent would add. Two witnesses climb it: one by exact rationals, a number at a time, in any format; one
by comparisons of float64s, in bulk, in formats whose values and midpoints are float64s.
"""

import bisect
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, formats, get_format, p3109, parse

ROUNDINGS = ["rne", "rna", "rz", "ru", "rd", "rto"]
BELOW = 2100  # rungs under code 0 of an exponent format

# Formats that do not ship: what the shipped ones leave out of the keys' combinations.
USER = {
    "e4m3nosub": {"exponent_bits": 4, "fraction_bits": 3, "bias": 11, "subnormals": False},
    "ue5m3": {
        "exponent_bits": 5, "fraction_bits": 3, "bias": 15, "nan": [0xFF], "signed": False, "signed_zero": False,
    },
    "e5m0": {"exponent_bits": 5, "fraction_bits": 0, "bias": 15, "infinities": True},
    "e5m0nosub": {"exponent_bits": 5, "fraction_bits": 0, "bias": 15, "subnormals": False},
    "e5m0zero": {"exponent_bits": 5, "fraction_bits": 0, "bias": 15, "subnormals": False, "underflow": "zero"},
    "e4m3inf": {"exponent_bits": 4, "fraction_bits": 3, "bias": 7, "infinities": True, "nan": [0x7F, 0xFF]},
}  # fmt: skip
# Of IEEE P3109: every sign and domain, the ends of the precisions, and of the widths.
P3109 = ["binary8p3se", "binary8p4uf", "binary8p1ue", "binary8p8ue", "binary8p1se", "binary5p2sf", "binary3p1se"]
# Every format of it with 3 to 8 bits, by bits, precision, signed and extended.
ALL_P3109 = {
    (bits, precision, signed, extended): p3109(precision, bits, signed, extended)
    for bits in range(3, 9)
    for signed in (True, False)
    for precision in range(1, bits + (not signed))
    for extended in (True, False)
}
USER_FORMATS = {name: parse({"name": name, "kind": "float", **fields}) for name, fields in USER.items()}
USER_FORMATS["fixed5"] = parse({"name": "fixed5", "kind": "fixed", "integer_bits": 3, "fraction_bits": 1})
USER_FORMATS["e4m0"] = parse({"name": "e4m0", "kind": "exponent", "exponent_bits": 4, "bias": 5, "nan": [0, 1]})
USER_FORMATS |= {name: get_format(name) for name in P3109}
# But for binary64, of which float64s are all numbers: test_formats_binary64.py.
EVERY = {name: fmt for name, fmt in formats().items() if name != "f64"} | USER_FORMATS


def float_value(fmt, magnitude):
    """The value of magnitude bits, by the definition of a binary format; also past the largest."""
    hidden = 1 << fmt.fraction_bits
    bexp, frac = divmod(magnitude, hidden)
    if bexp == 0 and fmt.subnormals:
        return frac * two(1 - fmt.bias - fmt.fraction_bits)
    if magnitude == 0:
        return Fraction(0)
    return (hidden + frac) * two(bexp - fmt.bias - fmt.fraction_bits)


@cache
def two(exp):
    """2^exp, as an exact rational."""
    return Fraction(2) ** exp


def rung_value(fmt, rung):
    """The value of a rung, as an exact rational."""
    if isinstance(fmt, FloatFormat):
        return float_value(fmt, rung)
    if isinstance(fmt, FixedFormat):
        return Fraction(rung, 1 << fmt.fraction_bits)
    return two(rung - BELOW - fmt.bias) if rung else Fraction(0)


@lru_cache(maxsize=1024)
def largest_rung(fmt, negative):
    """The rung of the largest number of a sign, found by looking at every code, or from the format's definition."""
    if isinstance(fmt, FloatFormat):
        magnitudes = 1 << (fmt.exponent_bits + fmt.fraction_bits)
        if fmt.nan == "ieee":
            return magnitudes - 1 - (1 << fmt.fraction_bits)
        return max(m for m in range(magnitudes - len(fmt.nan) - 1, magnitudes) if m not in fmt.nan) - fmt.infinities
    if isinstance(fmt, FixedFormat):
        return (1 << (fmt.bits - 1)) - (not negative) if fmt.signed else (1 << fmt.bits) - 1
    return max(code for code in range(1 << fmt.bits) if code not in fmt.nan) + BELOW


def odd(fmt, rung):
    """Whether the code of a rung is odd."""
    return (rung - BELOW if isinstance(fmt, ExponentFormat) else rung) % 2 == 1


def flushes(fmt):
    """Whether a number that stays below the least, rounded with an unbounded exponent, is zero."""
    return isinstance(fmt, FloatFormat) and not fmt.subnormals and fmt.underflow == "zero"


def below_least(fmt):
    """What an unbounded exponent would have below the least number of a format that flushes."""
    return two(-fmt.bias)


GO_UP = {  # from (x - lower) against (upper - x): -1, 0, 1; whether lower is odd; whether x is negative
    "rne": lambda side, odd, negative: side > 0 or (side == 0 and odd),
    "rna": lambda side, odd, negative: side >= 0,
    "rz": lambda side, odd, negative: False,
    "ru": lambda side, odd, negative: not negative,
    "rd": lambda side, odd, negative: negative,
    "rto": lambda side, odd, negative: not odd,
}


def rung_of(fmt, magnitude, negative, rounding):
    """The rung that a magnitude (a Fraction) rounds to; the rung after the largest for all that overflows."""
    end = largest_rung(fmt, negative) + 1
    lower = bisect.bisect_right(range(end + 1), magnitude, key=lambda rung: rung_value(fmt, rung)) - 1
    below = rung_value(fmt, lower)
    if below == magnitude or lower >= end:
        return lower
    above = rung_value(fmt, lower + 1)
    if lower == 0 and flushes(fmt):
        # As if the lowest binade began at fraction 0, and others came below; all of that is zero.
        below = below_least(fmt)
        if magnitude <= below:
            return 0
    twice = magnitude - below - (above - magnitude)
    side = (twice > 0) - (twice < 0)
    return lower + bool(GO_UP[rounding](side, odd(fmt, lower), negative))


def code_of(fmt, rung, negative):
    """The container's code of a rung with a sign."""
    if isinstance(fmt, FixedFormat):
        return (-rung if negative else rung) % (1 << fmt.bits)
    if isinstance(fmt, ExponentFormat):
        return rung - BELOW
    sign = negative and (rung > 0 or fmt.signed_zero)
    return (sign << (fmt.exponent_bits + fmt.fraction_bits) | rung) << (fmt.container_bits - fmt.bits)


def infinity_code(fmt, negative):
    """The container's code of an infinity."""
    return (negative << (fmt.bits - 1) | largest_rung(fmt, negative) + 1) << (fmt.container_bits - fmt.bits)


def expected(fmt, x, rounding="rne", overflow="saturate"):
    """The code that encode must give a number (a float or a Fraction), or None for one that the format lacks.

    Canonical NaNs are taken from the format: a test of its own has their values.
    """
    if x != x:
        return fmt.canonical_nan if fmt.has_nan else None
    infinite = x in (float("inf"), float("-inf"))
    negative = bool(np.signbit(x)) if isinstance(x, float) else x < 0
    unsigned = isinstance(fmt, ExponentFormat) or not fmt.signed
    if unsigned and negative and (x != 0 or isinstance(fmt, ExponentFormat)):
        return None
    end = largest_rung(fmt, negative) + 1
    rung = end if infinite else rung_of(fmt, abs(Fraction(x)), negative, rounding)
    if isinstance(fmt, ExponentFormat) and rung - BELOW < min(set(range(1 << fmt.bits)) - set(fmt.nan)):
        return None
    if rung < end:
        return code_of(fmt, rung, negative)
    return replacement(fmt, negative, infinite, rounding, overflow)


def replacement(fmt, negative, infinite, rounding, overflow):
    """The code in the place of what is too large."""
    most, endless = code_of(fmt, largest_rung(fmt, negative), negative), getattr(fmt, "infinities", False)
    if overflow == "saturate" or (overflow == "propagate" and not (infinite and endless)):
        return most
    if overflow == "ieee" and not infinite and inward(fmt, negative, rounding):
        return most
    keeps = overflow in ("infinity", "ieee") or infinite
    return infinity_code(fmt, negative) if endless and keeps else fmt.canonical_nan


def inward(fmt, negative, rounding):
    """Whether a rounding takes what lies between the largest number and infinity to the largest number.

    They are neighbours, infinity above in magnitude, with codes that are even and odd or odd and even.
    """
    if rounding == "rto":
        return fmt.infinities and infinity_code(fmt, negative) >> (fmt.container_bits - fmt.bits) & 1 == 0
    return rounding == "rz" or rounding == ("ru" if negative else "rd")


def overflows(fmt):
    """The overflow policies that a format has."""
    if isinstance(fmt, FixedFormat):
        return ["saturate", "propagate"]
    nan = bool(fmt.has_nan)
    infinity = ["infinity"] * fmt.infinities
    return ["saturate", "propagate", *infinity, *["nan"] * nan, *["ieee"] * (nan or fmt.infinities)]


def every_policy(name):
    """Every rounding of a format with every overflow policy."""
    return [(mode, overflow) for mode in ROUNDINGS for overflow in overflows(EVERY[name])]


def paired_policies(name):
    """Roundings with overflow policies, so that a format has each, and all formats together every pair of the two."""
    policies, turn = overflows(EVERY[name]), list(EVERY).index(name)
    return [(mode, policies[(turn + at) % len(policies)]) for at, mode in enumerate(ROUNDINGS)]


# In bulk, by float64 comparisons.


@lru_cache(maxsize=4)
def rungs(name, negative):
    """Every rung's value as a float64, to the one past the largest, and its oddness; exponents from 2^-160."""
    fmt = EVERY[name]
    index = np.arange(largest_rung(fmt, negative) + 2)
    if isinstance(fmt, FixedFormat):
        return index / (1 << fmt.fraction_bits), index % 2 == 1, index
    if isinstance(fmt, ExponentFormat):
        index = index[BELOW + fmt.bias - 160 :]
        code = index - BELOW
        return 2.0 ** (code - fmt.bias), code % 2 == 1, index
    bexp, frac = index >> fmt.fraction_bits, index % (1 << fmt.fraction_bits)
    hidden = (bexp > 0) | (not fmt.subnormals) & (index > 0)
    exp = np.maximum(bexp, 1 if fmt.subnormals else 0) - fmt.bias - fmt.fraction_bits
    return np.ldexp((frac + (hidden << fmt.fraction_bits)).astype(float), exp), index % 2 == 1, index


def bulk_neighbours(name, magnitude, negative):
    """Lower rung, its value, the value above, its oddness, for float64 magnitudes of one sign."""
    if name == "f32":
        with np.errstate(over="ignore"):
            near = magnitude.astype(np.float32)
        near = np.minimum(near, np.finfo(np.float32).max)
        lower = np.where(near > magnitude, np.nextafter(near, np.float32(0)), near)
        lower = np.maximum(lower, np.float32(0))
        bits = lower.view(np.uint32).astype(np.int64)
        with np.errstate(over="ignore"):
            above = np.nextafter(lower, np.float32(np.inf)).astype(float)
        above = np.where(bits == 0x7F7FFFFF, 2.0**128, above)
        over = magnitude >= 2.0**128
        return (
            np.where(over, 0x7F800000, bits),
            np.where(over, magnitude, lower.astype(float)),
            above,
            bits % 2 == 1,
        )
    if name == "i32":  # too many rungs for an array: they are the integers
        lower = np.floor(np.minimum(magnitude, 2.0**31 + 1))
        at = np.minimum(lower, largest_rung(EVERY[name], negative) + 1).astype(np.int64)
        return at, np.where(at > largest_rung(EVERY[name], negative), magnitude, lower), lower + 1, at % 2 == 1
    values, oddness, index = rungs(name, negative)
    at = np.searchsorted(values, magnitude, side="right") - 1
    next_at = np.minimum(at + 1, len(values) - 1)
    lower = np.where(at == len(values) - 1, magnitude, values[at])
    return index[at], lower, values[next_at], oddness[at]


def bulk_rung(name, magnitude, negative, rounding):
    """`rung_of` for an array of float64 magnitudes of one sign."""
    rung, lower, above, is_odd = bulk_neighbours(name, magnitude, negative)
    if flushes(EVERY[name]):
        # Under the least number: as far as the place where the lowest binade would begin, zero is that place.
        edge = float(below_least(EVERY[name]))
        lower = np.where(rung == 0, np.where(magnitude > edge, edge, magnitude), lower)
    with np.errstate(over="ignore", invalid="ignore"):
        middle = lower / 2 + above / 2
    up = {
        "rne": (magnitude > middle) | (magnitude == middle) & is_odd,
        "rna": magnitude >= middle,
        "rz": np.zeros(magnitude.shape, bool),
        "ru": np.full(magnitude.shape, not negative),
        "rd": np.full(magnitude.shape, negative),
        "rto": ~is_odd,
    }[rounding]
    return rung + (up & (lower != magnitude))


def bulk_expected(name, x, rounding, overflow):
    """`expected` for a float64 array of numbers that the format has something for, or NaN."""
    fmt = EVERY[name]
    out = np.zeros(x.shape, np.int64)
    for negative in (False, True):
        mine = (np.signbit(x) == negative) & np.isfinite(x)
        end = largest_rung(fmt, negative) + 1
        rung = bulk_rung(name, np.abs(x[mine]), negative, rounding)
        infinity = np.inf if not negative else -np.inf
        beyond = replacement(fmt, negative, False, rounding, overflow) if mine.any() else 0
        if isinstance(fmt, FixedFormat):
            codes = (-rung if negative else rung) % (1 << fmt.bits)
        elif isinstance(fmt, ExponentFormat):
            codes = rung - BELOW
        else:
            sign = (negative and fmt.signed_zero) | (negative & (rung > 0))
            codes = (np.asarray(sign, np.int64) << (fmt.bits - 1) | rung) << (fmt.container_bits - fmt.bits)
        out[mine] = np.where(rung >= end, beyond, codes) if mine.any() else 0
        if np.any(x == infinity):
            out[x == infinity] = expected(fmt, infinity, rounding, overflow)
    if np.isnan(x).any():
        out[np.isnan(x)] = fmt.canonical_nan
    return out


# Inputs.


@lru_cache(maxsize=4)
def inputs(name, seed=0):
    """About 40,000 float64s, more for wide formats: codes, midpoints, one and two ulps to each side, and random.

    Every code and midpoint of a format of up to 16 bits; of a wider one, those next to every power of two, and a
    random choice. The ulps are binary32's, and float64's too where binary32 is too coarse. In both signs, where the
    format has them; nothing that the format lacks, except underflow in e8m0.
    """
    fmt, random = EVERY[name], np.random.default_rng(seed)
    both = not isinstance(fmt, ExponentFormat) and fmt.signed
    if name == "f32":
        bits = random.integers(0, 0x7F800000, 4000)
        bits = np.concatenate([bits, *[np.arange(b << 23, (b << 23) + 3) for b in range(255)], [0x7F7FFFFF]])
        values = bits.astype(np.uint32).view(np.float32).astype(float)
        above = np.append((bits[:-1] + 1).astype(np.uint32).view(np.float32).astype(float), 2.0**128)
    elif name == "i32":
        powers = (1 << np.arange(31))[:, None] + np.arange(-2, 3)
        drawn = [random.integers(0, 1 << bits, 300) for bits in range(1, 32)]
        values = np.unique(np.clip(np.concatenate([powers.ravel(), *drawn]), 0, (1 << 31) - 1)).astype(float)
        above = values + 1
    else:
        values, _, _ = rungs(name, False)
        take = np.arange(len(values) - 1)
        if len(take) > 1 << 16:
            powers = (np.arange(fmt.top_bexp)[:, None] << fmt.fraction_bits) + np.arange(-2, 3)
            chosen = np.concatenate([powers.ravel(), random.integers(0, len(take), 3000), [0, len(take) - 1]])
            take = np.unique(chosen[(chosen >= 0) & (chosen < len(take))])
        values, above = values[take], values[take + 1]
    centres = np.concatenate([values, values / 2 + above / 2, above[-1:]])
    near = [centres]
    for dtype in (np.float64, np.float32):
        for towards in (0, np.inf):
            with np.errstate(over="ignore"):
                step = centres.astype(dtype)
            for _ in range(2):
                with np.errstate(all="ignore"):
                    step = np.nextafter(step, dtype(towards))
                near.append(step.astype(float))
    with np.errstate(over="ignore"):
        some = float(values[1]) if values[0] == 0 else float(values[0])
        spread = np.exp2(random.uniform(np.log2(some) - 3, np.log2(float(above[-1])) + 1, 8000 if both else 90_000))
        single = random.integers(0, 0x7F800000, 4000).astype(np.uint32).view(np.float32).astype(float)
        wild = random.integers(0, 0x7FF << 52, 4000).view(float)
        plain = random.normal(0, min(float(values[-1]) / 3, 1e30), 8000)
    x = np.concatenate([*near, spread, single, wild, np.abs(plain), [0.0, np.inf]])
    if isinstance(fmt, ExponentFormat):
        least = 2.0 ** (min(set(range(1 << fmt.bits)) - set(fmt.nan)) - fmt.bias)
        return np.append(x[x >= least], np.nan)
    x = np.concatenate([x, -x]) if both else x
    return np.append(x, np.nan) if fmt.has_nan else x
