"""Derivatives: what units compute, wherever it is asked for, is what they compute step by step; the rest raises."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from pytorch.test_torch_models import small
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from torch.utils.checkpoint import checkpoint

import hwsim.torch as ht
from hwsim.base.errors import InputError
from hwsim.torch import operators

X = torch.randn(3, 32, generator=torch.Generator().manual_seed(1))
FIRST_ALONE = "units compute first derivatives only"
REVERSE_ALONE = "units compute no derivatives in forward mode"


def number(x: Tensor, net: Any) -> Tensor:
    total: Tensor = net(x).square().sum()
    return total


def forward_tangent(net: nn.Module) -> Any:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(net(forward_ad.make_dual(X, X))).tangent  # type: ignore[no-untyped-call]


def twice(net: nn.Module) -> Any:
    x = X.clone().requires_grad_()
    (once,) = torch.autograd.grad(number(x, net), x, create_graph=True)
    return torch.autograd.grad(once.square().sum(), x)


def of_a_cotangent(net: nn.Module) -> Any:
    back = vjp(net, X)[1]
    return jvp(lambda y: back(y)[0], (torch.ones(3, 8),), (torch.ones(3, 8),))


def image(net: nn.Module) -> Callable[[Tensor], Tensor]:
    """The net behind a convolution."""
    conv = nn.Conv1d(1, 2, 3, padding=1)
    ht.convert(conv, "mxfp8")
    return lambda x: net(conv(x[:, None]).mean(1))


@pytest.mark.parametrize(
    ("derivative", "message"),
    [
        (lambda net: jvp(net, (X,), (X,)), REVERSE_ALONE),
        (lambda net: jvp(image(net), (X,), (X,)), REVERSE_ALONE),
        (lambda net: jacfwd(net)(X), REVERSE_ALONE),
        (lambda net: hessian(lambda x: number(x, net))(X), REVERSE_ALONE),
        (forward_tangent, REVERSE_ALONE),
        (of_a_cotangent, REVERSE_ALONE),
        (twice, FIRST_ALONE),
        (lambda net: twice(image(net)), FIRST_ALONE),
        (lambda net: jacrev(jacrev(lambda x: number(x, net)))(X), FIRST_ALONE),
        (lambda net: torch.autograd.functional.hessian(lambda x: number(x, net), X), FIRST_ALONE),
    ],
)
def test_a_derivative_that_units_do_not_compute_raises(derivative: Callable[[Any], Any], message: str) -> None:
    net = small()
    with ht.emulate(net, "mxfp8"), pytest.raises(InputError, match=message):
        derivative(net)


def test_forward_mode_is_zeros_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    # What PyTorch itself gives for an operator: the test above sees it.
    def silent(function: Any, a: Tensor, b: Tensor, addend: Any, seed: Tensor, factor: float, layer: Any) -> Tensor:
        more = layer.key, "forward", layer.where, layer.owner
        return torch.ops.hwsim.product(a, b, addend, seed, factor, *more)  # type: ignore[no-any-return]

    monkeypatch.setattr(operators, "applied", silent)
    with ht.emulate(net := small().requires_grad_(False), "mxfp8"):
        assert not jvp(net, (X,), (X,))[1].any()


@pytest.mark.parametrize("recipe", ["exact", "deepseek-v3", "fp8-tensorwise"])
def test_functional_gradients_are_those_of_a_loop_over_examples(recipe: str) -> None:
    net = nn.Sequential(nn.Unflatten(-1, (2, 16)), nn.Conv1d(2, 3, 3, groups=1), nn.Flatten(), nn.Linear(42, 4))
    weights = dict(net.named_parameters())

    def loss(weights: dict[str, Tensor], x: Tensor) -> Tensor:
        total: Tensor = functional_call(net, weights, (x[None],)).square().sum()
        return total

    with ht.emulate(net, recipe):
        together = vmap(grad(loss), (None, 0))(weights, X)
        for at, x in enumerate(X):
            net.zero_grad()
            loss(weights, x).backward()
            for name, one in net.named_parameters():
                assert one.grad is not None and torch.equal(together[name][at], one.grad), name
        rows = torch.autograd.functional.jacobian(net, X)  # type: ignore[no-untyped-call]
        assert torch.equal(jacrev(net)(X), rows)


def test_numbers_that_are_cast_pass_tangents_through_and_meta_tensors_have_shapes() -> None:
    def rounded(x: Tensor) -> Tensor:
        return ht.quantize(ht.cast(x, "e4m3"), "nvfp4")

    assert torch.equal(jvp(rounded, (X,), (X,))[1], X)
    assert torch.equal(vmap(rounded)(X), torch.stack([rounded(one) for one in X]))
    net = nn.Sequential(nn.Conv1d(2, 4, 3), nn.Flatten(), nn.Linear(24, 5)).to("meta")
    with ht.emulate(net, "deepseek-v3"):
        y = net(torch.empty(7, 2, 8, device="meta"))
    assert (y.shape, y.device.type, rounded(y).shape) == ((7, 5), "meta", (7, 5))
    y.sum().backward()
    assert all(one.grad is not None and one.grad.shape == one.shape for one in net.parameters())


class Product(nn.Module):
    """A model that puts functions of its own, and modules, under checkpoints."""

    def __init__(self, reentrant: bool | None):
        super().__init__()
        self.first, self.second, self.reentrant = nn.Linear(32, 32), nn.Linear(32, 32), reentrant
        self.weight = nn.Parameter(torch.randn(32, 8))

    def again(self, function: Callable[..., Tensor], *args: Tensor) -> Tensor:
        if self.reentrant is None:
            return function(*args)
        found: Tensor = checkpoint(function, *args, use_reentrant=self.reentrant)  # type: ignore[assignment]
        return found

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.again(self.first, x))
        x = self.again(lambda x: torch.relu(x @ self.first.weight) + self.second.forward(x), x)
        return x @ self.weight


def run(net: nn.Module, recipe: str, whole: bool | None, outside: bool, batches: int = 2) -> list[Tensor]:
    """Gradients of several batches, whose backward passes come after all forward passes."""
    net.zero_grad()
    emulation = ht.convert(net, recipe)
    torch.manual_seed(4)
    given = [torch.randn(16, 32, requires_grad=True) for _ in range(batches)]
    losses = [
        (net(x) if whole is None else checkpoint(net, x, use_reentrant=whole)).square().sum()  # type: ignore[union-attr]
        for x in given
    ]
    if outside:
        ht.restore(net)
        del emulation
    for one in losses:
        one.backward()
    ht.restore(net)
    return [one.grad for one in (*given, *net.parameters()) if one.grad is not None]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["hopper-unpromoted", "fp8-tensorwise-delayed", "nvfp4"])
@pytest.mark.parametrize(("whole", "inner"), [(True, None), (False, None), (None, True), (None, False), (False, True)])
def test_a_checkpoint_changes_no_gradient(recipe: str, whole: bool | None, inner: bool | None) -> None:
    torch.manual_seed(3)
    plain = Product(None)
    net = Product(inner)
    net.load_state_dict(plain.state_dict())
    expected = run(plain, recipe, None, False)
    for outside in (False, True):
        found = run(net, recipe, whole, outside)
        assert len(found) == len(expected) and all(map(torch.equal, found, expected)), outside
    assert [type(one) for one in net.modules()] == [Product, nn.Linear, nn.Linear]


def test_what_is_computed_again_has_the_recipe_of_its_forward_pass() -> None:
    net = small()
    x = X.clone().requires_grad_()
    with ht.emulate(net, "mxfp4"):
        expected = torch.autograd.grad(number(x, net), x)[0]
        total = number(x, lambda x: checkpoint(net, x, use_reentrant=False))
    with ht.emulate(net, "mxfp8"):
        assert torch.equal(torch.autograd.grad(total, x)[0], expected)
        assert not torch.equal(torch.autograd.grad(number(x, net), x)[0], expected)


def test_copies_and_files_of_a_converted_model_are_converted(tmp_path: Path) -> None:
    net = small()
    emulation = ht.convert(net, "fp8-tensorwise-delayed")
    net(X)
    kept = emulation.state_dict()
    torch.save(net, tmp_path / "net.pt")
    again = torch.load(tmp_path / "net.pt", weights_only=False)
    copies = [again, copy.deepcopy(net), pickle.loads(pickle.dumps(net))]
    expected = net(X)
    for one in copies:
        assert one._hwsim[0] is not emulation and one._hwsim[0].state_dict() == kept
        assert torch.equal(one(X), expected)  # with the scales that the model had, and scales of its own
        assert one._hwsim[0].state_dict() == emulation.state_dict()
        ht.restore(one)
        assert type(one) is type(small()) and torch.equal(one(X), small()(X))
    assert ht.load_recipe("nvfp4") == pickle.loads(pickle.dumps(ht.load_recipe("nvfp4")))


@pytest.mark.slow
def test_another_process_reads_a_file_of_a_converted_model(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Linear(32, 8))
    ht.convert(net, "fp8-tensorwise-delayed")
    net(X)
    torch.save(net, tmp_path / "net.pt")
    code = f"import torch, sys; net = torch.load({str(tmp_path / 'net.pt')!r}, weights_only=False)\n"
    # hwsim.torch does not import PyTorch's compiler, which takes 2 s, and makes a folder among the temporary ones.
    code += "assert not {'torch._dynamo', 'torch._inductor'} & {*sys.modules} and 'hwsim.torch' in sys.modules\n"
    code += f"torch.save(net(torch.load({str(tmp_path / 'x.pt')!r})).detach(), {str(tmp_path / 'y.pt')!r})\n"
    torch.save(X, tmp_path / "x.pt")
    subprocess.run([sys.executable, "-c", code], check=True)
    assert torch.equal(torch.load(tmp_path / "y.pt"), net(X))


def test_an_exported_model_says_what_it_needs() -> None:
    net = small()
    with ht.emulate(net, "mxfp8"):
        expected, file = net(X), io.BytesIO()
        torch.export.save(torch.export.export(net, (X,)), file)
    file.seek(0)
    assert torch.equal(torch.export.load(file).module()(X), expected)
    with pytest.raises(InputError, match=r"no recipe of this process has the products 0123: call hwsim\.torch\.load"):
        torch.ops.hwsim.product(X, X.T, None, torch.zeros((), dtype=torch.int64), 1.0, "0123", "forward", "", 0)
