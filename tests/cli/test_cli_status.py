"""Usage, help, errors and exit statuses."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.cli_run import Run, fails, process

import hwsim
from hwsim.base.errors import InputError, InputTypeError, ToolMissing
from hwsim.cli.app import app

HOPPER = "hopper-wgmma-e4m3-f32"


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"hwsim {hwsim.__version__}\n", "")
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'version = "{hwsim.__version__}"' in text


def test_help_lists_every_command_and_statuses(run: Run) -> None:
    done = run("--help")
    assert done.status == 0
    for command in ("formats", "units", "decode", "encode", "explain", "rtl", "export-c"):
        assert f"\n  {command} " in done.out
        shown = run(command, "--help")
        assert shown.status == 0
        # Each teaches by example.
        assert f"\n  hwsim {command}" in shown.out, shown.out
    assert "Exit status: 0" in done.out


def test_no_command_is_bad_usage(run: Run) -> None:
    done = run()
    assert done.status == 2
    assert "Commands:" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["unit"], r"No such command 'unit'.*units"),
        (["units", "--all"], r"No such option.*--all.*\(see hwsim units --help\)"),
        (["units", "a", "b"], r"unexpected extra argument"),
        (["decode"], r"Missing argument 'FORMAT'"),
        (["explain", HOPPER, "--seed", "x"], r"Invalid value for '--seed'"),
        (["cosim", HOPPER, "--sim", "x"], r"Invalid value for '--sim': 'x' is not one of 'verilator', 'icarus'"),
        (["rtl", HOPPER], r"Missing option '--output' / '-o'"),
        (["decode", "e4m4", "1"], r"unknown format 'e4m4': did you mean e4m3"),
        (["formats", "e4m"], r"unknown format 'e4m': did you mean e4m3"),
        (["formats", "./no.yaml"], r"no\.yaml: cannot be read: No such file"),
        (["units", "hopper-wgmma-e4m3"], r"unknown unit .*: did you mean hopper-wgmma-e4m3-f32"),
        (["explain", "ada-mma-e4m3"], r"unknown unit .*: did you mean ada-mma-e4m3-f32"),
        (["rtl", "ada", "-o", "-"], r"unknown unit 'ada'"),
        (["decode", "e4m3", "256"], r"codes\[0\] is 256: e4m3 codes are 0 to 255"),
        (["decode", "e4m3", "0x38", "1.5"], r"a code must be an integer such as .*, not '1\.5'"),
        (["decode", "e4m3", "-1"], r"codes\[0\] is -1"),
        (["encode", "e4m3", "one"], r"a value must be a number such as .*, not 'one'"),
        (["encode", "e4m3", "1/0"], r"must not have the denominator 0: '1/0'"),
        (["encode", "e4m3", "1e99999"], r"an exponent must be -9999 to 9999: '1e99999'"),
        (["encode", "e4m3", "--rounding", "up", "1"], r"rounding must be one of rne, .*, not 'up'"),
        (
            ["encode", "e4m3", "--overflow", "infinity", "1"],
            r"overflow must be one of saturate, propagate, nan, ieee for e4m3",
        ),
        (["encode", "e2m1", "--overflow", "wrap", "1"], r"overflow must be one of"),
        (["encode", "e2m1", "nan"], r"x\[0\] is nan, for which e2m1 has no code; missing='zero'"),
        (["encode", "e8m0", "0"], r"for which e8m0 has no code"),
    ],
)
def test_bad_usage_and_input(run: Run, arguments: list[str], message: str) -> None:
    fails(run(*arguments), message)


def raising(error: BaseException) -> None:
    """Make `hwsim fail` raise it."""

    @app.command("fail", hidden=True)
    def fail(name: str = "") -> None:
        raise error


@pytest.fixture
def failing() -> Iterator[Any]:
    before = list(app.registered_commands)
    yield raising
    app.registered_commands[:] = before


@pytest.mark.quick(cases=4)
@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (InputError("too\nlarge"), 2, "^error: too large$"),
        (InputTypeError("no list"), 2, "^error: no list$"),
        (hwsim.SpecError("a.yaml:1: wrong"), 2, "^error: a.yaml:1: wrong$"),
        (hwsim.NotImplementedYet("not yet"), 2, "^error: not yet$"),
        (FileNotFoundError(2, "No such file", "x.txt"), 2, "^error: x.txt: No such file$"),
        (ToolMissing("iverilog is missing: apt-get install iverilog"), 3, "apt-get install iverilog"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_exit_statuses(run: Run, failing: Any, error: BaseException, status: int, message: str) -> None:
    failing(error)
    done = run("fail")
    assert done.status == status
    assert "Traceback" not in done.err
    if message:
        fails(done, message, status)


@pytest.mark.parametrize(
    "error", [ValueError("no shape"), TypeError("no list"), RuntimeError("broken [bold]"), KeyError("x"), OSError("?")]
)
def test_a_fault_of_ours_is_not_called_the_users(run: Run, failing: Any, error: Exception) -> None:
    # Of the errors that a library or a slip raises, none is bad input, whatever its type.
    failing(error)
    done = run("fail", "--name", "a b")
    assert done.status == 70
    what, *more = done.err.splitlines()
    assert re.match(rf"error: unexpected {type(error).__name__}: .* in \w+\.py:\d+ \(\w+\); .* defect of hwsim", what)
    assert str(error) in what
    assert more[0] == "  command:  hwsim fail --name 'a b'"
    assert more[1].startswith(f"  hwsim {hwsim.__version__}, Python 3.")
    assert "--debug" in more[2]
    assert "Traceback" not in done.err


def test_debug_adds_the_traceback(run: Run, failing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(InputError("here"))
    for arguments in (["--debug", "fail"], ["fail", "--debug"]):
        done = run(*arguments)
        assert done.status == 2
        assert "Traceback" in done.err
        assert done.err.splitlines()[-1] == "error: here"
    monkeypatch.setenv("HWSIM_DEBUG", "1")
    assert "Traceback" in run("fail").err


def test_python_m_hwsim_is_hwsim() -> None:
    done = process("encode", "e4m3", "-1.5")
    assert (done.returncode, done.stdout.split()[-4:]) == (0, ["-1.5", "0xbc", "-1.5", "exact"])
    assert process("decode", "e4m3", "999").returncode == 2
    script = Path(sys.executable).with_name("hwsim")
    assert subprocess.run([script, "--version"], capture_output=True, check=True).stdout.startswith(b"hwsim ")


def test_errors_are_red_on_a_terminal_only() -> None:
    assert process("units", "x").stderr.startswith("error: unknown unit")
    colored = process("units", "x", env={**os.environ, "FORCE_COLOR": "1"}).stderr
    assert colored.startswith("\x1b[31merror: unknown unit")


def test_an_output_that_is_no_unicode() -> None:
    done = process("formats", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0


def test_a_reader_that_goes_away() -> None:
    done = subprocess.run(
        f"{sys.executable} -m hwsim formats f16 | true", shell=True, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr


INTERRUPTED = """
import os, signal, time, hwsim.cli.app
@hwsim.cli.app.app.command()
def wait():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(10)
raise SystemExit(hwsim.cli.main(["wait"]))
"""


def test_ctrl_c_is_status_130() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, "error: interrupted\n")


EARLY = """
import os, signal, sys
from hwsim.cli import main

class Interrupted:
    def find_spec(self, *_):
        os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupted())
raise SystemExit(main(["units"]))
"""


def test_ctrl_c_before_the_command_is_known_is_status_130() -> None:
    done = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")


def test_the_lists_do_not_import_amaranth() -> None:
    code = "import sys, hwsim.cli; hwsim.cli.main(['units']); sys.exit('amaranth' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_collected_as_before_a_command(enabled: bool, run: Run) -> None:
    # It is not while commands are imported.
    if not enabled:
        gc.disable()
    try:
        assert run("--version").status == 0
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
