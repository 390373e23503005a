"""The rows of docs/migrate.md, run: what is called there and what is called here give the same bits."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from peers.peers_draws import version_of
from peers.peers_rows import RUN, Row, drawn, names, parts, rows
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


@pytest.mark.sample(10)
@pytest.mark.parametrize("row", list(rows()), ids=lambda row: row.there)
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
