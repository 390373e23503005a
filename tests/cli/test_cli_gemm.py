"""hwsim gemm: the same bits as hwsim.gemm on arrays, from every kind of file, and what it says of wrong ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from built_presets import others_slow
from cli.cli_run import Run, fails
from cli.gemm_arrays import HOPPER, MX, NVFP4, SCALED, WIDE, finite
from numpy.typing import NDArray
from safetensors.numpy import save_file

import hwsim
from hwsim.cli import gemm as product
from hwsim.formats import container_dtype
from hwsim.quantize import get_rule, rules
from hwsim.quantize import tensors as quantized
from hwsim.quantize import tensors as stored
from hwsim.spec import load_unit


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts so small that a few rows are one."""
    monkeypatch.setattr(quantized, "PART", 300)
    monkeypatch.setattr(stored, "PART", 100)
    monkeypatch.setattr(product, "PART", 1)
    monkeypatch.setattr(product, "ROWS", 3)


def same_bits(got: NDArray[Any], expected: NDArray[Any]) -> None:
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    assert got.tobytes() == expected.tobytes()


def product_of(run: Run, *words: str) -> NDArray[Any]:
    done = run("gemm", *words, "-o", "d.npy")
    assert done.status == 0, done.err
    assert done.err == ""
    return np.asarray(np.load("d.npy"))


Operands = Callable[[np.random.Generator], dict[str, NDArray[Any]]]

# Files.


def test_codes_in_every_kind_of_file(run: Run, here: Path, rng: np.random.Generator) -> None:
    a, b, c = finite(rng, (5, 40)), finite(rng, (40, 7)), rng.standard_normal((5, 7)).astype(np.float32)
    np.save("a.npy", a)
    np.save("b.npy", np.asfortranarray(b))
    np.save("wide.npy", b.astype(">i8"))
    np.savez("ab.npz", a=a, b=b)
    np.savez_compressed("b.npz", b)
    save_file({"a": a, "b.weight": b, "c": c}, "ab.safetensors")
    save_file({"a": a.view(ml_dtypes.float8_e4m3fn)}, "a.safetensors")
    save_file({"b": b.view(ml_dtypes.float8_e4m3fn), "c": c.view(np.uint32)}, "bc.safetensors")
    np.save("c.npy", c.astype(">f4"))
    expected, added = hwsim.gemm(HOPPER, a, b), hwsim.gemm(HOPPER, a, b, c)
    for name_a in ("a.npy", "ab.npz:a", "ab.safetensors:a", "a.safetensors"):
        same_bits(product_of(run, HOPPER, name_a, "b.npy"), expected)
    for name_b in ("wide.npy", "ab.npz:b", "b.npz", "ab.safetensors:b.weight", str(here / "bc.safetensors:b")):
        same_bits(product_of(run, HOPPER, "a.npy", name_b), expected)
    for name_c in ("c.npy", "ab.safetensors:c", "bc.safetensors:c"):
        same_bits(product_of(run, HOPPER, "a.npy", "b.npy", "--addend", name_c), added)


def floats(dtype: str) -> Operands:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    return lambda rng: {"A": rng.standard_normal((3, 20)).astype(kind), "B": rng.standard_normal((20, 4)).astype(kind)}


def integers(rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    return {"A": rng.integers(0, 100, (4, 12)), "B": rng.integers(0, 100, (12, 3))}


ROWS_SHARE_SCALES = """# unit.yaml
unit: rows-share-scales
operands: {a: e4m3, b: e4m3, addend: f32}
scale: {a: {format: e8m0, block: [4, 32]}, b: {format: e8m0, block: [32, 1]}, at: product}
instruction: {k: 32, lanes: 32}
sum: {method: aligned, fraction_bits: 25, lost: truncate, addend: aligned}
result: {format: f32, rounding: rz}
"""
# What is multiplied: floats of a format's own dtype by their bits, codes, scales, batches, parts that begin where
# blocks of scales do, and nothing.
ARRAYS: dict[str, tuple[str, Operands]] = {
    "f16": ("ada-mma-f16-f32", floats("float16")),
    "f16 to f16": ("ada-mma-f16-f16", floats("float16")),
    "bf16": ("ada-mma-bf16-f32", floats("bfloat16")),
    "e5m2": ("ada-mma-e5m2-f32", floats("float8_e5m2")),
    "e4m3fnuz": ("cdna3-mfma-e4m3fnuz-f32", floats("float8_e4m3fnuz")),
    "e5m2fnuz": ("cdna3-mfma-e5m2fnuz-f32", floats("float8_e5m2fnuz")),
    "to dlfloat16": ("hfp8-forward-e4m3-dlfloat16", integers),
    "to bf16": ("sequential-e4m3-bf16", integers),
    "to i32": ("int8-i32", integers),
    "batches": (
        HOPPER, lambda rng: {"A": finite(rng, (2, 1, 4, 32)), "B": finite(rng, (3, 32, 5)),
                             "C": rng.standard_normal((3, 4, 5)).astype(np.float32)},
    ),
    "batches with scales": (
        MX, lambda rng: {"A": finite(rng, (2, 1, 4, 32)), "B": finite(rng, (3, 32, 5)),
                         "scale_a": rng.integers(120, 134, (2, 1, 4, 1)), "scale_b": rng.integers(120, 134, (1, 5))},
    ),
    "scales of their own dtype": (
        MX, lambda rng: {"A": finite(rng, (6, 64)), "B": finite(rng, (64, 5)),
                         "scale_a": rng.integers(120, 134, (6, 2)).astype(np.uint8),
                         "scale_b": rng.integers(120, 134, (2, 5)).astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)},
    ),
    "rows that share scales": (
        "./unit.yaml", lambda rng: {"A": finite(rng, (11, 32)), "B": finite(rng, (32, 2)),
                                    "scale_a": rng.integers(100, 150, (3, 1)),
                                    "scale_b": rng.integers(120, 130, (1, 2))},
    ),
    "no rows": (HOPPER, lambda rng: {"A": finite(rng, (0, 4)), "B": finite(rng, (4, 3))}),
    "no products": (
        HOPPER, lambda rng: {"A": finite(rng, (2, 0)), "B": finite(rng, (0, 3)),
                             "C": np.arange(6, dtype=np.float32).reshape(2, 3)},
    ),
}  # fmt: skip
OPTIONS = {"C": "--addend", "scale_a": "--scale-a", "scale_b": "--scale-b"}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_in_files_are_multiplied_as_arrays_are(
    run: Run, here: Path, rng: np.random.Generator, small_parts: None, name: str
) -> None:
    Path("unit.yaml").write_text(ROWS_SHARE_SCALES)
    unit, make = ARRAYS[name]
    given, words = make(rng), [unit]
    for key, array in given.items():
        file = f"{key}.safetensors" if hasattr(ml_dtypes, array.dtype.name) else f"{key}.npy"  # which names no such
        save_file({key: array}, file) if file.endswith("s") else np.save(file, array)
        words += [OPTIONS[key], file] if key in OPTIONS else [file]
    got = product_of(run, *words)
    assert got.dtype == container_dtype(load_unit(unit).output) or got.dtype.kind == "f"
    same_bits(got, hwsim.gemm(unit, **given))


def test_binary32_in_a_tf32_container(run: Run, here: Path, rng: np.random.Generator) -> None:
    bits = rng.standard_normal((3, 8)).astype(np.float32).view(np.uint32) & ~np.uint32(0x1FFF)
    a = bits.view(np.float32)
    np.save("a.npy", a)
    np.save("b.npy", a.T)
    same_bits(product_of(run, "ada-mma-tf32-f32", "a.npy", "b.npy"), hwsim.gemm("ada-mma-tf32-f32", a, a.T))
    np.save("a.npy", a + np.float32(2**-20))
    done = run("gemm", "ada-mma-tf32-f32", "a.npy", "b.npy", "-o", "d.npy")
    fails(done, r"a\.npy: A\[0, 0\] is 0x[0-9a-f]+: the low 13 bits of a code of tf32, in its container, must be zero")


def test_packed_and_transposed_weights_in_files(run: Run, here: Path, rng: np.random.Generator) -> None:
    a, b = (rng.integers(0, 16, shape).astype(np.uint8) for shape in ((3, 64), (64, 5)))
    of_a, of_b = (rng.integers(0x30, 0x40, shape).astype(np.uint8) for shape in ((3, 4), (4, 5)))
    want = hwsim.gemm(NVFP4, a, b, None, of_a, of_b)
    # As checkpoints keep them: two codes a byte, (N, K / 2), and scales (N, K / 16) in FP8.
    weight, scale = hwsim.quantize.pack_codes(b.T, "e2m1"), of_b.T.copy()
    save_file({"weight": weight, "scale": scale.view(ml_dtypes.float8_e4m3fn)}, "layer.safetensors")
    for name, array in (("a", a), ("packed", hwsim.quantize.pack_codes(a, "e2m1")), ("of_a", of_a)):
        np.save(f"{name}.npy", array)
    scales = ("--scale-a", "of_a.npy", "--scale-b", "layer.safetensors:scale", "--transposed")
    same_bits(product_of(run, NVFP4, "packed.npy", "layer.safetensors:weight", *scales, "--packed", "ab"), want)
    same_bits(product_of(run, NVFP4, "a.npy", "layer.safetensors:weight", *scales, "--packed", "b"), want)
    done = run("gemm", NVFP4, "a.npy", "layer.safetensors:weight", *scales, "-o", "d.npy")
    fails(
        done, r"weight: B must have shape \(\.\.\., 64, N\), .* not \(32, 5\); if each byte of B holds two codes, say"
    )
    done = run("gemm", NVFP4, "a.npy", "a.npy", *scales, "--packed", "x", "-o", "d.npy")
    fails(done, "--packed must be a, b or ab, the factors that are, not x")
    x, w = rng.standard_normal((3, 64)).astype(np.float32), rng.standard_normal((5, 64)).astype(np.float32)
    np.save("x.npy", x)
    np.save("w.npy", w)
    np.save("wt.npy", w.T.copy())
    quantized = product_of(run, MX, "x.npy", "wt.npy", "--quantize", "mxfp8-e4m3")
    same_bits(product_of(run, MX, "x.npy", "w.npy", "--quantize", "mxfp8-e4m3", "--transposed"), quantized)


def test_nothing_to_compute_is_an_empty_result(run: Run, here: Path) -> None:
    np.save("a.npy", np.zeros((0, 4), np.float32))
    np.save("b.npy", np.zeros((4, 3), np.uint8))
    assert product_of(run, HOPPER, "a.npy", "b.npy", "--quantize", "tensor-e4m3").shape == (0, 3)


def test_it_says_what_was_computed_and_by_what(run: Run, here: Path, rng: np.random.Generator) -> None:
    a, b = finite(rng, (3, 96, 64)), finite(rng, (64, 40))
    np.save("a.npy", a)
    np.save("b.npy", b)
    done = run("gemm", HOPPER, "a.npy", "b.npy", "-o", "d.npy")
    speed = r"737,280 products in [\d,]+\.\d\d s, [\d,]+ a second"
    assert re.fullmatch(rf"d\.npy: 3 x 96 x 40 float32, {speed}, by compiled code\n", done.out), done.out
    same_bits(np.load("d.npy"), hwsim.gemm(HOPPER, a, b))
    Path("wide.yaml").write_text(WIDE)
    x = rng.standard_normal((2, 20)).astype(np.float32)
    np.save("x.npy", x)
    np.save("w.npy", x.T)
    done = run("gemm", "wide.yaml", "x.npy", "w.npy", "-o", "d.npy")
    assert re.fullmatch(
        r"d\.npy: 2 x 2 float32, 80 products in .* a second, by the model, element by element\n", done.out
    )
    same_bits(np.load("d.npy"), hwsim.gemm("wide.yaml", x, x.T))


# Quantising.


def units_of(rule: str) -> list[str]:
    """A unit that takes a rule's codes and scales, or none."""
    candidates = (HOPPER, "ada-mma-e5m2-f32", "int8-i32", MX, "mxfp8-e5m2-f32", "mxfp6-e3m2-f32", "mxfp6-e2m3-f32")
    more = ("mxfp4-e2m1-f32", "mxint8-f32", NVFP4, SCALED)
    return [name for name in (*candidates, *more) if quantized.suits(load_unit(name), "a", get_rule(rule))]


RULES = [(rule, unit) for rule in rules() for unit in units_of(rule)]
# Of A, and of B where another rule goes with it.
ACROSS = {"deepseek-v3-1x128": "deepseek-v3-128x128"}
ACROSS |= {f"{a}-power-of-two": f"{b}-power-of-two" for a, b in ACROSS.items()}
ACROSS["deepseek-v3.1-1x128"] = "deepseek-v3-128x128"


def test_every_rule_has_a_unit() -> None:
    assert {rule for rule, _ in RULES} | set(ACROSS.values()) == set(rules())


def by_hand(unit: str, x: NDArray[Any], w: NDArray[Any], rule: str) -> NDArray[Any]:
    """What the command must give, from whole arrays."""
    a, b = hwsim.quantize(x, rule), hwsim.quantize(w, ACROSS.get(rule, rule), axis=-2)
    if load_unit(unit).scale is None:
        codes = hwsim.gemm(unit, a.codes, b.codes)
        results = load_unit(unit).output.decode(codes).astype(np.float32)
        return np.asarray(results * (a.scales * b.scales))
    results = hwsim.gemm(unit, a.codes, b.codes, scale_a=a.scales, scale_b=b.scales)
    if a.tensor_scale is None or b.tensor_scale is None:
        return results
    return np.asarray(results * (a.tensor_scale * b.tensor_scale))


@pytest.mark.parametrize(
    ("rule", "unit"), others_slow(RULES, RULES[::3]), ids=[f"{rule}, {unit}" for rule, unit in RULES]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_quantised_as_the_whole_is(
    run: Run, here: Path, rng: np.random.Generator, small_parts: None, rule: str, unit: str, dtype: str
) -> None:
    k = 256 if unit == SCALED else 64
    spread = np.exp2(rng.integers(-12, 12, (7, 1)))
    x = (rng.standard_normal((7, k)) * spread).astype(dtype)
    w = (rng.standard_normal((k, 5)) * np.exp2(rng.integers(-6, 6, (1, 5)))).astype(dtype)
    # Rows of zeros, and the largest magnitudes in parts of their own.
    x[3], w[:, 2] = 0, 0
    x[6, k - 1], w[k - 1, 4] = -1e6, 3e5
    np.save("x.npy", x)
    np.save("w.npy", w)
    words = ["--quantize", rule] + (["--quantize-b", ACROSS[rule]] if rule in ACROSS else [])
    same_bits(product_of(run, unit, "x.npy", "w.npy", *words), by_hand(unit, x, w, rule))


@pytest.mark.parametrize("rule", ["tensor-e4m3", "channel-e4m3", "mxfp8-e4m3"])
def test_batches_are_quantised_as_the_whole_is(
    run: Run, here: Path, rng: np.random.Generator, small_parts: None, rule: str
) -> None:
    unit = MX if rule.startswith("mx") else HOPPER
    x = (rng.standard_normal((2, 1, 3, 32)) * [[[[1.0]]], [[[1000.0]]]]).astype(np.float32)
    w = rng.standard_normal((2, 32, 4)).astype(np.float32)
    np.save("x.npy", x)
    np.save("w.npy", w)
    same_bits(product_of(run, unit, "x.npy", "w.npy", "--quantize", rule), by_hand(unit, x, w, rule))


def test_narrow_floats_are_widened_and_one_factor_may_be_codes(
    run: Run, here: Path, rng: np.random.Generator, small_parts: None
) -> None:
    x, b = rng.standard_normal((6, 32)), finite(rng, (32, 4))
    np.save("b.npy", b)
    for dtype in (ml_dtypes.bfloat16, np.float16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz):
        narrow = x.astype(dtype)
        save_file({"x": narrow}, "x.safetensors")
        q = hwsim.quantize(narrow.astype(np.float32), "channel-e4m3")
        expected = hwsim.gemm(HOPPER, q.codes, b) * q.scales
        same_bits(product_of(run, HOPPER, "x.safetensors", "b.npy", "--quantize", "channel-e4m3"), expected)
    of_b = rng.integers(120, 130, (1, 4)).astype(np.uint8)
    np.save("of_b.npy", of_b)
    np.save("x.npy", x)
    np.save("c.npy", np.ones((6, 4), np.float32))
    q = hwsim.quantize(x, "mxfp8-e4m3")
    words = (MX, "x.npy", "b.npy", "--quantize", "mxfp8-e4m3", "--scale-b", "of_b.npy", "--addend", "c.npy")
    same_bits(product_of(run, *words), hwsim.gemm(MX, q.codes, b, np.ones((6, 4), np.float32), q.scales, of_b))


def test_each_factor_has_its_rule(run: Run, here: Path, rng: np.random.Generator) -> None:
    unit = "hopper-wgmma-e4m3xe5m2-f32"
    x, w = rng.standard_normal((3, 32)).astype(np.float32), rng.standard_normal((32, 4)).astype(np.float32)
    np.save("x.npy", x)
    np.save("w.npy", w)
    words = (unit, "x.npy", "w.npy", "--quantize", "tensor-e4m3", "--quantize-b", "channel-e5m2")
    a, b = hwsim.quantize(x, "tensor-e4m3"), hwsim.quantize(w, "channel-e5m2", axis=0)
    same_bits(product_of(run, *words), hwsim.gemm(unit, a.codes, b.codes) * (a.scales * b.scales))
    done = run("gemm", *words, "-o", "d.npy")
    assert done.out.startswith(
        "x.npy: quantised by tensor-e4m3; the result was multiplied by its scale\n"
        "w.npy: quantised by channel-e5m2; the result was multiplied by its scale\n"
    )


def test_nan_and_infinity_are_refused_unless_allowed(
    run: Run, here: Path, rng: np.random.Generator, small_parts: None
) -> None:
    x, w = rng.standard_normal((2, 7, 64)), rng.standard_normal((64, 9))
    np.save("x.npy", x)
    for rule, unit in (("mxfp8-e4m3", MX), ("channel-e4m3", HOPPER), ("tensor-e4m3", HOPPER)):
        wrong = w.copy()
        wrong[50, 7] = -np.inf
        np.save("w.npy", wrong)
        words = (unit, "x.npy", "w.npy", "--quantize", rule)
        fails(run("gemm", *words, "-o", "d.npy"), r"w\.npy: B\[50, 7\] is -inf; under --allow-nan the rule says what")
        got = product_of(run, *words, "--allow-nan")
        expected = by_hand(unit, x, wrong, rule)
        assert np.isnan(expected).any()
        np.testing.assert_array_equal(got, expected)
        Path("d.npy").unlink()
    np.save("w.npy", w)
    x[1, 5, 3] = np.nan
    np.save("x.npy", x)
    fails(run("gemm", *words, "-o", "d.npy"), r"x\.npy: A\[1, 5, 3\] is nan; ")
    x[1, 5, 3] = 1e300  # infinite in a rule that divides in binary32, and a large number in one that does not
    np.save("x.npy", x)
    fails(run("gemm", *words, "-o", "d.npy"), r"x\.npy: A\[1, 5, 3\] is 1e\+300, which binary32 does not hold; ")
    same_bits(product_of(run, MX, "x.npy", "w.npy", "--quantize", "mxfp8-e4m3"), by_hand(MX, x, w, "mxfp8-e4m3"))


def test_help_teaches_by_example(run: Run) -> None:
    out = run("gemm", "--help").out
    assert f"\n  hwsim gemm {HOPPER} a.npy b.npy -o d.npy\n" in out
    for word in ("NUMBA_NUM_THREADS", "RNE", "--allow-nan", "--quantize-b", "safetensors"):
        assert word in out
    assert "\n  gemm " in run("--help").out
