"""The fields of the lines of a vector set's files, from batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.batch import Batch
from hwsim.cases.case import addend_mask, block_lengths
from hwsim.formats.codes import Codes
from hwsim.spec import Unit
from hwsim.vectors.hexlines import packed
from hwsim.vectors.layout import line_scales, line_terms, operand_layout, result_layout


def lines_of(unit: Unit, batch: Batch) -> int:
    """Lines of operands that a case of the batch has."""
    return int(batch.a.shape[1]) // line_terms(unit)


def operand_fields(unit: Unit, batch: Batch) -> dict[str, NDArray[Any]]:
    """The fields of every line of operands, (lines, count) each.

    Only the first line's addend counts: the others carry its complement, which must not.
    """
    n, per_case = len(batch), lines_of(unit, batch)
    terms = line_terms(unit)
    fields: dict[str, NDArray[Any]] = {"a": batch.a.reshape(-1, terms), "b": batch.b.reshape(-1, terms)}
    if unit.scale is not None:
        for name, codes, length, count in zip(
            ("scale_a", "scale_b"), (batch.scale_a, batch.scale_b), block_lengths(unit), line_scales(unit), strict=True
        ):
            if codes is None:
                raise ValueError(f"the batch has no {name}")
            first = np.arange(per_case) * terms // length
            at = np.minimum(first[:, None] + np.arange(count), codes.shape[1] - 1)
            fields[name] = codes[:, at].reshape(-1, count)
    if unit.operands.addend is not None:
        c = np.repeat(batch.c[:, None], per_case, axis=1)
        c[:, 1:] = ~c[:, 1:] & c.dtype.type(addend_mask(unit))
        fields["c"] = c.reshape(-1, 1)
    place_in_case = np.tile(np.arange(per_case), n)[:, None]
    fields["first"] = (place_in_case == 0).astype(np.uint8)
    fields["last"] = (place_in_case == per_case - 1).astype(np.uint8)
    return fields


def operand_lines(unit: Unit, batch: Batch) -> bytes:
    """The lines of operands.hex."""
    return packed(operand_layout(unit), operand_fields(unit, batch))


def result_lines(unit: Unit, results: Codes) -> bytes:
    """The lines of expected.hex."""
    return packed(result_layout(unit), {"result": results[:, None]})
