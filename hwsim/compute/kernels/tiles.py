"""A matrix product in tiles, and many dot products in parts, by a kernel on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from hwsim.compute.kernels.kernel import WORD, AnyKernel, Kernel, Words, zeros
from hwsim.formats.codes import Codes
from hwsim.spec import Unit
from hwsim.spec.arguments import filled, pad

Progress = Callable[[int], None]
Packed = TypeVar("Packed")
Result = TypeVar("Result")
Every = Callable[[Sequence[Callable[[], Any]]], list[Any]]
# Columns that a panel is at least cut to, so that each core has one: what kernels take at once.
NARROWEST = 64
# Products that take longer than it takes to start threads.
WORTH_THREADS = 1 << 16
# Products of a matrix that one thread computes sooner than several that have to be started for it.
SMALL = 1 << 22
PARTS_OF_A_THREAD = 4  # so that none waits long for another


def threads() -> int:
    """The number of threads that compute: NUMBA_NUM_THREADS, or one for each core."""
    import numba  # takes half a second, which small work does without

    return int(numba.config.NUMBA_NUM_THREADS)


class ProductOperands(NamedTuple):
    """The codes of one matrix product: a (M, K), b (K, N), c (M, N), or None for +0, and the scales of blocks.

    scale_a: (M / rows, K / columns), scale_b: (K / rows, N / columns), or None for an unscaled unit.
    """

    unit: Unit
    a: Codes
    b: Codes
    c: Codes | None = None
    scale_a: Codes | None = None
    scale_b: Codes | None = None

    def rows(self, at: slice) -> tuple[Codes, Codes | None]:
        """Rows of A and their scales, filled up along K."""
        codes, scale = pad(self.a[at], self.unit.instruction.fill, 0), self.unit.scale
        if scale is None or self.scale_a is None:
            return codes, None
        scale_codes = self.scale_a[np.arange(at.start, at.stop) // scale.a.block[0]]
        return codes, filled(scale_codes, scale, "a", codes.shape[1])

    def panel(self, at: slice) -> tuple[Codes, Codes | None]:
        """Columns of B and their scales, filled up along K."""
        codes, scale = self.b[:, at], self.unit.scale
        if codes.shape[0] % self.unit.instruction.fill:
            codes = pad(codes.T, self.unit.instruction.fill, 0).T
        if scale is None or self.scale_b is None:
            return codes, None
        scale_codes = self.scale_b[:, np.arange(at.start, at.stop) // scale.b.block[1]].T
        return codes, filled(scale_codes, scale, "b", codes.shape[0]).T

    def addends(self, rows: slice, columns: slice, word: np.dtype[Any] = WORD) -> Words:
        """The codes of C. word: a kernel's."""
        if self.c is None:
            shape = rows.stop - rows.start, columns.stop - columns.start
            return zeros(shape) if word == WORD else np.zeros(shape, word)
        return self.c[rows, columns].astype(word)


def multiply(
    kernel: Kernel[Packed], operands: ProductOperands, out: Codes, progress: Progress, cores: int | None = None
) -> None:
    """Write the results' codes (M, N), in their container's dtype, to `out`.

    Waves of panels: each is packed once, and every block of rows meets them all. progress: called with the number of
    products that were computed since it was called last. cores: threads; None for `threads()`.
    """
    (m, k), n, cores = operands.a.shape, operands.b.shape[1], cores or threads()
    width = min(kernel.columns, -(-n // cores // NARROWEST) * NARROWEST) if n > NARROWEST else max(n, 1)
    height = max(1, min(kernel.rows, -(-m // cores)))
    panels, blocks = list(slices(n, width)), list(slices(m, height))

    def pack(at: slice) -> Packed:
        return kernel.pack_b(*operands.panel(at))

    def block(at: slice, columns: list[tuple[slice, Packed]]) -> None:
        packed = kernel.pack_a(*operands.rows(at))
        for across, panel in columns:
            c = operands.addends(at, across, kernel.word)
            if out.dtype == c.dtype:
                kernel.run(packed, panel, c, out[at, across])
            else:
                results = np.empty_like(c)
                kernel.run(packed, panel, c, results)
                out[at, across] = results
            progress(c.size * k)

    with _pool(cores) as every:
        for first in range(0, len(panels), cores):
            wave = panels[first : first + cores]
            columns = list(zip(wave, every([partial(pack, at) for at in wave]), strict=True))
            # Few rows: each panel by itself, so that every core has something to do.
            parts = [columns] if len(blocks) >= cores else [[panel] for panel in columns]
            every([partial(block, at, part) for at in blocks for part in parts])
            # The next wave's panels are packed into this one's memory.
            del columns, parts


def multiply_all(
    kernel: Kernel[Packed], matrices: Sequence[tuple[ProductOperands, Codes]], progress: Progress, cores: int | None
) -> None:
    """`multiply` of several products of one size. Small ones are shared out among threads, each by one of them."""
    cores = cores or threads()
    parts = min(len(matrices), cores * PARTS_OF_A_THREAD)
    if cores == 1 or parts < 2 or matrices[0][1].size * matrices[0][0].a.shape[1] > SMALL:
        for operands, out in matrices:
            multiply(kernel, operands, out, progress, cores)
        return

    def some(first: int) -> None:
        for operands, out in matrices[first::parts]:
            multiply(kernel, operands, out, progress, 1)

    with _pool(cores) as every:
        every([partial(some, first) for first in range(parts)])


def multiply_pairs(kernel: AnyKernel, a: Codes, b: Codes, c: Codes, scales: tuple[Codes, Codes] | None) -> Words:
    """The results' codes (n,) of a[i] . b[i] + c[i]. a, b: (n, K), filled up; scales: (n, blocks), filled too."""
    out = np.empty(len(a), kernel.word)

    def part(at: slice) -> None:
        of_a, of_b = (None, None) if scales is None else (scales[0][at], scales[1][at])
        kernel.pairs((a[at], of_a), (b[at], of_b), c[at].astype(kernel.word), out[at])

    if a.size <= WORTH_THREADS:
        part(slice(0, len(a)))
        return out
    with ThreadPoolExecutor(threads()) as pool:
        _all(pool, [partial(part, at) for at in slices(len(a), max(1, -(-len(a) // (4 * threads()))))])
    return out


def slices(count: int, step: int) -> Iterator[slice]:
    """Parts of a range, of that length but for the last."""
    return (slice(first, min(first + step, count)) for first in range(0, count, step))


@contextmanager
def _pool(cores: int) -> Iterator[Every]:
    """Yield a function that does tasks and returns their results, on so many threads; one is the caller's own."""
    if cores == 1:
        yield lambda tasks: [task() for task in tasks]
        return
    with ThreadPoolExecutor(cores) as pool:
        yield partial(_all, pool)


def _all(pool: ThreadPoolExecutor, tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """The results of all tasks. After an error, or an interrupt, none is begun any more."""
    futures: list[Future[Result]] = [pool.submit(task) for task in tasks]
    try:
        # Those that have ended first: what one raised is not to wait for another, before which more would be begun.
        for ended in wait(futures, return_when=FIRST_EXCEPTION).done:
            ended.result()
        return [future.result() for future in futures]
    except BaseException:
        for future in futures:
            future.cancel()
        raise
