"""Comparing results: right ones pass, every kind of wrong one is found and named by its line."""

import random

import pytest
from built_presets import others_slow
from vectors.vectorset_units import ANY_NAN, made

from hwsim.cases.random_cases import random_cases
from hwsim.cosim.vectors.check import Malformed, check, stored


def expected_of(folder):
    return (folder / "expected.hex").read_text().split()


def flipped(code):
    return f"{int(code, 16) ^ 1:04x}"


def verdict(folder, lines):
    return check(stored(folder), lines, "results.txt")


def test_the_expected_results_pass_in_order_and_by_id(tiny_set):
    codes = expected_of(tiny_set)
    names = [line.split()[0] for line in (tiny_set / "cases.txt").read_text().splitlines() if line[0] != "#"]
    mixed = [f"{name} 0x{code.upper()}" for name, code in zip(names, codes, strict=True)]
    random.Random(1).shuffle(mixed)
    numbered = [f"{number} {code}  // cycle 7" for number, code in enumerate(codes)][::-1]
    commented = ["// a memory dump", "@0", "", *codes]
    text = (tiny_set / "cases.txt").read_text().splitlines()
    for lines in (codes, mixed, numbered, commented, text):
        found = verdict(tiny_set, lines)
        assert found.row.passed
        assert (found.compared, found.wrong, found.hints) == (200, 0, [])


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize("case", [0, 17, 199])
def test_one_wrong_bit_is_found(tiny_set, case):
    codes = expected_of(tiny_set)
    codes[case] = flipped(codes[case])
    found = verdict(tiny_set, codes)
    assert not found.row.passed
    assert (found.wrong, found.compared) == (1, 200)
    wrong = found.first[0]
    assert (wrong.case, wrong.place) == (stored(tiny_set).case(case), f"line {case + 1} of results.txt")
    assert wrong.got ^ wrong.expected == 1


@pytest.mark.quick
def test_unknown_bits_are_wrong(tiny_set):
    codes = expected_of(tiny_set)
    codes[3], codes[4] = "xxxx", "3cZ0"
    found = verdict(tiny_set, codes)
    assert [(one.case, one.got, one.text) for one in found.first] == [
        (stored(tiny_set).case(3), None, "xxxx"),
        (stored(tiny_set).case(4), None, "3cZ0"),
    ]


def test_missing_results_are_a_failure_that_says_which(tiny_set):
    codes = expected_of(tiny_set)
    found = verdict(tiny_set, codes[:150])
    assert (found.row.passed, found.wrong, found.compared) == (False, 0, 150)
    first = stored(tiny_set).name(150)
    said = f"missing: 50 results, the first of them that of {first}; the last one that came is at line 150"
    assert found.hints == [said]
    some = [f"{number} {code}" for number, code in enumerate(codes) if number != 42]
    assert (
        f"missing: 1 result, the first of them that of {stored(tiny_set).name(42)};" in verdict(tiny_set, some).hints[0]
    )
    assert not verdict(tiny_set, []).row.passed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [*lines[:9], "9 gg", *lines[10:]], r"results.txt:10: 'gg' is not hexadecimal"),
        (lambda lines: [*lines[:9], "9 -1", *lines[10:]], r"results.txt:10: '-1' is not hexadecimal"),
        (lambda lines: [*lines[:9], lines[8], *lines[9:]], r"results.txt:10: random/00000008-any was there before"),
        (lambda lines: [*lines, "200 0000"], r"results.txt:201: a result too many: there are 200 cases"),
        (lambda lines: [*lines[:5], "random/7 0000"], r"results.txt:6: there is no case 'random/7'"),
        (lambda lines: [*lines[:5], "0000"], r"results.txt:6: an id is missing"),
        (lambda lines: [lines[0], "1 10000"], r"results.txt:2: 10000 has more than the 16 bits of a result"),
    ],
)
def test_malformed_lines_are_named(tiny_set, change, message):
    lines = [f"{number} {code}" for number, code in enumerate(expected_of(tiny_set))]
    with pytest.raises(Malformed, match=message):
        verdict(tiny_set, change(lines))


def test_results_in_another_order_are_recognised(tiny_set):
    codes = expected_of(tiny_set)
    found = verdict(tiny_set, [*codes[:7], *codes[:6:-1]])
    assert found.wrong > 100
    (hint,) = found.hints
    line = next(line for line, (one, other) in enumerate(zip(codes[7:], codes[:6:-1], strict=True), 8) if one != other)
    assert hint.startswith("the results are the expected ones in another order")
    assert hint.endswith(f"the first out of place is at line {line}")


def test_a_lost_or_doubled_line_is_suspected(tiny_set):
    codes = expected_of(tiny_set)
    lost = verdict(tiny_set, [*codes[:100], *codes[101:]])
    assert ["one is missing before line" in hint for hint in lost.hints] == [False, True]
    doubled = verdict(tiny_set, [*codes[:100], codes[99], *codes[100:199]])
    assert [hint.count("one is doubled before line") for hint in doubled.hints] == [1]
    noise = [flipped(code) for code in codes]
    assert verdict(tiny_set, noise).hints == []


def test_any_nan_is_as_good_where_the_unit_says_so(tmp_path):
    folder = made(tmp_path / "any", "any-nan", cases=300).folder
    codes = expected_of(folder)
    nans = [at for at, code in enumerate(codes) if int(code, 16) & 0x7FFF > 0x7C00]
    assert not ANY_NAN.operands.a.has_nan and nans, "an addend that is NaN"
    for at in nans:
        codes[at] = "7e01"
    assert verdict(folder, codes).row.passed
    codes[nans[0]] = "7c00"
    assert verdict(folder, codes).wrong == 1


def test_either_zero_is_as_good_where_the_unit_says_so(tmp_path):
    folder = made(tmp_path / "any", "tiny-any-zero", cases=300).folder
    codes = expected_of(folder)
    zeros = [at for at, code in enumerate(codes) if int(code, 16) & 0x7FFF == 0]
    assert zeros
    for at in zeros:
        codes[at] = f"{int(codes[at], 16) ^ 0x8000:04x}"
    found = verdict(folder, codes)
    assert found.row.passed
    assert found.hints == ["not compared: the signs of results that are zero (result.zero_sign: any)"]
    codes[zeros[0]] = "8001"
    assert verdict(folder, codes).wrong == 1


@pytest.mark.parametrize(
    "name", others_slow(["mxfp8-e5m2-f32", "deepseek-v3-e4m3-f32-scaled", "blackwell-mma-e4m3-f32"], ["mxfp8-e5m2-f32"])
)
def test_cases_come_back_from_their_lines(name, tmp_path):
    known = stored(made(tmp_path / name, name, cases=60).folder)
    drawn = random_cases(known.unit, 60, 1)
    for number in (0, 5, 7, 8, 31, 59):
        assert known.case(number) == drawn[number]


def test_a_changed_set_is_not_compared_with(tiny_set):
    (tiny_set / "expected.hex").write_text("\n".join(flipped(code) for code in expected_of(tiny_set)) + "\n")
    with pytest.raises(ValueError, match=r"expected\.hex is not as it was written"):
        stored(tiny_set)


def test_what_is_no_set_is_refused(tmp_path, tiny_set):
    with pytest.raises(ValueError, match="holds no vector set: there is no manifest"):
        stored(tmp_path)
    manifest = tiny_set / "manifest.yaml"
    text = manifest.read_text()
    for broken, message in (
        ("just: this", "is not a manifest that `hwsim vectors` wrote"),
        ("[", "not YAML"),
        (text.replace("version: 4", "version: 99"), "version must be 4, not 99; make the set again"),
        (text.replace("version: 4", 'version: "4"'), "version must be 4, not '4'; make the set again"),
    ):
        manifest.write_text(broken)
        with pytest.raises(ValueError, match=message):
            stored(tiny_set)
    manifest.write_text(text)
    (tiny_set / "operands.hex").unlink()
    with pytest.raises(ValueError, match=r"operands\.hex is missing"):
        stored(tiny_set)
