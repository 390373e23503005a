"""Plans of whole products: their arithmetic by exact rationals, their parts, and what they refuse."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow

import hwsim
from hwsim.cli import main
from hwsim.formats import get_format
from hwsim.spec.plan import ProductPlan, load_plan, plan_yaml, sentences

HOPPER = "hopper-wgmma-e4m3-f32"
NAMES = ("scale_a", "scale_b", "alpha", "beta", "c", "bias")
RNG = np.random.default_rng(20261129)


def factors(m: int, n: int, k: int, seed: int = 1) -> tuple[Any, Any]:
    """Codes of e4m3 below 8."""
    draw = np.random.default_rng(seed)
    codes = draw.integers(0, 0x50, (m * k + k * n,)).astype(np.uint8) | (
        draw.integers(0, 2, (m * k + k * n,)) << 7
    ).astype(np.uint8)
    return codes[: m * k].reshape(m, k), codes[m * k :].reshape(k, n)


def rounded(fmt: str, value: Fraction, rounding: str, overflow: str = "infinity") -> Fraction | float:
    """The number of a format that a rational becomes; infinities as floats."""
    made = get_format(fmt)
    number = float(made.decode(made.encode(np.array([value], object), rounding=rounding, overflow=overflow))[0])
    return Fraction(number) if np.isfinite(number) else number


def by_rationals(plan: ProductPlan, unit: str, a: Any, b: Any, numbers: dict[str, Any]) -> list[float]:
    """Every element, each operation exact and then rounded."""
    results = []
    for i, j in np.ndindex(len(a), b.shape[1]):
        beside = {
            name: Fraction(float(np.broadcast_to(value, (len(a), b.shape[1]))[i, j])) for name, value in numbers.items()
        }
        split = plan.split
        sums = []
        for part in plan.slices(a.shape[1]):
            places = np.concatenate([np.arange(one.start, one.stop) for one in part])
            (value,) = hwsim.dot(unit, a[i, places][None], b[places, j][None])
            sums.append(Fraction(float(value)))
        if split is not None:
            sums = [rounded(split.format.name, value, split.rounding) for value in sums]
            while len(sums) > 1:
                if split.sum == "halves":
                    half, last = -(-len(sums) // 2), len(sums) - 1
                    slots = [
                        rounded(split.format.name, sums[at] + sums[at + half], split.rounding)
                        if at + half < last
                        else sums[at]
                        for at in range(half)
                    ]
                    sums = [sums[last]]
                    for slot in slots:
                        sums = [rounded(split.format.name, sums[0] + slot, split.rounding)]
                elif split.sum == "sequential":
                    sums = [rounded(split.format.name, sums[0] + sums[1], split.rounding), *sums[2:]]
                else:
                    pairs = [sums[at : at + 2] for at in range(0, len(sums), 2)]
                    sums = [
                        rounded(split.format.name, sum(pair), split.rounding) if len(pair) == 2 else pair[0]
                        for pair in pairs
                    ]
        total = sums[0]
        for step in plan.epilogue:
            total = stepped(plan.format.name, step, total, beside)
        results.append(float(total))
    return results


def stepped(fmt: str, step: Any, total: Any, beside: dict[str, Fraction]) -> Any:
    def factor(names: tuple[str, ...]) -> Any:
        values = [beside[name] for name in names]
        return values[0] if len(values) == 1 else rounded(fmt, values[0] * values[1], step.rounding)

    match step.operation:
        case "multiply":
            return rounded(fmt, total * factor(step.by), step.rounding)
        case "add" if step.fused:
            return rounded(fmt, total + beside[step.of[0]] * beside[step.of[1]], step.rounding)
        case "add":
            return rounded(fmt, total + factor(step.of), step.rounding)
        case "multiply-add":
            return rounded(fmt, total * factor(step.by) + factor(step.of), step.rounding)
    return rounded(step.format.name, total, step.rounding, step.overflow)


def drawn(seed: int) -> dict[str, Any]:
    """A plan's keys."""
    draw = np.random.default_rng(seed)
    formats, roundings = ["f32", "bf16", "f16", "e8m13"], ["rne", "rna", "rz", "ru", "rd", "rto"]

    def one(of: list[Any]) -> Any:
        return of[draw.integers(len(of))]

    def by() -> Any:
        return one([one([*NAMES]), [one([*NAMES]), one([*NAMES])]])

    steps = []
    for operation in draw.choice(["multiply", "add", "multiply-add", "round"], draw.integers(0, 5)):
        step: dict[str, Any] = {"operation": str(operation), "rounding": one(roundings)}
        if operation == "round":
            step["format"] = one(["f32", "bf16", "f16", "e5m2"])
            step["overflow"] = one(["infinity", "saturate"])
        if operation in ("multiply", "multiply-add"):
            step["by"] = by()
        if operation in ("add", "multiply-add"):
            step["of"] = by()
        if operation == "add" and isinstance(step["of"], list):
            step["fused"] = bool(draw.integers(2))
        steps.append(step)
    split = {
        "parts": int(draw.integers(1, 6)), "step": int(one([32, 64])), "order": one(["contiguous", "interleaved"]),
        "sum": one(["sequential", "pairwise", "halves"]), "format": one(formats), "rounding": one(roundings),
    }  # fmt: skip
    return {"format": one(formats), "epilogue": steps} | ({"split": split} if draw.integers(3) else {})


@pytest.mark.parametrize("seed", others_slow(range(60), range(0, 60, 3)))
def test_every_operation_is_rounded_once(seed: int) -> None:
    plan = load_plan(drawn(seed))
    m, n, k = 3, 4, 224
    a, b = factors(m, n, k, seed)
    draw = np.random.default_rng(seed + 1000)
    shapes = {"scale_a": (m, 1), "scale_b": (1, n), "bias": (n,), "c": (m, n), "alpha": (), "beta": ()}
    every = {
        name: (draw.standard_normal(shape) * 2.0 ** draw.integers(-30, 12)).astype(np.float32)
        for name, shape in shapes.items()
    }
    numbers = {name: every[name] for name in plan.numbers}
    given = {"C" if name == "c" else name: value for name, value in numbers.items()}
    found = hwsim.gemm(HOPPER, a, b, plan=plan, **given)
    output = plan.output(hwsim.load_unit(HOPPER))
    values = found if found.dtype.kind == "f" else output.decode(found)
    expected = by_rationals(plan, HOPPER, a, b, numbers)
    assert np.array_equal(values.ravel(), expected, equal_nan=True)


def test_a_sum_that_no_float64_holds_is_rounded_once() -> None:
    """Next to a tie, and next to a number: 70 and 60 places down, where a sum of float64 has lost it."""
    one = np.array([[0x38]], np.uint8)
    up, down = np.float32(2**-12 * (1 + 2**-23)), np.full((1, 1), 2**-12 * (1 - 2**-23), np.float32)
    steps = [{"operation": "multiply", "by": "alpha"}, {"operation": "add", "of": ["beta", "c"], "fused": True}]
    # 1 + 2^-23 + 2^-24 - 2^-70 is below the tie, whose even neighbour is the upper one.
    found = hwsim.gemm(HOPPER, one, one, down, plan={"epilogue": steps}, alpha=np.float32(1 + 2**-23), beta=up)
    assert found.tolist() == [[1 + 2**-23]]
    for rounding, expected in (("rz", 1 - 2**-24), ("ru", 1.0), ("rto", 1 - 2**-24)):
        steps = [{"operation": "add", "of": "bias", "rounding": rounding}]
        found = hwsim.gemm(HOPPER, one, one, plan={"epilogue": steps}, bias=np.array([-(2.0**-60)], np.float32))
        assert found.tolist() == [[expected]], rounding
    # To 11 bits through float32, rounded to odd: 1 + 2^-11 + 2^-40 is above the tie.
    steps = [{"operation": "add", "of": "bias", "rounding": "rne"}]
    bias = np.array([2**-11 * (1 + 2**-23)], np.float32)
    found = hwsim.gemm(HOPPER, one, one, plan={"format": "f16", "epilogue": steps}, bias=bias)
    assert found.tolist() == [[1 + 2**-10]]


def test_special_values_keep_their_kind() -> None:
    """A NaN is the format's canonical one; e4m3 saturates, and has no infinity to keep."""
    a = np.array([[0x7F], [0x38], [0x7E]], np.uint8)  # NaN, 1, the largest
    b = np.array([[0x38]], np.uint8)
    rounded = {"operation": "round", "format": "e4m3", "overflow": "saturate"}
    plan = {"epilogue": [{"operation": "multiply", "by": "alpha"}, rounded]}
    assert hwsim.gemm(HOPPER, a, b, plan=plan, alpha=3).ravel().tolist() == [0x7F, 0x44, 0x7E]
    single = hwsim.gemm(HOPPER, a, b, plan={"epilogue": plan["epilogue"][:1]}, alpha=np.float32(np.inf))
    assert single.view(np.uint32).ravel().tolist() == [0x7FFFFFFF, 0x7F800000, 0x7F800000]
    for zero, word in (("signed", 0x80000000), ("positive", 0)):
        steps = [{"operation": "multiply", "by": "alpha", "zero": zero}]
        found = hwsim.gemm(HOPPER, a, b, plan={"epilogue": steps}, alpha=-0.0)
        assert found.view(np.uint32).ravel().tolist() == [0x7FFFFFFF, word, word]


def test_parts_are_whole_steps() -> None:
    def parts(k: int, **split: Any) -> list[list[tuple[int, int]]]:
        slices = load_plan({"split": split}).slices(k)
        return [[(one.start, one.stop) for one in part] for part in slices]

    assert parts(8192, parts=3, step=128) == [[(0, 2816)], [(2816, 5632)], [(5632, 8192)]]
    assert parts(300, parts=4, step=128) == [[(0, 128)], [(128, 256)], [(256, 300)]]
    assert parts(500, parts=3, step=128, order="interleaved") == [[(0, 128), (384, 500)], [(128, 256)], [(256, 384)]]
    assert parts(100, parts=9, step=128) == [[(0, 100)]]


def test_a_split_of_no_products_is_what_the_unit_returns_for_none() -> None:
    a, b = np.zeros((2, 0), np.uint8), np.zeros((0, 3), np.uint8)
    found = hwsim.gemm(HOPPER, a, b, plan={"split": {"parts": 3, "step": 64}})
    assert found.tobytes() == hwsim.gemm(HOPPER, a, b).tobytes()


def test_a_batch_and_scales_of_blocks_are_split_too() -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.integers(0, 0x70, shape).astype(np.uint8) for shape in ((2, 3, 256), (2, 256, 4)))
    of_a, of_b = (rng.integers(120, 134, shape).astype(np.uint8) for shape in ((2, 3, 8), (2, 8, 4)))
    plan = {"split": {"parts": 3, "step": 64}}
    found = hwsim.gemm("mxfp8-e4m3-f32", a, b, None, of_a, of_b, plan=plan)
    cuts = (slice(0, 128), slice(128, 256))  # two steps in each of three parts: the third has none
    parts = [
        hwsim.gemm("mxfp8-e4m3-f32", a[..., at], b[:, at], None, of_a[..., blocks], of_b[:, blocks])
        for at, blocks in zip(cuts, (slice(0, 4), slice(4, 8)), strict=True)
    ]
    assert found.tobytes() == (parts[0] + parts[1]).tobytes()


def test_an_addend_that_no_step_takes_is_where_the_first_part_begins() -> None:
    a, b = factors(2, 3, 128)
    c = np.full((2, 3), 1e-3, np.float32)
    found = hwsim.gemm(HOPPER, a, b, c, plan={"split": {"parts": 2, "step": 64}})
    first, second = hwsim.gemm(HOPPER, a[:, :64], b[:64], c), hwsim.gemm(HOPPER, a[:, 64:], b[64:])
    assert found.tobytes() == (first + second).tobytes()


def test_a_plan_without_steps_is_the_unit() -> None:
    a, b = factors(4, 5, 96)
    for unit in (HOPPER, "int8-i32", "sequential-e4m3-f16"):
        assert hwsim.gemm(unit, a, b, plan={}).tobytes() == hwsim.gemm(unit, a, b).tobytes()


def test_a_plan_is_read_back_as_it_was(tmp_path: Path) -> None:
    for seed in range(40):
        plan = load_plan({"plan": f"p{seed}", **drawn(seed)})
        path = tmp_path / "plan.yaml"
        path.write_text(plan_yaml(plan))
        assert load_plan(path) == plan
        assert all(sentence for sentence in sentences(plan))


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"split": {"parts": 3}}, "split.step is missing"),
    ({"split": {"parts": 0, "step": 64}}, "split.parts must be greater than or equal to 1, not 0"),
    ({"split": {"parts": 2, "step": 64, "format": "f64"}}, "split.format must have at most 23 fraction bits, not 52"),
    ({"format": "e8m0"}, "format must be a signed float format with a NaN, not e8m0"),
    ({"epilogue": [{"operation": "gelu"}]}, "must not be gelu: activations are no part of a plan"),
    ({"epilogue": [{"operation": "add", "of": "bia"}]}, "epilogue.0.of must be"),
    ({"epilogue": [{"operation": "round", "format": "e4m3"}]}, "must be given: e4m3 has no infinity"),
    ({"epilogue": [{"operation": "add", "of": "c", "fused": True}]}, "epilogue.0.fused must be false"),
    ({"epilogue": [{"operation": "multiply", "of": "c"}]}, "of has no meaning for operation multiply"),
    ({"splits": {}}, "splits"),
]


@pytest.mark.parametrize(("keys", "message"), WRONG)
def test_a_wrong_plan_says_what_is_wrong(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        load_plan(keys)


GIVEN: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    (HOPPER, {"epilogue": [{"operation": "multiply", "by": "alpha"}]}, {}, "alpha is missing: a step of plan"),
    (HOPPER, {}, {"alpha": 2}, "alpha must be None, because plan plan has no step"),
    (HOPPER, {}, {"scale_a": 2.0}, "scale_a must be None, because plan plan has no step"),
    (HOPPER, {"epilogue": [{"operation": "add", "of": "bias"}]}, {"bias": np.ones(3, np.float32)}, "not of shape"),
    (HOPPER, {"epilogue": [{"operation": "add", "of": "bias"}]}, {"bias": np.ones(2, np.int8)}, "bias must be floats"),
    (HOPPER, {"epilogue": [{"operation": "multiply", "by": "alpha"}]}, {"alpha": "two"}, "alpha must be real numbers"),
    ("int8-i32", {"split": {"parts": 2, "step": 64}}, {}, "split must be left out, because int8-i32 returns integers"),
    ("ada-mma-f64-f64", {"epilogue": [{"operation": "multiply", "by": "alpha"}]}, {"alpha": 2}, "at most 23 fraction"),
    ("mxfp8-e4m3-f32", {"epilogue": [{"operation": "multiply", "by": "scale_a"}]}, {}, "has scales of its own"),
    ("mxfp8-e4m3-f32", {"split": {"parts": 2, "step": 16}}, {}, "split.step must be a multiple of scale.a.block"),
]


@pytest.mark.parametrize(("unit", "plan", "given", "message"), GIVEN)
def test_what_does_not_go_together_is_refused(
    unit: str, plan: dict[str, Any], given: dict[str, Any], message: str
) -> None:
    fmt = hwsim.load_unit(unit).operands.a
    a, b = fmt.encode(np.ones((2, 64))), fmt.encode(np.ones((64, 2)))
    with pytest.raises((ValueError, TypeError), match=message):
        hwsim.gemm(unit, a, b, plan=plan, **given)


def test_numbers_of_a_plan_are_refused_without_one() -> None:
    a, b = factors(2, 2, 32)
    with pytest.raises(ValueError, match="bias must be None without a plan"):
        hwsim.gemm(HOPPER, a, b, bias=np.ones(2))


PLAN = """plan: shown
split: {parts: 2, step: 32}
epilogue:
- {operation: multiply, by: [scale_a, scale_b]}
- {operation: round, format: bf16}
"""


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a plan's file, which is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "plan.yaml").write_text(PLAN)
    return tmp_path


def test_explain_shows_where_an_element_comes_from(shown: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = ["--number", "scale_a=1/2", "--number", "scale_b=3"]
    assert (
        main(
            [
                "explain",
                HOPPER,
                "--plan",
                "plan.yaml",
                "--a",
                "0x38," * 63 + "0x38",
                "--b",
                "0x38," * 63 + "0x40",
                *numbers,
            ]
        )
        == 0
    )
    rows = [line.rsplit(maxsplit=2)[:2] for line in capsys.readouterr().out.splitlines()[2:]]
    assert rows == [
        ["part 0: products 0 to 31", "32"],
        ["part 1: products 32 to 63", "33"],
        ["sum of parts 0 to 1", "65"],
        ["times scale_a * scale_b", "97.5"],
        ["rounded to bf16", "97.5"],
    ]


WRONG_COMMANDS = [
    (["plan", "show", "none.yaml"], "none.yaml: cannot be read"),
    (["plan", "profiles", "h10"], "unknown profile 'h10'"),
    (["plan", "profiles", "h100-cuda-13.0", "--k", "77"], "has no product of K 77"),
    (["explain", HOPPER, "--number", "alpha=1"], "--number must be left out without a --plan"),
    (["explain", HOPPER, "--plan", "plan.yaml", "--open"], "--plan does not go with --open"),
    (["explain", HOPPER, "--plan", "plan.yaml", "--number", "alpha=1"], "(scale_a, scale_b)"),
    (["explain", HOPPER, "--plan", "plan.yaml", "--number", "scale_a=1"], "scale_b is missing"),
    (["gemm", HOPPER, "a.npy", "b.npy", "-o", "d.npy", "--alpha", "2"], "--alpha must be left out without a --plan"),
    (["gemm", HOPPER, "a.npy", "b.npy", "-o", "d.npy", "--plan", "plan.yaml", "--scale-a", "2"], "scale_b is missing"),
    (["plan", "fit", HOPPER, "--a", "a.npy", "--b", "b.npy", "--d", "b.npy"], "--result is missing"),
    (["plan", "fit", HOPPER, "--a", "a.npy", "--b", "b.npy", "--d", "a.npy", "--result", "e4m3"], "D must have shape"),
]


@pytest.mark.parametrize(("command", "message"), WRONG_COMMANDS, ids=lambda each: " ".join(each)[-40:])
def test_a_wrong_command_ends_with_a_line(
    command: list[str], message: str, shown: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = factors(2, 3, 64)
    np.save("a.npy", a)
    np.save("b.npy", b)
    assert main(command) == 2
    assert message in capsys.readouterr().err
    assert not (shown / "d.npy").exists()
