"""What no unit computes: PyTorch's functions that multiply are all known, one warning names them, strict refuses."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention.flex_attention import flex_attention
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import hwsim.torch as ht
from hwsim.base.errors import InputError
from hwsim.torch.convert import COMPOSED, HANDLERS, LEFT_OUT


class Others(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.recurrent, self.pair, self.last = nn.LSTM(8, 8), nn.Bilinear(8, 8, 4), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.recurrent(x)[0]
        near = (
            torch.cdist(x, x).mean() + torch.inner(x[0, 0], x[0, 0]) + x[0, 0] @ x[0, 1] + torch.dot(x[0, 0], x[0, 1])
        )
        return self.last(self.pair(x, x)) + near  # type: ignore[no-any-return]


def warned(net: nn.Module, x: Tensor, **options: Any) -> tuple[list[str], ht.Emulation]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with ht.emulate(net, "mxfp8", **options) as emulation:
            net(x)
            net(x)
    return [str(one.message) for one in seen if "no unit computes" in str(one.message)], emulation


def test_one_warning_names_each_once() -> None:
    said, emulation = warned(Others(), torch.randn(5, 3, 8))
    assert said == [
        "no unit computes lstm of recurrent (LSTM), cdist of the model (Others), inner of the model (Others), bilinear "
        "of pair (Bilinear): PyTorch does, in its own precision. leave= names what PyTorch may compute; strict=True "
        "raises"
    ]
    assert ("", "dot") in {(place.module, place.function) for place in emulation.report.converted}
    said, _ = warned(nn.Sequential(nn.Linear(8, 8)), torch.randn(5, 8))
    assert not said


def test_what_was_asked_for_is_no_surprise() -> None:
    said, emulation = warned(Others(), torch.randn(5, 3, 8), leave=("recurrent", nn.Bilinear))
    assert len(said) == 1 and "lstm" not in said[0] and "bilinear" not in said[0]
    assert "recurrent (LSTM) lstm: PyTorch, as asked for" in str(emulation.report)


def test_strict_raises_before_it_is_computed() -> None:
    net, x = Others(), torch.randn(5, 3, 8)
    with ht.emulate(net, "mxfp8", strict=True), pytest.raises(InputError, match=r"no unit computes lstm of recurrent"):
        net(x)
    net = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8))
    with ht.emulate(net, "mxfp8", strict=True):
        net(x)


class Calls(nn.Module):
    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def test_numbers_that_units_do_not_multiply_are_pytorchs() -> None:
    x = torch.randn(3, 4, dtype=torch.complex64)
    said, _ = warned(Calls(lambda x: torch.equal(x @ x.mT, x.mT.mT @ x.mT)), x)
    assert said == [] or "of complex64" in said[0]
    with ht.emulate(net := Calls(torch.matmul), "mxfp4"):
        with pytest.warns(UserWarning, match="no unit computes matmul of complex64"):
            assert torch.equal(net(x, x.mT), x @ x.mT)
        with pytest.warns(UserWarning, match="no unit computes matmul of int64"):
            assert net(torch.full((1, 1), 1000001), torch.ones(1, 1, dtype=torch.int64)).item() == 1000001
    with pytest.raises(InputError, match="units multiply strided tensors of real floats, not complex64"):
        ht.matmul(x, x.mT, "mxfp8")
    with pytest.raises(InputError, match="x must be a strided tensor of real floats, not complex64"):
        ht.cast(x, "e4m3")


MULTIPLY = {
    "mm",
    "bmm",
    "addmm",
    "addmm_",
    "baddbmm",
    "addbmm",
    "addmv",
    "mv",
    "dot",
    "vdot",
    "convolution",
    "_cdist_forward",
    "_pdist_forward",
    "_trilinear",
    "_fft_r2c",
    "_fft_c2c",
    "_fft_c2r",
    "linalg_matrix_exp",
    "_linalg_svd",
    "_linalg_eigh",
    "linalg_eig",
    "linalg_qr",
    "_linalg_det",
    "_linalg_slogdet",
    "_linalg_solve_ex",
    "linalg_inv_ex",
    "linalg_cholesky_ex",
    "linalg_lu_factor_ex",
    "linalg_lu",
    "linalg_lstsq",
    "linalg_pinv",
    "cholesky_inverse",
    "linalg_ldl_factor_ex",
    "linalg_solve_triangular",
    "linalg_householder_product",
    "mkldnn_rnn_layer",
    "lstm",
    "gru",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_transformer_encoder_layer_fwd",
    "_native_multi_head_attention",
}


class Kernels(TorchDispatchMode):
    """The kernels that multiply and that PyTorch runs."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.split("::")[1]
        self.seen |= {name} & MULTIPLY
        return func(*args, **(kwargs or {}))


class Functions(TorchFunctionMode):
    """The functions that a mode sees."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


SQUARE, CUBE, ROW = torch.eye(3) * 2 + 0.1, torch.eye(3).expand(2, 3, 3), torch.ones(3)
# Of every function of PyTorch 2.13 that the samples of its own tests bring to such a kernel, a call.
CALLS: dict[str, Callable[[], Any]] = {
    "inner": lambda: torch.inner(ROW, ROW),
    "addbmm": lambda: torch.addbmm(SQUARE, CUBE, CUBE),
    "addmm_": lambda: SQUARE.clone().addmm_(SQUARE, SQUARE),
    "cdist": lambda: torch.cdist(SQUARE, SQUARE),
    "chain_matmul": lambda: torch.chain_matmul(SQUARE, SQUARE),
    "pdist": lambda: functional.pdist(SQUARE),
    "bilinear": lambda: functional.bilinear(SQUARE, SQUARE, CUBE),
    "cov": lambda: torch.cov(SQUARE),
    "corrcoef": lambda: torch.corrcoef(SQUARE),
    "matrix_power": lambda: torch.linalg.matrix_power(SQUARE, 3),
    "multi_dot": lambda: torch.linalg.multi_dot([SQUARE, SQUARE]),
    "vecdot": lambda: torch.linalg.vecdot(ROW, ROW),
    "matrix_exp": lambda: torch.matrix_exp(SQUARE),
    "fft": lambda: torch.fft.rfft(ROW),
    "svd": lambda: torch.svd(SQUARE),
    "stft": lambda: torch.stft(torch.ones(8), 4, window=torch.ones(4), return_complex=True),
    "pca_lowrank": lambda: torch.pca_lowrank(SQUARE),
    "svd_lowrank": lambda: torch.svd_lowrank(SQUARE),
    "cholesky": lambda: torch.linalg.cholesky(SQUARE),
    "inv": lambda: SQUARE.inverse(),
    "det": lambda: SQUARE.det(),
    "solve": lambda: torch.linalg.solve(SQUARE, ROW),
    "lstsq": lambda: torch.linalg.lstsq(SQUARE, SQUARE),
    "qr": lambda: torch.linalg.qr(SQUARE),
    "eigh": lambda: torch.linalg.eigh(SQUARE),
    "logdet": lambda: SQUARE.logdet(),
    "lu": lambda: torch.linalg.lu(SQUARE),
    "pinv": lambda: torch.pinverse(SQUARE),
    "cond": lambda: torch.linalg.cond(SQUARE),
    "matrix_rank": lambda: torch.linalg.matrix_rank(SQUARE),
    "ldl": lambda: torch.linalg.ldl_factor(SQUARE),
    "triangular": lambda: torch.linalg.solve_triangular(SQUARE, SQUARE, upper=True),
    "tensorinv": lambda: torch.linalg.tensorinv(SQUARE, 1),
    "tensorsolve": lambda: torch.linalg.tensorsolve(SQUARE, ROW),
    "eig": lambda: torch.linalg.eigvals(SQUARE),
    "gru": lambda: nn.GRU(3, 3)(CUBE),
    "lstm": lambda: nn.LSTM(3, 3)(CUBE),
    "rnn": lambda: nn.RNN(3, 3)(CUBE),
    "cell": lambda: nn.GRUCell(3, 3)(SQUARE),
    "aten": lambda: torch.ops.aten.mm(SQUARE, SQUARE),
    "overload": lambda: torch.ops.aten.mm.default(SQUARE, SQUARE),
    "convolution": lambda: torch.convolution(CUBE, CUBE[:, :, :1], None, [1], [0], [1], False, [0], 1),
}


@pytest.mark.parametrize("name", list(CALLS))
def test_a_function_that_multiplies_is_known(name: str) -> None:
    with Kernels() as kernels, Functions() as functions:
        CALLS[name]()
    assert kernels.seen
    net = Calls(CALLS[name])
    with ht.emulate(net, "mxfp8") as emulation, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net()
    assert emulation.report.left, [getattr(one, "__name__", one) for one in functions.seen]


def quantized() -> Callable[[Tensor], Any]:
    packed = torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(SQUARE, 0.1, 0, torch.qint8), None)
    return lambda x: torch.ops.quantized.linear_dynamic(x, packed)


def weighted(x: Tensor) -> Any:
    return functional.embedding_bag(torch.tensor([[0, 1]]), x, mode="sum", per_sample_weights=torch.ones(1, 2))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "x", "name"),
    [
        (quantized, SQUARE, "linear_dynamic"),
        (lambda: weighted, SQUARE, "embedding_bag of weights"),
        (lambda: nn.EmbeddingBag(4, 3, mode="sum"), torch.tensor([[0, 1]]), None),
        (lambda: lambda x: flex_attention(x, x, x), torch.ones(1, 1, 16, 8), "flex_attention"),
    ],
)
def test_what_multiplies_in_a_kernel_of_its_own_is_known(make: Callable[[], Any], x: Tensor, name: str | None) -> None:
    net = Calls(make())
    with ht.emulate(net, "mxfp8") as emulation, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net(x)
    assert [one.function for one in emulation.report.left] == ([] if name is None else [name])


def test_an_encoder_that_pytorch_has_a_kernel_for_goes_through_units() -> None:
    net = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    with torch.no_grad(), ht.emulate(net, "mxfp8", strict=True) as emulation, Kernels() as kernels:
        net(torch.randn(2, 4, 8))
    assert len(emulation.report.converted) == 5 and not kernels.seen & {"_transformer_encoder_layer_fwd", "mm", "bmm"}


def test_no_function_is_in_two_lists() -> None:
    assert not {*LEFT_OUT} & {*HANDLERS, *COMPOSED} and len(LEFT_OUT) > 100
