"""Shell completion, asked for as shells do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.cli_run import Run
from conftest import missing

from hwsim.formats import formats
from hwsim.formats.catalog import tables
from hwsim.quantize import rules
from hwsim.spec import modal_presets, presets

Complete = Callable[..., list[str]]


@pytest.fixture
def complete(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Complete:
    """What bash is answered for a line whose last word is being typed, in this process."""
    monkeypatch.chdir(tmp_path)

    def ask(*words: str) -> list[str]:
        monkeypatch.setenv("_HWSIM_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(["hwsim", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        done = run()
        assert (done.status, done.err) == (0, "")
        return done.out.split()

    return ask


def test_commands(complete: Complete) -> None:
    assert complete("expl") == ["explain"]
    assert {"capture", "cosim", "verilator"} <= set(complete(""))
    assert complete("capture", "ju") == ["judge"]


TAKING_UNITS = """units, explain, rtl, export-c, export-sv, vectors, gemm, cosim, cosim int8-i32, capture cases,
capture judge h200, study --unit, dut-init top.v --unit"""


@pytest.mark.parametrize("before", TAKING_UNITS.replace("\n", " ").split(", "))
def test_units(complete: Complete, before: str) -> None:
    assert complete(*before.split(), "") == [*presets(), *modal_presets()]
    assert complete(*before.split(), "hfp8-hybrid:") == ["hfp8-hybrid:forward", "hfp8-hybrid:backward"]
    assert complete(*before.split(), "hopper-wgmma-e4m3-") == ["hopper-wgmma-e4m3-f16", "hopper-wgmma-e4m3-f32"]


def test_files_stand_beside_names(complete: Complete, tmp_path: Path) -> None:
    for name in ("hopper-mine.yaml", "hop[1.yml", "hopper.v"):
        (tmp_path / name).touch()
    assert complete("units", "hopper-m")[-1] == "hopper-mine.yaml"
    assert complete("units", "hop[") == ["hop[1.yml"]
    assert complete("units", "hopper.") == []  # the shell lists files itself


@pytest.mark.parametrize("command", ["formats", "encode", "decode"])
def test_formats(complete: Complete, command: str) -> None:
    assert complete(command, "") == [*formats(), *tables()]
    assert complete(command, "e4m3f") == [name for name in formats() if name.startswith("e4m3f")]


def test_words_of_options(complete: Complete) -> None:
    for option in ("--quantize", "--quantize-b"):
        assert complete("gemm", "int8-i32", "a", "b", option, "") == list(rules())
    assert complete("study", "--scaling", "") == ["direct", "tensor", "channel", "block", *rules()]
    assert "student-t" in complete("study", "--data", "")
    assert "deepseek-2pct" in complete("study", "--preset", "")
    assert complete("vectors", "int8-i32", "--suite", "s") == ["smoke", "standard", "soak", "sensitive"]
    assert {"rne", "stochastic"} <= set(complete("encode", "e4m3", "--rounding", ""))
    assert "saturate" in complete("encode", "e4m3", "--overflow", "")
    assert complete("encode", "e4m3", "--missing", "z") == ["zero"]
    assert complete("cosim", "--sim", "") == ["verilator", "icarus", "both"]


BASH = """
source <(_HWSIM_COMPLETE=source_bash hwsim)
complete -p hwsim >&2
COMP_WORDS=(hwsim rtl hopper-wgmma-e4m3-) COMP_CWORD=2
_hwsim_completion hwsim
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = """
env _HWSIM_COMPLETE=source_fish hwsim | source
complete --do-complete "hwsim rtl hopper-wgmma-e4m3-"
"""
ZSH = """
compdef() { print -u2 "compdef $*"; }
_arguments() { print -r -- "$1" | tr '(")' ' '; }
source <(_HWSIM_COMPLETE=source_zsh hwsim)
words=(hwsim rtl hopper-wgmma-e4m3-) CURRENT=3
_hwsim_completion
"""


def shell(name: str, script: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """A script in a shell that knows the `hwsim` of this Python."""
    program = shutil.which(name)
    if program is None:
        missing(f"{name} is not installed")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        [program, *options, "-c", script],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def script() -> None:
    """The program that shells run must be installed beside this Python."""
    if not Path(sys.executable).with_name("hwsim").exists():
        missing("hwsim is not installed as a program")


def test_bash_completes_presets(script: None) -> None:
    done = shell("bash", BASH, ("--norc",))
    assert done.stdout.split() == ["hopper-wgmma-e4m3-f16", "hopper-wgmma-e4m3-f32"], done
    assert "-F _hwsim_completion hwsim" in done.stderr


@pytest.mark.slow
def test_fish_completes_presets(script: None) -> None:
    done = shell("fish", FISH, ("--no-config",))
    assert sorted(done.stdout.split()) == ["hopper-wgmma-e4m3-f16", "hopper-wgmma-e4m3-f32"], done


@pytest.mark.slow
def test_zsh_completes_presets(script: None) -> None:
    done = shell("zsh", ZSH, ("-f",))
    assert {"hopper-wgmma-e4m3-f16", "hopper-wgmma-e4m3-f32"} <= set(done.stdout.split()), done


@pytest.mark.parametrize("line", ["hwsim ", "hwsim study --", "hwsim cosim --", "hwsim capture ", "hwsim encode --"])
@pytest.mark.parametrize("name", ["zsh", "fish"])
def test_help_stands_beside_options_whatever_is_in_it(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, line: str
) -> None:
    # Apostrophes, brackets and backquotes of help texts mean something to shells.
    monkeypatch.setenv("_HWSIM_COMPLETE", f"complete_{name}")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    done = run()
    assert (done.status, done.err) == (0, "")
    assert len(done.out.splitlines()) > 1
    if name == "zsh" and shutil.which("zsh"):
        assert subprocess.run(["zsh", "-fn"], input=done.out, capture_output=True, text=True, check=False).stderr == ""


def test_a_shell_that_is_not_known_is_bad_usage(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_HWSIM_COMPLETE", "complete_csh")
    done = run()
    assert done.status != 0 and "csh" in done.err


def test_it_is_installed_for_the_shell_that_runs_it(script: None, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash
    hwsim = Path(sys.executable).with_name("hwsim")
    done = subprocess.run(
        [bash, "--norc", "-c", f"'{hwsim}' --install-completion; true"],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "bash completion installed" in done.stdout, done
    assert "_hwsim_completion" in (tmp_path / ".bash_completions" / "hwsim.sh").read_text()
    assert ".bash_completions/hwsim.sh" in (tmp_path / ".bashrc").read_text()


def test_names_are_listed_only_when_they_are_asked_for() -> None:
    code = (
        "import sys, hwsim.cli.commands, hwsim.spec.catalog as c; "
        "sys.exit(bool(c._shipped.cache_info().currsize or {'hwsim.study.results'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
