"""The comparison of kernels of windows with the model tells these mutants, by the operands that it always has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from kernels.kernel_cases import Product, by_kernel, by_model
from kernels.test_kernels_aligned import SWEPT
from kernels.window_cases import addend_sweep, operands, window_kernel
from odd_for_kernels import FOR_SCALARS, FOR_VECTORS
from odd_units import ODD, units_of

from hwsim.compute.kernels import windows
from hwsim.compute.kernels.chain import PLAIN, WindowOperand
from hwsim.compute.kernels.floats import target_of
from hwsim.compute.kernels.lanes import NO_EXP, ZERO_EXP
from hwsim.compute.kernels.lost import FLOOR, TRUNCATE
from hwsim.compute.kernels.window_kernel import WindowKernel
from hwsim.compute.kernels.windows import NO_LIMIT
from hwsim.formats import FloatFormat, container_dtype
from hwsim.spec import Unit, load_unit

UNITS = units_of({**FOR_VECTORS, **FOR_SCALARS})
HOPPER, ADA, AMPERE, MX = "hopper-wgmma-e4m3-f32", "ada-mma-e4m3-f16", "ampere-mma-f16-f16", "mxfp8-e4m3-f32"
DEEPSEEK, EMULATED = "deepseek-v3-e4m3-f32", "blackwell-mma-e4m3-f32"


def unit_of(name: str) -> Unit:
    if name in UNITS:
        return UNITS[name]
    return Unit.model_validate(ODD[name]) if name in ODD else load_unit(name)


# Codes of products and of an addend that tell what random ones hardly do: the last bits of a late window.
DECIDED = {
    "cdna3-mfma-f16-f32": (
        ([0x80D1, 0x85A8], [0x81CF, 0x4630], 0x3F800000),
        ([0x82A6, 0x87DE], [0x2087, 0xDCFC], 0x40800001),
    ),
    "late-window-cut": (([1] * 3, [1] * 3, 0),),
    "brim-sticky": (([1], [1], 0x5D800000),),
}


def decided(name: str, unit: Unit) -> Iterator[Product]:
    operands = unit.operands
    for a, b, c in DECIDED.get(name, ()):
        rest = [0] * (unit.instruction.k - len(a))
        rows = np.array([a + rest], container_dtype(operands.a)), np.array([b + rest], container_dtype(operands.b))
        assert operands.addend is not None
        yield Product(rows[0], rows[1].T, np.array([[c]], container_dtype(operands.addend)), None, None)


@lru_cache(maxsize=4)
def tried(unit: Unit, name: str) -> list[Product]:
    """What the mutants of a unit's kernel are tried with: every exponent of the addend too, of some units."""
    given = [one for _, one in operands(unit, 1)]
    if unit.name in SWEPT:
        given.append(addend_sweep(unit, 6))
    return [*given, *decided(name, unit)]


def is_told(kernel: WindowKernel, unit: Unit, name: str) -> bool:
    """Whether some of the operands show that a kernel is not the unit's; the unit's own is the model's there."""
    own = window_kernel(unit, kernel.in_vectors)
    for given in tried(unit, name):
        right = by_kernel(own, unit, given)
        wrong = np.argwhere(by_kernel(kernel, unit, given) != right)
        if len(wrong):
            row, column = (slice(at, at + 1) for at in wrong[0])
            c = None if given.c is None else given.c[row, column]
            scales = [None, None]
            if given.scale_a is not None and given.scale_b is not None:
                scales = [given.scale_a[row], given.scale_b[:, column]]
            one = Product(given.a[row], given.b[:, column], c, *scales)
            np.testing.assert_array_equal(right[row, column], by_model(unit, one))
            return True
    return False


def changed(part: str, **keys: Any) -> Callable[[Unit], Unit]:
    """Another unit: keys of a part of it."""
    return lambda unit: unit.model_copy(update={part: getattr(unit, part).model_copy(update=keys)})


def one_bit_less(unit: Unit) -> Unit:
    return changed("sum", fraction_bits=unit.sum.fraction_bits - 1)(unit)


def one_bit_more(unit: Unit) -> Unit:
    return changed("sum", fraction_bits=unit.sum.fraction_bits + 1)(unit)


# What a kernel of another unit returns.
OTHERS: dict[str, tuple[str, bool, Callable[[Unit], Unit]]] = {
    "one bit less of a window": (HOPPER, True, one_bit_less),
    "one bit less of 32-bit lanes": (MX, True, one_bit_less),
    "one bit less without vectors": (HOPPER, False, one_bit_less),
    "one bit more": (AMPERE, True, one_bit_more),
    "floor for truncate, without vectors": (HOPPER, False, changed("sum", lost="floor")),
    "rounded down for up": ("ceil", True, changed("sum", lost="floor")),
    "nearest for truncate": (AMPERE, False, changed("sum", lost="rne")),
    "jam for truncate": (AMPERE, False, changed("sum", lost="jam")),
    "truncate for jam, without vectors": ("jam", False, changed("sum", lost="truncate")),
    "zeros count": (HOPPER, False, changed("sum", zero_terms="count")),
    "zeros have signs": (HOPPER, False, changed("sum", zero="ieee")),
    "nearest for towards zero": (HOPPER, False, changed("result", rounding="rne")),
    "overflow saturates": (ADA, False, changed("result", overflow="saturate")),
    "subnormal results flushed": (AMPERE, True, changed("result", subnormals="flush")),
    "subnormal factors flushed": (HOPPER, True, changed("operands", daz=True)),
    "groups in sequence": ("nearest-ordered", True, changed("instruction", order="sequential")),
    "another order": (
        EMULATED, True,
        lambda unit: changed(
            "instruction", order=unit.instruction.order.model_copy(update={"groups": ((2, 3), (0, 1))})
        )(unit),
    ),
    "no conversion": ("emulated", False, changed("operands", convert=None)),
    "a drop one lower": ("cdna3-mfma-e4m3fnuz-f32", False, lambda unit: changed("late", drop_below=24)(unit)),
    "an addend's bit less": ("cdna3-mfma-f16-f32", False, lambda unit: changed("late", addend_bits=23)(unit)),
    "a late sum with 31 bits": ("cdna3-mfma-f16-f32", False, lambda unit: changed("late", sum_bits=31)(unit)),
    "a late total that is not cut": ("cdna3-mfma-f16-f32", False, changed("late", total_bits=None)),
    "a late addend of zero skipped": ("late-window-cut", False, changed("late", zero_addend="skip")),
    "cancelled sums skipped": (
        "blackwell-mxf4-e2m1-f32", False,
        lambda unit: changed("sum", subgroup=unit.sum.subgroup.model_copy(update={"cancelled": "skip"}))(unit),
    ),
    "combined a bit less": (
        "cdna3-mfma-e4m3fnuz-f32", False,
        lambda unit: changed("sum", combine=unit.sum.combine.model_copy(update={"fraction_bits": 23}))(unit),
    ),
    "another NaN": (HOPPER, True, changed("result", nan=0x7FC00000)),
    "no limit": ("cdna3-mfma-bf16-f32", False, changed("sum", product_limit=None)),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_another_units_kernel_is_told(name: str) -> None:
    given, vectors, change = OTHERS[name]
    unit = unit_of(given)
    kernel = window_kernel(change(unit), vectors)
    assert kernel.in_vectors == vectors
    assert is_told(kernel, unit, given)


# What a kernel that is wrong has instead: each changes it in place.

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


def packed(side: str, change: Callable[[WindowKernel, WindowOperand], None]) -> Mutate:
    """Something else in A, or in B, as it is packed."""

    def mutate(kernel: WindowKernel) -> None:
        pack = getattr(kernel, f"pack_{side}")

        def wrong(codes: Any, scales: Any) -> WindowOperand:
            made: WindowOperand = pack(codes, scales)
            change(kernel, made)
            return made

        setattr(kernel, f"pack_{side}", wrong)

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


def lanes_dropped(what: str, unit: str, lanes: range) -> dict[str, tuple[str, bool, Mutate]]:
    return {f"lane {lane}{what} dropped": (unit, True, without_lane(lane)) for lane in lanes}


MUTANTS: dict[str, tuple[str, bool, Mutate]] = {
    "addend dropped": (HOPPER, True, without_addend),
    "addend dropped, without vectors": (HOPPER, False, without_addend),
    "addend dropped of 32-bit lanes": (AMPERE, True, without_addend),
    "late addend dropped": (EMULATED, True, without_addend),
    "no addend between groups": (ADA, True, rule(addend=0)),
    "signs swapped": (HOPPER, True, packed("a", swap_signs)),
    "signs swapped in 32-bit lanes": (MX, True, packed("a", swap_signs)),
    "no signs of A": (AMPERE, True, packed("a", positive_a)),
    "no signs of A in 16-bit lanes": (ADA, True, packed("a", positive_a)),
    "signs of another column": (AMPERE, True, packed("b", turn_columns)),
    "zeros count in A": (HOPPER, True, packed("a", zeros_have_exponents)),
    "zeros count in B": (AMPERE, True, packed("b", zeros_have_exponents)),
    "no special groups of A": (HOPPER, True, packed("a", unflagged)),
    "no special groups of B": (AMPERE, True, packed("b", unflagged)),
    "first product doubled": (HOPPER, True, packed("a", one_place_up)),
    "first scale throughout": (MX, True, first_scale),
    "first scale throughout, without vectors": ("blackwell-mxf4nvf4-e2m1-f32", False, first_scale),
    "first scale of subgroups": ("blackwell-mxf4nvf4-e2m1-f32", True, first_scale),
    "scaled sums without those that cancel": ("blackwell-mxf4nvf4-e2m1-f32", True, rule(count_cancelled=0)),
    "scaled sums floored": ("blackwell-mxf4nvf4-e2m1-f32", True, rule(lost=FLOOR)),
    "scaled sums without a floor": ("scaled-bare", True, rule(floor=NO_EXP)),
    "scaled sums of a bit less": ("blackwell-mxf4-e2m1-f32", True, rule(fraction_bits=34)),
    "scaled sums without an addend": ("blackwell-mxf4-e2m1-f32", True, rule(addend=0)),
    "a limit that is not looked at": ("cdna3-mfma-bf16-f32", True, rule(limit=NO_LIMIT)),
    "a drop one lower, in vectors": ("cdna3-mfma-e4m3fnuz-f32", True, rule(late_drop=24)),
    "an addend's bit less, in vectors": ("cdna3-mfma-f16-f32", True, rule(late_addend_bits=23)),
    "a late sum with 31 bits, in vectors": ("cdna3-mfma-f16-f32", True, rule(late_sum_bits=31)),
    "a late total of 32 bits, in vectors": ("cdna3-mfma-f16-f32", True, rule(late_total_bits=32)),
    "a late zero that does not count, in vectors": ("late-16", True, rule(late_zero=0)),
    "late truncation for a floor, in vectors": ("cdna3-mfma-f16-f32", True, rule(late_lost=TRUNCATE)),
    "combined a bit less, in vectors": ("cdna3-mfma-e4m3fnuz-f32", True, rule(combine_bits=23)),
    "combined by truncation, in vectors": ("cdna3-mfma-e5m2fnuz-f32", True, rule(combine_lost=TRUNCATE)),
    "first scale of a promotion": ("deepseek-v3-e4m3-f32-scaled", True, first_scale),
    "mask of a bit more": (DEEPSEEK, True, mask(-1)),
    "mask of a bit less": (HOPPER, True, mask(1)),
    "result of a bit more": (AMPERE, True, wider_result),
    "to odd as towards zero": ("single-odd", True, single(windows.MASKED)),
    "to odd as towards zero, of some bits": ("single-odd-short", True, single(windows.MASKED)),
    "large sums as small ones": ("single-31-bits", True, single(windows.SMALL)),
    "sums beyond binary32 as usual ones": ("ampere-mma-bf16-f32", True, bounded),
    "not rounded after odd": (ADA, True, single(windows.ODD)),
    "rounded after odd by another rule": (ADA, True, single_towards_zero),
    "one sum for two": ("halves", True, one_sum),
    "one sum for four": ("lanes-128-quarters", True, one_sum),
    "first scale throughout, packed": ("lanes-64-scaled", True, first_scale),
    "one scale for a group": ("lanes-48-scaled", True, one_scale_a_group),
    "one sum for two, of results to odd": ("rvbna-e5m2-f32-n16", True, one_sum),
    "shifted once more": (HOPPER, True, deeper),
    "shifted once more in 32-bit lanes": (MX, True, deeper),
    "exponents of A one up": (HOPPER, True, packed("a", one_binade_up)),
    "another emin of results": ("bits-2-subnormal", True, chain(emin=-15)),
    "another emin of results, without vectors": ("bits-2-subnormal", False, chain(emin=-15)),
    "another emin of addends": ("bits-1", True, chain(emin_c=-15)),
    "another emin of addends, without vectors": ("bits-1", False, chain(emin_c=-15)),
    "an addend in vectors floored": (AMPERE, False, rule(lost=FLOOR)),
    "floor as truncation": ("floor", False, rule(lost=TRUNCATE)),
    "sticky as truncation": ("sticky-short", False, rule(sticky=0)),
    "sticky as truncation, of long sums": ("brim-sticky", False, rule(sticky=0)),
    "a sum that loses nothing": ("cut", False, rule(cut_bits=0)),
    "a sum that loses places by another rule": ("cut-late", False, rule(cut_lost=TRUNCATE)),
    "rounded up as truncation": ("ceil", False, rule(lost=TRUNCATE)),
    "max_exp without its floor": ("single-floored", True, rule(floor=NO_EXP)),
    "max_exp without its floor, without vectors": ("floored", False, rule(floor=NO_EXP)),
    "promoted once more": (DEEPSEEK, True, chain(every=3, restart=3)),
    "partial sums go on": (DEEPSEEK, True, chain(restart=0)),
    "partial sums go on, without vectors": (DEEPSEEK, False, chain(restart=0)),
    "promoted towards zero": (DEEPSEEK, False, promoted_towards_zero),
    "not promoted": (DEEPSEEK, True, chain(kind=PLAIN)),
    "late addends are not flushed": ("late-flushed", False, chain(flush_below=0.0)),
    "late addends' zeros as c's": ("late-subnormal", False, chain(emin_c=-126)),
    "a limit one higher": ("product-limit", False, rule(limit=5)),
    "a limit of scaled sums": ("limited-subgroups", False, rule(limit=4)),
    "no zero to start from": ("count-late", False, rule(zero_exp=NO_EXP)),
    "no zero to start from, in signs": ("late-signed", False, rule(zero_exp=NO_EXP)),
    **lanes_dropped("", HOPPER, range(32)),
    **lanes_dropped(" of 64", "lanes-64-scaled", range(0, 64, 21)),
    **lanes_dropped(" of 16", EMULATED, range(16)),
    **lanes_dropped(" of 8", "floor", range(8)),
    **lanes_dropped(" of scaled sums", "blackwell-mxf4nvf4-e2m1-f32", range(0, 64, 5)),
    **lanes_dropped(" of even and odd", "even-odd", range(6)),
}


@pytest.mark.parametrize("name", others_slow(MUTANTS, [*MUTANTS][1::8]))
def test_a_mutant_is_told(name: str) -> None:
    given, vectors, mutate = MUTANTS[name]
    unit = unit_of(given)
    kernel = window_kernel(unit, vectors)
    assert kernel.in_vectors == vectors
    mutate(kernel)
    assert is_told(kernel, unit, given)
