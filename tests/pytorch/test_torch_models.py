"""Models whose products go through units: which, how they are named, and that nothing else of a model changes."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
import yaml
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import hwsim.torch as ht
from hwsim.base.errors import InputError, InputTypeError
from hwsim.torch.recipe import SHIPPED

BLOCKS = {"unit": "mxfp8-e4m3-f32", "a": "block", "b": "block"}


class Everything(nn.Module):
    """A model with every kind of product."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(8, 8, 3, groups=8, padding=1)
        self.up = nn.ConvTranspose2d(8, 4, 3, stride=2)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.recurrent = nn.LSTM(8, 8, batch_first=True)
        self.head = nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.depthwise(self.conv(x)))
        up = self.up(x).mean()
        tokens = self.encoder(x.flatten(2).mT)
        tokens, _ = self.recurrent(tokens)
        near = torch.einsum("bld,bmd->blm", tokens, tokens)
        mixed = near @ tokens + torch.tensordot(tokens, torch.eye(8), dims=1)
        mixed = torch.addmm(mixed.flatten(0, 1), tokens.flatten(0, 1), torch.eye(8)).reshape(mixed.shape)
        return self.head(mixed) + up


def model(seed: int = 1) -> Everything:
    torch.manual_seed(seed)
    return Everything()


def image(seed: int = 2) -> Tensor:
    return torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("training", [True, False])
def test_every_product_goes_through_a_unit_and_gradients_are_exact(training: bool) -> None:
    net = model().train(training)
    exact = copy.deepcopy(net).double()
    exact_sum = exact_forward(exact, image().double())
    exact_sum.backward()
    with ht.emulate(net, "exact") as emulation:
        total = net(image()).tanh().sum()
    total.backward()
    assert total.item() == pytest.approx(exact_sum.item(), rel=1e-5)
    for (name, one), other in zip(net.named_parameters(), exact.parameters(), strict=True):
        assert one.grad is not None and other.grad is not None, name
        torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-4, atol=1e-5)
    assert {(place.module, place.function) for place in emulation.report.converted} == {
        ("conv", "conv2d"), ("depthwise", "conv2d"), ("up", "conv_transpose2d"), ("encoder.self_attn", "linear"),
        ("encoder.self_attn", "attention scores"), ("encoder.self_attn", "attention values"),
        ("encoder.linear1", "linear"), ("encoder.linear2", "linear"), ("", "einsum"), ("", "matmul"),
        ("", "tensordot"), ("", "addmm"), ("head", "linear"),
    }  # fmt: skip
    assert [(place.module, place.function) for place in emulation.report.left] == [("recurrent", "lstm")]
    said = str(emulation.report)
    assert said.startswith("recipe exact: 13 calls through units, 1 by PyTorch\n")
    assert "recurrent (LSTM) lstm: PyTorch, no unit computes it" in said
    assert emulation.report.calls["encoder.linear1"] == 1


def exact_forward(net: Everything, x: Tensor) -> Tensor:
    eye = torch.eye
    torch.set_default_dtype(torch.float64)
    try:
        total: Tensor = net(x).tanh().sum()
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.eye is eye
    return total


def test_a_model_is_what_it_was_when_the_block_ends() -> None:
    net = model()
    before, kinds = net(image()), [type(one) for one in net.modules()]
    with ht.emulate(net, "mxfp4"):
        inside = net(image())
    assert [type(one) for one in net.modules()] == kinds
    assert torch.equal(net(image()), before) and not torch.equal(inside, before)
    with pytest.raises(RuntimeError), ht.emulate(net, "mxfp4"):
        raise RuntimeError
    assert torch.equal(net(image()), before)


def test_a_converted_model_keeps_names_states_and_classes() -> None:
    net = model()
    names = list(net.state_dict())
    ht.convert(net, "mxfp8")
    assert list(net.state_dict()) == names and isinstance(net.head, nn.Linear)
    inside = net(image())
    other = model(seed=5)
    ht.convert(other, "mxfp8")
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file))
    assert torch.equal(other(image()), inside)
    assert torch.equal(copy.deepcopy(net)(image()), inside)
    with pytest.raises(InputError, match="converted already"):
        ht.convert(net, "mxfp8")
    ht.restore(net)
    ht.restore(net)
    assert type(net.head) is nn.Linear and not torch.equal(net(image()), inside)


def test_modules_are_left_by_name_and_by_class() -> None:
    net = model()
    with ht.emulate(net, "mxfp8", leave=("enc*", nn.ConvTranspose2d, "head")) as emulation:
        net(image())
    report = emulation.report
    assert {place.module for place in report.converted} == {"conv", "depthwise", ""}
    assert {place.module for place in report.left} == {
        "up", "encoder.self_attn", "encoder.linear1", "encoder.linear2", "recurrent", "head"
    }  # fmt: skip
    assert "head (Linear) linear: PyTorch, as asked for" in str(report)
    for one in ("encoder", nn.TransformerEncoderLayer):  # a name is no list of letters
        with ht.emulate(net, "mxfp8", leave=one) as emulation:
            net(image())
        assert {place.module.partition(".")[0] for place in emulation.report.left} == {"encoder", "recurrent"}
    with pytest.raises(InputError, match="leave: no module of the model is haed; it has conv, depthwise"):
        ht.convert(net, "mxfp8", leave=("haed",))
    with pytest.raises(InputTypeError, match="leave must hold names and classes"):
        ht.convert(net, "mxfp8", leave=(3,))  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match="leave must hold names and classes of modules, not 3"):
        ht.convert(net, "mxfp8", leave=3)  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match=r"model must be a torch.nn.Module, not Tensor"):
        ht.convert(image(), "mxfp8")  # type: ignore[arg-type]
    assert not any(hasattr(one, "_hwsim") for one in net.modules())


def test_layers_have_recipes_of_their_own_and_the_first_that_fits_counts() -> None:
    recipe = {
        "recipe": "mixed",
        "products": dict.fromkeys(("forward", "input", "weight"), BLOCKS),
        "layers": [
            {"place": "first", "recipe": "none"},
            {"place": "last", "recipe": "int8"},
            {"kind": "attention", "recipe": "bf16-hopper"},
            {"kind": "depthwise", "recipe": "none"},
            {"type": "MultiheadAttention", "recipe": "mxfp4"},
            {"name": "encoder.linear?", "recipe": "mxfp6"},
        ],
    }  # fmt: skip
    net = model()
    with ht.emulate(net, recipe) as emulation:
        net(image()).sum().backward()
    units = {(place.module, place.function): place.units[:1] for place in emulation.report.places.values()}
    assert units["conv", "conv2d"] == () and units["depthwise", "conv2d"] == ()
    assert units["head", "linear"] == ("int8-i32",) and units["up", "conv_transpose2d"] == ("mxfp8-e4m3-f32",)
    assert units["encoder.self_attn", "attention scores"] == ("hopper-wgmma-bf16-f32",)
    assert units["encoder.self_attn", "linear"] == ("blackwell-mxf8f6f4-e3m2xe2m1-f32",)
    assert units["encoder.linear2", "linear"] == ("blackwell-mxf8f6f4-e3m2-f32",)


class Small(nn.Module):
    def __init__(self, recompute: bool = False):
        super().__init__()
        self.first, self.second, self.recompute = nn.Linear(32, 48), nn.Linear(48, 8), recompute

    def forward(self, x: Tensor) -> Tensor:
        inner = checkpoint(self.first, x, use_reentrant=False) if self.recompute else self.first(x)
        assert isinstance(inner, Tensor)
        return self.second(torch.relu(inner))  # type: ignore[no-any-return]


def gradients(net: nn.Module, run: Callable[[Tensor], Tensor] | None = None) -> list[Tensor]:
    net.zero_grad()
    x = torch.randn(16, 32, generator=torch.Generator().manual_seed(3))
    torch.manual_seed(4)
    (net if run is None else run)(x).square().sum().backward()
    return [one.grad.clone() for one in net.parameters() if one.grad is not None]


def small(recompute: bool = False) -> Small:
    torch.manual_seed(1)
    return Small(recompute)


def same(some: list[Tensor], others: list[Tensor]) -> bool:
    return len(some) == len(others) and all(torch.equal(a, b) for a, b in zip(some, others, strict=True))


def test_what_is_recomputed_is_the_same() -> None:
    plain, again = small(), small(recompute=True)
    ht.convert(plain, "mxfp8")
    ht.convert(again, "mxfp8")
    assert same(gradients(plain), gradients(again))


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = small(), nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.inner(x))  # type: ignore[no-any-return]


def kept_and_gradients(recipe: dict[str, Any]) -> tuple[int, list[Tensor], list[Tensor], Any]:
    """Numbers that are kept for the backward pass, the gradients of two steps, and what is left of the scales."""
    torch.manual_seed(5)
    net, kept = Pair(), 0

    def count(x: Tensor) -> Tensor:
        nonlocal kept
        kept += x.numel()
        return x

    with ht.emulate(net, recipe) as emulation:
        with torch.autograd.graph.saved_tensors_hooks(count, lambda x: x):
            first = gradients(net)
        second = gradients(net)
    calls = {place: emulation.report.calls[place] for place in emulation.report.calls}
    return kept, first, second, (emulation.state_dict(), calls)


@pytest.mark.parametrize("name", ["fp8-tensorwise-delayed", "nvfp4", "deepseek-v3"])
@pytest.mark.parametrize("module", ["Small", "inn*"])
def test_what_a_recipe_computes_again_is_the_same_and_is_not_kept(name: str, module: str) -> None:
    keys = yaml.safe_load((SHIPPED / f"{name}.yaml").read_text())
    kept, *whole = kept_and_gradients(keys)
    fewer, *again = kept_and_gradients({**keys, "recompute": [module]})
    assert fewer < kept - 16 * 48  # what is between the two layers
    assert same(whole[0], again[0]) and same(whole[1], again[1])  # with the same random bits, and the same scales
    assert whole[2] == again[2]  # a scale's history has each number once; so have the report's calls


def test_a_model_is_compiled_whole_and_returns_the_same() -> None:
    net = small()
    ht.convert(net, "nvfp4")  # with random bits
    explained = torch._dynamo.explain(net)(torch.ones(2, 32))  # type: ignore[no-untyped-call]
    assert (explained.graph_count, explained.graph_break_count) == (1, 0)
    plain = small()
    ht.convert(plain, "mxfp8")
    before = gradients(plain)
    assert same(gradients(plain, torch.compile(plain, backend="aot_eager")), before)


def test_products_within_functions_that_are_given_no_module_are_the_models() -> None:
    net = small()

    def forward(x: Tensor) -> Tensor:
        return functional.linear(x, net.second.weight.T @ net.second.weight)

    with ht.emulate(net, "exact") as emulation:
        forward(torch.ones(3, 48))  # no module computes: PyTorch does
    assert not emulation.report.places
