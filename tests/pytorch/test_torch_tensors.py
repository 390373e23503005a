"""Tensors become the codes and scales that the host makes of them, bit for bit, without going there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from built_presets import others_slow
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from hwsim.base.errors import InputError
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format, formats, get_format
from hwsim.formats.reference import overflows
from hwsim.formats.rounding import Rounding
from hwsim.formats.stochastic import most_random_bits
from hwsim.formats.stochastic import random_words as words_of_host
from hwsim.formats.yamlfile import SpecError
from hwsim.quantize import Apply, Quantized, Rule, Select, Special, TensorScale, dequantize, quantize, rules
from hwsim.spec import load_unit
from hwsim.torch import codes, products, tensors
from hwsim.torch.products import FactorRule, Histories, MatrixOperand, Side, UnitProduct, operand_of
from hwsim.torch.recipe import load_recipe, recipes

CPU = torch.device("cpu")
ROUNDINGS = (*Rounding, "stochastic")
# Recipes round to nearest, ties to even, and stochastically; the other roundings are compared in the long tests.
each_rounding = pytest.mark.parametrize(
    "rounding",
    [pytest.param(r, marks=() if r in ("rne", "stochastic") else pytest.mark.slow) for r in map(str, ROUNDINGS)],
)
TAKEN = [name for name, fmt in formats().items() if codes.refused_format(fmt) is None]
NUMBERS = ("plain", "any bits", "tiny", "huge", "special", "zero rows", "ties")
# Shapes and axes: whole blocks, tails, batches, vectors, one number, none.
SHAPES = [((5, 70), -1), ((70, 5), -2), ((2, 33, 64), -1), ((2, 33, 20), -2), ((3, 2, 4, 48), -2), ((1, 1), -1),
          ((130, 260), -1), ((40, 0), -1), ((0, 40), -2)]  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other at every small operation take most of the time on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def narrow_floats() -> Any:
    """Every float16 and every bfloat16, as float32."""
    bits = np.arange(1 << 16, dtype=np.uint32)
    with np.errstate(invalid="ignore"):
        return np.concatenate([bits.astype(np.uint16).view(np.float16).astype(np.float32), (bits << 16).view("f4")])


def numbers(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> Any:
    """float32 numbers of a kind."""
    if kind == "any bits":
        return rng.integers(0, 1 << 32, shape, dtype=np.uint32).view(np.float32)
    x = (rng.standard_normal(shape) * 2.0 ** rng.integers(-20, 20, shape)).astype(np.float32)
    match kind:
        case "tiny":
            x *= np.float32(2.0**-130)
        case "huge":
            x = np.clip(x.astype(np.float64) * 2.0**120, -3.4e38, 3.4e38).astype(np.float32)
        case "special":
            few = rng.random(shape) < 0.02
            odd = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, -1e-45, 3.4e38], np.float32)
            x = np.where(few, rng.choice(odd, shape), x)
        case "zero rows":
            x[::3] = np.copysign(np.float32(0), x[::3])
        case "ties":
            x = (rng.integers(-64, 65, shape) * 0.125).astype(np.float32) * np.float32(2.0 ** rng.integers(-40, 40))
    return x


def bits(array: Any) -> Any:
    """An array as unsigned integers."""
    array = array.numpy() if isinstance(array, Tensor) else np.asarray(array)
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def same(found: Any, expected: Any, what: object = "") -> int:
    """Compare codes or scales bit for bit; returns how many there were."""
    assert (found is None) == (expected is None), what
    if expected is None:
        return 0
    np.testing.assert_array_equal(bits(found), bits(expected), err_msg=str(what))
    return int(np.asarray(expected).size)


@pytest.mark.parametrize("rounding", others_slow(["rne", "stochastic"], ["rne"]))
def test_every_narrow_float_becomes_the_code_of_the_host(rounding: str) -> None:
    """All float16 and bfloat16 numbers, and any binary32 ones, to every format, with every overflow."""
    rng = np.random.default_rng(1)
    x = np.concatenate([narrow_floats(), numbers(rng, (4000,), "any bits"), numbers(rng, (4000,), "ties")])
    compared = 0
    for name in TAKEN:
        fmt = get_format(name)
        given = x if fmt.signed else np.abs(x)
        nan = np.isnan(given) & (not fmt.has_nan)
        few = min(16, most_random_bits(fmt)) if rounding == "stochastic" else 0
        drawn: dict[str, Any] = {"random_bits": few, "seed": 7} if few else {}
        words = codes.random_words(7, x.size, few, CPU) if few else None
        for overflow in overflows(fmt):
            expected = fmt.encode(given, rounding, overflow, "zero", **drawn)
            to = codes.target(fmt, rounding, overflow, random_bits=few)
            found = codes.encode(to, torch.from_numpy(given), None, words)
            compared += same(found, np.where(nan, 0, expected).astype(expected.dtype), (name, overflow))
    assert compared > 8_000_000


def formats_of_a_users_own(rng: np.random.Generator) -> Iterator[Format]:
    """Formats that hwsim does not ship: other widths, biases and specials."""
    for fb in range(8):
        for eb in (1, 2, 4, 6, 8):
            keys: dict[str, Any] = {"exponent_bits": eb, "fraction_bits": fb, "bias": int(rng.integers(-40, 150))}
            top = 1 << eb + fb
            for extra in (
                {}, {"nan": (top - 1, 2 * top - 1)}, {"nan": (top,), "signed_zero": False, "infinities": True},
                {"infinities": True, "nan": "ieee"}, {"subnormals": False, "underflow": "zero"},
            ):  # fmt: skip
                try:
                    yield FloatFormat(name="own", **keys, **extra)
                except ValueError:
                    continue
    for width in range(2, 33):
        point = int(rng.integers(0, width))
        yield FixedFormat(name="own", integer_bits=width - 1 - point, fraction_bits=point)


@pytest.mark.parametrize("rounding", others_slow(["rne", "stochastic"], []))
def test_formats_of_a_users_own(rounding: str) -> None:
    rng = np.random.default_rng(2)
    x = np.concatenate([numbers(rng, (600,), kind) for kind in NUMBERS])
    x = np.where(np.isnan(x), np.float32(0), x)
    tried = 0
    for fmt in formats_of_a_users_own(rng):
        if codes.refused_format(fmt):
            continue
        tried += 1
        few = min(11, most_random_bits(fmt)) if rounding == "stochastic" else 0
        drawn: dict[str, Any] = {"random_bits": few, "seed": 1 << 40} if few else {}
        words = codes.random_words(1 << 40, x.size, few, CPU) if few else None
        for overflow in overflows(fmt):
            expected = fmt.encode(x, rounding, overflow, **drawn)
            to = codes.target(fmt, rounding, overflow, random_bits=few)
            for given in (torch.from_numpy(x), torch.from_numpy(x).double()):
                same(codes.encode(to, given, None, words), expected, (fmt, overflow))
    assert tried > 150


def test_codes_are_decoded() -> None:
    rng = np.random.default_rng(3)
    for name in [*TAKEN, "e8m0", "ue4m3"]:
        fmt = get_format(name)
        every = np.arange(1 << fmt.bits) if fmt.bits <= 16 else rng.integers(0, 1 << fmt.bits, 50_000)
        held = torch.from_numpy(every << fmt.padding).to(codes.container(fmt))
        np.testing.assert_array_equal(codes.decode(fmt, held).numpy(), fmt.decode(every << fmt.padding), err_msg=name)


def test_random_words_are_those_of_the_host() -> None:
    for seed in (0, 7, 2 * 0x7FFFFFFF + 1, (1 << 64) - 1, 0x123456789ABCDEF):
        for count in (1, 17, 40_000):
            for width in (1, 16, 30, 31, 32):
                found = codes.random_words(seed, count, width, CPU).numpy()
                np.testing.assert_array_equal(found, words_of_host(seed, 0, count, width))


def compare(x: Any, rule: Rule, axis: int, scale: float | None = None, seed: int = 3, tensor: Any = None) -> int:
    """Compare a tensor's codes and scales with the host's; returns how many there were."""
    held = torch.from_numpy(x) if tensor is None else tensor
    drawn: dict[str, Any] = {"random_bits": 16, "seed": seed} if rule.rounding == "stochastic" else {}
    what = (rule, scale, axis, x.shape)
    try:
        with np.errstate(all="ignore"):
            expected = quantize(x, rule, axis, scale=scale, **drawn)
    except InputError as error:
        said = str(error)
        if "refuses" not in said:
            with pytest.raises(InputError, match=re.escape(said)):
                tensors.quantized(held, rule, axis, scale=scale, seed=seed)
            return 0
        refused = tensors.quantized(held, rule, axis, scale=scale, seed=seed).refused
        assert refused is not None and bool(refused), what
        return 0
    found = tensors.quantized(held, rule, axis, scale=scale, seed=seed)
    assert found.refused is None or not bool(found.refused)
    assert found.block == expected.block
    count = same(found.codes, expected.codes, what) + same(found.scales, expected.scales, what)
    return count + same(found.tensor_scale, expected.tensor_scale, what)


@pytest.mark.parametrize("half", others_slow([0, 1], [1]))
@pytest.mark.parametrize("rounding", others_slow(["rne", "stochastic"], ["stochastic"]))
def test_every_rule_that_ships(rounding: str, half: int) -> None:
    rng = np.random.default_rng(4)
    compared = 0
    for rule in [*rules().values()][half::2]:
        assert tensors.unsupported_rule(rule) == []
        for kind in NUMBERS:
            for shape, axis in SHAPES:
                compared += compare(numbers(rng, shape, kind), rule.replace(rounding=rounding), axis)
    assert compared > 4_000_000


OF_POWERS = ["mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e3m2", "mxfp6-e2m3", "mxfp4-e2m1", "mxint8"]


@pytest.mark.parametrize("name", others_slow(OF_POWERS, ["mxfp8-e4m3", "mxint8"]))
def test_every_way_to_a_power_of_two(name: str) -> None:
    """Every magnitude of a bfloat16, alone in its block, under every selection."""
    single = narrow_floats()[1 << 16 :].reshape(-1, 1)
    with np.errstate(over="ignore", invalid="ignore"):
        beside = np.concatenate([single, single * np.float32(0.3), single * np.float32(-1.1)], axis=1)
    for select in set(Select) - {Select.DIVIDE}:
        for apply in (Apply.EXACT, Apply.DIVIDE, Apply.RECIPROCAL):
            rule = rules()[name].replace(select=select, apply=apply)
            assert compare(beside, rule, -1) == 4 * len(single)


@pytest.mark.parametrize("element", ["bf16", "f16", "tf32", "e8m13", "dlfloat16", "hfp8-e5m2", "e4m3"])
def test_numbers_far_below_the_largest_of_their_block(element: str) -> None:
    """Wide elements, for which binary32's subnormals count beside large numbers; and scales that are all small."""
    rng, small = np.random.default_rng(11), ExponentFormat(name="small", exponent_bits=4, bias=140)
    for scale in (get_format("e8m0"), small):
        rule = Rule(element=get_format(element), scale_format=scale, nan="element", infinity="saturate")
        for rounding in ROUNDINGS:
            for kind in ("special", "any bits", "tiny", "huge"):
                compare(numbers(rng, (40, 96), kind), rule.replace(rounding=rounding), -1)


ELEMENTS = [*(name for name in TAKEN if formats()[name].signed), "binary8p3se", "binary8p1se", "binary6p2sf"]
SCALES = ("e8m0", "ue4m3", "f32", "bf16", "f16", "e5m2", "e4m3", "binary8p4uf", "binary8p2ue")


def drawn_rule(rng: np.random.Generator) -> Rule:
    """A rule of any fields that go together."""

    def one(*of: Any) -> Any:
        return of[rng.integers(len(of))]

    while True:
        element, scale = get_format(one(*ELEMENTS)), get_format(one(*SCALES))
        f32 = scale.name == "f32"
        try:
            return Rule(
                element=element, scale_format=scale, select=one(*Select), apply=one(*Apply), rounding=one(*ROUNDINGS),
                block=one((1, 16), (1, 32), (16, 16), (3, 5), (1, None), (None, None), (None, 7), (2, None)),
                overflow=one(*overflows(element)), nan=one("block", "element", "error"), infinity=one(*Special),
                zero_scale=one(0.0, 1.0, 0.5) if f32 else one(0, 8, int(rng.integers(1 << scale.bits))),
                least_scale=one(0.0, 2.0**-149, 1e-3) if f32 else one(0, 8), huge_scale=one("saturate", "nan"),
                no_scale=one("zeros", "multiplied"), least_amax=one(0.0, 0.0, 1e-4, 1e-310, 1e30, 1.5),
                tensor_scale=one(*TensorScale, TensorScale.NONE), flush=one(False, True), symmetric=one(True, False),
            )  # fmt: skip
        except SpecError:
            continue


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))])
def test_drawn_rules(seed: int) -> None:
    rng = np.random.default_rng(seed)
    compared = refused = 0
    for _ in range(600):
        rule, kind, (shape, axis) = drawn_rule(rng), NUMBERS[rng.integers(7)], SHAPES[rng.integers(len(SHAPES))]
        scale = (None, None, None, None, 0.3, 2.0**-140, 1e-300, 1e300, float(np.float32(3.3)), 4.0)[rng.integers(10)]
        reasons = tensors.unsupported_rule(rule, scale)
        if reasons:
            assert reasons == ["scales: that of a block of zeros is negative"]
            continue
        several = compare(numbers(rng, shape, kind), rule, axis, scale, seed=int(rng.integers(1 << 62)))
        compared, refused = compared + several, refused + (several == 0)
    assert compared > 500_000 and refused < 450


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_tensors_of_other_floats(dtype: torch.dtype) -> None:
    rng = np.random.default_rng(5)
    for name in ("mxfp8-e4m3", "nvfp4", "tensor-e4m3", "deepseek-v3-1x128"):
        x = torch.from_numpy(numbers(rng, (40, 200), "special").astype(np.float64)).to(dtype)
        x[::4] = torch.from_numpy(rng.standard_normal((10, 200))).to(dtype)
        compare(x.float().numpy(), rules()[name], -1, tensor=x)
        compare(x.float().numpy().T, rules()[name], -2, tensor=x.T)  # strides are not those of a new array


def products_of_recipes() -> list[tuple[str, UnitProduct]]:
    """Every product of every recipe that ships, those of its layers too, each once."""
    found: dict[UnitProduct, str] = {}
    for name in recipes():
        recipe = load_recipe(name)
        for of in (recipe.products, *(layer.products for layer in recipe.layers)):
            for which in ("forward", "input", "weight"):
                product = None if of is None else of.of(which)  # type: ignore[arg-type]
                if product is not None:
                    found.setdefault(product, f"{name}-{which}")
    return [(name, product) for product, name in found.items()]


RECIPES = products_of_recipes()


def same_operand(found: tensors.TensorOperand, expected: MatrixOperand, what: object = "") -> int:
    assert found.refused is None or not bool(found.refused)
    pairs = zip(found[:3], expected, strict=True)
    return sum(same(one, other, what) for one, other in pairs)


@pytest.mark.parametrize(("name", "product"), others_slow(RECIPES, RECIPES[1::3]), ids=[name for name, _ in RECIPES])
def test_every_factor_of_every_recipe(name: str, product: UnitProduct) -> None:
    rng = np.random.default_rng(6)
    sides: tuple[tuple[Side, FactorRule], ...] = (("a", product.a), ("b", product.b))
    compared = 0
    for side, operand in sides:
        assert tensors.unsupported(operand) == []
        for kind in NUMBERS:
            if kind in ("special", "any bits") and not operand.scaling.rule.element.has_nan and operand.direct:
                kind = "plain"  # NaNs are an error; see the test of what is refused
            for shape in ((64, 256), (37, 256), (2, 33, 512)):
                shape = shape if side == "a" else (*shape[:-2], shape[-1], shape[-2])
                x, axis = numbers(rng, shape, kind), -1 if side == "a" else -2
                held = torch.from_numpy(x)
                if operand.history is not None:
                    continue
                with np.errstate(all="ignore"):
                    if product.hadamard is not None:
                        size = product.hadamard
                        x, held = products.transformed(x, axis, size, 0), tensors.transformed(held, axis, size, 0)
                    expected = products.coded(operand, product.unit, side, x, 5)
                found = tensors.coded(operand, product.unit, side, held, 5)
                compared += same_operand(found, expected, (name, side, kind, shape))
    assert compared > 100_000 or product.delayed


@pytest.mark.parametrize("size", [4, 16, 64, 256])
@pytest.mark.parametrize("axis", [-1, -2])
def test_the_transform_is_the_hosts(size: int, axis: int) -> None:
    rng = np.random.default_rng(size)
    for kind in ("plain", "tiny", "huge", "ties"):
        x = numbers(rng, (3, 512, 256), kind)
        with np.errstate(all="ignore"):
            expected = products.transformed(x, axis, size, 9)
        same(tensors.transformed(torch.from_numpy(x), axis, size, 9), expected)


@pytest.mark.parametrize("history", [{"length": 1}, {"length": 2, "algorithm": "most_recent"}, {"length": 5},
                                     {"length": 16, "margin": 2}])  # fmt: skip
@pytest.mark.parametrize("unit", ["hopper-wgmma-e4m3-f32", "int8-i32"])
def test_delayed_scales_follow_the_same_history(unit: str, history: dict[str, Any]) -> None:
    rng = np.random.default_rng(7)
    operand = operand_of({"rule": "tensor", "history": history}, load_unit(unit), "a")
    assert operand.history is not None and tensors.unsupported(operand) == []
    host, state = Histories(), tensors.ScaleHistory.of(operand.history, CPU)
    kinds = [*(NUMBERS if operand.history.format.has_nan else ("plain", "tiny", "huge", "ties")), "zeros"]
    for step in range(40):
        kind = kinds[rng.integers(len(kinds))] if step % 3 == 0 else "plain"
        x = np.zeros((7, 9), np.float32) if kind == "zeros" else numbers(rng, (7, 9), kind)
        if step % 7 == 3:
            x[1, 2] = np.nan if operand.history.format.has_nan else -np.inf
        expected = host.codes("here", operand, x)
        found, state = tensors.delayed(operand, torch.from_numpy(x), state)
        same_operand(found, expected, (step, kind))
        kept = host.state_dict()["here"]
        same(state.factor, np.float32(kept["factor"]))
        np.testing.assert_array_equal(state.magnitudes.numpy(), np.float32(kept["history"]))


@pytest.mark.parametrize("name", ["deepseek-v3-1x128", "mxfp8-e5m2", "int8-channel", "mxint8", "mxfp4-e2m1"])
def test_what_is_kept_is_restored(name: str) -> None:
    rule, rng = rules()[name], np.random.default_rng(8)
    for kind in NUMBERS:
        x = numbers(rng, (2, 21, 300), kind)
        with np.errstate(all="ignore"):
            expected = quantize(x, rule)
            restored = dequantize(expected, np.float32)
        found = tensors.quantized(torch.from_numpy(x), rule)
        values = tensors.dequantized(rule, found.codes, found.scales).numpy()
        np.testing.assert_array_equal(np.isnan(values), np.isnan(restored))
        same(np.where(np.isnan(values), np.float32(0), values), np.where(np.isnan(restored), np.float32(0), restored))


def test_what_the_host_refuses_is_flagged() -> None:
    direct = operand_of("direct", load_unit("hfp8-forward-e4m3-dlfloat16"), "a")
    unit = load_unit("hfp8-forward-e4m3-dlfloat16")
    x = np.ones((4, 64), np.float32)
    assert tensors.coded(direct, unit, "a", torch.from_numpy(x), 0).refused is not None
    assert not bool(tensors.coded(direct, unit, "a", torch.from_numpy(x), 0).refused)
    x[2, 3] = np.nan
    with pytest.raises(InputError, match="nan"):
        products.coded(direct, unit, "a", x, 0)
    assert bool(tensors.coded(direct, unit, "a", torch.from_numpy(x), 0).refused)
    refusing = rules()["tensor-e4m3"].replace(nan="error", infinity="error")
    for value, refused in ((np.nan, True), (np.inf, True), (-np.inf, True), (2.0, False)):
        x[2, 3] = value
        flag = tensors.quantized(torch.from_numpy(x), refusing).refused
        assert flag is not None and bool(flag) is refused


def test_what_is_not_supported_says_why() -> None:
    lone = FloatFormat(name="lone", exponent_bits=4, fraction_bits=3, bias=7, subnormals=False)
    e4m3, f32 = get_format("e4m3"), get_format("f32")
    steep = ExponentFormat(name="steep", exponent_bits=11, bias=1074)
    for element, scale, reason in (
        (lone, f32, "elements: the least number of lone"),
        (get_format("f64"), f32, "elements: f64 has more than 32 bits"),
        (e4m3, get_format("dlfloat16"), "scales: dlfloat16"),
        (e4m3, steep, "scales: steep"),
    ):
        rule = Rule(
            element=element, scale_format=scale, nan="element" if element.has_nan else "error", infinity="saturate"
        )
        assert [said[: len(reason)] for said in tensors.unsupported_rule(rule)] == [reason]
    assert tensors.unsupported_rule(rules()["mxfp8-e4m3"]) == []


class NothingToTheHost(TorchDispatchMode):
    """Refuses operations that read a tensor's numbers, take it to another device, or have shapes of its numbers.

    device: where every tensor is; a number of the host among them is one that a division would take the reciprocal of.
    """

    READS = ("_local_scalar_dense", "item", "nonzero", "masked_select", "unique", "equal", "is_nonzero", "numpy")

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self.device, self.calls = device, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        masks = [
            tensor for tensor in tree_flatten(args)[0] if isinstance(tensor, Tensor) and tensor.dtype == torch.bool
        ]
        assert not any(name.startswith(read) for read in self.READS), name
        assert not (name.startswith("index") and masks), name
        assert kwargs.get("device", self.device) == self.device, name
        found = func(*args, **kwargs)
        for tensor in tree_flatten((args, kwargs, found))[0]:
            assert not isinstance(tensor, Tensor) or tensor.device == self.device, name
        self.calls += 1
        return found


def everything(device: torch.device) -> int:
    """Compute every factor of every recipe and every rule on a device, without the host; returns the operations."""
    with NothingToTheHost(device) as mode:
        x = torch.ones(2, 32, 64, device=device)
        for rule in rules().values():
            found = tensors.quantized(x, rule)
            if found.tensor_scale is None:
                tensors.dequantized(rule, found.codes, found.scales)
        for fields in ({"nan": "element", "infinity": "amax"}, {"nan": "error", "infinity": "error"}):
            tensors.quantized(x, rules()["mxfp8-e4m3"].replace(**fields))
        tensors.quantized(x, rules()["tensor-e4m3"].replace(apply="exact"), scale=0.3)
        for _, product in RECIPES:
            sides: tuple[tuple[Side, FactorRule], ...] = (("a", product.a), ("b", product.b))
            for side, operand in sides:
                turned = x if product.hadamard is None else tensors.transformed(x, -1, product.hadamard, 1)
                if operand.history is not None:
                    magnitudes = torch.zeros(operand.history.length, device=device)
                    state = tensors.ScaleHistory(torch.ones((), device=device), magnitudes)
                    tensors.delayed(operand, turned, state)
                else:
                    tensors.coded(operand, product.unit, side, turned, 1)
    return mode.calls


@pytest.mark.parametrize("device", others_slow(["cpu", "meta"], ["cpu"]))
def test_nothing_goes_to_the_host(device: str) -> None:
    """A tensor on `meta` has no numbers at all: what read one would fail."""
    tensors._signs.cache_clear()
    assert everything(torch.device(device)) > 3000


@pytest.mark.parametrize("taken", [lambda x: x.sum().item(), lambda x: x[x > 0], lambda x: x.to("meta"), torch.nonzero])
def test_what_goes_to_the_host_is_found(taken: Callable[[Tensor], Any]) -> None:
    with NothingToTheHost(CPU), pytest.raises(AssertionError):
        taken(torch.ones(4))


def _twisted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, twist: Callable[..., Any]) -> None:
    right = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *args, **more: twist(right, *args, **more))


def by_reciprocal(right: Any, a: Tensor, b: Tensor) -> Tensor:
    """What CUDA makes of a division by a number of the host."""
    return a * torch.reciprocal(b)


def shipped(*names: str, rounding: str = "rne", scale: float | None = None) -> None:
    rng = np.random.default_rng(9)
    for name in names:
        for kind in NUMBERS:
            for shape, axis in SHAPES[:4]:
                compare(numbers(rng, shape, kind), rules()[name].replace(rounding=rounding), axis, scale)


def exact_quotients() -> None:
    x = np.arange(-448, 448, dtype=np.float32).reshape(28, 32)
    for scale in (1 / 3, 1 / 7, 0.3, 3.3):  # the quotient of 1 and binary64's 1/3 is 3 + 1.7e-16
        compare(x, rules()["tensor-e4m3"].replace(apply="exact", rounding="ru"), -1, scale)


def history() -> None:
    test_delayed_scales_follow_the_same_history("hopper-wgmma-e4m3-f32", {"length": 5})


MISTAKES: dict[str, tuple[Any, str, Callable[..., Any], Callable[[], Any]]] = {
    "divides by the reciprocal": (torch, "div", by_reciprocal, lambda: shipped("tensor-e4m3", "nvfp4")),
    "limits no factor": (tensors, "_limited", lambda right, x: x, lambda: shipped("nvfp4-transformer-engine")),
    "ends above the largest number": (
        codes, "target", lambda right, *a, **k: (to := right(*a, **k))._replace(most=to.most + 1),
        lambda: shipped("mxfp4-e2m1"),
    ),
    "keeps the negative end": (
        codes, "target", lambda right, fmt, r="rne", o="saturate", symmetric=False, b=0: right(fmt, r, o, False, b),
        lambda: shipped("mxint8"),
    ),
    "ties go up": (
        codes, "_rounded",
        lambda right, to, *more: right(to._replace(rounding=Rounding.RNA) if to.rounding else to, *more),
        lambda: shipped("mxfp8-e5m2"),
    ),
    "the words of another seed": (
        tensors, "random_words", lambda right, seed, *more: right(seed + 1, *more),
        lambda: shipped("mxfp8-e4m3", rounding="stochastic"),
    ),
    "words in the order of blocks": (
        tensors, "random_words",
        lambda right, seed, count, width, device: right(seed, count, width, device).flip(0),
        lambda: shipped("nvfp4", rounding="stochastic"),
    ),
    "a power of two too high": (
        tensors, "_exponents", lambda right, *args: right(*args) + 1, lambda: shipped("mxfp6-e2m3")
    ),
    "the quotient is not jammed": (
        tensors, "_quotient", lambda right, x, scale: x / scale, exact_quotients
    ),
    "tensors of all zeros divide": (
        tensors, "_amax", lambda right, rule, maxima: right(rule, maxima).clamp(min=1e-30), lambda: shipped("nvfp4")
    ),
    "NaNs count for nothing": (
        tensors, "_amax", lambda right, rule, maxima: right(rule, maxima).nan_to_num(), lambda: shipped("mxfp8-e4m3")
    ),
    "signs are forgotten": (
        tensors, "signs", lambda right, size, seed: np.ones(size, np.float32),
        lambda: (tensors._signs.cache_clear(), test_the_transform_is_the_hosts(16, -1)),
    ),
    "history starts anew": (
        tensors.ScaleHistory, "updated", lambda right, self, rule, amax: right(self, rule, amax)._replace(
            magnitudes=self.magnitudes * 0), history,
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, name, twist, check = MISTAKES[mistake]
    check()
    _twisted(monkeypatch, module, name, twist)
    if name == "target":
        monkeypatch.setattr(tensors, "target", module.target)
    with pytest.raises(AssertionError):
        check()
    monkeypatch.undo()
    tensors._signs.cache_clear()


@pytest.mark.parametrize(("constant", "value", "rule"), [("RAISE", 8, "mxfp8-e5m2"), ("TINY_BITS", 0, "mxfp8-e4m3"),
                                                         ("HIDDEN", 0, "mx-algorithm-1-e4m3")])  # fmt: skip
def test_a_wrong_constant_is_found(constant: str, value: int, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors, constant, value)
    with pytest.raises(AssertionError):
        subnormals(rule)


def subnormals(rule: str) -> None:
    """Blocks of binary32's least numbers, and some larger ones."""
    shipped(rule)
    few = np.arange(64, dtype=np.uint32).reshape(2, 32).view(np.float32)
    compare(few, rules()[rule], -1)


def test_blocks_of_subnormals() -> None:
    for name in rules():
        subnormals(name)


def test_quantized_knows_its_block() -> None:
    found, x = tensors.quantized(torch.ones(5, 70), rules()["nvfp4"]), np.ones((5, 70), np.float32)
    expected: Quantized = quantize(x, "nvfp4")
    assert found.block == expected.block and tuple(found.scales.shape) == expected.scales.shape == (5, 5)
