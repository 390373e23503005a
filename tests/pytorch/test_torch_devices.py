"""Products of tensors where they are return the bits of the host's path: by the source for GPUs, built for the host.

`python -m hwsim.gpu_check` asks the same of a GPU.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from built_presets import others_slow
from pytorch.test_torch_tensors import CPU, RECIPES, NothingToTheHost, one_thread
from torch import Tensor, nn
from torch.nn import functional

import hwsim.torch as ht
from hwsim.base.errors import InputError
from hwsim.compute.cuda.device import gemm_of_host_tensors
from hwsim.spec import Unit, load_unit
from hwsim.spec.arguments import result_dtype
from hwsim.torch import devices, operators, tensors
from hwsim.torch import functional as functional_of_hwsim
from hwsim.torch.devices import computed_there, in_place_of_gpu
from hwsim.torch.products import Histories
from hwsim.torch.recipe import recipes

__all__ = ["one_thread"]  # a fixture for every test here


class Net(nn.Module):
    """Linear layers with and without a bias, attention, and a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(70, 64), nn.Linear(64, 6, bias=False)
        self.inner = nn.Conv1d(64, 16, 3, padding=1, stride=2)
        self.wide = nn.Linear(16, 64)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        heads = x.unflatten(-1, (2, 32)).transpose(1, 2)
        x = functional.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).flatten(2)
        x = self.wide(torch.relu(self.inner(x.mT).mT))
        return self.last(x)  # type: ignore[no-any-return]


class Trained(NamedTuple):
    """What two steps of training leave: results, gradients, weights; and the scales of delayed scaling."""

    numbers: list[Tensor]
    scales: dict[str, dict[str, Any]]


def trained(recipe: Any, steps: int = 2) -> Trained:
    torch.manual_seed(1)
    net, found = Net(), []
    with ht.emulate(net, recipe) as emulation:
        for step in range(steps):
            x = torch.randn(3, 20, 70, generator=torch.Generator().manual_seed(step)).requires_grad_()
            y = net(x)
            (64 * y.square().sum()).backward()
            found += [y, x.grad, *(one.grad for one in net.parameters())]
            with torch.no_grad():
                for one in net.parameters():
                    assert one.grad is not None
                    one -= one.grad * 2.0**-12
                    one.grad = None
    return Trained([one.detach() for one in (*found, *net.parameters())], emulation.state_dict())


def same_bits(some: list[Tensor], others: list[Tensor]) -> None:
    assert len(some) == len(others)
    for index, (one, other) in enumerate(zip(some, others, strict=True)):
        assert one.dtype == other.dtype and one.isfinite().all(), index
        np.testing.assert_array_equal(one.view(torch.int32).numpy(), other.view(torch.int32).numpy(), str(index))
        assert one.count_nonzero() > 0, index


class Counted:
    """The source built for the host, and how often it was called with which unit."""

    def __init__(self) -> None:
        self.units: list[str] = []

    def __call__(self, unit: Unit, *operands: Any) -> Any:
        self.units.append(unit.name)
        return gemm_of_host_tensors(unit, *operands)


# Products of two steps that the source lacks: of factors of binary32.
OF_HOST = {"exact": 36}
QUICK = ("fp8-tensorwise-delayed", "nvfp4")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in recipes()]
)
def test_training_is_the_hosts_bit_for_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = trained(name)
    multiply = Counted()
    if name not in OF_HOST:
        monkeypatch.setattr(operators, "_computed", None)
    with in_place_of_gpu(multiply):
        found = trained(name)
    same_bits(found.numbers, expected.numbers)
    assert found.scales == expected.scales and bool(found.scales) == (name == "fp8-tensorwise-delayed")
    # Forward, and the gradients of both factors, of four layers and of attention's two products, in two steps.
    assert len(multiply.units) == 2 * 3 * 6 - OF_HOST.get(name, 0)


# Of every method, and of every kind of scale and of result.
UNITS = {
    "cdna3-mfma-e4m3fnuz-f32": "tensor",  # even-odd
    "cdna2-mfma-f16-f32": "direct",  # pairwise
    "intel-amx-e4m3-f32": "channel",  # sequential
    "rvbna-e4m3-f32-n16": "tensor",  # a window that jams
    "blackwell-mma-e4m3-f16": "direct",  # results in f16
    "hfp8-forward-e4m3-dlfloat16": "direct",  # results that are codes
    "mxfp8-e4m3-f32": "block",
    "blackwell-mxf4nvf4-e2m1-f32": {"rule": "nvfp4", "rounding": "stochastic"},
}
# Of other ways than QUICK's; in the last both factors are random.
ALWAYS = ("cdna3-mfma-e4m3fnuz-f32", "intel-amx-e4m3-f32", "blackwell-mma-e4m3-f16", "blackwell-mxf4nvf4-e2m1-f32")


@pytest.mark.parametrize(
    "unit", [pytest.param(unit, marks=() if unit in ALWAYS else pytest.mark.slow) for unit in UNITS]
)
def test_units_of_every_method(unit: str) -> None:
    product = {"unit": unit, "a": UNITS[unit], "b": UNITS[unit]}
    recipe = {"recipe": "own", "products": dict.fromkeys(("forward", "input", "weight"), product)}
    k = 16 if load_unit(unit).instruction.chain is None else 33
    for shapes in (((5, k), (k, 7)), ((2, 1, 5, k), (3, k, 7))):
        results = []
        for around in (nullcontext(), in_place_of_gpu(gemm_of_host_tensors)):
            generator = torch.Generator().manual_seed(2)
            a, b = (torch.randn(shape, generator=generator).requires_grad_() for shape in shapes)
            torch.manual_seed(3)
            with around:
                y = ht.matmul(a, b, recipe)
                y.square().sum().backward()
            assert a.grad is not None and b.grad is not None
            results.append([y.detach(), a.grad, b.grad])
        same_bits(*results)


def test_dtypes_and_addends(monkeypatch: pytest.MonkeyPatch) -> None:
    bias, results = torch.randn(9, generator=torch.Generator().manual_seed(5)), []
    for there in (False, True):
        if there:
            monkeypatch.setattr(operators, "_computed", None)
        with in_place_of_gpu(gemm_of_host_tensors) if there else nullcontext():
            found = []
            for dtype in (torch.float64, torch.bfloat16, torch.float16):
                x = torch.randn(4, 40, generator=torch.Generator().manual_seed(6)).to(dtype)
                weight = torch.randn(40, 9, generator=torch.Generator().manual_seed(7)).to(dtype)
                y = ht.linear(x, weight.T, bias.to(dtype), recipe="hopper-unpromoted")
                assert y.dtype == dtype
                found.append(y.float())
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    found.append(ht.matmul(x, weight, "hopper-unpromoted").float())
            found.append(ht.matmul(torch.zeros(3, 0), torch.zeros(0, 2), "hopper-unpromoted") + 1)
        results.append(found)
    same_bits(*results)


def test_delayed_scales_move_between_devices() -> None:
    expected = trained("fp8-tensorwise-delayed", steps=4)
    torch.manual_seed(1)
    net, found = Net(), []
    with ht.emulate(net, "fp8-tensorwise-delayed") as emulation:
        for step in range(4):
            x = torch.randn(3, 20, 70, generator=torch.Generator().manual_seed(step)).requires_grad_()
            with in_place_of_gpu(gemm_of_host_tensors) if step % 2 else nullcontext():
                y = net(x)
                (64 * y.square().sum()).backward()
            found += [y, x.grad, *(one.grad for one in net.parameters())]
            with torch.no_grad():
                for one in net.parameters():
                    assert one.grad is not None
                    one -= one.grad * 2.0**-12
                    one.grad = None
            if step == 2:  # as a file keeps it
                emulation.load_state_dict(emulation.state_dict())
    same_bits([one.detach() for one in (*found, *net.parameters())], expected.numbers)
    assert emulation.state_dict() == expected.scales


@pytest.mark.parametrize("name", ["fp8-tensorwise-delayed", "nvfp4"])
def test_what_is_computed_again_is_the_same(name: str) -> None:
    recipe = ht.load_recipe(name)
    again = ht.Recipe(name, "", (), recipe.products, recipe.layers, recompute=("Linear",), written="again")
    with in_place_of_gpu(gemm_of_host_tensors):
        plain, other = trained(name), trained(again)
    same_bits(plain.numbers, other.numbers)
    assert plain.scales == other.scales


def test_measures_are_the_hosts() -> None:
    records = []
    for around in (nullcontext(), in_place_of_gpu(gemm_of_host_tensors)):
        with around, ht.measure() as measures:
            trained("deepseek-v3", steps=1)
        records.append(measures.records)
    assert records[0] == records[1] and len(records[0]) == 18


@pytest.mark.slow
def test_a_compiled_model_returns_the_same() -> None:
    torch.manual_seed(1)
    net, results = nn.Sequential(nn.Linear(70, 64), nn.ReLU(), nn.Linear(64, 6)), []
    ht.convert(net, "deepseek-v3")  # which keeps activations in FP8
    with in_place_of_gpu(gemm_of_host_tensors):
        for run in (net, torch.compile(net, backend="aot_eager", fullgraph=True)):
            net.zero_grad()
            y = run(torch.randn(5, 70, generator=torch.Generator().manual_seed(1)))
            y.square().sum().backward()
            results.append([y.detach(), *(one.grad.clone() for one in net.parameters() if one.grad is not None)])
    same_bits(*results)


@pytest.mark.parametrize(
    ("rule", "axis", "options"),
    [
        ("mxfp8-e4m3", -1, {}), ("deepseek-v3-1x128", 0, {"block": (1, 16)}), ("tensor-e5m2", -1, {"rounding": "rz"}),
        ("mxfp4-e2m1", -2, {"select": "ceil"}), ("int8-channel", -1, {}),
    ],
)  # fmt: skip
def test_quantisers_stay(rule: str, axis: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(5, 70, generator=torch.Generator().manual_seed(8))
    expected = ht.quantize(x, rule, axis, **options)
    monkeypatch.setattr(functional_of_hwsim, "singles", None)
    with in_place_of_gpu(gemm_of_host_tensors):
        same_bits([ht.quantize(x, rule, axis, **options)], [expected])
        half = x.bfloat16().requires_grad_()
        y = ht.quantize(half, rule, axis, **options)
        y.sum().backward()
    assert y.dtype == torch.bfloat16 and half.grad is not None and half.grad.eq(1).all()


@pytest.mark.parametrize("fmt", ["e4m3", "e5m2", "bf16", "dlfloat16"])
@pytest.mark.parametrize("options", [{}, {"rounding": "rz"}, {"overflow": "propagate"}])
def test_casts_stay(fmt: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(500, generator=torch.Generator().manual_seed(9)) * 2.0 ** torch.arange(-125, 125).repeat(2)
    x[::50] = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0, -0.0]).repeat(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = ht.cast(x, fmt, **options)
    monkeypatch.setattr(functional_of_hwsim, "singles", None)
    with in_place_of_gpu(gemm_of_host_tensors):
        found = ht.cast(x, fmt, **options)
    np.testing.assert_array_equal(found.isnan().numpy(), expected.isnan().numpy())
    numbers = ~expected.isnan()
    np.testing.assert_array_equal(found[numbers].view(torch.int32).numpy(), expected[numbers].view(torch.int32).numpy())
    assert numbers.sum() > 400


def test_what_the_host_quantises_alone() -> None:
    x = torch.randn(5, 64, generator=torch.Generator().manual_seed(8))
    functions: list[Callable[[], Tensor]] = [
        lambda: ht.quantize(x, "nvfp4"),
        lambda: ht.quantize(x, "mxfp8-e4m3", rounding="stochastic", random_bits=8, seed=3),
        lambda: ht.quantize(x, "tensor-e4m3", scale=0.5),
        lambda: ht.cast(x, "e2m1"),
        lambda: ht.cast(x, "e4m3", "stochastic", random_bits=8, seed=3, counter=5),
    ]
    for function in functions:
        expected = function()
        with in_place_of_gpu(gemm_of_host_tensors):
            same_bits([function()], [expected])


def test_what_the_host_refuses_is_all_nan() -> None:
    x = torch.ones(3, 16)
    x[1, 2] = torch.nan
    with pytest.raises(InputError, match="nan"):
        ht.matmul(x, torch.ones(16, 4), "hfp8-flat")
    with in_place_of_gpu(gemm_of_host_tensors):
        assert ht.matmul(x, torch.ones(16, 4), "hfp8-flat").isnan().all()
        assert ht.matmul(torch.ones(3, 16), torch.ones(16, 4), "hfp8-flat").eq(16).all()


def results_of(unit: Unit, a: Tensor, b: Tensor, *_: Any) -> Tensor:
    """What `gemm_on_gpu` returns, in shape and dtype."""
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return torch.zeros((*batch, a.shape[-2], b.shape[-1]), dtype=getattr(torch, result_dtype(unit.output).name),
                       device=a.device)  # fmt: skip


def test_nothing_is_read_back() -> None:
    """A tensor on `meta` has no numbers at all: what read one would fail."""
    device = torch.device("meta")
    tensors._signs.cache_clear()
    with NothingToTheHost(device) as mode:
        for name, product in RECIPES:
            histories = Histories()
            for _ in range(2 if product.delayed else 1):
                a, b = torch.ones(2, 32, 63, device=device), torch.ones(63, 64, device=device)
                call = computed_there(
                    product, a, b, multiply=results_of, seed=1, where=name, which="forward", histories=histories
                )
                assert call.result.shape == (2, 32, 64) and call.result.dtype == torch.float32
    tensors._signs.cache_clear()
    assert mode.calls > 1000


class Elsewhere:
    """A tensor of another device, as far as `operators` looks at it."""

    device = torch.device("cuda:0")

    def to(self, device: torch.device) -> Tensor:
        return torch.ones(2, device=device)


def key_of(recipe: Any) -> str:
    return ht.load_recipe(recipe).products.key


def test_one_warning_says_why_tensors_go_to_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operators, "_said", set())
    x = torch.ones(2, 2)
    with in_place_of_gpu(gemm_of_host_tensors):
        there, why = operators._how(key_of("exact"), "forward", x, x)
    assert there is None and why.startswith("unit exact-f32: operands.a: f32 (more than 20 bits)")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            operators._held(Elsewhere(), CPU, why)  # type: ignore[arg-type]
            operators._held(x, CPU, why)
    assert [str(one.message) for one in seen] == [f"hwsim takes tensors of cuda:0 to the host and back: {why}"]


def test_why_a_product_is_the_hosts() -> None:
    x, elsewhere = torch.ones(2, 2), torch.ones(2, 2, device="meta")
    assert operators._how(key_of("mxfp8"), "forward", x, x) == (None, "")
    assert operators._how(key_of("mxfp8"), "forward", x, elsewhere) == (None, "they are on cpu and meta")
    assert operators._how(key_of("mxfp8"), "forward", elsewhere, elsewhere) == (None, "it is no GPU of NVIDIA's")
    profiled = ht.load_recipe("fp8-tensorwise").with_profile("h200-cuda-13.0", unknown="one-sum").products.key
    with in_place_of_gpu(gemm_of_host_tensors):
        assert operators._how(profiled, "forward", x, x) == (
            None, "products as profile h200-cuda-13.0 makes them are the host's"
        )  # fmt: skip
        assert operators._how(key_of("int8"), "weight", x, x) == (gemm_of_host_tensors, "")


def test_amds_gpus_are_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shown(Tensor):
        is_cuda = True
        device = torch.device("cuda:0")

    x = torch.zeros(2).as_subclass(Shown)
    monkeypatch.setattr(torch.cuda, "_compile_kernel", None, raising=False)
    assert devices.multiplier(x) is not None
    monkeypatch.setattr(torch.version, "hip", "6.4")
    assert devices.multiplier(x) is None and devices.not_there(x) == "it is no GPU of NVIDIA's"


def another_seed(right: Any, operand: Any, unit: Unit, side: Any, x: Tensor, seed: int) -> Any:
    return right(operand, unit, side, x, seed + 1)


MISTAKES: dict[str, tuple[str, Any, str]] = {
    "seeds of sides": ("coded", another_seed, "nvfp4"),
    "no transform": ("transformed", lambda right, x, *more: x, "nvfp4"),
    "no history": (
        "delayed", lambda right, operand, x, state: (right(operand, x, state)[0], state), "fp8-tensorwise-delayed"
    ),
    "no factor": ("coded", lambda right, *more: right(*more)._replace(factor=None), "hopper-unpromoted"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", others_slow(MISTAKES, ["seeds of sides", "no history"]))
def test_a_mistake_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, twist, recipe = MISTAKES[mistake]
    expected, right = trained(recipe), getattr(devices, name)
    monkeypatch.setattr(devices, name, lambda *args: twist(right, *args))
    with in_place_of_gpu(gemm_of_host_tensors), pytest.raises(AssertionError):
        same_bits(trained(recipe).numbers, expected.numbers)
