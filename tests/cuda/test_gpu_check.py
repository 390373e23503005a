"""`python -m hwsim.gpu_check`: it runs without a GPU, finds what is wrong, and says what it is told to."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from hwsim.compute.cuda import supports, variants
from hwsim.gpu_check import checks
from hwsim.gpu_check.__main__ import app
from hwsim.gpu_check.checks import TINY, WHOLE, CheckedPlace, parameters
from hwsim.gpu_check.operands import FAMILIES, family_of
from hwsim.gpu_check.transformer import GPT2_SMALL, Transformer, exponential, norm, softmax
from hwsim.spec import load_unit, presets
from hwsim.torch import recipes


@pytest.mark.slow
def test_every_check_passes_by_the_source_built_for_the_host(tmp_path: Path) -> None:
    file = tmp_path / "table.json"
    done = CliRunner().invoke(app, ["--host", "--seed", "3", "--json", str(file)])
    assert done.exit_code == 0, done.output
    told = json.loads(file.read_text())
    assert told["passed"] and told["host"] and told["seed"] == 3 and "0 differ; 0 checks failed" in done.output
    rows = told["rows"]
    assert len(rows) == 18 and all(row["of"] in done.output for row in rows)
    assert all((row["compared"] > 100) != (row["rate"] is not None) for row in rows)
    assert {row["check"] for row in rows} == {
        "bits of products", "bits of dot products", "bits between products", "bits of a layer", "bits of training",
        "rate of products", "rate of a layer", "rate of training",
    }  # fmt: skip


@pytest.mark.parametrize("checked", ["products", "pairs", "layer", "training"])
def test_a_wrong_bit_is_found(checked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(right: Any) -> Any:
        def computed(*arguments: Any, **more: Any) -> Any:
            result = right(*arguments, **more)
            first = result.view(torch.int32).view(-1)[:1]
            first ^= 1 << 22
            return result

        return computed

    for name in ("gemm_of_host_tensors", "dot_of_host_tensors"):
        monkeypatch.setattr(checks, name, wrong(getattr(checks, name)))
    place, unit = CheckedPlace(True, TINY, 1), load_unit("hopper-wgmma-e4m3-f32")
    row = {
        "products": lambda: checks.products(place, unit, "single"),
        "pairs": lambda: checks.pairs(place, unit),
        "layer": lambda: checks.layer(place, "hopper-unpromoted"),
        "training": lambda: checks.training(place, "hopper-unpromoted"),
    }[checked]()
    assert 0 < row.different <= row.compared and not row.passed


def test_a_check_that_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("an illegal access\nand more")

    some = [("first", "one", fails), ("second", "other", lambda: checks.CheckedRow(5, 0))]
    monkeypatch.setattr(checks, "checks", lambda place: iter(some))
    done = CliRunner().invoke(app, ["--host"])
    assert done.exit_code == 1 and "RuntimeError: an illegal access" in done.output
    assert "5 numbers compared, 0 differ; 1 checks failed" in done.output


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so_in_a_line() -> None:
    command = [sys.executable, "-m", "hwsim.gpu_check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        "error: there is no GPU of NVIDIA's that PyTorch can use; --host runs the checks without one\n"
    )


def test_families_are_all_that_presets_have() -> None:
    units = [load_unit(name) for name in presets()]
    assert {family_of(unit) for unit in units if supports(unit)} == {family_of(load_unit(name)) for name in FAMILIES}


def test_the_timed_transformer_has_124_million_weights() -> None:
    assert round(parameters(GPT2_SMALL) / 1e6) == 124 and WHOLE.timed == GPT2_SMALL
    model = Transformer(TINY.trained, 1)
    assert sum(one.numel() for one in model.parameters()) == parameters(TINY.trained)


def test_norm_and_softmax_are_near_pytorchs() -> None:
    x = torch.randn(8, 100, generator=torch.Generator().manual_seed(1)).requires_grad_()
    gradient = torch.randn(8, 100, generator=torch.Generator().manual_seed(2))
    masked = torch.zeros(100, dtype=torch.bool)
    masked[3] = True
    torch.testing.assert_close(exponential(-x.detach().abs()), torch.exp(-x.detach().abs()), rtol=2e-6, atol=0)
    rms = torch.nn.RMSNorm(100, eps=1e-5, elementwise_affine=False)
    for ours, theirs in (
        (lambda x: softmax(x, masked), lambda x: torch.softmax(x.masked_fill(masked, -torch.inf), -1)),
        (norm, rms),
    ):
        results = []
        for function in (ours, theirs):
            x.grad = None
            y = function(x)
            y.backward(gradient)
            assert x.grad is not None
            results.append((y.detach(), x.grad))
        torch.testing.assert_close(results[0], results[1], rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_all_checks_of_bits_pass_by_the_source_built_for_the_host() -> None:
    place = CheckedPlace(True, WHOLE._replace(bits=(33, 20, 140)), 5)
    found = [(name, what, run()) for name, what, run in checks.checks(place) if name.startswith("bits")]
    asked = Counter(name for name, _, _ in found)
    assert asked["bits of products"] == sum(len(variants(load_unit(name))) for name in FAMILIES) > 26
    assert asked["bits of a layer"] == len(recipes()) and asked["bits of training"] == len(checks.TRAINED) == 3
    assert all(row.passed and row.compared > 100 for _, _, row in found), found


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU that PyTorch can use")
def test_all_checks_of_bits_pass_on_a_gpu() -> None:
    place = CheckedPlace(False, WHOLE, 5)
    found = [(name, what, run()) for name, what, run in checks.checks(place) if name.startswith("bits")]
    assert all(row.passed for _, _, row in found), found
