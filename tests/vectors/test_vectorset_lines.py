"""What lines hold: against Python's integers, and against the cases themselves; of more than 64 bits, too."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
import yaml
from built_presets import others_slow
from odd_units import unit
from vectors.vectorset_units import KINDS, made, unit_of

import hwsim
from hwsim.base.arrays import from_words
from hwsim.cases.case import addend_mask, batches, beats, term_scales
from hwsim.cases.case import expected as by_the_model
from hwsim.cases.matrices import gemm_problem
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.vectors.lines import (
    EXPECTED,
    OPERANDS,
    case_of,
    case_of_words,
    operand_layout,
    result_layout,
    text_lines,
)
from hwsim.cosim.vectors.make import case_arrays, computed_block, problem_arrays
from hwsim.formats import unpack
from hwsim.model.definition import Definition

# MX scales, interleaved groups with a late addend, integers.
ALWAYS = ["mxfp8-e5m2-f32", "blackwell-mma-e4m3-f32", "int8-i32"]


@pytest.fixture(params=others_slow(KINDS, ALWAYS))
def name(request):
    return request.param


def fields_of(manifest, file, line):
    """A line's fields, by the manifest alone."""
    word = int(line, 16)
    found = {}
    for field, at in manifest["files"][file]["fields"].items():
        mask = (1 << at["bits"]) - 1
        values = [word >> (at["offset"] + i * at["bits"]) & mask for i in range(at["count"])]
        signed = at.get("signed", False)
        found[field] = [value - (value >> at["bits"] - 1 << at["bits"]) if signed else value for value in values]
    return found


def cases_of(unit, manifest, folder):
    """The cases as the manifest says to read them: (a, b, scales of a, scales of b, c), line by line."""
    held = []
    for line in (folder / "operands.hex").read_text().split():
        assert len(line) == manifest["files"]["operands.hex"]["digits"]
        fields = fields_of(manifest, "operands.hex", line)
        if fields["first"] == [1]:
            held.append([])
        held[-1].append(fields)
    for rows in held:
        assert [row["first"] + row["last"] for row in rows] == [
            [int(i == 0), int(i == len(rows) - 1)] for i in range(len(rows))
        ]
    return held


def test_lines_hold_the_cases_that_were_drawn(name, tmp_path):
    unit, folder = unit_of(name), made(tmp_path / "set", name, cases=30).folder
    manifest = yaml.safe_load((folder / "manifest.yaml").read_text())
    for rows, case in zip(cases_of(unit, manifest, folder), random_cases(unit, 30, 1), strict=True):
        assert tuple(code for row in rows for code in row["a"]) == case.a
        assert tuple(code for row in rows for code in row["b"]) == case.b
        if unit.operands.addend is not None:
            rest = ~case.c & addend_mask(unit)
            assert [row["c"] for row in rows] == [[case.c], *[[rest]] * (len(rows) - 1)]
        if unit.scale is None:
            continue
        terms = unit.instruction.fill
        for side, codes, length in (
            ("scale_a", term_scales(unit, case)[0], unit.scale.a.block[1]),
            ("scale_b", term_scales(unit, case)[1], unit.scale.b.block[0]),
        ):
            for at, row in enumerate(rows):
                each = min(length, terms)
                assert tuple(np.repeat(row[side], each)) == codes[at * terms : (at + 1) * terms]


def test_lines_are_the_beats_of_a_unit_whose_beats_are_lines(tmp_path):
    unit, folder = unit_of("deepseek-v3-e4m3-f32"), made(tmp_path / "set", "deepseek-v3-e4m3-f32", cases=40).folder
    manifest = yaml.safe_load((folder / "manifest.yaml").read_text())
    for rows, case in zip(cases_of(unit, manifest, folder), random_cases(unit, 40, 1), strict=True):
        for row, beat in zip(rows, beats(unit, case), strict=True):
            assert (tuple(row["a"]), tuple(row["b"]), row["c"]) == (beat.a, beat.b, [beat.c])
            assert (row["first"], row["last"]) == ([beat.first], [beat.last])


def test_results_are_those_of_the_public_dot(name, tmp_path):
    """Text, JSON, arrays and hexadecimal lines say the same, and hwsim.dot of the arrays returns it."""
    unit, folder = unit_of(name), made(tmp_path / "set", name, cases=24).folder
    lines = [line.split() for line in (folder / "cases.txt").read_text().splitlines() if not line.startswith("#")]
    told = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
    expected = [int(line, 16) for line in (folder / "expected.hex").read_text().split()]
    arrays = np.load(folder / "cases.npz")
    digits = -(-unit.operands.a.container_bits // 4)
    for line, data, code in zip(lines, told, expected, strict=True):
        assert line[0] == data["id"]
        assert [int(line[1][at : at + digits], 16) for at in range(0, len(line[1]), digits)] == data["a"]
        assert int(line[-1], 16) == data["result"] == code
        given = {key: [data[key]] for key in ("scale_a", "scale_b") if key in data}
        scales = {key: _float(unit, key, value) for key, value in given.items()}
        length = len(data["a"])
        # Blocks that are not whole are filled up with zeros, as the public function wants them.
        whole = max([length, *(-(-length // _block(unit, key)) * _block(unit, key) for key in scales)])
        rows = [[*data[key], *[0] * (whole - length)] for key in ("a", "b")]
        c = {"c": np.array([data["c"]], np.uint32)} if "c" in data else {}
        result = hwsim.dot(unit, [rows[0]], [rows[1]], **c, **scales)
        assert int(result.view(f"u{result.dtype.itemsize}")[0]) == code
    assert arrays["result"].tolist() == expected
    assert arrays["id"].astype(str).tolist() == [line[0] for line in lines]
    starts = arrays["first_line"].tolist()
    assert arrays["a"][starts[3]].tolist() == told[3]["a"][: unit.instruction.fill]


def _block(unit, key):
    return unit.scale.a.block[1] if key == "scale_a" else unit.scale.b.block[0]


def _float(unit, key, codes):
    fmt = getattr(unit.scale, key[-1]).format
    array = np.array(codes, np.uint32)
    return array.view(np.float32) if fmt.name == "f32" else array


def test_partial_results_are_those_of_every_beginning(name, tmp_path):
    """The result of a case's first lines alone is the partial result after them."""
    unit, folder = unit_of(name), made(tmp_path / "set", name, cases=24).folder
    manifest = yaml.safe_load((folder / "manifest.yaml").read_text())
    partials = [fields_of(manifest, "partial.hex", line) for line in (folder / "partial.hex").read_text().split()]
    definition, at = Definition(unit), 0
    lanes_per_line = unit.instruction.fill
    for case in random_cases(unit, 24, 1):
        lines = len(case.a) // lanes_per_line
        for line in sorted({0, 1, 2, 3, lines // 2, *range(lines - 4, lines)} & set(range(lines))):
            end = (line + 1) * lanes_per_line
            scales = [codes[:end] for codes in term_scales(unit, case)]
            part = definition.dot(case.a[:end], case.b[:end], case.c, *scales)
            row = partials[at + line]
            assert row["partial"] == [group.code for group in part.groups[-len(row["partial"]) :]]
            if "register" in row and (unit.late is not None or end % unit.promotion.interval == 0):
                assert row["register"] == [part.code]
        at += lines
    assert at == len(partials)


def test_stage_values_add_up(tmp_path):
    """By the fields alone: the aligned terms sum to the total, and each is what is left of the exact term."""
    unit = unit_of("hopper-wgmma-e4m3-f32")
    folder = made(tmp_path / "set", "hopper-wgmma-e4m3-f32", cases=200, stages=True).folder
    manifest = yaml.safe_load((folder / "manifest.yaml").read_text())
    operands = (folder / "operands.hex").read_text().split()
    stages = (folder / "stages.hex").read_text().split()
    results = iter((folder / "expected.hex").read_text().split())
    finite, code = 0, 0
    for line, stage in zip(operands, stages, strict=True):
        given, held = fields_of(manifest, "operands.hex", line), fields_of(manifest, "stages.hex", stage)
        addend = unpack(unit.operands.addend, given["c"][0] if given["first"] == [1] else code)
        (code,) = held["result"]
        if given["last"] == [1]:
            assert code == int(next(results), 16)
        factors = [
            [unpack(fmt, code) for code in given[side]]
            for side, fmt in (("a", unit.operands.a), ("b", unit.operands.b))
        ]
        special = any(field.cls.value in ("nan", "infinity") for side in factors for field in side)
        special |= addend.cls.value in ("nan", "infinity")
        assert (held["special"] != [0]) == special
        if special or held["any"] == [0]:
            continue
        finite += 1
        assert sum(held["aligned"]) == held["total"][0]
        last_place = Fraction(2) ** (held["max_exp"][0] - unit.sum.fraction_bits)
        exact = [
            (-1) ** (a.sign ^ b.sign) * a.sig * b.sig * Fraction(2) ** (a.exp + b.exp - 6)
            for a, b in zip(*factors, strict=True)
        ]
        exact.append((-1) ** addend.sign * addend.sig * Fraction(2) ** (addend.exp - 23))
        for term, aligned in zip(exact, held["aligned"], strict=True):
            assert aligned == int(term / last_place)
    assert finite > 100


UNIT = unit("long-73")


def test_lines_and_text_have_every_bit() -> None:
    cases = random_cases(UNIT, 60, 5)
    assert max(case.c for case in cases) >> 72
    for batch in batches(UNIT, cases):
        block, results = computed_block(UNIT, batch, (OPERANDS, EXPECTED), None), by_the_model(UNIT, batch)
        lines = block.files[EXPECTED].split()
        assert [result_layout(UNIT).unpacked(line)["result"][0] for line in lines] == results.tolist()
        operands = block.files[OPERANDS].split()
        each = len(operands) // len(batch)
        for at, (case, text) in enumerate(
            zip(batch.cases(), text_lines(UNIT, batch, results).splitlines(), strict=True)
        ):
            assert case_of(UNIT, case.id, operands[at * each : (at + 1) * each]) == case
            assert case_of_words(UNIT, text.split()[:-1]) == case
            assert int(text.split()[-1], 16) == results[at]
        # Only the first line's addend counts: the others carry its complement.
        fields = [operand_layout(UNIT).unpacked(line) for line in operands[:each]]
        assert [field["c"][0] for field in fields[1:]] == [(1 << 73) - 1 - int(batch.c[0])] * (each - 1)


def test_arrays_hold_words() -> None:
    batch = next(batches(UNIT, random_cases(UNIT, 8, 5)))
    block = computed_block(UNIT, batch, (), None)
    arrays = case_arrays(UNIT, [block])
    assert (arrays["result"].shape, arrays["c"].dtype) == ((len(batch), 2), np.uint64)
    assert from_words(arrays["c"]).tolist() == batch.c.tolist()
    problem = gemm_problem(UNIT, 3, 2, 4, 1)
    held = problem_arrays(UNIT, problem)
    assert {name: held[name].shape for name in ("C", "D", "partials")} == {
        "C": (3, 2, 2), "D": (3, 2, 2), "partials": (3, 2, 2, 2),
    }  # fmt: skip
    assert (from_words(held["D"]) == hwsim.gemm(UNIT, problem.A, problem.B, problem.C)).all()
