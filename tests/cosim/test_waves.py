"""The save file of a waveform: every line of it is a signal that the waveform has, in the group of its stage."""

from __future__ import annotations

from pathlib import Path

import pytest
from cosim.wave_checks import check, groups_of

from hwsim.cosim.play import SAVED, write_save_file
from hwsim.spec import load_unit, steps

VCD = """$date today $end
$scope module hwsim_bench $end
$var wire 1 ! clk $end
$scope module dut $end
$var wire 36 " in_a [35:0] $end
$var wire 1 # out_valid $end
$var wire 15 $ datapath_add_0_normalize_sum_shifted1[14:0] $end
$var wire 1 % datapath_add_0_o__code $end
$var wire 1 & \\datapath_round_o.nan $end
$var wire 1 ' accept $end
$var wire 1 ( $12 $end
$scope module u_datapath $end
$scope module u_multiply $end
$var wire 4 ) sig [3:0] $end
$upscope $end
$upscope $end
$upscope $end
$upscope $end
$enddefinitions $end
#0
$var is no declaration any more
"""
STAGES = tuple(steps(load_unit("sequential-e4m3-f16")))


def test_signals_stand_in_the_groups_of_their_stages(tmp_path: Path) -> None:
    vcd = tmp_path / "dump.vcd"
    vcd.write_text(VCD)
    dut = "hwsim_bench.dut"
    saved = write_save_file(vcd, STAGES)
    assert saved == tmp_path / SAVED
    assert saved.read_text().startswith('[dumpfile] "dump.vcd"\n')
    assert groups_of(saved.read_text()) == {
        "ports": [f"{dut}.in_a[35:0]", f"{dut}.out_valid"],
        "multiply": [f"{dut}.u_datapath.u_multiply.sig[3:0]"],
        "add.0.normalize": [f"{dut}.datapath_add_0_normalize_sum_shifted1[14:0]"],
        "add.0": [f"{dut}.datapath_add_0_o__code"],
        "round": [rf"{dut}.\datapath_round_o.nan"],
        "control": [f"{dut}.accept"],
        "testbench": ["hwsim_bench.clk"],
    }


@pytest.mark.parametrize("stage", ["multiply", "round"])
def test_a_signal_in_another_group_is_found(stage: str, tmp_path: Path) -> None:
    vcd = tmp_path / "dump.vcd"
    vcd.write_text(VCD)
    saved = write_save_file(vcd, STAGES)
    present = ("multiply", "add.0.normalize", "add.0", "round")
    check(tmp_path, present)
    text = saved.read_text()
    saved.write_text(text.replace(f"-{stage}\n", "-sum\n"))
    with pytest.raises(AssertionError):
        check(tmp_path, present)
