"""The scripts of papers: each prints the tables of its page, and more, from the public names alone."""

from __future__ import annotations

import ast
import csv
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from built_presets import others_slow
from documents import tables
from papers import minilm

ROOT = Path(__file__).parents[2]
PAPERS, STUDIES = ROOT / "examples" / "papers", ROOT / "docs" / "studies"
SHARED = {"minilm", "paper", "training"}
PUBLIC = {"hwsim", "hwsim.quantize", "hwsim.study", "hwsim.torch"}
SCRIPTS = sorted(path.stem for path in PAPERS.glob("*.py") if path.stem not in SHARED)
TRAINED = (
    "train_deepseek",
    "train_fp8",
    "train_hfp8",
    "train_large",
    "train_mx",
    "train_nvfp4",
    "train_qualcomm",
)  # which train
LONGEST = ("deepseek_2pct", "flexible_fp8", "fp8_formats", "hfp8", "mx", "real_model", "silicon", "snr_vector_length")
EVERY = others_slow(SCRIPTS, set(SCRIPTS) - {*TRAINED, *LONGEST}, {"train_fp8", "train_nvfp4", *LONGEST})
MADE_UP = "linear"  # the layer of tensors that are drawn in the size tiny
# What a row of a page depends on: numbers, and the sizes that they are of.
NUMBER = re.compile(r"(?<![A-Za-z\d])[\d,.]+(e-?\d+)?")


@pytest.fixture
def script(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PAPERS))
    spec = importlib.util.spec_from_file_location(f"papers_{request.param}", PAPERS / f"{request.param}.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, made)
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize("script", EVERY, indirect=True)
def test_a_script_prints_the_tables_of_its_page(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = Path(str(script.__file__)).stem
    script.main(["--size", "tiny", "--seed", "2", "--figures", str(tmp_path)])
    printed = tables(capsys.readouterr().out)
    page = (STUDIES / f"{name.replace('_', '-')}.md").read_text("utf-8")
    shown = [one for one in tables(page) if one[0][-1] != "here"]  # what stands beside the paper's words is by hand
    assert printed and shown
    assert all(any(NUMBER.search(cell) for row in rows for cell in row[1:]) for _, _, *rows in printed)
    found = []
    for header, _, *rows in shown:
        # Heads of numbers (K = 512) are of a size; the page has some of the columns and rows that are printed.
        words = {head for head in header if not NUMBER.search(head)}
        names = {*(row[0] for row in rows), MADE_UP}
        found.append(any(words <= set(other[0]) and names & {row[0] for row in other[2:]} for other in printed))
        assert found[-1] or name == "real_model", f"{header} is printed by no script"  # size tiny has its digits alone
    assert any(found)
    linked = set(re.findall(r"\(figures/(\S+)\)", page))
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn and (linked <= drawn or name == "real_model")  # in the size tiny it has digits alone
    assert all((tmp_path / one).read_text("utf-8").startswith("<svg") for one in drawn)


@pytest.mark.parametrize("script", ["mx"], indirect=True)
def test_another_seed_has_other_numbers_and_the_same_seed_the_same(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    said = []
    for seed in ("2", "2", "3"):
        script.main(["--size", "tiny", "--seed", seed])
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] != said[2]


@pytest.mark.parametrize("script", ["mx"], indirect=True)
def test_help_says_what_is_shown_and_whose_claim_it_is(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        script.main(["--help"])
    said = capsys.readouterr().out
    assert "arXiv 2310.10537" in said and all(option in said for option in ("--seed", "--size", "--figures"))


@pytest.mark.slow
@pytest.mark.parametrize("script", ["train_large"], indirect=True)
def test_a_training_that_was_stopped_goes_on_to_the_same_numbers(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(folder: str, *more: str) -> str:
        script.main(["--size", "tiny", "--methods", "BF16", "--output", str(tmp_path / folder), *more])
        return capsys.readouterr().out

    expected, judged, steps = run("whole"), script.judged, iter(range(2))

    def stopped(*given: object) -> object:
        if next(steps) == 1:
            raise KeyboardInterrupt
        return judged(*given)

    with monkeypatch.context() as patched:
        patched.setattr(script, "judged", stopped)
        with pytest.raises(KeyboardInterrupt):
            run("stopped")
    taken, learned = [], script.loss_of
    monkeypatch.setattr(script, "loss_of", lambda *given: taken.append(1) or learned(*given))
    assert run("stopped") == expected
    assert len(taken) == 2  # of four steps
    with pytest.raises(SystemExit, match="2"):
        run("stopped", "--steps", "6")
    assert "has a run of another size, text, rate, seed or number of steps" in capsys.readouterr().err


@pytest.mark.usefixtures("minilm_weights")
def test_embeddings_are_those_of_transformers() -> None:
    # 12 decimals that PyTorch and Transformers computed in float64: vectors/network/manifest.yaml says how.
    with (ROOT / "vectors" / "network" / "embeddings.csv").open(newline="") as file:
        golden = list(csv.DictReader(file))
    found = minilm.embeddings(minilm.tokens([row.pop("sentence") for row in golden]))[:, :8]
    expected = torch.tensor([[float(value) for value in row.values()] for row in golden], dtype=torch.float64)
    assert float((found - expected).abs().max()) < 1e-11


@pytest.mark.quick
@pytest.mark.parametrize("path", sorted(PAPERS.glob("*.py")), ids=lambda path: path.stem)
def test_scripts_use_public_names_alone(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert {one for one in names if one.split(".")[0] == "hwsim"} <= PUBLIC
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_") or node.attr.startswith("__")
