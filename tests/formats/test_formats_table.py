"""Formats by table: their values against other computations of them, their codecs against a search, what is refused."""

import bisect
import functools
import hashlib
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import hwsim
from hwsim.formats import Class, get_format, parse, unpack
from hwsim.formats import tables as golden
from hwsim.formats.catalog import tables as shipped
from hwsim.formats.reference import encode_reference
from hwsim.formats.yamlfile import SpecError
from hwsim.quantize.rule import Rule
from hwsim.spec import load_unit
from hwsim.spec.standard import canonical, fingerprint

CODECS = Path(__file__).parents[2] / "vectors" / "codecs"


def exact(fmt):
    """Every code's value: a Fraction, or the text of what is none."""
    return [Fraction(x) if math.isfinite(x) else str(x) for x in fmt.numbers]


# Values, computed in other ways.


def posit_value(bits, es, code):
    """A posit by shifts of its bits, the regime counted one by one."""
    if code in (0, 1 << bits - 1):
        return "nan" if code else Fraction(0)
    if code >> bits - 1:
        return -posit_value(bits, es, (1 << bits) - code)
    place, first = bits - 2, code >> bits - 2 & 1
    count = 0
    while place >= 0 and code >> place & 1 == first:
        count, place = count + 1, place - 1
    scale = (count - 1 if first else -count) * 2**es
    left = max(place, 0)
    rest = code & (1 << left) - 1
    taken = min(es, left)
    scale += (rest >> left - taken) << es - taken
    fraction = rest & (1 << left - taken) - 1
    return Fraction(fraction + (1 << left - taken), 1 << left - taken) * Fraction(2) ** scale


@pytest.mark.parametrize(("bits", "es"), [
    (8, 2), (8, 0), (8, 1), (6, 2), (3, 0), (2, 1), (12, 2),
    *(pytest.param(16, es, marks=pytest.mark.slow) for es in (1, 2)),
])  # fmt: skip
def test_posits_are_what_their_bits_say(bits, es):
    fmt = get_format(f"posit{bits}es{es}")
    assert exact(fmt) == [posit_value(bits, es, code) for code in range(1 << bits)]


def test_the_posits_of_the_standard_have_es_2():
    assert get_format("posit8").numbers[1:128] == get_format("posit8es2").numbers[1:128]
    assert get_format("posit16").decode([0x4000, 0x7FFF, 0x0001, 0x5A00]).tolist() == [1.0, 2.0**56, 2.0**-56, 10.0]


# Luo et al., table of HiF8's fields: dot, exponents, fraction bits; S, dot, sign of the exponent, rest, fraction.
HIF8 = [("11", range(8, 16), 1), ("10", range(4, 8), 2), ("01", range(2, 4), 3), ("001", range(1, 2), 3)]


def hif8_values():
    """Every value of HiF8 by its fields, from values to codes."""
    values = {0x00: Fraction(0), 0x80: "nan"}
    for m in range(1, 8):
        values[m] = Fraction(2) ** (m - 23)
    for m in range(8):
        values[0b0001_000 | m] = 1 + Fraction(m, 8)
    for dot, sizes, bits in HIF8:
        for size in sizes:
            for negative in (0, 1):
                for m in range(1 << bits):
                    code = int(dot + str(negative) + f"{size:b}"[1:] + f"{m:0{bits}b}", 2)
                    values[code] = (1 + Fraction(m, 1 << bits)) * Fraction(2) ** (-size if negative else size)
    values[0b1101111] = "inf"
    for code in range(1, 128):
        values[code | 0x80] = "-inf" if values[code] == "inf" else -values[code]
    return [values[code] for code in range(256)]


def test_hif8_is_what_its_paper_s_fields_say():
    assert exact(get_format("hif8")) == hif8_values()


@pytest.mark.parametrize(("bits", "fraction_bits", "precision"), [(8, 3, 12), (6, 0, 1), (7, 2, 24), (10, 5, 5)])
def test_logarithms_are_the_nearest_numbers(bits, fraction_bits, precision):
    rule = {"name": "lns", "bits": bits, "fraction_bits": fraction_bits, "precision": precision}
    fmt = parse({"name": "log", "kind": "table", "rule": rule})
    half, whole = 1 << bits - 1, 1 << fraction_bits
    assert fmt.numbers[0] == 0 and math.isnan(fmt.numbers[half])
    for code in range(1, half):
        value, power = Fraction(fmt.numbers[code]), Fraction(2) ** (code - (1 << bits - 2))
        assert fmt.numbers[half + code] == -value
        ulp = Fraction(2) ** (math.frexp(value)[1] - precision)
        assert value / ulp == value // ulp
        assert (value - ulp / 2) ** whole <= power <= (value + ulp / 2) ** whole, code


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e4m3fnuz", "e2m1", "int8", "hfp8-e4m3"])
def test_a_list_of_any_format_s_values_is_that_format(name, tmp_path):
    # The golden tables are lists of values, too.
    fmt, table = get_format(name), get_format(CODECS / f"{name}.csv")
    codes = np.arange(1 << fmt.bits)
    assert np.array_equal(fmt.decode(codes), table.decode(codes), equal_nan=True)
    assert np.array_equal(np.signbit(fmt.decode(codes)), np.signbit(table.decode(codes)))
    properties = "bits signed signed_zero has_zero infinities has_nan max_code largest"
    assert [getattr(fmt, p) for p in properties.split()] == [getattr(table, p) for p in properties.split()]
    numbers = codes[~np.isnan(fmt.decode(codes))]
    assert np.array_equal(np.argsort(fmt.order(numbers), stable=True), np.argsort(table.order(numbers), stable=True))
    (tmp_path / "mine.txt").write_text("# mine\n" + "\n".join(table.written_out) + "\n")
    assert get_format(tmp_path / "mine.txt").entries == table.entries


@pytest.mark.parametrize("name", ["hif8", "posit8", "lns8", "posit8es0", "posit5es1"])
def test_fields_are_those_of_the_values_normalised(name):
    fmt = get_format(name)
    for code in range(0, 1 << fmt.bits, 1 if fmt.bits <= 8 else 37):
        sign, exp, sig, cls = unpack(fmt, code)
        if cls in (Class.NAN, Class.INFINITY):
            assert str(fmt.numbers[code]) == ("nan" if cls is Class.NAN else "-inf" if sign else "inf")
            continue
        assert (-1) ** sign * sig * Fraction(2) ** (exp - fmt.fraction_bits) == Fraction(fmt.numbers[code])
        assert sig >> fmt.fraction_bits == (cls is Class.NORMAL) and fmt.emin <= exp <= fmt.emax
        assert fmt.decoded.emin == fmt.emin and fmt.decoded.emax == fmt.emax


# Encoding, against a search among the values.


@functools.cache
def ladder(fmt):
    """The values in order, each with the least of its codes."""
    codes = {Fraction(x): code for code, x in reversed(list(enumerate(fmt.numbers))) if math.isfinite(x)}
    return sorted(codes.items())


def neighbours(fmt, x):
    """The values next to a number with their codes."""
    values = ladder(fmt)
    above = bisect.bisect_left(values, (x, -1))
    exact = above < len(values) and values[above][0] == x
    return [values[above]] if exact else values[max(above - 1, 0) : above + 1]


def nearest(fmt, x, half=None):
    """The code of the value nearest to a number between the least and the largest; of a tie to even, the even one."""
    (low, low_code), (high, high_code) = neighbours(fmt, x) * (1 if len(neighbours(fmt, x)) == 2 else 2)
    middle = (low + high) / 2 if half is None else half
    if low == high or x < middle:
        return low_code
    return high_code if x > middle or low_code & 1 else low_code


def points(fmt, random):
    """Every value, midpoint and what is next to them, and random numbers."""
    values = np.array(sorted({x for x in fmt.numbers if math.isfinite(x)}))
    middles = (values[1:] + values[:-1]) / 2
    near = [np.nextafter(middles, side) for side in (-np.inf, np.inf)]
    spread = np.ldexp(random.uniform(-2, 2, 400), random.integers(fmt.emin - 2, fmt.emax, 400))
    inside = np.concatenate([values, middles, *near, spread])
    return inside[(inside >= values[0]) & (inside <= values[-1])]


@pytest.mark.parametrize("name", ["hif8", "lns8"])
def test_to_nearest_by_search(name):
    fmt = get_format(name)
    x = points(fmt, np.random.default_rng(5))
    want = [nearest(fmt, Fraction(value)) for value in x.tolist()]
    assert encode_reference(fmt, x).tolist() == want
    assert fmt.encode(x).tolist() == want
    away = encode_reference(fmt, x, "rna")
    for value, code in zip(x.tolist(), away.tolist(), strict=True):
        low, high = (Fraction(v) for v, _ in (neighbours(fmt, Fraction(value)) * 2)[:2])
        other = high if fmt.numbers[code] == low else low
        gap = abs(Fraction(value) - Fraction(fmt.numbers[code])) - abs(Fraction(value) - other)
        assert gap < 0 or (gap == 0 and abs(fmt.numbers[code]) >= abs(other))


@pytest.mark.parametrize("name", ["hif8", "posit8", "lns8", "posit8es0"])
def test_directed_roundings_by_search(name):
    fmt = get_format(name)
    x = points(fmt, np.random.default_rng(6))
    codes = {mode: encode_reference(fmt, x, mode).tolist() for mode in ("rz", "ru", "rd", "rto")}
    for index, value in enumerate(x.tolist()):
        (low, low_code), (high, high_code) = (neighbours(fmt, Fraction(value)) * 2)[:2]
        assert codes["ru"][index] == high_code and codes["rd"][index] == low_code
        assert codes["rz"][index] == (low_code if value > 0 else high_code)
        assert codes["rto"][index] in (low_code, high_code) and (codes["rto"][index] & 1 or low == high)


def test_posits_are_rounded_as_their_bits_are():
    # Between two posits stands the code of a posit of a bit more; nothing other than zero becomes zero or infinite.
    fmt, wider = get_format("posit8"), get_format("posit9es2")
    x = points(fmt, np.random.default_rng(7))
    for value in x[x > 0].tolist():
        (_, low), (_, high) = (neighbours(fmt, Fraction(value)) * 2)[:2]
        half = Fraction(wider.numbers[low + high]) if low else Fraction(0)
        assert int(fmt.encode(value)) == nearest(fmt, Fraction(value), half)
    assert fmt.encode([1e-30, -1e-30, 1e30, -1e30, np.inf]).tolist() == [0x01, 0xFF, 0x7F, 0x81, 0x7F]
    assert fmt.encode([1e30, np.inf, -np.inf, np.nan], overflow="nan").tolist() == [0x7F, 0x80, 0x80, 0x80]


# SHA-256, its first digits, of the codes and of the values (NaR 0) that Stillwater's universal-dtypes 2.5.1 returned;
# of posit8es0 and posit16es1 SoftPosit 0.3.4.4 returned the same codes.
RECORDED = {
    "posit8es2": ("57e42bb928991462", "af011a4e35443809"),
    "posit16es2": ("2c890e8ee3d8cf8e", "db4e8d426f760814"),
    "posit8es0": ("f753ac93a726bf27", "b33c054c6eff8b1c"),
    "posit8es1": ("83fee44306239edf", "ed35b6e5acbb4ef7"),
    "posit16es1": ("e67cccf35366f6fb", "ff7f3f3430994428"),
    "posit12es2": ("f43c97e7c763d780", "27bb61e97709dc45"),
}


def digest(array, kind):
    return hashlib.sha256(array.astype(kind).tobytes()).hexdigest()[:16]


@pytest.mark.parametrize("name", [n if "16" not in n else pytest.param(n, marks=pytest.mark.slow) for n in RECORDED])
def test_posits_are_those_of_other_programs(name):
    fmt = get_format(name)
    random, most = np.random.default_rng(fmt.bits * 10 + fmt.rule.es), (fmt.bits - 2) << fmt.rule.es
    exps = random.integers(-most - 2, most + 2, 20_000)
    sig = random.integers(1 << 52, 1 << 53, 20_000).astype(float)
    x = np.ldexp(sig, exps - 52) * random.choice([-1.0, 1.0], 20_000)
    values = np.nan_to_num(fmt.decode(np.arange(1 << fmt.bits)), nan=0.0)
    assert (digest(fmt.encode(x), "<u2"), digest(values, "<f8")) == RECORDED[name]


def test_the_file_of_a_table_s_codes_is_a_list_of_its_values(tmp_path):
    golden.write(tmp_path, [get_format("hif8")])
    assert get_format(tmp_path / "hif8.csv").entries == tuple(get_format("hif8").written_out)


def test_hif8_overflows_where_its_paper_says():
    # Above 2^15 stands infinity, at 1.5 * 2^15 as a number: from 1.25 * 2^15 on, ties away.
    fmt = get_format("hif8")
    x = [1.25 * 2.0**15, np.nextafter(1.25 * 2.0**15, 0), 1e9, -1e9, np.inf]
    assert fmt.encode(x, "rna", "infinity").tolist() == [0x6F, 0x6E, 0x6F, 0xEF, 0x6F]
    assert fmt.encode(x, "rna").tolist() == [0x6E, 0x6E, 0x6E, 0xEE, 0x6E]
    assert fmt.encode([2.0**-23, np.nextafter(2.0**-23, 0), -(2.0**-23)], "rna").tolist() == [0x01, 0x00, 0x81]


@pytest.mark.parametrize("name", ["hif8", "posit8", "lns8"])
def test_large_arrays_are_encoded_as_single_numbers_are(name):
    fmt, random = get_format(name), np.random.default_rng(8)
    x = np.ldexp(random.uniform(-2, 2, 5000), random.integers(fmt.emin - 3, fmt.emax + 3, 5000))
    for dtype in (np.float64, np.float32, np.float16):
        with np.errstate(over="ignore"):
            some = x.astype(dtype)
        for mode in ("rne", "rna", "rd"):
            assert np.array_equal(fmt.encode(some, mode), encode_reference(fmt, some, mode))


def test_stochastic_rounding_adds_random_bits_below_the_last_place():
    fmt = get_format("hif8")
    x = np.full(4096, 2.0**15 - 2.0**11)  # seven eighths of the way from 1.5 * 2^14 to 2^15 is 2^15 - 2^10
    codes = fmt.encode(x, "stochastic", random_bits=2, seed=1)
    assert set(codes.tolist()) == {0x6D, 0x6E} and 0.72 < np.mean(codes == 0x6E) < 0.78


@pytest.mark.parametrize(("name", "rounding"), [("hif8", "rna"), ("posit8", "rne")])
def test_blocks_are_quantised_to_tables(name, rounding):
    fmt, x = get_format(name), np.random.default_rng(9).normal(size=(3, 64))
    quantised = hwsim.quantize(x, Rule(element=name, scale_format="e8m0", block=(1, 32), rounding=rounding))
    largest = np.abs(x).reshape(3, 2, 32).max(axis=2)
    scale = np.exp2(np.floor(np.log2(largest)) - fmt.emax)
    assert np.array_equal(quantised.scales, np.log2(scale) + 127)
    assert np.array_equal(quantised.codes, fmt.encode(x / np.repeat(scale, 32, axis=1), rounding))


# What is refused.


@pytest.mark.parametrize(("entries", "rule"), [
    ([0, 0.1], "entries.1 must be a multiple of a power of two that float64 holds, not 0.1"),
    ([0, "1/3"], "entries.1 must be a multiple of a power of two that float64 holds, not 1/3"),
    ([0, "0x1.00000000000001p0"], "entries.1 must be a multiple of a power of two that float64 holds"),
    ([0, "one"], "entries.1 must be a number, as 0.375, 3/8 or 0x1.8p-2, nan, inf or -inf, not 'one'"),
    ([0, True], "entries.1 must be a number, nan, inf or -inf, not True"),
    ([0, 1, 2], "entries must be one for each code of 1 to 16 bits, not 3"),
    ([0, -1], "entries must hold a number above zero"),
    ([0, "0x1p-1022"], "entries must be at least 2^-1021"),
    ([1, "0x1.00000001p0"], "entries must have at most 28 fraction bits"),
    ([0, 1, "0x1p-1000", "0x1p1000"], None),
    ([0, "0x1.0000001p0", "0x1p-1000", 1], "entries must have at most 28 fraction bits, with sign and exponent 32"),
])  # fmt: skip
def test_values_must_be_exact_and_few_bits_long(entries, rule, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(f"kind: table\nentries: {entries}\n")
    if rule is None:
        assert get_format(path).emax == 1000
        return
    with pytest.raises(SpecError, match=rule.replace("(", r"\(").replace("^", r"\^")):
        get_format(path)


@pytest.mark.parametrize(("text", "message"), [
    ("0\n0.1\n", "mine.csv:2: must be a multiple of a power of two"),
    ("0x0,0\n0x2,1\n", "mine.csv:2: must be of code 0x1, not 0x2"),
    ("code,value\nzero,0\n", "mine.csv:2: must begin with a code, not 'zero'"),
    ("0\n1\n2\n", "entries must be one for each code of 1 to 16 bits, not 3"),
    ("", "entries must be given, or a rule, and not both"),
])  # fmt: skip
def test_a_list_in_a_file_is_checked_line_by_line(text, message, tmp_path):
    (tmp_path / "mine.csv").write_text(text)
    with pytest.raises(SpecError, match=message):
        get_format(tmp_path / "mine.csv")


def test_parameters_out_of_range_are_refused():
    for name in ("posit17es2", "posit1es0", "posit8es5", "cfloat8_1_4_3_b64"):
        with pytest.raises(SpecError, match="must"):
            get_format(name)
    keys = {"name": "x", "kind": "table", "rule": {"name": "hif8"}, "entries": [0, 1]}
    with pytest.raises(ValueError, match="a rule, and not both"):
        parse(keys)


UNIT = {"unit": "u", "operands": {"a": "hif8", "b": "hif8", "addend": "f32"}, "instruction": {"k": 4, "lanes": 4},
        "sum": {"method": "exact"}, "result": {"format": "f32", "rounding": "rne"}}  # fmt: skip


@pytest.mark.parametrize(("part", "change", "message"), [
    ("operands", {"addend": "hif8"}, "operands.addend must be a float format or none, not hif8"),
    ("operands", {"convert": "hif8"}, "operands.convert must be a float format, not hif8"),
    ("operands", {"convert": "e4m3"}, "operands.convert must hold every hif8"),
    ("result", {"format": "hif8"}, "result.format must be a signed float format, not hif8"),
    ("operands", {"a": {"name": "ones", "kind": "table", "entries": [1, 2]}}, "operands.a must have zero at code 0"),
])  # fmt: skip
def test_a_table_is_of_factors_alone(part, change, message):
    with pytest.raises(SpecError, match=message):
        load_unit({**UNIT, part: {**UNIT[part], **change}})


def test_scales_are_no_tables():
    scale = {side: {"format": "posit8", "block": block} for side, block in (("a", [1, 4]), ("b", [4, 1]))}
    with pytest.raises(SpecError, match=r"scale.a.format must be a float, .* or a power of two, not posit8"):
        load_unit({**UNIT, "scale": scale})


def test_the_canonical_form_has_the_values():
    unit = load_unit(UNIT)
    listed = {"name": "other", "kind": "table", "entries": get_format("hif8").written_out}
    same = load_unit({**UNIT, "operands": {"a": listed, "b": listed, "addend": "f32"}})
    assert canonical(unit) == canonical(same) and '"rule"' not in canonical(unit)
    assert fingerprint(unit) != fingerprint(unit.replace(a="posit8"))
    assert list(shipped()) == ["hif8", "posit8", "posit16", "lns8"]
