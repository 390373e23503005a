"""The rows of docs/migrate.md, run: what is called there and what is called here give the same bits."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from peers.peers_rows import RUN, Row, drawn, names, parts, rows, version_of, whole_range
from peers.peers_torchao import torchaos

import hwsim
from hwsim.quantize import unpack_codes


def known(section: str) -> dict[str, Any]:
    if section == "gfloat":
        import gfloat
        import gfloat.block
        import gfloat.formats

        return {**vars(gfloat.formats), **vars(gfloat.block), **vars(gfloat)}
    from pychop import P3109Format, mx_quantize, p3109_encode

    return {"mx_quantize": mx_quantize, "p3109_encode": p3109_encode, "P3109Format": P3109Format}


def theirs(row: Row, versions: dict[str, tuple[int, ...]]) -> list[Any]:
    if row.section == "torchao":
        found: list[Any] = torchaos(versions["torchao"])["row", row.there]
        return found
    return parts(eval(row.there, {**known(row.section), **names(drawn())}))


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, marks=[pytest.mark.slow] * (at % 3 > 0), id=row.there) for at, row in enumerate(rows())],
)
def test_a_row_gives_the_same_bits(row: Row) -> None:
    versions = {package: version_of(package) for package in RUN[row.section]}
    here = row.here
    if row.older and versions["torchao"] < (0, 17):
        here = re.sub('"nvfp4.+?"', row.older, here)
    there, ours = theirs(row, versions), parts(eval(here, names(drawn())))
    assert len(there) == len(ours) and ours[-1].size >= 32
    for peer, own in zip(there, ours, strict=True):
        codes = unpack_codes(peer, "e2m1") if peer.shape != own.shape and peer.shape[-1] * 2 == own.shape[-1] else peer
        same = codes == own
        if "mx_quantize" in row.there:  # where its defect does not show
            amax = np.abs(drawn().reshape(-1, 32)).max(axis=1)
            same = same.reshape(-1, 32)[np.floor(np.log2(amax)) == np.frexp(amax)[1] - 1]
        assert codes.shape == own.shape and same.size and same.all()


def unlike(there: list[Any], ours: list[Any], counted: Any) -> list[int]:
    """How many scales, and how many codes or numbers that are counted, are not the same."""
    found = []
    for peer, own in zip(there, ours, strict=True):
        codes = unpack_codes(peer, "e2m1") if peer.shape != own.shape and peer.shape[-1] * 2 == own.shape[-1] else peer
        other = (codes != own) & ~((codes != codes) & (own != own))
        found.append(int((other & counted if other.shape == counted.shape else other).sum()))
    return found


@pytest.mark.parametrize(
    "row", [pytest.param(row, marks=[pytest.mark.slow] * (at % 2), id=row.there) for at, row in enumerate(rows())]
)
def test_a_row_holds_over_the_whole_range_or_says_where_it_ends(row: Row) -> None:
    versions = {package: version_of(package) for package in RUN[row.section]}
    if versions.get("torchao", (0, 17)) < (0, 17):
        pytest.skip("the page's bounds are of later versions")

    def compared(name: str, x: Any) -> list[int]:
        amax = float(np.abs(x).max())
        there = (
            torchaos(versions["torchao"])[name, row.there]
            if row.section == "torchao"
            else parts(eval(row.there, {**known(row.section), **names(x)}))
        )
        return unlike(
            there, parts(eval(row.here, names(x, amax))), np.abs(x) <= (464 if "up to 464" in row.bits else np.inf)
        )

    cases = whole_range()
    for exp in range(-149, 128):
        if 2.0**exp >= row.least:
            assert not any(compared(f"2^{exp}", cases[f"2^{exp}"])), exp
        elif 2.0 ** (exp + 1) == row.least:
            assert any(compared(f"2^{exp}", cases[f"2^{exp}"])), "the row could say more"
    one_level = "per_tensor" not in row.there
    assert not one_level or not any(compared("zeros", cases["zeros"]))
    if "no infinity" not in row.bits and "finite" not in row.bits and "up to" not in row.bits:
        assert not any(compared("inf", cases["inf"]) + compared("-inf", cases["-inf"]))
    if row.section == "torchao" and one_level and "no infinity" not in row.bits:
        scales, codes = compared("nan", cases["nan"])
        assert not scales and codes


def test_the_page_has_rows_that_run() -> None:
    found = [row.section for row in rows()]
    assert [found.count(section) for section in RUN] == [8, 5, 6]


def test_a_defect_of_pychop_that_is_shown() -> None:
    version_of("pychop")
    from pychop import mx_quantize

    x = np.float32([7.9999995] + [0] * 31)
    got = hwsim.quantize(x, "mxfp4-e2m1")
    assert (got.scales.tolist(), got.dequantize()[0]) == ([0x7F], 6)
    assert np.asarray(mx_quantize(x, format="mxfp4_e2m1"))[0] == 8
