"""Launches on a GPU: that tensors reach the kernel as they are, by the host's build; and, on a GPU, its results."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from built_presets import others_slow
from cuda.test_host import as_codes, by_gemm, in_blocks, unit_of
from kernels.kernel_cases import Product
from kernels.window_cases import operands
from numpy.typing import NDArray

import hwsim
from hwsim.base.arrays import is_on_gpu
from hwsim.base.errors import InputError, InputTypeError
from hwsim.compute import gemm, products
from hwsim.compute.cuda import device, host, variants
from hwsim.formats import FloatFormat, Format, container_dtype
from hwsim.spec import NotImplementedYet, load_sparse


def tensors(given: Product, to: str = "cpu") -> list[torch.Tensor | None]:
    return [None if codes is None else torch.from_numpy(np.ascontiguousarray(codes)).to(to) for codes in given]


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host in a GPU's place: every tensor is on it."""
    monkeypatch.setattr(device, "kernel_on", device.HOST.kernel)
    for module in (device, gemm, products):
        monkeypatch.setattr(module, "is_on_gpu", lambda x: isinstance(x, torch.Tensor))


@pytest.mark.parametrize(
    "name",
    others_slow(
        ["deepseek-v3-e4m3-f32-scaled", "mxfp8-e4m3-f32", "ada-mma-e4m3-f16", "rvbna-e4m3-f32-n16"],
        ["deepseek-v3-e4m3-f32-scaled", "ada-mma-e4m3-f16"],
    ),
)
def test_tensors_reach_the_kernel_as_they_are(name: str, stand_in: None) -> None:
    unit = unit_of(name)
    for _, drawn in operands(unit, 6, n=5, most=5):
        given = in_blocks(unit, drawn)
        a, b, *rest = tensors(given)
        assert a is not None and b is not None
        got = hwsim.gemm(unit, a, b.T.contiguous().T, *rest)
        assert isinstance(got, torch.Tensor)
        want = by_gemm(unit, given, compiled=True)
        np.testing.assert_array_equal(as_codes(got.numpy()), want)
        assert got.numpy().dtype == hwsim.gemm(unit, *given).dtype


def test_floats_of_the_formats_dtype_are_codes(stand_in: None) -> None:
    a, b = (torch.randn(70, 40).to(torch.float8_e4m3fn), torch.randn(40, 66).to(torch.float8_e4m3fn))
    got: Any = hwsim.gemm("hopper-wgmma-e4m3-f32", a, b)
    want = hwsim.gemm("hopper-wgmma-e4m3-f32", a.view(torch.uint8).numpy(), b.view(torch.uint8).numpy())
    np.testing.assert_array_equal(got.numpy().view(np.uint32), want.view(np.uint32))


class Batch(NamedTuple):
    """Arguments of `gemm` as arrays, with axes that are broadcast, and how its factors are laid out."""

    unit: str
    arrays: list[NDArray[Any] | None]
    layout: dict[str, Any]


def batches() -> Iterator[Batch]:
    rng = np.random.default_rng(11)

    def codes(*shape: int, below: int = 256, dtype: Any = np.uint8) -> NDArray[Any]:
        return rng.integers(0, below, shape).astype(dtype)

    bf16 = partial(codes, below=1 << 16, dtype=np.uint16)
    addends = rng.standard_normal((2, 1, 5, 4)).astype(np.float32)
    yield Batch("hopper-wgmma-e4m3-f32", [codes(2, 1, 5, 40), codes(3, 40, 4), addends], {})
    yield Batch("hopper-wgmma-e4m3-f32", [codes(5, 40), codes(3, 4, 40), addends[0, 0]], {"transposed": True})
    yield Batch("hopper-wgmma-e4m3-f32", [codes(2, 5, 0), codes(0, 4), addends[:, 0]], {})
    yield Batch("hopper-wgmma-e4m3-f32", [codes(2, 0, 32), codes(32, 4)], {})
    yield Batch("ampere-mma-bf16-f32", [bf16(2, 3, 40), bf16(40, 4)], {})
    of_blocks = [codes(2, 5, 2), codes(2, 4)]
    yield Batch("mxfp8-e4m3-f32", [codes(2, 5, 64), codes(64, 4), None, *of_blocks], {})
    of_blocks = [codes(2, 5, 4, below=127), codes(4, 4, below=127)]
    yield Batch("blackwell-mxf4nvf4-e2m1-f32", [codes(2, 5, 32), codes(32, 4), None, *of_blocks], {"packed": "ab"})
    of_blocks[1] = of_blocks[1].T
    laid = {"packed": "b", "transposed": True}
    yield Batch("blackwell-mxf4nvf4-e2m1-f32", [codes(2, 5, 64, below=16), codes(4, 32), None, *of_blocks], laid)


def dots() -> Iterator[tuple[str, list[NDArray[Any] | None]]]:
    """A unit, and arguments of `dot` as arrays: more pairs than one launch takes."""
    for name, k in (
        ("hopper-wgmma-e4m3-f32", 40), ("rvbna-e4m3-f32-n16", 16), ("ampere-mma-f16-f16", 9), ("mxfp8-e4m3-f32", 64),
        ("deepseek-v3-e4m3-f32-scaled", 384), ("cdna3-mfma-bf16-f32", 5),
    ):  # fmt: skip
        unit, rng = unit_of(name), np.random.default_rng(12)

        def codes(fmt: Format, *shape: int, rng: np.random.Generator = rng) -> NDArray[Any]:
            if isinstance(fmt, FloatFormat) and fmt.bits == 32:
                return rng.standard_normal(shape).astype(np.float32)
            return rng.integers(0, 1 << fmt.bits, shape).astype(container_dtype(fmt))

        given: list[NDArray[Any] | None] = [codes(unit.operands.factor(side), 70, k) for side in ("a", "b")]
        given.append(None if unit.operands.addend is None else codes(unit.operands.addend, 70))
        if unit.scale is not None:
            given += [codes(unit.scale.of(side).format, 70, k // unit.scale.length(side)) for side in ("a", "b")]
        yield name, given


def check_dots(name: str, given: list[NDArray[Any] | None], to: str) -> None:
    want = hwsim.dot(name, *given)
    got: Any = hwsim.dot(name, *(None if array is None else torch.from_numpy(array).to(to) for array in given))
    assert isinstance(got, torch.Tensor) and got.device.type == to
    back = got.cpu().numpy()
    assert (back.shape, back.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(as_codes(back), as_codes(want))


@pytest.mark.parametrize(("name", "given"), list(dots()), ids=[name for name, _ in dots()])
def test_dot_products_are_those_of_dot(name: str, given: list[NDArray[Any] | None], stand_in: None) -> None:
    check_dots(name, given, "cpu")


def check_batch(given: Batch, to: str) -> None:
    """The results of tensors are those of arrays, in shape, dtype and bits."""
    want = hwsim.gemm(given.unit, *given.arrays, **given.layout)
    taken: list[Any] = [None if array is None else torch.from_numpy(array.copy()).to(to) for array in given.arrays]
    got: Any = hwsim.gemm(given.unit, *taken, **given.layout)
    assert isinstance(got, torch.Tensor) and got.device == taken[0].device
    back = got.cpu().numpy()
    assert (back.shape, back.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(as_codes(back), as_codes(want))


@pytest.mark.parametrize("given", list(batches()), ids=lambda given: given.unit)
def test_batches_and_layouts_are_those_of_gemm(given: Batch, stand_in: None) -> None:
    check_batch(given, "cpu")


def test_pairs_of_fp4_are_unpacked_where_they_are(stand_in: None) -> None:
    a, b = (torch.randint(0, 256, shape, dtype=torch.uint8) for shape in ((5, 32), (4, 32)))
    scales = [torch.full((rows, 4), 0x38, dtype=torch.uint8) for rows in (5, 4)]
    pairs = [codes.view(torch.float4_e2m1fn_x2) for codes in (a, b)]
    unit = "blackwell-mxf4nvf4-e2m1-f32"
    got: Any = hwsim.gemm(unit, *pairs, None, *scales, transposed=True)
    arrays = [tensor.numpy() for tensor in (a, b)]
    want = hwsim.gemm(unit, *arrays, None, *(codes.numpy() for codes in scales), transposed=True, packed="ab")
    np.testing.assert_array_equal(as_codes(got.numpy()), as_codes(want))


def test_tensors_are_not_copied(stand_in: None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[torch.Tensor] = []
    monkeypatch.setattr(host.HostKernel, "launch", lambda _, arguments, m, n: seen.extend(arguments[:5]))
    a, b, c = CODES.repeat(2, 16), CODES.repeat(1, 16).expand(2, 4, 64), torch.ones(2, 8, 4)
    scales = [torch.zeros(8, 2, dtype=torch.uint8), torch.zeros(4, 2, dtype=torch.uint8)]
    hwsim.gemm("mxfp8-e4m3-f32", a, b, c, *scales, transposed=True)
    one, other = seen[:5], seen[5:]
    where = [tensor.data_ptr() for tensor in (a, b, c, *scales)]
    assert [tensor.data_ptr() for tensor in one] == where
    where[2] += 4 * c.stride(0)
    assert [tensor.data_ptr() for tensor in other] == where


def test_a_negation_that_is_left_to_do_is_done(stand_in: None) -> None:
    c = torch.complex(torch.zeros(4, 4), torch.arange(16.0).view(4, 4)).conj().imag
    assert c.is_neg()
    got: Any = hwsim.gemm(UNIT, CODES, CODES, c)
    np.testing.assert_array_equal(got.numpy(), 4 - np.arange(16.0).reshape(4, 4))


CODES = torch.full((4, 4), 0x38, dtype=torch.uint8)
UNIT = "hopper-wgmma-e4m3-f32"


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "message"),
    [
        ((UNIT, CODES, CODES.numpy()), {}, InputTypeError, "B must be a tensor on cpu, as A is, not ndarray"),
        ((UNIT, [[1]], CODES), {}, InputTypeError, "A must be a tensor on cpu, as B is, not list"),
        ((UNIT, CODES, CODES.to("meta")), {}, InputError, "B must be on cpu, as A is, not on meta"),
        ((UNIT, CODES, CODES, CODES.float().to("meta")), {}, InputError, "C must be on cpu, as A is, not on meta"),
        (
            (UNIT, CODES, CODES.long()),
            {},
            InputTypeError,
            "B must be e4m3 codes in integers of 8 bits or a float8",
        ),
        ((UNIT, CODES.view(torch.float8_e5m2), CODES), {}, InputTypeError, "A must be e4m3 codes .* not float8_e5m2"),
        ((UNIT, CODES, CODES, CODES.half()), {}, InputTypeError, "C must be f32 codes .* not float16"),
        ((UNIT, CODES, CODES, torch.zeros(4)), {}, InputError, r"C must have shape \(4, 4\), not \(4,\)"),
        ((UNIT, CODES, CODES[:3]), {}, InputError, r"B must have shape \(\.\.\., 4, N\)"),
        ((UNIT, CODES, CODES, None, CODES), {}, InputError, f"scale_a must be None, because {UNIT} has scale none"),
        (("mxfp8-e4m3-f32", CODES[:, :0], CODES[:0]), {}, InputError, "scale_a is missing: mxfp8-e4m3-f32 takes one"),
        ((UNIT, CODES, CODES), {"packed": "a"}, InputError, "A must not be packed: a code of e4m3 takes a byte"),
        (("mxfp6-e2m3-f32", CODES, CODES), {"packed": "b"}, InputError, "a code of e2m3 is unpacked on the host alone"),
        ((UNIT, CODES.numpy(), CODES.numpy(), CODES), {}, InputTypeError, "A must be a tensor on cpu, as C is, not nd"),
        ((UNIT, CODES, CODES), {"progress": print}, InputError, "plan and progress must be None for tensors on a GPU"),
        ((UNIT, CODES, CODES), {"plan": {}}, InputError, "plan and progress must be None for tensors on a GPU"),
        ((UNIT, CODES, CODES), {"alpha": 2}, InputError, "alpha must be None without a plan"),
        (
            (unit_of("wide"), CODES, CODES),
            {},
            NotImplementedYet,
            "wide: sum.fraction_bits: 256 .* is in the model, but",
        ),
    ],
)
def test_what_a_gpu_does_not_take_is_told(
    arguments: tuple[Any, ...], options: dict[str, Any], kind: type[Exception], message: str, stand_in: None
) -> None:
    with pytest.raises(kind, match=message):
        hwsim.gemm(*arguments, **options)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((CODES, CODES.numpy()), InputTypeError, "b must be a tensor on cpu, as a is, not ndarray"),
        ((CODES, CODES, CODES.float()[0].to("meta")), InputError, "c must be on cpu, as a is, not on meta"),
        ((CODES[0], CODES[0]), InputError, r"a must have shape \(n, K\), not \(4,\)"),
        ((CODES, CODES[:3]), InputError, r"b must have shape \(4, 4\), as a, not \(3, 4\)"),
        ((CODES[:, :0], CODES[:, :0]), InputError, "K, the number of products, must be at least 1"),
        ((CODES, CODES, torch.zeros(4, 1)), InputError, r"c must have shape \(4,\), not \(4, 1\)"),
        ((CODES, CODES, None, CODES), InputError, f"scale_a must be None, because {UNIT} has scale none"),
    ],
)
def test_what_dot_does_not_take_on_a_gpu_is_told(
    arguments: tuple[Any, ...], kind: type[Exception], message: str, stand_in: None
) -> None:
    with pytest.raises(kind, match=message):
        hwsim.dot(UNIT, *arguments)


SPARSE = ["hopper-wgmma-sp-e4m3-f32", "ampere-mma-sp-int4-i32", "ampere-mma-sp-bf16-f32", "ada-mma-sp-tf32-f32"]


@pytest.mark.parametrize("name", others_slow(SPARSE, SPARSE[:1]))
def test_factors_that_metadata_select_are_gathered_on_the_device(
    name: str, stand_in: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In parts, as many as memory wants."""
    monkeypatch.setattr(device, "GATHERED", 1 << 9)
    unit, rng = load_sparse(name), np.random.default_rng(5)
    rule, operands = unit.sparsity, unit.dense.operands
    kept = 16 * rule.kept
    a, b = (rng.standard_normal(shape) for shape in ((7, kept), (rule.whole_of(kept), 5)))
    a, b = operands.a.encode(a), operands.b.encode(b)
    patterns = np.array(rule.patterns)
    metadata = patterns[rng.integers(0, len(patterns), (7, 16))].reshape(7, -1).astype(np.uint8)
    c = None if operands.addend is None else operands.addend.encode(rng.standard_normal((7, 5)))
    given = tensors((a, b, c))  # type: ignore[arg-type]
    got: Any = hwsim.gemm(unit, *given, metadata=torch.from_numpy(metadata))
    want = hwsim.gemm(unit, a, b, c, metadata=metadata)
    assert isinstance(got, torch.Tensor) and got.numpy().dtype == want.dtype
    np.testing.assert_array_equal(as_codes(got.numpy()), as_codes(want))
    other = hwsim.gemm(unit, a, b, c, metadata=np.flip(rule.of - 1 - metadata, axis=1))
    assert (as_codes(other) != as_codes(want)).any()
    for wrong, words in (
        (np.zeros_like(metadata) + rule.of, "indices from 0 to"), (metadata[:, 1:], "metadata must have shape"),
        (metadata.astype(np.float32), "must be integers"), (metadata[:, ::-1].copy(), "ascend"),
    ):  # fmt: skip
        if rule.keep > 1 or words != "ascend":
            with pytest.raises((InputError, InputTypeError), match=words):
                hwsim.gemm(unit, *given, metadata=torch.from_numpy(wrong))


def test_sparse_tensors_are_refused(stand_in: None) -> None:
    with pytest.raises(InputTypeError, match=r"A must be a dense tensor, not of layout torch\.sparse_coo"):
        hwsim.gemm(UNIT, CODES.to_sparse(), CODES)


def test_a_tensor_of_the_host_is_refused() -> None:
    a = torch.zeros(4, 4, dtype=torch.uint8)
    with pytest.raises(InputTypeError, match="A must be a tensor on a GPU"):
        device.gemm_on_gpu("hopper-wgmma-e4m3-f32", a, a)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU that PyTorch can use")
@pytest.mark.parametrize(
    "name",
    ["hopper-wgmma-e4m3-f32", "deepseek-v3-e4m3-f32", "deepseek-v3-e4m3-f32-scaled", "mxfp8-e4m3-f32",
     "ada-mma-e4m3-f16", "blackwell-mxf4nvf4-e2m1-f32", "cdna3-mfma-e4m3fnuz-f32", "rvbna-e4m3-f32-n16", "ceil-late"],
)  # fmt: skip
def test_a_gpu_returns_what_gemm_returns(name: str) -> None:
    unit = unit_of(name)
    for _, drawn in operands(unit, 7, n=70, most=9):
        given = in_blocks(unit, drawn)
        for variant in variants(unit):
            got = device.gemm_on_gpu(unit, *tensors(given, "cuda"), variant=variant).cpu().numpy()
            np.testing.assert_array_equal(as_codes(got), by_gemm(unit, given, compiled=True))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU that PyTorch can use")
@pytest.mark.parametrize("given", list(batches()), ids=lambda given: given.unit)
def test_gemm_takes_tensors_of_a_gpu(given: Batch) -> None:
    check_batch(given, "cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU that PyTorch can use")
@pytest.mark.parametrize(("name", "given"), list(dots()), ids=[name for name, _ in dots()])
def test_dot_takes_tensors_of_a_gpu(name: str, given: list[NDArray[Any] | None]) -> None:
    check_dots(name, given, "cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU that PyTorch can use")
def test_tensors_of_two_devices_are_told() -> None:
    with pytest.raises(InputError, match="B must be on cuda:0, as A is, not on cpu"):
        hwsim.gemm(UNIT, CODES.to("cuda:0"), CODES)


def test_amds_gpus_are_none_of_cudas(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shown(torch.Tensor):
        is_cuda = True

    x = torch.zeros(2).as_subclass(Shown)
    assert is_on_gpu(x)
    monkeypatch.setattr(torch.version, "hip", "6.4")
    assert not is_on_gpu(x)
