"""Which kernel computes a unit, and a matrix product in tiles on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from hwsim.formats import container_dtype
from hwsim.formats.blocks import one_code
from hwsim.formats.codes import Codes
from hwsim.kernels import AnyKernel, kernel_of, supports
from hwsim.model.arguments import pad
from hwsim.model.arrays import definition_of
from hwsim.spec import Unit

Progress = Callable[[int], None]
# Up to so many products, about a second of the model's, compiled code is not loaded for: that takes longer.
FEW = 1 << 19
# Columns that a panel is at least cut to, so that each core has one: what kernels take at once.
NARROWEST = 64


class Scales(NamedTuple):
    """The scales' codes of both operands, (M / rows, K / columns) and (K / rows, N / columns), and their blocks."""

    a: Codes
    b: Codes
    block_a: tuple[int, int]
    block_b: tuple[int, int]


@lru_cache(maxsize=64)
def kernel_for(unit: Unit) -> AnyKernel | None:
    """The unit's kernel; None where there is none, and the model computes it."""
    definition_of(unit)
    return kernel_of(unit) if supports(unit) else None


# Units whose kernels have been loaded: those are quicker whatever the size.
_loaded: set[Unit] = set()


def chosen(unit: Unit, products: int, k: int) -> AnyKernel | None:
    """The kernel that computes so many products of a unit, sums of k of them; None where the model does."""
    if products <= FEW and unit not in _loaded:
        return None
    kernel = kernel_for(unit)
    if kernel is None or k > kernel.longest:
        return None
    _loaded.add(unit)
    return kernel


def threads() -> int:
    """How many threads compute: NUMBA_NUM_THREADS, or one for each core."""
    import numba  # takes half a second, which small work does without

    return int(numba.config.NUMBA_NUM_THREADS)


def multiply(
    unit: Unit,
    kernel: AnyKernel | None,
    operands: tuple[Codes, Codes, Codes | None, Scales | None],
    out: Codes,
    progress: Progress | None = None,
    cores: int | None = None,
) -> None:
    """Write the results' codes (M, N), in their container's dtype, to `out`.

    kernel: what `chosen` chose. operands: A (M, K), B (K, N) and C (M, N), codes, None for +0, and the scales.
    progress: called with the number of products that were computed since it was called last. cores: threads; None for
    `threads()`.
    """
    job = _Job(unit, operands, out, progress or _nothing)
    if kernel is None:
        job.by_definition()
    else:
        job.by_kernel(kernel, cores or threads())


def pair_up(unit: Unit, a: Codes, b: Codes, c: Codes, scale_a: Codes | None, scale_b: Codes | None) -> Codes:
    """The results' codes (n,) of a[i] . b[i] + c[i].

    a, b: (n, K), filled up along K; scales: (n, blocks), filled too, or None.
    """
    kernel = chosen(unit, a.size, a.shape[1])
    out = np.empty(len(a), np.uint32)
    if kernel is None:
        _pairs_by_definition(unit, a, b, c, scale_a, scale_b, out)
    else:
        step = max(1, -(-len(a) // (4 * threads())))
        parts = [partial(_pairs, kernel, at, a, b, c, scale_a, scale_b, out) for at in _slices(len(a), step)]
        with ThreadPoolExecutor(threads()) as pool:
            _all(pool, parts)
    return out.astype(container_dtype(unit.output))


def _pairs(
    kernel: AnyKernel, at: slice, a: Codes, b: Codes, c: Codes, scale_a: Codes | None, scale_b: Codes | None, out: Codes
) -> None:
    scales = None if scale_a is None else scale_a[at], None if scale_b is None else scale_b[at]
    kernel.pairs((a[at], scales[0]), (b[at], scales[1]), c[at].astype(np.uint32), out[at])


def _pairs_by_definition(
    unit: Unit, a: Codes, b: Codes, c: Codes, scale_a: Codes | None, scale_b: Codes | None, out: Codes
) -> None:
    definition, k = definition_of(unit), a.shape[1]
    none: list[Any] = [()] * len(a)
    of_a = none if scale_a is None else _per_term(scale_a, k)
    of_b = none if scale_b is None else _per_term(scale_b, k)
    for i, row in enumerate(zip(a.tolist(), b.tolist(), c.tolist(), of_a, of_b, strict=True)):
        out[i] = definition.dot(*row).code


def _nothing(_: int) -> None:
    """No progress is shown."""


class _Job:
    """One matrix product."""

    def __init__(
        self,
        unit: Unit,
        operands: tuple[Codes, Codes, Codes | None, Scales | None],
        out: Codes,
        progress: Progress,
    ) -> None:
        self.unit, self.out, self.progress = unit, out, progress
        self.a, self.b, self.c, self.scales = operands

    def rows(self, at: slice) -> tuple[Codes, Codes | None]:
        """Rows of A and their scales, filled up along K."""
        codes = pad(self.a[at], self.unit.instruction.fill, 0)
        if self.scales is None or self.unit.scale is None:
            return codes, None
        rows, length = self.scales.block_a
        given = self.scales.a[np.arange(at.start, at.stop) // rows]
        return codes, filled(given, codes.shape[1], length, one_code(self.unit.scale.a.format))

    def panel(self, at: slice) -> tuple[Codes, Codes | None]:
        """Columns of B and their scales, filled up along K."""
        codes = self.b[:, at]
        if codes.shape[0] % self.unit.instruction.fill:
            codes = pad(codes.T, self.unit.instruction.fill, 0).T
        if self.scales is None or self.unit.scale is None:
            return codes, None
        length, columns = self.scales.block_b
        given = self.scales.b[:, np.arange(at.start, at.stop) // columns].T
        return codes, filled(given, codes.shape[0], length, one_code(self.unit.scale.b.format)).T

    def by_kernel(self, kernel: AnyKernel, cores: int) -> None:
        """Waves of panels: each is packed once, and every block of rows meets them all."""
        (m, k), n = self.a.shape, self.b.shape[1]
        width = min(kernel.columns, -(-n // cores // NARROWEST) * NARROWEST) if n > NARROWEST else max(n, 1)
        height = max(1, min(kernel.rows, -(-m // cores)))
        panels, blocks = list(_slices(n, width)), list(_slices(m, height))
        with ThreadPoolExecutor(cores) as pool:
            for first in range(0, len(panels), cores):
                wave = panels[first : first + cores]
                packed = _all(pool, [partial(self._pack, kernel, at) for at in wave])
                columns = list(zip(wave, packed, strict=True))
                # Few rows: each panel by itself, so that every core has something to do.
                parts = [columns] if len(blocks) >= cores else [[one] for one in columns]
                _all(pool, [partial(self._block, kernel, at, part, k) for at in blocks for part in parts])
                # The next wave's panels are packed into this one's memory.
                del packed, columns, parts

    def _pack(self, kernel: AnyKernel, at: slice) -> Any:
        return kernel.pack_b(*self.panel(at))

    def _block(self, kernel: AnyKernel, at: slice, columns: list[tuple[slice, Any]], k: int) -> None:
        packed = kernel.pack_a(*self.rows(at))
        for across, panel in columns:
            shape = at.stop - at.start, across.stop - across.start
            c = np.zeros(shape, np.uint32) if self.c is None else self.c[at, across].astype(np.uint32)
            out = np.empty(shape, np.uint32)
            kernel.run(packed, panel, c, out)
            self.out[at, across] = out
            self.progress(shape[0] * shape[1] * k)

    def by_definition(self) -> None:
        """Element by element, in Python's integers."""
        definition = definition_of(self.unit)
        columns, given = self.panel(slice(0, self.b.shape[1]))
        k = columns.shape[0]
        of_b = [()] * columns.shape[1] if given is None else _per_term(given.T, k)
        listed = columns.T.tolist()
        for i in range(self.a.shape[0]):
            row, scales = self.rows(slice(i, i + 1))
            of_a = () if scales is None else _per_term(scales, k)[0]
            codes = row[0].tolist()
            for j, column in enumerate(listed):
                c = 0 if self.c is None else int(self.c[i, j])
                self.out[i, j] = definition.dot(codes, column, c, of_a, of_b[j]).code
            self.progress(len(listed) * self.a.shape[1])


def filled(scales: Codes, k: int, length: int, one: int) -> Codes:
    """Scales (n, blocks) of blocks of `length`, filled with ones up to k terms."""
    return np.pad(scales, ((0, 0), (0, -(-k // length) - scales.shape[1])), constant_values=one)


def _per_term(scales: Codes, k: int) -> list[Any]:
    """Scales (n, blocks) as n lists of a scale for each term."""
    return np.repeat(scales, -(-k // scales.shape[1]), axis=1)[:, :k].tolist()  # type: ignore[no-any-return]


def _slices(count: int, step: int) -> Iterator[slice]:
    return (slice(first, min(first + step, count)) for first in range(0, count, step))


def _all(pool: ThreadPoolExecutor, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
    """The results of all tasks. After an error, or an interrupt, none is begun any more."""
    futures: list[Future[Any]] = [pool.submit(task) for task in tasks]
    try:
        # Those that have ended first: what one raised is not to wait for another, before which more would be begun.
        for ended in wait(futures, return_when=FIRST_EXCEPTION).done:
            ended.result()
        return [future.result() for future in futures]
    except BaseException:
        for future in futures:
            future.cancel()
        raise
