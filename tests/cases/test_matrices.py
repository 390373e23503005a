"""Matrix problems, and the golden set that is in the repository."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import yaml
from built_presets import others_slow
from cases.vectors_measure import NAMES, unit_of

import hwsim
from hwsim.cases.matrices import GOLDEN, _next_scales, expected, gemm_cases, gemm_problem, golden, write_gemm
from hwsim.formats import Class, unpack
from hwsim.spec import Unit, load_unit

GEMM = Path(__file__).parents[2] / "vectors" / "gemm"


def arrays(name):
    with np.load(GEMM / f"{name}.npz", allow_pickle=False) as data:
        return dict(data)


@pytest.mark.parametrize("name", GOLDEN)
def test_hwsim_returns_the_golden_results(name):
    data = arrays(name)
    d = hwsim.gemm(name, data["A"], data["B"], data["C"], data.get("scale_a"), data.get("scale_b"))
    assert d.dtype == np.float32
    assert d.view(np.uint32).tolist() == data["D"].tolist()


@pytest.mark.parametrize("k", [32, 40])
def test_cases_of_an_emulated_unit_are_whole_instructions(k):
    unit = load_unit("hopper-mma-e4m3-f16")
    problem = gemm_problem(unit, 3, 4, k, 2)
    assert {len(case.a) for case in gemm_cases(unit, problem)} == {32 if k == 32 else 64}
    product = hwsim.gemm(unit, problem.A, problem.B, problem.C).view(np.uint16)
    assert product.tolist() == expected(unit, problem).tolist()


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_arrays_are_made_again_alike(name):
    made, kept = golden(name), arrays(name)
    assert list(made) == list(kept)
    for key, array in made.items():
        assert array.dtype == kept[key].dtype
        assert np.array_equal(array, kept[key]), key


def test_the_whole_set_is_made_again_byte_for_byte(tmp_path):
    write_gemm(tmp_path)
    names = sorted(path.name for path in GEMM.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    for name in names:
        assert (tmp_path / name).read_bytes() == (GEMM / name).read_bytes(), name


def test_the_manifest_says_what_is_there():
    manifest = yaml.safe_load((GEMM / "manifest.yaml").read_text(encoding="utf-8"))
    assert list(manifest["files"]) == [f"{name}.npz" for name in GOLDEN]
    assert (manifest["m"], manifest["n"], manifest["k"]) == (8, 8, 256)
    for file, entry in manifest["files"].items():
        assert hashlib.sha256((GEMM / file).read_bytes()).hexdigest() == entry["sha256"]
        assert Unit.model_validate(entry["unit"]) == load_unit(file.removesuffix(".npz"))
        for key, array in arrays(file.removesuffix(".npz")).items():
            told = entry["arrays"][key]
            assert (str(array.dtype), list(array.shape)) == (told["dtype"], told["shape"])
            assert hashlib.sha256(array.tobytes()).hexdigest() == told["sha256"]


@pytest.mark.parametrize("name", others_slow(GOLDEN, GOLDEN[::5]))
def test_golden_results_tell_units_apart(name):
    """A narrower window, with truncation or rounding to nearest, makes another D; so does a dropped addend."""
    unit, data = load_unit(name), arrays(name)
    inputs = data["A"], data["B"], data["C"], data.get("scale_a"), data.get("scale_b")
    for settings in ({"fraction_bits": 10}, {"lost": "rne", "fraction_bits": 8}):
        other = unit.model_copy(update={"sum": unit.sum.model_copy(update=settings)})
        assert (hwsim.gemm(other, *inputs).view(np.uint32) != data["D"]).mean() > 0.5
    dropped = hwsim.gemm(unit, *inputs[:2], None, *inputs[3:])
    assert (dropped.view(np.uint32) != data["D"]).mean() > 0.5


@pytest.mark.parametrize("name", NAMES)
def test_cases_are_the_elements_row_by_row(name):
    """With sizes that are no multiple of the lanes; blocks along K must be whole."""
    unit = unit_of(name)
    m, n, k = 3, 4, 64 if unit.scale else 45
    problem = gemm_problem(unit, m, n, k, 9)
    cases = gemm_cases(unit, problem)
    assert [case.id for case in cases] == [f"d[{i},{j}]" for i in range(m) for j in range(n)]
    assert {len(case.a) for case in cases} == {-(-k // unit.instruction.lanes) * unit.instruction.lanes}
    d = hwsim.gemm(unit, problem.A, problem.B, problem.C, problem.scale_a, problem.scale_b)
    codes = d.view(f"u{d.dtype.itemsize}")
    assert codes.tolist() == expected(unit, problem).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_finite_and_spread(name):
    unit = unit_of(name)
    problem = gemm_problem(unit, 8, 8, 64, 2)
    codes = [unpack(unit.operands.a, code) for code in problem.A.ravel().tolist()]
    assert {fields.cls for fields in codes} <= {Class.ZERO, Class.SUBNORMAL, Class.NORMAL}
    assert {fields.sign for fields in codes} == {0, 1}
    assert len({(fields.exp, fields.sig) for fields in codes}) >= 6


def test_rows_have_magnitudes_and_outliers_of_their_own():
    unit = load_unit("hopper-wgmma-e5m2-f32")
    values = np.abs(unit.operands.a.decode(gemm_problem(unit, 16, 4, 256, 0).A))
    medians = np.median(values, axis=1)
    assert medians.max() / medians.min() >= 4
    assert (values > 12 * medians[:, None]).any()


@pytest.mark.parametrize("name", ["mxfp8-e4m3-f32", "mxfp4-e2m1-f32", "mxint8-f32"])
def test_each_block_is_scaled_to_near_its_formats_largest(name):
    unit = load_unit(name)
    problem = gemm_problem(unit, 4, 4, 64, 3)
    assert (problem.scale_a.shape, problem.scale_b.shape) == ((4, 2), (2, 4))
    largest = np.abs(unit.operands.a.decode(problem.A)).reshape(4, 2, 32).max(axis=2)
    most = unit.operands.a.decode(unit.operands.a.encode(1e9))
    assert (largest > most / 2).all()
    assert len(set(problem.scale_a.ravel().tolist())) > 1


FLOAT_SCALES = ["blackwell-mxf4nvf4-e2m1-f32", "deepseek-v3-e4m3-f32-scaled"]


@pytest.mark.parametrize("name", FLOAT_SCALES)
def test_scales_that_are_floats_bring_each_block_s_largest_to_the_formats(name):
    unit = load_unit(name)
    problem = gemm_problem(unit, 5, 6, 256, 3)
    length = unit.scale.a.block[1]
    assert problem.scale_a.shape == (5, 256 // length)
    assert problem.scale_b.shape == (256 // unit.scale.b.block[0], -(-6 // unit.scale.b.block[1]))
    largest = np.abs(unit.operands.a.decode(problem.A)).reshape(5, -1, length).max(axis=2)
    assert (largest == {"e2m1": 6, "e4m3": 448}[unit.operands.a.name]).all()
    scales = [unpack(unit.scale.a.format, code) for code in problem.scale_a.ravel().tolist()]
    assert {fields.cls for fields in scales} == {Class.NORMAL}
    assert len({fields.sig for fields in scales}) > 2, "fractions, not powers of two alone"
    d = hwsim.gemm(unit, problem.A, problem.B, problem.C, problem.scale_a, problem.scale_b)
    assert d.view(np.uint32).tolist() == expected(unit, problem).tolist()


def test_a_block_of_zeros_and_one_of_tiny_numbers_have_scales():
    fmt = load_unit("blackwell-mxf4nvf4-e2m1-f32").scale.a.format
    assert fmt.decode(_next_scales(np.array([0.0, 1e-9, 1e9, 1.0]), fmt)).tolist() == [1, 2**-9, 448, 1]
