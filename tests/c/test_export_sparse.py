"""Sparse units in C: a header selects as the definition does, and its mutants are caught."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from built_presets import others_slow
from c.export_library import C99, CPP17, syntax
from cosim.plays import stream

from hwsim.cases.captured import sparse_captured
from hwsim.cases.case import Case, dot, multiplied
from hwsim.cases.random_cases import random_cases
from hwsim.cases.selection import placed, selection_cases
from hwsim.compute.c import HEADER, UnitInC, export_c, render
from hwsim.model.definition import definition_of
from hwsim.spec import SparseUnit, load_sparse, sparse_presets

E4M3, PAIRS, TF32 = "hopper-wgmma-sp-e4m3-f32", "ampere-mma-sp-int4-i32", "hopper-wgmma-sp-tf32-f32"
THREE = load_sparse({"unit": "one-of-three", "dense": "int8-i32", "sparsity": {"keep": 1, "of": 3}})


class Library:
    """A sparse unit's header, built, and called through ctypes."""

    def __init__(self, unit: SparseUnit, folder: Path, header: str = ""):
        self.unit, self.plan = unit, UnitInC(unit, "0.0.0")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "unit.h").write_text(header or render(HEADER, self.plan))
        c = "c[i], " if unit.dense.operands.addend is not None else ""
        rule, types = unit.sparsity, self.plan.code_types
        (folder / "shim.c").write_text(
            '#include "unit.h"\n'
            f"void dots(const {types['a']} *a, const {types['b']} *b, const uint8_t *metadata, const uint32_t *c, "
            "uint64_t n, uint64_t k, uint32_t *out)\n{\n    (void)c;\n    for (uint64_t i = 0; i < n; ++i)\n"
            f"        out[i] = {self.plan.prefix}_sparse_dot(a + i * k, b + i * (k / {rule.kept} * {rule.whole}), "
            f"metadata + i * (k / {rule.run}), {c}k);\n}}\n"
            f"int takes(uint64_t k) {{ return {self.plan.prefix}_sparse_takes(k); }}\n"
        )
        command = ["gcc", "-O1", *C99, "-shared", "-fPIC", "-o", str(folder / "unit.so"), str(folder / "shim.c")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:4000]
        self.library = ctypes.CDLL(str(folder / "unit.so"))

    def results(self, cases: Sequence[Case]) -> list[int]:
        """The results, case by case."""
        made = [0] * len(cases)
        for k in {len(case.a) for case in cases}:
            chosen = [index for index, case in enumerate(cases) if len(case.a) == k]
            kinds = [self.plan.code_types["a"][:-2], self.plan.code_types["b"][:-2], "uint8", "uint32"]
            rows = [
                np.array([getattr(cases[index], name) for index in chosen], kind)
                for name, kind in zip(("a", "b", "metadata", "c"), kinds, strict=True)
            ]
            out = np.zeros(len(chosen), np.uint32)
            at = [ctypes.c_void_p(array.ctypes.data) for array in (*rows, out)]
            self.library.dots(*at[:4], ctypes.c_uint64(len(chosen)), ctypes.c_uint64(k), at[4])
            for index, code in zip(chosen, out.tolist(), strict=True):
                made[index] = code
        return made


def cases_of(unit: SparseUnit, count: int = 64, step: int = 1) -> list[Case]:
    """Random cases, also with metadata that do not ascend, and each so many-th choice of every lane."""
    drawn = placed(unit, random_cases(unit.dense, count, 5), stream(), falling=True)
    return [*drawn, *selection_cases(unit, stream(), falling=True)[::step]]


def by_definition(unit: SparseUnit, cases: Sequence[Case]) -> list[int]:
    return [dot(definition_of(unit.dense), multiplied(unit, case)).code for case in cases]


SOME = [E4M3, PAIRS]


@pytest.mark.parametrize("name", others_slow([*sparse_presets()[::12], E4M3, PAIRS, TF32], SOME))
def test_headers_return_what_the_definition_does(name: str, tmp_path: Path) -> None:
    unit = load_sparse(name)
    library, cases = Library(unit, tmp_path), cases_of(unit, 48, 5)
    assert library.results(cases) == by_definition(unit, cases)
    syntax(tmp_path / "unit.h", "g++", *CPP17)


def test_an_index_beyond_is_the_last(tmp_path: Path) -> None:
    library, case = Library(THREE, tmp_path), cases_of(THREE, 8)[0]
    beyond = Case("", case.a, case.b, case.c, metadata=(3, 255, *case.metadata[2:]))
    last = Case("", case.a, case.b, case.c, metadata=(2, 2, *case.metadata[2:]))
    assert library.results([beyond]) == library.results([last]) == by_definition(THREE, [last])
    assert [bool(library.library.takes(ctypes.c_uint64(k))) for k in (0, 1, 7)] == [False, True, True]


def test_a_header_takes_whole_groups(tmp_path: Path) -> None:
    """Also fewer of them than the unit has lanes; the others hold no product."""
    unit = load_sparse(PAIRS)
    library = Library(unit, tmp_path)
    assert [k for k in range(10) if library.library.takes(ctypes.c_uint64(k))] == [4, 8]
    a, b, metadata = (7, 1, 2, 15), tuple(range(8)), (1, 3)
    assert library.results([Case("", a, b, 5, metadata=metadata)]) == [7 * 2 + 3 + 2 * 6 - 7 + 5]


INDEX = "(index < u_(SPARSE_OF) ? index : u_(SPARSE_OF) - 1)"
MUTANTS = {
    "the first factors are taken": (INDEX, "(index & 0)"),
    "the bits of an index are swapped": (INDEX, "(index >> 1 | (index & 1) << 1)"),
    "a group has the factors of the next": ("(group * u_(SPARSE_OF)", "((group ^ 1) * u_(SPARSE_OF)"),
    "a pair is its first factor twice": (" + i % u_(SPARSE_RUN);", ";"),
    "a lane has the metadata of the next": ("metadata[i / u_(SPARSE_RUN)]", "metadata[i / u_(SPARSE_RUN) ^ 1]"),
    "every factor has an index": ("metadata[i / u_(SPARSE_RUN)]", "metadata[i % (k / u_(SPARSE_RUN))]"),
    "the last group is of the first": ("i / (u_(SPARSE_KEEP) * u_(SPARSE_RUN));",
                                       "i / (u_(SPARSE_KEEP) * u_(SPARSE_RUN)) % 15;"),
}  # fmt: skip


@pytest.mark.parametrize("name", others_slow(MUTANTS, ["the bits of an index are swapped"]))
def test_mutants_are_caught(name: str, tmp_path: Path) -> None:
    unit, (right, wrong) = load_sparse(PAIRS), MUTANTS[name]
    header = render(HEADER, UnitInC(unit, "0.0.0"))
    assert header.count(right) == 1, right
    cases = cases_of(unit, 32)
    assert Library(unit, tmp_path, header.replace(right, wrong)).results(cases) != by_definition(unit, cases)


@pytest.mark.parametrize("name", others_slow([E4M3, "hopper-wgmma-sp-int8-i32"], [E4M3]))
def test_captured_products(name: str, silicon: Path, tmp_path: Path) -> None:
    """Those of cuSPARSELt on an H200 whose K is one part."""
    unit = load_sparse(name)
    cases, codes = zip(*sparse_captured(unit, silicon), strict=True)
    assert len(cases) >= 4 * 576
    assert Library(unit, tmp_path).results(cases) == list(codes)


def test_files_say_what_selects() -> None:
    files = export_c(load_sparse(E4M3), "0.0.0")
    prefix = "hopper_wgmma_sp_e4m3_f32"
    assert f"{prefix}_sparse_dot(const uint8_t *a, const uint8_t *b, const uint8_t *metadata" in files[f"{prefix}.h"]
    assert f"{prefix}_dpi_sparse_dot(" in files[f"{prefix}_dpi.c"]
    assert f"{prefix}_dpi_sparse_dot(" in files[f"{prefix}_dpi_pkg.sv"]
    assert "sparse" not in "".join(export_c(load_sparse(E4M3).dense, "0.0.0").values())
