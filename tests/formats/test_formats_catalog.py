"""Formats by name and from files: what is right is taken, what is wrong is named with its file, line, key and rule."""

from pathlib import Path

import pytest
from formats.formats_witness import EVERY

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, formats, get_format, parse
from hwsim.formats.yamlfile import SpecError

SHIPPED = [
    *("e4m3", "e5m2", "e4m3-ieee", "e4m3fnuz", "e5m2fnuz", "e4m3b11fnuz", "e3m4", "e3m4-finite"),
    *("hfp8-e4m3", "hfp8-e5m2", "e3m2", "e2m3", "e2m1", "mxint8", "int8"),
    *("uint8", "int4", "uint4", "i32", "e8m0", "ue4m3", "ue8m0"),
    *("f16", "bf16", "e5m6", "dlfloat16", "tf32", "e8m13", "f32", "f64"),
]
E4M3 = "kind: float\nexponent_bits: 4\nfraction_bits: 3\nbias: 7\n"


def written(folder, text, name="mine.yaml"):
    path = folder / name
    path.write_text(text)
    return path


def test_shipped_formats():
    assert list(formats()) == SHIPPED
    for name in SHIPPED:
        fmt = get_format(name)
        assert fmt.name == name
        assert fmt.summary
        assert fmt.source
        assert get_format(fmt) is fmt


@pytest.mark.parametrize("kind", [str, Path])
def test_a_file_of_the_user(tmp_path, kind):
    text = "# IEEE-like E4M3\n" + E4M3 + "infinities: true\nnan: ieee\nsummary: mine\n"
    fmt = get_format(kind(written(tmp_path, text, "E4M3-IEEE.yaml")))
    assert isinstance(fmt, FloatFormat)
    assert fmt.name == "e4m3-ieee"
    assert fmt.decode([0x77, 0x78]).tolist() == [240, float("inf")]
    assert fmt.encode(1e9, overflow="infinity") == 0x78


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("name: q7\nkind: fixed\ninteger_bits: 0\nfraction_bits: 7\n", FixedFormat),
        ("name: scale\nkind: exponent\nexponent_bits: 5\nbias: 15\nnan: [0x1F]\n", ExponentFormat),
        (E4M3 + "name: fnuz\nnan: [0x80]\nsigned_zero: false\n", FloatFormat),
        (E4M3 + "name: padded\nnan: [0x7F, 0xFF]\ncontainer: 16\n", FloatFormat),
        (E4M3 + "name: second\nnan: [0x7F, 0xFF]\ncanonical: 0xFF\n", FloatFormat),
    ],
)
def test_files_of_every_kind(tmp_path, text, kind):
    fmt = get_format(str(written(tmp_path, text)))
    assert isinstance(fmt, kind)
    assert parse(fmt.model_dump(mode="json", exclude_defaults=True) | {"kind": fmt.kind}) == fmt
    assert fmt.encode(1.0).shape == ()


def test_a_container_holds_the_code_in_its_high_bits(tmp_path):
    fmt = get_format(written(tmp_path, E4M3 + "nan: [0x7F, 0xFF]\ncontainer: 16\n"))
    assert fmt.encode([448.0, -1.0, float("nan")]).tolist() == [0x7E00, 0xB800, 0x7FFF]
    assert fmt.decode([0x7E00, 0xB800]).tolist() == [448, -1]
    with pytest.raises(ValueError, match="the low 8 bits of a code of mine"):
        fmt.decode([0x7E01])


# Ten lines that stand for 10^10 values.
BOMB = "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 11))

BROKEN = [  # text, what follows `FILE:`
    ("", "1: must be a YAML mapping of keys to values"),
    ("- 1\n", "1: must be a YAML mapping of keys to values"),
    ("kind: [\n", "2: not YAML: expected the node content, but found '<stream end>'"),
    ("kind: float\n---\nkind: float\n", "2: not YAML: but found another document"),
    ("kind: float\nkind: fixed\n", "2: kind stands twice"),
    ("? [a, b]\n: 1\n", "1: a key must be a word, not a sequence"),
    ("kind: !mine float\n", "1: kind: could not determine a constructor for the tag '!mine'"),
    ("kind: &all [*all]\n", "1: holds an alias of something that it stands in"),
    ("kind: " + "[" * 60 + "]" * 60, "1: must not be nested more than 50 deep"),
    ("kind: " + "[" * 20_000 + "]" * 20_000, "1: must not be nested more than 50 deep"),
    (BOMB, "1: must not hold more than 100,000 values, those of aliases counted"),
    (f"bias: 0x{'f' * 5000}", "1: bias: must have at most 4,000 digits, not 5,002"),
    ("# " + "x" * (1 << 22), " must have at most 4,194,304 bytes; it has more"),
    ("kind: float\nbias: 2020-13-45\n", "2: bias: month must be in 1..12"),
    ("kind: float\nsubnormals: !!bool maybe\n", "2: subnormals: 'maybe' is no bool"),
    ("exponent_bits: 4\n", "1: kind is missing; it must be float, fixed, exponent or table"),
    ("# a format\nkind: flaot\n", "2: kind must be float, fixed, exponent or table, not 'flaot'"),
    ("kind: [float]\n", "1: kind must be float, fixed, exponent or table, not ['float']"),
    ("kind: float\nexponent_bits: 4\nbias: 7\n", "1: fraction_bits is missing"),
    (E4M3 + "mantissa_bits: 3\n", "5: mantissa_bits is not a key here"),
    (E4M3.replace("4", "0"), "2: exponent_bits must be greater than or equal to 1, not 0"),
    (E4M3.replace("4", "12"), "2: exponent_bits must be less than or equal to 11, not 12"),
    (E4M3.replace("4", "four"), "2: exponent_bits must be an integer, not 'four'"),
    (E4M3.replace("4", "4.5"), "2: exponent_bits must be an integer, not 4.5"),
    (E4M3.replace("4", "true"), "2: exponent_bits must be an integer, not True"),
    (E4M3.replace(" 4", ""), "2: exponent_bits must be an integer, not None"),
    (E4M3.replace("3", "-1"), "3: fraction_bits must be greater than or equal to 0, not -1"),
    (E4M3.replace("3", "28"), "3: fraction_bits makes a code of 33 bits; at most 32"),
    (E4M3.replace("7", "4000"), "4: bias must keep every value a float64, not 4000"),
    (E4M3.replace("7", "-1010"), "4: bias must keep every value a float64, not -1010"),
    (E4M3 + "subnormals: maybe\n", "5: subnormals must be true or false, not 'maybe'"),
    (E4M3 + "container: 12\n", "5: container must be 8, 16 or 32, not 12"),
    (E4M3.replace("3", "10") + "container: 8\n", "5: container must hold the 15 bits of a code, not 8"),
    (E4M3 + "nan: iee\n", "5: nan must be ieee or a list of codes, not 'iee'"),
    (E4M3 + "nan: 0x7F\n", "5: nan must be ieee or a list of codes, not 127"),
    (E4M3 + "nan: [0x7F, x]\n", "5: nan must be ieee or a list of codes, not [127, 'x']"),
    (E4M3 + "nan: [true]\n", "5: nan must be ieee or a list of codes, not [True]"),
    (E4M3 + "nan: [0x7F, 0x1FF]\n", "5: nan must be codes of 8 bits, not [0x7f, 0x1ff]"),
    (E4M3 + "nan: [0x7F]\n", "5: nan must hold 0xff, as it holds 0x7f of the other sign"),
    (E4M3 + "nan: [0, 0x7F]\n", "5: nan must not hold code 0, which is zero"),
    (
        E4M3 + "nan: [0x7D, 0x7F, 0xFD, 0xFF]\n",
        "5: nan must be codes above every finite number, or negative zero, not ",
    ),
    (E4M3 + "nan: [0x80]\n", "1: signed_zero must be false where 0x80 is NaN"),
    (E4M3 + "signed_zero: false\n", "5: signed_zero must be true unless 0x80 is NaN"),
    (E4M3 + "nan: ieee\n", "5: nan ieee goes with infinities: true; else list the NaN codes"),
    (E4M3 + "infinities: true\n", "1: nan must be ieee or a list of codes where infinities is true, not []"),
    (E4M3 + "infinities: true\nnan: [0x78, 0xF8]\n", "6: nan must be codes above every finite number, or negative z"),
    (E4M3 + "underflow: zero\n", "5: underflow is of a format with subnormals: false"),
    (E4M3 + "subnormals: false\nunderflow: flush\n", "6: underflow must be 'nearby' or 'zero', not 'flush'"),
    (E4M3.replace("3", "0") + "infinities: true\nnan: ieee\n", "6: nan ieee needs a fraction bit to tell NaN from inf"),
    (E4M3 + "infinities: true\nnan: ieee\nsigned_zero: false\n", "7: signed_zero must be true where nan is ieee"),
    (E4M3 + "signed: false\n", "1: signed_zero must be false for an unsigned format"),
    (E4M3 + "nan: [0x7F, 0xFF]\ncanonical: 0x7E\n", "6: canonical must be a NaN code, not 0x7e"),
    (E4M3 + "infinities: true\nnan: ieee\ncanonical: 0x17F\n", "7: canonical must be a NaN code, not 0x17f"),
    (E4M3 + "name: 4-bit\n", "5: name must be of small letters, digits, "),
    ("kind: float\nexponent_bits: 1\nfraction_bits: 0\nbias: 0\nnan: [1, 3]\n", "5: nan leaves no finite number other"),
    ("kind: float\nexponent_bits: 1\nfraction_bits: 0\nbias: 0\ninfinities: true\n", "5: infinities leaves no finite "),
    ("kind: fixed\ninteger_bits: 1\nfraction_bits: 6\ncontainer: 16\n", "4: container is not a key here"),
    (
        "kind: fixed\ninteger_bits: 900\nfraction_bits: 900\n",
        "3: fraction_bits must make a code of 1 to 1024 bits, not of 1801",
    ),
    ("kind: fixed\ninteger_bits: 1\n", "1: fraction_bits is missing"),
    ("kind: exponent\nexponent_bits: 1\nbias: 1\nnan: [0, 1]\n", "4: nan leaves no number: [0x0, 0x1]"),
    ("kind: exponent\nexponent_bits: 3\nbias: 1\nnan: [3]\n", "4: nan must be codes at an end of the range, not [0x3]"),
    ("kind: exponent\nexponent_bits: 3\nbias: 1\nnan: [8]\n", "4: nan must be codes of 3 bits, not [0x8]"),
    ("kind: exponent\nexponent_bits: 3\nbias: 1\nnan: ieee\n", "4: nan must be a list of codes, not 'ieee'"),
    ("kind: exponent\nexponent_bits: 11\nbias: 1000\n", "3: bias must keep every value a float64, not 1000"),
]


@pytest.mark.quick(cases=8)
@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_a_broken_file_is_named_with_line_key_rule_and_value(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(SpecError) as error:
        get_format(path)
    assert str(error.value).startswith(f"{path}:{message}")


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(SpecError, match=r"none\.yaml: cannot be read: No such file or directory"):
        get_format(tmp_path / "none.yaml")
    with pytest.raises(SpecError, match="cannot be read: Is a directory"):
        get_format(tmp_path)
    (tmp_path / "bytes.yaml").write_bytes(b"kind: \xff\n")
    with pytest.raises(SpecError, match=r"bytes\.yaml: cannot be read: .*decode"):
        get_format(tmp_path / "bytes.yaml")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("e4m4", r"unknown format 'e4m4': did you mean e4m3, "),
        ("E4M3", r"unknown format 'E4M3': did you mean e4m3, "),
        ("zzz", r"unknown format 'zzz': known: e4m3, e5m2, .*, f64, hif8, .*, lns8$"),
        ("", r"unknown format '': known: "),
        ("binary8p8se", r"unknown format 'binary8p8se': precision must be 1 to 7 for a signed format of 8 bits, not 8"),
        ("binary8p9uf", r"precision must be 1 to 8 for an unsigned format of 8 bits, not 9"),
        ("binary8p0ue", r"precision must be 1 to 8 for an unsigned format of 8 bits, not 0"),
        ("binary16p3se", r"unknown format 'binary16p3se': bits must be 3 to 8, not 16"),
        ("binary2p1se", r"bits must be 3 to 8, not 2"),
        ("binary8p3sx", r"unknown format 'binary8p3sx': "),
    ],
)
def test_an_unknown_name(name, message):
    with pytest.raises(SpecError, match=message):
        get_format(name)


@pytest.mark.parametrize("name", [None, 5, ["e4m3"], {"kind": "float"}])
def test_what_is_no_name(name):
    with pytest.raises(TypeError, match="name must be a format's name, a path or a format, not "):
        get_format(name)


def test_formats_are_values():
    again = parse({"kind": "float", **get_format("e4m3").model_dump()})
    assert again == get_format("e4m3")
    assert hash(again) == hash(get_format("e4m3"))
    with pytest.raises(ValueError, match="frozen"):
        again.bias = 3
    assert len(set(EVERY.values())) == len(EVERY)
