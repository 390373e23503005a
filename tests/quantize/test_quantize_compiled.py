"""Large float32 arrays are quantised by compiled loops: codes, scales and errors are those of the NumPy code."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwsim.formats import get_format, loops, parse, parts
from hwsim.quantize import Rule, convert, fast, get_rule, rules
from hwsim.quantize.convert import quantize_reference
from hwsim.quantize.rule import Powers

ELEMENTS = ["mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e3m2", "mxfp6-e2m3", "mxfp4-e2m1", "mxint8"]
SELECTS = ["floor", "ceil", "even", "rceil", "rceil-reciprocal"]
MX = [*ELEMENTS, *(name for name in rules() if name.startswith("mx-algorithm-1"))]
DIVIDED = [name for name in rules() if name not in MX]


@pytest.fixture(autouse=True)
def every_array_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loops.TILE == 1024  # compiled before the limit falls: `worth` looks for the module
    monkeypatch.setattr(parts, "LEAST", 1)


def rows(seed: int, count: int, size: int, special: bool = True) -> Any:
    """float32[count, size]: magnitudes of every kind for rows, runs of 8 and elements; and all that is special."""
    rng = np.random.default_rng(seed)
    runs = rng.integers(-40, 1, (count, -(-size // 8))).repeat(8, axis=1)[:, :size]
    exponents = rng.integers(-140, 130, (count, 1)) + runs + rng.integers(-20, 1, (count, size))
    with np.errstate(over="ignore"):
        x = np.ldexp(rng.standard_normal((count, size)), exponents).astype(np.float32)
    x[rng.random((count, size)) < 0.1] = 0
    x[rng.random((count, size)) < 0.05] = -0.0
    powers = rng.random((count, size)) < 0.1
    x[powers] = np.ldexp(np.float32(1), rng.integers(-149, 128, (count, size)).astype(np.int32))[powers]
    x[rng.random(count) < 0.15] = 0  # blocks of zeros, and of one small number
    x[: count // 4 : 3, 0] = 2.0**-149
    if special:
        wild = rng.integers(0, 1 << 32, (count, size), dtype=np.uint32).view(np.float32)
        where = rng.random((count, size)) < 0.02
        x[where] = wild[where]
        for value in (np.nan, np.inf, -np.inf):
            x[rng.random((count, size)) < 0.004] = value
    x[~np.isfinite(x) & (not special)] = 1
    return x


def outcome(quantize: Any, *given: Any, **named: Any) -> Any:
    """Codes, scales and the tensor's scale, or what is raised."""
    try:
        found = quantize(*given, **named)
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    return found


def same(x: Any, rule: Any, axis: int = -1, **named: Any) -> Any:
    """What both give, where it is the same."""
    got, want = outcome(convert.quantize, x, rule, axis, **named), outcome(quantize_reference, x, rule, axis, **named)
    if isinstance(want, tuple):
        assert got == want
        return want
    assert not isinstance(got, tuple), got
    assert (got.codes.dtype, got.scales.dtype, got.block) == (want.codes.dtype, want.scales.dtype, want.block)
    kind = f"u{want.scales.itemsize}"
    assert np.array_equal(got.scales.view(kind), want.scales.view(kind))
    wrong = np.argwhere(got.codes != want.codes)
    assert not len(wrong), (len(wrong), wrong[0], x[tuple(wrong[0])])
    assert got.tensor_scale == want.tensor_scale
    return want


def is_compiled(rule: Rule) -> bool:
    return fast.planned(rule) is not None


@pytest.mark.parametrize("select", SELECTS)
@pytest.mark.parametrize("name", MX)
def test_every_element_and_selection(name: str, select: str) -> None:
    rule = get_rule(name).replace(select=select)
    assert is_compiled(rule)
    for x in (rows(1, 60, 70), rows(2, 64, 64, special=False)):
        for axis in (-1, 0):
            same(x, rule, axis)


BITS = {"random_bits": 9, "seed": 3, "counter": 2**32 - 100}
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "block": st.sampled_from([(1, 1), (1, 4), (1, 16), (1, 33), (1, None), (2, 8), (None, None)]),
        "rounding": st.sampled_from(["rna", "rz", "ru", "rd", "rto", "stochastic", "none"]),
        "overflow": st.sampled_from(["nan", "infinity", "none"]),
        "nan": st.sampled_from(["element", "error"]),
        "infinity": st.sampled_from(["element", "saturate", "amax", "error"]),
        "zero_scale": st.sampled_from([0x00, 0x7F, 0xFE, 0xFF]),
        "huge_scale": st.just("nan"),
        "least_amax": st.sampled_from([1e-4, 2.0**-140, 3.0]),
        "flush": st.just(True),
        "symmetric": st.just(False),
        "select": st.sampled_from(SELECTS),
        "apply": st.sampled_from(["divide", "reciprocal"]),
    },
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(ELEMENTS),
    changes=CHANGES,
    seed=st.integers(0, 9),
    special=st.booleans(),
    axis=st.integers(-2, 1),
)
def test_any_rule_with_powers_of_two(name: str, changes: Any, seed: int, special: bool, axis: int) -> None:
    try:
        rule = get_rule(name).replace(**changes)
    except ValueError:
        return  # what does not go together
    given = BITS if rule.rounding == "stochastic" else {}
    same(rows(seed, 24, 37, special), rule, axis, **given)


@pytest.mark.parametrize("name", DIVIDED)
def test_rules_that_divide(name: str) -> None:
    for special in (False, True):
        for axis in (-1, 0):
            same(rows(3, 40, 300, special), name, axis)
    for changes in ({"apply": "reciprocal"}, {"rounding": "ru"}, {"rounding": "stochastic"}, {"flush": True}):
        given = BITS if "stochastic" in changes.values() else {}
        same(rows(4, 33, 65, special=False), get_rule(name).replace(**changes), **given)
    if get_rule(name).scale_format.name == "f32":
        changed = get_rule(name).replace(apply="multiply") if get_rule(name).select == "divide" else get_rule(name)
        same(rows(5, 33, 300, special=False), changed)
        same(rows(6, 33, 300, special=False), name, scale=np.float32(0.37))
    x = rows(7, 3, 2500, special=False)
    same(x, name)  # blocks longer than a tile
    same(x.T, name, 0)


@pytest.mark.parametrize("name", ["deepseek-v3-1x128", "tensor-e5m2", "int8-channel"])
def test_quotients_that_overflow(name: str) -> None:
    x = np.full((4, 300), 3e38, np.float32)
    x[1] = -x[1]
    overflows = ["saturate", "nan", "infinity"] if name == "tensor-e5m2" else ["saturate"]
    for overflow in overflows:
        same(x, get_rule(name).replace(overflow=overflow), scale=np.float32(2.0**-20))


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    shape=st.lists(st.integers(0, 7), min_size=1, max_size=4).map(tuple),
    steps=st.lists(st.sampled_from([1, 2, -1]), min_size=4, max_size=4),
    turned=st.booleans(),
    frozen=st.booleans(),
    axis=st.integers(-4, 3),
    name=st.sampled_from(["mxfp8-e4m3", "mxint8", "nvfp4", "deepseek-v3-128x128", "int8-channel"]),
    block=st.sampled_from([None, (1, 1), (1, 3), (1, 5), (2, 3)]),
    stochastic=st.booleans(),
)
def test_any_shape_stride_and_axis(
    shape: Any, steps: Any, turned: bool, frozen: bool, axis: int, name: str, block: Any, stochastic: bool
) -> None:
    x = rows(len(shape), 1, int(np.prod(shape)) + 8, special=False)[0, 8:].reshape(shape)
    x = x[tuple(slice(None, None, step) for step in steps[: x.ndim])]
    x = x.T if turned else x
    x.setflags(write=not frozen)
    changes = {} if block is None else {"block": block}
    words = {"rounding": "stochastic", **BITS} if stochastic else {}
    same(x, name, axis, **changes, **words)


@pytest.mark.parametrize(
    ("name", "axis"), [(name, axis) for name in ("mxfp8-e4m3", "mxint8", "nvfp4") for axis in (0, 1, 2)]
)
def test_wide_arrays_of_many_tiles(name: str, axis: int) -> None:
    x = rows(11, 70, 3 * 2100).reshape(70, 3, 2100)
    same(x, name, axis)
    same(x, name, axis, rounding="stochastic", **BITS)


@pytest.mark.parametrize("name", ["mxfp8-e4m3", "tensor-e4m3"])
def test_the_number_of_threads_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LEAST_OF_A_THREAD", 100)
    x = rows(12, 37, 3000)
    for axis in (0, 1):
        seen = []
        for threads in (1, 2, 5):
            monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", threads)
            found = [convert.quantize(x, name, axis), convert.quantize(x, name, axis, rounding="stochastic", **BITS)]
            seen.append([part for one in found for part in (one.codes, one.scales.view(f"u{one.scales.itemsize}"))])
        assert all(np.array_equal(a, b) for other in seen[1:] for a, b in zip(seen[0], other, strict=True))


def test_what_is_refused_is_named_by_its_place() -> None:
    x = np.ones((40, 64), np.float32)
    x[7, 33] = np.nan
    with pytest.raises(ValueError, match=r"x\[7, 33\] is nan, which the rule refuses"):
        convert.quantize(x, "mxfp8-e4m3", nan="error")
    x[7, 33] = np.inf
    assert same(x, "mxfp8-e4m3", nan="error").scales[7].tolist() == [127 - 8, 0xFF]
    with pytest.raises(ValueError, match="seed must be given"):
        convert.quantize(x, "mxfp8-e4m3", rounding="stochastic", random_bits=3)
    with pytest.raises(ValueError, match="random_bits, seed and counter are of rounding='stochastic'"):
        convert.quantize(x, "mxfp8-e4m3", seed=3)


@pytest.mark.parametrize(
    "changes",
    [
        {"element": "f16"},
        {"element": parse({"name": "far", "kind": "float", "exponent_bits": 6, "fraction_bits": 1, "bias": 90})},
        {"element": parse({"name": "own", "kind": "float", "exponent_bits": 4, "fraction_bits": 3, "bias": 11,
                           "subnormals": False})},
        {"scale_format": parse({"name": "low", "kind": "exponent", "exponent_bits": 8, "bias": 140, "nan": [255]})},
        {"scale_format": "f32", "zero_scale": 1.0, "nan": "block"},
        {"block": (4, 8)},
        {"apply": "divide"},
        {"apply": "reciprocal", "rounding": "ru"},
    ],
)  # fmt: skip
def test_rules_that_are_not_the_loops(changes: Any) -> None:
    rule = get_rule("mxfp8-e4m3").replace(**changes)
    assert not is_compiled(rule) or rule.block != (1, 32)
    same(rows(13, 40, 64), rule)


def test_other_scales_and_elements_that_are() -> None:
    small = parse({"name": "small", "kind": "exponent", "exponent_bits": 4, "bias": 5, "nan": [0, 1]})
    for changes in ({"scale_format": small, "zero_scale": zero} for zero in (0, 1, 7)):
        for huge in ("saturate", "nan"):
            rule = get_rule("mxfp4-e2m1").replace(**changes, huge_scale=huge)
            assert is_compiled(rule)
            same(rows(14, 60, 64), rule)
    for element in ("hfp8-e4m3", "e4m3fnuz", "e3m4", "int8", "hfp8-e5m2"):
        rule = get_rule("mxfp8-e4m3").replace(element=get_format(element))
        assert is_compiled(rule)
        same(rows(15, 60, 64), rule)


# Loops that are told something wrong, which `same` must see.

WRONG: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "ceil for floor": ({}, {"add": fast.CARRY}),
    "floor for ceil": ({"select": "ceil"}, {"add": 0}),
    "even rounds half down": ({"select": "even"}, {"add": (1 << 51 - 3) - 1}),
    "even of half the ulp": ({"select": "even"}, {"add": 1 << 50 - 3}),
    "a binade off": ({}, {"offset": 1023 + 7}),
    "no division": ({"select": "rceil"}, {"division": 0}),
    "scales end early": ({}, {"least": -126}),
    "scales end late": ({"select": "ceil", "element": "mxint8"}, {"most": 128}),
    "another scale of zeros": ({}, {"zero": 1}),
    "another NaN": ({}, {"nan": 0xFE}),
    "a NaN scale of zeros": ({}, {"zero_is_nan": 1}),
    "huge scales saturate": ({"huge_scale": "nan", "select": "ceil", "element": "mxint8"}, {"huge_is_nan": 0}),
    "NaN left out": ({}, {"nan_apart": 1}),
    "infinity left out": ({}, {"infinity_apart": 1}),
    "NaN counts": ({"nan": "element"}, {"nan_apart": 0}),
    "nothing refused": ({"nan": "error"}, {"refused": 0}),
    "subnormal inputs kept": ({"flush": True}, {"flush": 0}),
    "subnormal inputs lost": ({}, {"flush": 1}),
    "subnormals begin late": ({}, {"emin": -5}),
    "zeros under a NaN scale": ({}, {"dead": 0}),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_plan_is_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changes, other = WRONG[fault]
    rule, x = get_rule("mxfp8-e4m3").replace(**changes), np.concatenate([rows(16, 200, 64), rows(17, 200, 64, False)])
    x[0] = 512 - 16  # half an element's ulp below a power of two, in e4m3
    x[1], x[2] = 0, 3e38
    same(x, rule)
    right = fast.planned

    def wrong(given: Rule) -> Any:
        plan = right(given)
        assert plan is not None
        return plan._replace(powers=Powers(**{**plan.powers._asdict(), **other}))

    monkeypatch.setattr(fast, "planned", wrong)
    with pytest.raises(AssertionError):
        same(x, rule)


def test_a_reciprocal_for_a_quotient_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    scales = np.random.default_rng(18).uniform(1, 2, (200, 1)).astype(np.float32)
    x = scales * np.tile(np.float32([448, 17, 19, 1.0625, 2.125, 4.75, 30, 52]), 16)  # largest, and ties
    same(x, "deepseek-v3-1x128")
    right = fast.Call.operands
    monkeypatch.setattr(
        fast.Call, "operands", lambda self, x, each, multiply: right(self, x, np.reciprocal(each), not multiply)
    )
    with pytest.raises(AssertionError):
        same(x, "deepseek-v3-1x128")


def test_other_random_words_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    x = rows(19, 20, 64, special=False)
    right = fast.checked_stochastic
    monkeypatch.setattr(fast, "checked_stochastic", lambda *given: right(*given)._replace(counter=5))
    with pytest.raises(AssertionError):
        same(x, "mxfp8-e4m3", rounding="stochastic", **BITS)
