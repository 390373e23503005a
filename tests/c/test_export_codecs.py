"""Codes of every shipped format in exported headers: decoded, as binary64, and rounded to, against the codecs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from built_presets import others_slow
from c.export_codecs import ALL, MISSING, OVERFLOWS, ROUNDINGS, Codecs, units
from c.export_stages import CLASSES

from hwsim.formats import FloatFormat, Format, Overflow, Rounding, TableFormat, codes_of, unpack
from hwsim.formats.reference import encode_reference, outcome

UNITS = list(units())
SEED = 3
# Values that codecs are known to get wrong.
TRAPS = [
    464, np.nextafter(np.float32(464), np.float32(500)), 61439, 61440, 247, 248, 30.9, 31, 1 + 2**-4 + 2**-40,
    -431.99999999999994, 2.5 + 2**-45, 5, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 0.2499999850988388, 0.015, 3, 2**-127,
    8577351680, 2**-31, 2**-31 * (1 + 2**-10), 5e-324, 2.2e-308, 1.7e308, 0, np.inf, np.nan,
]  # fmt: skip


def every_code(fmt: Format) -> np.ndarray:
    """All codes, of a wide format some of each binade; padding is zero."""
    padding = fmt.container_bits - fmt.bits
    if fmt.bits <= 12:
        return np.arange(1 << fmt.bits, dtype=np.uint32) << padding
    random = np.random.default_rng(SEED)
    drawn = random.integers(0, 1 << fmt.bits, 3000, dtype=np.uint64)
    ends = [0, 1, (1 << fmt.bits) - 1, 1 << fmt.bits - 1, (1 << fmt.bits - 1) - 1, (1 << fmt.bits - 1) + 1]
    if isinstance(fmt, FloatFormat):
        ends += [at << fmt.fraction_bits for at in range(1 << fmt.exponent_bits)]
        ends += [fmt.max_magnitude, fmt.max_magnitude + 1, 1 << fmt.fraction_bits, (1 << fmt.fraction_bits) - 1]
    return np.concatenate([drawn, np.array(ends, np.uint64)]).astype(np.uint32) << padding


def numbers(fmt: Format) -> np.ndarray:
    """Numbers of a format, what lies halfway between them, binary64s next to all of these, and any others."""
    values = fmt.decode(every_code(fmt))
    values = np.unique(values[np.isfinite(values)])
    values = values[:: max(1, len(values) // 400)]
    middles = (values[1:] + values[:-1]) / 2
    near = np.concatenate([values, middles])
    if isinstance(fmt, TableFormat):  # halves that are no means, which stand at both ends
        sides = fmt.magnitudes()
        some = np.concatenate([sides[:99], sides[-99:], sides[:: max(1, len(sides) // 400)]])
        near = np.concatenate([near, some, -some])
    random = np.random.default_rng(SEED)
    bits = random.integers(0, 1 << 64, 300, dtype=np.uint64).view(np.float64)
    ranged = random.normal(size=300) * 2.0 ** random.integers(-12, 12, 300)
    least, most = np.nextafter(near, -np.inf), np.nextafter(near, np.inf)
    traps = np.array(TRAPS, np.float64)
    return np.concatenate([near, least, most, traps, -traps, bits, ranged])


@pytest.fixture(scope="module", params=others_slow(range(len(UNITS)), range(0, len(UNITS), 3)))
def codecs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Codecs:
    return Codecs(UNITS[request.param], tmp_path_factory.mktemp("codecs"))


def test_every_format_is_tried() -> None:
    tried = {fmt for one in UNITS for fmt in (one.operands.a, one.operands.b, one.scale.a.format, one.scale.b.format)}
    assert tried == set(ALL)


def test_codes_are_decoded(codecs: Codecs) -> None:
    for fmt in codecs.formats:
        codes = every_code(fmt)
        values, fields = codecs.decode(fmt, codes)
        want = [unpack(fmt, code) for code in codes.tolist()]
        assert fields.tolist() == [[one.sign, one.exp, one.sig, CLASSES.index(one.cls)] for one in want], fmt.name
        assert np.array_equal(values, fmt.decode(codes_of(fmt, codes.tolist())).view(np.uint64)), fmt.name


def want(fmt: Format, x: np.ndarray, rounding: str, overflow: str, missing: str) -> np.ndarray:
    """The codecs' codes; -1 where they raise."""
    try:
        if missing == "error":
            encode_reference(fmt, [1.0], overflow=overflow)
            codes, lacking = outcome(fmt, x, Rounding(rounding), Overflow(overflow))
            return np.where(lacking, -1, codes)
        return encode_reference(fmt, x, rounding, overflow, missing).astype(np.int64)
    except ValueError:
        return np.full(len(x), -1)


WAYS = [
    *((rounding, overflow, "error") for rounding in ROUNDINGS for overflow in OVERFLOWS),
    *(("rne", overflow, missing) for overflow in OVERFLOWS for missing in MISSING),
]


@pytest.mark.filterwarnings("ignore:invalid value")  # signalling NaNs
def test_numbers_are_rounded(codecs: Codecs) -> None:
    for fmt in codecs.formats:
        x = numbers(fmt)
        with np.errstate(all="ignore"):
            single = x.astype(np.float32)
        for way in WAYS:
            for given in (x, single):
                got, right = codecs.encode(fmt, given, *way), want(fmt, given, *way)
                wrong = np.flatnonzero(got != right)[:3]
                assert not len(wrong), f"{fmt.name} {way}: {given[wrong]} become {got[wrong]}, not {right[wrong]}"


# Mistakes in the encoder of tables.
WRONG = {
    "ties to the larger": ("magnitude == half && (!next || odd)", "magnitude == half"),
    "ties to the smaller": ("(magnitude == half && (!next || odd))", "0"),
    "halves are means of bits": ("s->halves[middle].place == place)", "s->halves[middle].place == place && 0)"),
    "nothing stands above the largest": ("place == s->last ? s->beyond", "place == s->last ? u_(bits_at)(t, s, place)"),
    "posits overflow": ("&& (low < s->last || s->beyond != endless)", ""),
    "to odd as to even": ("default: return !odd && next;", "default: return odd && !next;"),
    "the next code is that of the largest": ("!odd : u_(code_at)", "odd : u_(code_at)"),
    "infinities saturate": ("(infinite && overflow != u_(SATURATE))", "0"),
    "outward for inward": ("return s->infinity >= 0 ? s->infinity : t->nan;", "return t->nan;"),
}


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("name", others_slow(WRONG, ["ties to the larger"]))
def test_a_mistake_in_the_encoder_of_tables_is_caught(name: str, tmp_path: Path) -> None:
    one = next(one for one in UNITS if one.operands.a.name == "hif8")
    wrong = Codecs(one, tmp_path, WRONG[name])
    caught = [
        not np.array_equal(wrong.encode(fmt, numbers(fmt), *way), want(fmt, numbers(fmt), *way))
        for fmt in (one.operands.a, one.operands.b)
        for way in WAYS
    ]
    assert any(caught)
