"""What mutants of kernels of windows have instead: each changes a kernel in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hwsim.compute.kernels.chain import WindowOperand
from hwsim.compute.kernels.floats import target_of
from hwsim.compute.kernels.lanes import ZERO_EXP
from hwsim.compute.kernels.window_kernel import WindowKernel
from hwsim.formats import FloatFormat

Mutate = Callable[[WindowKernel], None]


def rule(**keys: Any) -> Mutate:
    """The window's numbers."""

    def mutate(kernel: WindowKernel) -> None:
        kernel.rules = kernel.rules._replace(window=kernel.rules.window._replace(**keys))

    return mutate


def chain(**keys: Any) -> Mutate:
    """The chain's numbers."""

    def mutate(kernel: WindowKernel) -> None:
        kernel.rules = kernel.rules._replace(chain=kernel.rules.chain._replace(**keys))

    return mutate


def packed_a(change: Callable[[WindowKernel, WindowOperand], None]) -> Mutate:
    """Something else in A as it is packed."""

    def mutate(kernel: WindowKernel) -> None:
        pack = kernel.pack_a

        def wrong(codes: Any, scales: Any) -> WindowOperand:
            side = pack(codes, scales)
            change(kernel, side)
            return side

        kernel.pack_a = wrong  # type: ignore[method-assign]

    return mutate


def packed_b(change: Callable[[WindowKernel, WindowOperand], None]) -> Mutate:
    """Something else in B as it is packed."""

    def mutate(kernel: WindowKernel) -> None:
        pack = kernel.pack_b

        def wrong(codes: Any, scales: Any) -> WindowOperand:
            side = pack(codes, scales)
            change(kernel, side)
            return side

        kernel.pack_b = wrong  # type: ignore[method-assign]

    return mutate


def layout_of(kernel: WindowKernel) -> Any:
    assert kernel.vectors is not None
    return kernel.vectors.layout


def swap_signs(kernel: WindowKernel, side: WindowOperand) -> None:
    """The signs of products k and k + 2 in one another's place."""
    signs = side.packed[..., layout_of(kernel).a_sign :]
    pairs = np.ascontiguousarray(signs).view(np.uint16).reshape(*signs.shape[:-1], -1, 2)
    signs[...] = np.ascontiguousarray(pairs[..., ::-1]).reshape(*signs.shape[:-1], -1).view(np.uint8)


def positive_a(kernel: WindowKernel, side: WindowOperand) -> None:
    side.packed[..., layout_of(kernel).a_sign :] = 0


def turn_columns(kernel: WindowKernel, side: WindowOperand) -> None:
    """The signs of 16 columns in each other's place."""
    signs = side.packed[..., layout_of(kernel).b_sign :]
    signs[...] = np.roll(signs, 1, axis=-1)


def zeros_have_exponents(_: WindowKernel, side: WindowOperand) -> None:
    exps = side.packed.view(np.int8)
    exps[...] = np.where(exps == ZERO_EXP[8], 0, exps)


def unflagged(_: WindowKernel, side: WindowOperand) -> None:
    side.special[...] = 0


def one_place_up(kernel: WindowKernel, side: WindowOperand) -> None:
    layout = layout_of(kernel)
    sigs = side.packed[..., layout.a_sig : layout.a_sig + 2].view(np.int16)
    sigs <<= 1


def without_lane(lane: int) -> Mutate:
    """One lane of A is always zero."""

    def mutate(kernel: WindowKernel) -> None:
        pack, lanes = kernel.pack_a, kernel.rules.window.lanes

        def wrong(codes: Any, scales: Any) -> WindowOperand:
            codes = codes.copy()
            codes[:, lane::lanes] = 0
            return pack(codes, scales)

        kernel.pack_a = wrong  # type: ignore[method-assign]

    return mutate


def without_addend(kernel: WindowKernel) -> None:
    run = kernel.run
    kernel.run = lambda a, b, c, out: run(a, b, np.zeros_like(c), out)  # type: ignore[method-assign]


def first_scale(kernel: WindowKernel) -> None:
    """Every block has the first one's scale."""
    scales = kernel._scales

    def wrong(side: str, given: Any, count: int) -> Any:
        made = scales(side, given, count)
        made[:] = made[:, :1]
        return made

    kernel._scales = wrong  # type: ignore[method-assign]


def one_scale_a_group(kernel: WindowKernel) -> None:
    """The scales of a group's first products are those of all."""
    assert kernel.vectors is not None and kernel.vectors.per_lane
    kernel.vectors = kernel.vectors._replace(per_lane=False)


def promoted_towards_zero(kernel: WindowKernel) -> None:
    assert kernel.unit.promotion is not None
    kernel.rules = kernel.rules._replace(register=target_of(kernel.unit.promotion.format, "rz"))


def wider_result(kernel: WindowKernel) -> None:
    """A bit more of the result."""
    fmt = kernel.unit.result.format
    assert isinstance(fmt, FloatFormat)
    more = fmt.model_copy(update={"fraction_bits": fmt.fraction_bits + 1, "container": 32})
    kernel.rules = kernel.rules._replace(result=target_of(more, kernel.unit.result.rounding))


def mask(bits: int) -> Mutate:
    def mutate(kernel: WindowKernel) -> None:
        assert kernel.single is not None
        mask = kernel.single.mask
        kernel.single = kernel.single._replace(mask=mask << bits if bits > 0 else mask >> -bits)

    return mutate


def single(form: int) -> Mutate:
    """Finished in binary32 in another form."""

    def mutate(kernel: WindowKernel) -> None:
        assert kernel.single is not None
        kernel.single = kernel.single._replace(form=form)

    return mutate


def single_towards_zero(kernel: WindowKernel) -> None:
    """Finished in binary32 by another rounding."""
    assert kernel.single is not None
    fmt = kernel.unit.result.format
    assert isinstance(fmt, FloatFormat)
    kernel.single = kernel.single._replace(target=target_of(fmt, "rz", carrier=np.float32))


def one_sum(kernel: WindowKernel) -> None:
    """One sum of what does not fit one."""
    assert kernel.vectors is not None and kernel.vectors.layout.parts > 1
    kernel.vectors = kernel.vectors._replace(layout=kernel.vectors.layout._replace(parts=1))


def deeper(kernel: WindowKernel) -> None:
    assert kernel.vectors is not None
    kernel.vectors = kernel.vectors._replace(deeper=kernel.vectors.deeper + 1)


def one_binade_up(_: WindowKernel, side: WindowOperand) -> None:
    exps = side.packed[..., :32].view(np.int8)
    exps[...] = np.where(exps >= 0, exps + 1, exps)


def bounded(kernel: WindowKernel) -> None:
    """Every max_exp is taken for a usual one."""
    assert kernel.single is not None
    kernel.single = kernel.single._replace(bounded=True)
