"""The system of soc.py: a LiteX SoC with VexRiscv, ROM, SRAM, UART and timer, and an engine behind CSRs."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path

from litex.build.generic_platform import Pins, Subsignal
from litex.build.io import CRG
from litex.build.sim import SimPlatform
from litex.gen import LiteXModule
from litex.soc.integration.export import get_csr_header, get_linker_regions, get_mem_header
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore
from litex.soc.interconnect.axi import AXILiteInterface
from litex.soc.interconnect.csr import CSR, CSRStatus, CSRStorage
from migen import Cat, ClockSignal, If, Instance, ResetSignal, Signal

from hwsim.spec.registers import AXI_LITE, PREFIX

PADS = [
    ("sys_clk", 0, Pins(1)),
    ("sys_rst", 0, Pins(1)),
    ("serial", 0, *(Subsignal(f"{end}_{signal}", Pins(bits)) for end in ("source", "sink")
                    for signal, bits in (("valid", 1), ("ready", 1), ("data", 8)))),
]  # fmt: skip


STREAMS = "a", "b", "c", "scale_a", "scale_b"  # by the numbers that the driver gives them


class EngineRegisters(LiteXModule):
    """An engine whose streams the core feeds, word by word.

    a_word: a word of stream a, the low 32 bits first; a_offer: offer it, with this tlast; others so, too. d_word: a
    word of results; d_take: take it. status: bits 0 to 4, a word of that stream is not taken yet; 5, d_word is valid;
    6, its tlast; 7 and 8, error. mode: the port, where there is one.

    top: the engine's module. axi_lite: whether it has registers of its own; axil is their bus. reset: its port, rst or
    rst_n.
    """

    def __init__(
        self, top: str, inputs: dict[str, int], results: int, mode_bits: int, axi_lite: bool, reset: str = "rst"
    ) -> None:  # fmt: skip
        self.status = CSRStatus(9)
        self.d_word = CSRStatus(results)
        self.d_take = CSR()
        valid, last, error, waits = Signal(), Signal(), Signal(2), {name: Signal() for name in STREAMS}
        resets = ~ResetSignal() if reset == "rst_n" else ResetSignal()
        ports = {"i_clk": ClockSignal(), f"i_{reset}": resets, "o_error": error, "o_d_tdata": self.d_word.status,
                 "o_d_tvalid": valid, "o_d_tlast": last, "i_d_tready": self.d_take.re}  # fmt: skip
        self.comb += self.status.status.eq(Cat(*waits.values(), valid, last, error))
        for name, width in inputs.items():
            word, offer = CSRStorage(width, name=f"{name}_word"), CSRStorage(1, name=f"{name}_offer")
            setattr(self, f"{name}_word", word)
            setattr(self, f"{name}_offer", offer)
            taken = Signal()
            self.sync += If(offer.re, waits[name].eq(1)).Elif(taken, waits[name].eq(0))
            ports |= {f"i_{name}_tdata": word.storage, f"i_{name}_tlast": offer.storage,
                      f"i_{name}_tvalid": waits[name], f"o_{name}_tready": taken}  # fmt: skip
        if mode_bits:
            self.mode = CSRStorage(mode_bits)
            ports["i_mode"] = self.mode.storage
        self.axil = AXILiteInterface() if axi_lite else None
        for name, (into, bits) in AXI_LITE.items() if axi_lite else ():
            channel = next(each for each in ("aw", "ar", "w", "b", "r") if name.startswith(each))
            signal = getattr(getattr(self.axil, channel), name.removeprefix(channel))
            ports[f"{'i' if into else 'o'}_{PREFIX}{name}"] = signal[:bits]
        self.specials += Instance(top, **ports)


class System(SoCCore):
    """The SoC, on LiteX's platform for simulations. core: VexRiscv's Verilog, which LiteX does not bring itself."""

    def __init__(self, core: Path, rom_bytes: int, engine: EngineRegisters) -> None:
        platform = SimPlatform("SIM", list(PADS))
        self.crg = CRG(platform.request("sys_clk"), rst=platform.request("sys_rst"))
        super().__init__(
            platform, clk_freq=1_000_000, cpu_type="vexriscv", uart_name="sim", timer_uptime=True,
            integrated_rom_size=rom_bytes, integrated_rom_init=[0], integrated_sram_size=1 << 14,
            csr_ordering="little", ident="", ident_version=False,
        )  # fmt: skip
        self.cpu.use_external_variant(str(core))
        self.engine = engine
        if engine.axil is not None:
            region = SoCRegion(origin=0x9000_0000, size=1 << 12, cached=False)
            self.bus.add_slave("engine_registers", engine.axil, region)


def write(core: Path, rom_bytes: int, engine: EngineRegisters, folder: Path) -> None:
    """Write the system's Verilog, soc.v, and what its program must know of it: csr.h, mem.h, regions.ld."""
    logging.disable(logging.INFO)
    try:
        system = System(core, rom_bytes, engine)
        system.finalize()
        with contextlib.chdir(folder):  # where the contents of memories are written
            system.platform.get_verilog(system.get_fragment(), name="soc").write("soc.v")
    finally:
        logging.disable(logging.NOTSET)
    # Of two runs the text is the same without its date, and is built once.
    lines = (folder / "soc.v").read_text().splitlines(keepends=True)
    dated = "// Date ", "//  Auto-Generated by LiteX on "
    (folder / "soc.v").write_text("".join(line for line in lines if not line.startswith(dated)))
    (folder / "csr.h").write_text(get_csr_header(system.csr_regions, system.constants, with_access_functions=False))
    (folder / "mem.h").write_text(get_mem_header(system.mem_regions))
    (folder / "regions.ld").write_text(get_linker_regions(system.mem_regions))
