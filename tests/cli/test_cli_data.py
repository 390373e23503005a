"""formats, units, decode, encode: what they print."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from built_presets import one_of_each_family, others_slow
from cli.cli_run import Run, fails

import hwsim
from hwsim.formats import formats
from hwsim.formats.catalog import tables
from hwsim.spec import as_yaml, load_any, load_unit, modal_presets, presets, sparse_presets

HOPPER = "hopper-wgmma-e4m3-f32"


def test_formats_lists_every_format(run: Run) -> None:
    done = run("formats")
    assert done.status == 0
    assert [line.split()[0] for line in done.out.splitlines()] == ["name", *formats(), *tables()]


def test_formats_shows_a_table(run: Run) -> None:
    out = run("formats", "hif8").out
    for words in (
        "multiplied as  1.fraction of 3 bits, exponents -22 to 15",
        "largest        32768 = 0x1.0000000000000p+15 (0x6e)",
        "infinity       0x6f, 0xef",
    ):
        assert words in out
    assert out.count("0x") > 256  # both signs of every code


def test_formats_shows_one(run: Run) -> None:
    out = run("formats", "e4m3").out
    for words in (
        "biased exponent 4 (bias 7), fraction 3",
        "largest        448 = 0x1.c000000000000p+8 (0x7e)",
        "min normal     0.015625 = 0x1.0000000000000p-6 (0x08)",
        "min subnormal  0.001953125 = 0x1.0000000000000p-9 (0x01)",
        "infinity       none",
        "NaN            0x7f, 0xff",
    ):
        assert words in out
    # Every code of the positive half, with its value.
    pairs = dict(re.findall(r"(0x[0-9a-f]{2})\s+(\S+)", out.split("\n\n")[1]))
    fmt = hwsim.get_format("e4m3")
    for code in range(127):
        assert float(pairs[f"{code:#04x}"]) == fmt.decode(code)
    assert pairs["0x7f"] == "nan"


@pytest.mark.parametrize("name", others_slow(formats(), list(formats())[::2]))
def test_formats_shows_each(run: Run, name: str) -> None:
    done = run("formats", name)
    assert done.status == 0
    bits = hwsim.get_format(name).bits
    assert ("\n\n0x0" in done.out) == (bits <= 8)
    assert all(line == line.rstrip() for line in done.out.splitlines())


def test_formats_shows_one_of_p3109(run: Run) -> None:
    out = run("formats", "binary8p3se").out
    for words in (
        "IEEE P3109, 8 bits, precision 3, signed, extended",
        "biased exponent 5 (bias 16), fraction 2",
        "infinity       0x7f",
        "NaN            0x80",
        "negative zero  none",
    ):
        assert words in out
    unknown = run("formats", "binary8p9se")
    fails(unknown, "unknown format 'binary8p9se': precision must be 1 to 7 for a signed format of 8 bits, not 9")


def test_formats_says_what_becomes_of_an_underflow(run: Run) -> None:
    assert "underflow      zero, where" in run("formats", "dlfloat16").out
    assert "underflow" not in run("formats", "e4m3").out


def test_formats_shows_a_users_own(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "e3m4.yaml"
    file.write_text("kind: float\nexponent_bits: 3\nfraction_bits: 4\nbias: 3\n")
    assert "largest        31 = " in run("formats", str(file)).out
    file.write_text("kind: float\nexponent_bits: 3\nbias: 3\n")
    fails(run("formats", str(file)), r"e3m4\.yaml:1: fraction_bits is missing")


def listed(run: Run, *arguments: str) -> list[list[str]]:
    rows = [line.split()[:2] for line in run("units", *arguments).out.splitlines()]
    assert rows[0] == ["name", "evidence"]
    return rows[1:]


# Units of a family with evidence of their own: they have a line each, and its name would fit them too.
FAMILIAR = {
    "blackwell-mxf8f6f4-e2m1-f32",
    *(f"blackwell-tcgen05-{fmt}-f32" for fmt in ("e2m1", "e2m3", "e3m2", "e4m3", "e5m2")),
}


def test_units_lists_evidence(run: Run) -> None:
    every = sorted([*presets(), *modal_presets(), *sparse_presets()])
    assert listed(run, "*") == [[name, load_any(name).evidence] for name in every]
    # Without a pattern, units that differ in formats alone have a line together.
    rows = listed(run)
    assert len(rows) == 205 and rows == sorted(rows)
    # Families of one name have other lengths: of bytes, and of halves of them.
    kinds = {"{factors}": r"\w+", "{result}": r"[\w-]+"}
    shown = {re.sub(r"\{\w+\}", lambda word: kinds[word[0]], name) for name, _ in rows}
    assert {name for name, _ in rows} >= FAMILIAR
    for name in every:
        assert any(re.fullmatch(row, name) for row in shown), name
    assert "to {result}; one group of 32, 25 fraction bits kept, truncated (45 units)" in run("units").out


def test_units_lists_those_that_match(run: Run) -> None:
    assert [name for name, _ in listed(run, "volta-*-f3?")] == ["volta-mma-f16-f32"]
    assert len(listed(run, "blackwell-mxf8f6f4-*")) == 25
    fails(run("units", "voltaic*"), r"no unit's name matches 'voltaic\*': `hwsim units` lists all 583")


@pytest.mark.parametrize("name", others_slow(presets(), one_of_each_family(presets())[::3]))
def test_units_prints_a_file_that_loads(run: Run, tmp_path: Path, name: str) -> None:
    done = run("units", name)
    assert done.status == 0
    file = tmp_path / "unit.yaml"
    file.write_text(done.out)
    # The reading that follows is comments.
    assert load_unit(file) == load_unit(name)
    assert done.out.startswith(as_yaml(load_unit(name)))
    assert run("units", str(file)).out == done.out


def test_units_says_what_is_wrong_in_a_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "unit.yaml"
    file.write_text(as_yaml(load_unit(HOPPER)).replace("lanes: 32", "lanes: 12"))
    fails(run("units", str(file)), r"unit\.yaml:\d+: instruction\.lanes must divide instruction\.k \(32\), not 12")


def test_units_says_what_is_refused(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "unit.yaml"
    file.write_text(as_yaml(load_unit(HOPPER)).replace("a: e4m3", "a: ue4m3"))
    assert (
        "# Refused: unit hopper-wgmma-e4m3-f32: unsigned factors is not implemented yet.\n"
        in run("units", str(file)).out
    )
    fails(run("explain", str(file)), "unsigned factors is not implemented yet")
    message = r"unit ada-mma-f64-f64: operands\.a: f64 is in the model, but not in C"
    assert re.search(f"# hwsim export-c refuses it: {message}\\.\n", run("units", "ada-mma-f64-f64").out)
    fails(run("export-c", "ada-mma-f64-f64", "-o", str(tmp_path / "c")), message)
    fails(run("rtl", str(file), "-o", "-"), "unsigned factors is not implemented yet")


def test_units_puts_every_setting_in_words(run: Run, tmp_path: Path) -> None:
    out = run("units", "blackwell-mma-e4m3-f32").out
    for words in (
        "32 products e4m3 x e4m3 and an addend in f32, summed in groups of 16.",
        "Groups, in order: those with index mod 4 in [0, 1], then those with index mod 4 in [2, 3].",
        "The first group of an instruction starts from +0, any other from the result of the group before.",
        "Factors are converted to f16, exactly, before they are multiplied.",
        "After an instruction's last group the addend is added to its sum, rne to f32: that is the result.",
        "a shorter one is filled with zero terms, which take no part.",
    ):
        assert f"{words}\n" in out
    file = tmp_path / "unit.yaml"
    text = as_yaml(load_unit(HOPPER)).replace("addend: f32", "addend: f32, convert: f16, daz: true")
    text = text.replace("addend: aligned", "addend: aligned, zero_terms: count, max_exp_floor: -133, zero: ieee")
    file.write_text(text.replace("tiny: positive", "tiny: positive, subnormals: flush"))
    out = run("units", str(file)).out
    for words in (
        "Subnormal factors of f16 count as zero.",
        "Zero terms count for the largest exponent, a zero factor and a zero addend with its format's least.",
        "The largest exponent is at least -133.",
        "A sum of zero has the sign that IEEE 754 gives it.",
        "A subnormal result becomes zero.",
        "a shorter one is filled with zero terms.",
    ):
        assert f"{words}\n" in out


# What `hwsim units` says of the methods, of scales and of late addends.
SAID = {
    "cdna3-mfma-e4m3fnuz-f32": (
        "Even and odd products of a group are summed apart; each keeps 24 bits below its largest exponent; "
        "bits below are cut off each term's magnitude.",
        "Both sums keep 24 bits below the larger one; terms are rounded down to it.",
        "Before it is rounded, the sum keeps 32 bits and the addend 24 below the larger of their exponents, floor; "
        "an addend more than 25 below is dropped.",
    ),
    "cdna3-mfma-f16-f32": ("A product of 2^128 or more is infinite.",),
    "cdna2-mfma-f16-f32": (
        "Products are added by a tree, neighbours first, and then the addend; products are rounded first; "
        "subnormals become zero.",
        "Each addition is rounded, rne, to f32.",
    ),
    "cdna1-mfma-f16-f32": ("All is summed exactly, and rounded after each group.",),
    "hfp8-forward-e4m3-dlfloat16": ("Products are added one after the other to the addend; products are exact.",),
    "int8-i32": (
        "All is summed exactly, and rounded only where the sum leaves its register.",
        "The sum is rounded once, rz, to i32; overflow wraps round.",
    ),
    "intel-amx-e4m3-f32": (
        "After an instruction's last group the addend is added to its sum, rne to f32: that is the result; "
        "subnormal addends and results become zero.",
    ),
    "blackwell-mxf4nvf4-e2m1-f32": (
        "Blocks of 1 x 16 of A share a scale in ue4m3, blocks of 16 x 1 of B one in ue4m3, which enters the exact sum "
        "of each subgroup.",
        "Each 16 products are summed exactly, times both scales' significands, and stand in the window at their "
        "scales' exponents.",
    ),
    "deepseek-v3-e4m3-f32-scaled": (
        "Every 128 products, and at the end, the partial sum times the product of both scales, itself rounded, goes "
        "into a register in f32, rne.",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_units_puts_methods_in_words(run: Run, name: str) -> None:
    out = run("units", name).out
    for words in SAID[name]:
        assert f"# {words}\n" in out


def test_decode(run: Run) -> None:
    rows = [line.split() for line in run("decode", "e4m3", "0x38", "0b1", "254", "0x80", "0x7f").out.splitlines()]
    assert rows[1] == ["0x38", "normal", "0", "0", "8", "*", "2^-3", "1", "0x1.0000000000000p+0"]
    assert rows[2] == ["0x01", "subnormal", "0", "-6", "1", "*", "2^-3", "0.001953125", "0x1.0000000000000p-9"]
    assert rows[3][:4] == ["0xfe", "normal", "1", "8"]
    assert rows[4][-2:] == ["-0.0", "-0x0.0p+0"]
    assert rows[5] == ["0x7f", "nan", "0", "nan", "nan"]
    assert run("decode", "mxint8", "-128").out.split()[-2:] == ["-2", "-0x1.0000000000000p+1"]


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (["e4m3", "1.3", "-1.3", "-0", "+2"], "3a ba 80 40"),
        (["e4m3", "0x1.8p3", "-0x.8", "0X1P-9", "0x10"], "54 b0 01 58"),
        (["e4m3", "464", "464.0000000000000000000000001", "1e400", "-inf", "nan"], "7e 7e 7e fe 7f"),
        (["e4m3", "464", "464.0000000000000000000000001", "inf", "--overflow", "nan"], "7e 7f 7f"),
        # 1 + 2^-4 and a little, far below binary64: a tie if it were rounded twice.
        (["e4m3", "1.0625", "1.06250000000000000000000000000001", "17/16", "1700000001/1600000000"], "38 39 38 39"),
        (["e4m3", "--rounding", "rna", "1.0625"], "39"),
        (["e5m2", "--rounding", "rz", "--overflow", "infinity", "61440", "70000", "-Infinity"], "7b 7c fc"),
        (["e2m1", "--missing", "zero", "nan", "2.5"], "0x0 0x4"),
        (["mxint8", "-2", "-0.015625", "9"], "80 ff 7f"),
        (["f32", "0.1", "1/3", "1e-45", "-.5"], "3dcccccd 3eaaaaab 00000001 bf000000"),
        (["e8m0", "1", "0x1p-127"], "7f 00"),
        (
            ["f32", "--", "-2e-3", "5.", "-0x.1", "0xA.8P-1", "-7/2", " 3 "],
            "bb03126f 40a00000 bd800000 40a80000 c0600000 40400000",
        ),
    ],
)
def test_encode_rounds_once(run: Run, arguments: list[str], codes: str) -> None:
    done = run("encode", *arguments)
    assert done.status == 0, done
    got = [line.split()[1].removeprefix("0x") for line in done.out.splitlines()[1:]]
    assert got == [code.removeprefix("0x") for code in codes.split()]


def test_encode_stochastically(run: Run) -> None:
    words = ["--rounding", "stochastic", "--random-bits", "4", "--seed", "5"]
    given = ["0.3"] * 12
    codes = hwsim.get_format("e4m3").encode([Fraction(3, 10)] * 12, "stochastic", random_bits=4, seed=5)
    assert len(set(codes.tolist())) == 2
    got = [int(line.split()[1], 16) for line in run("encode", "e4m3", *words, *given).out.splitlines()[1:]]
    assert got == codes.tolist()
    later = run("encode", "e4m3", *words, "--counter", "7", "0.3", "-0.3").out.splitlines()
    assert [int(line.split()[1], 16) for line in later[1:]] == [codes[7], codes[8] | 0x80]
    fails(run("encode", "e4m3", *words[:4], "0.3"), "seed must be given for rounding='stochastic'")
    fails(run("encode", "e4m3", "--seed", "1", "0.3"), "random_bits, seed and counter are of rounding=")


def test_encode_says_whether_it_rounded(run: Run) -> None:
    lines = run("encode", "e5m2", "1", "1.1", "1.2", "inf", "1e9", "--overflow", "infinity").out.splitlines()
    said = [" ".join(line.split()[3:]) for line in lines[1:]]
    assert said == ["exact", "rounded down", "rounded up", "exact", "overflow"]


@pytest.mark.parametrize("text", ["", "1.2.3", "0x", "0x.p1", "1/", "/2", "1/2/3", "1.5/2", "--1", "1e", "1_0", "٣"])
def test_what_is_no_number(run: Run, text: str) -> None:
    fails(run("encode", "e4m3", "--", text), "a value must be a number such as")
