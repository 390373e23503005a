"""Changes by which an engine is wrong: of its Verilog, and of the code that makes it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from odd_modes import ODD_MODES
from odd_units import unit


class EngineMutant(NamedTuple):
    """A change of an engine's Verilog, once or everywhere, by which it is wrong."""

    what: str
    old: str
    new: str
    contexts: int = 4


MUTANTS = (
    EngineMutant("all elements of a row take the first column's factors", ".b_sig(b_sig[j])", ".b_sig(b_sig[0])"),
    EngineMutant("rows take the wrong slice", "a_slices[i*32 +: 32]", "a_slices[(1-i)*32 +: 32]"),
    EngineMutant("addends are transposed", "c_slices[(i*3 + j)*32 +: 32]", "c_slices[(j*2 + i)*32 +: 32]"),
    EngineMutant("results of two elements change places", "results[(i*3 + j)*32", "results[(i*3 + 2 - j)*32"),
    EngineMutant("sums go on after the last step", "continues <= ~last;", "continues <= 1'b1;"),
    EngineMutant("sums never go on", "continues <= ~last;", "continues <= 1'b0;"),
    EngineMutant("what a beat hands on is another context's", "        .carries_context(carries_context)",
                 "        .carries_context(enters_context)"),
    EngineMutant("a context does not wait for its sum", "assign waits = ", "assign waits = 1'b0 & ", 1),
    EngineMutant("A's bank is released with each row", ".release_i(release_w)", ".release_i(goes & column)"),
    EngineMutant("a word is taken where there is no room", "assign tready = ", "assign tready = 1'b1 | "),
    EngineMutant("the queue takes one tile too many", "assign ready = count != 2'd2;", "assign ready = 1'b1;"),
    EngineMutant("a frame of results ends with each tile", "assign tlast = ", "assign tlast = 1'b1 | "),
    EngineMutant("frames of other lengths are not told of", "assign lengths = ", "assign lengths = 1'b0 & "),
    EngineMutant("an early end of a frame is not told of", "assign early = ", "assign early = 1'b0 & "),
    EngineMutant("an error is forgotten", "error | {frames, lengths}", "{frames, lengths}"),
    EngineMutant("a reset leaves a bank full", "full <= 2'd0;", "full <= full;"),
    EngineMutant("a reset leaves a sum open", "      continues <= 1'b0;\n    end\n  end", "    end\n  end"),
    EngineMutant("an element stops while others go on", ".enable(enable),\n        .continues(continues)",
                 ".enable(enable & (i == 0)),\n        .continues(continues)"),
)  # fmt: skip


class RuleMutant(NamedTuple):
    """A change of the code that makes an engine's Verilog. file: of rtl/engine. keys: of the engine."""

    what: str
    file: str
    old: str
    new: str
    keys: Mapping[str, Any] = MappingProxyType({})


TWO_MODES: dict[str, Any] = {"unit": ODD_MODES["modes-window"], "addends": False}
SCALED: dict[str, Any] = {"unit": unit("blocks-in-a-beat")}
APART: dict[str, Any] = SCALED | {
    "columns": 2, "ports": {"a": 32, "b": 64, "c": 64, "d": 32, "scale_a": 16, "scale_b": 8},
}  # fmt: skip
PROMOTED: dict[str, Any] = {
    "unit": unit("scaled-promotion"),
    "addends": unit("scaled-promotion").operands.addend is not None,
}

RULES = (
    RuleMutant("the bank that fills is read", "feed", "Mux(of, Cat(words[1]), Cat(words[0]))",
               "Mux(of, Cat(words[0]), Cat(words[1]))"),
    RuleMutant("a step ends with its last row's first column", "feed", "(row == rows - 1) & (column == columns - 1)",
               "(row == rows - 1)"),
    RuleMutant("columns count one too few", "feed", "with m.If(column == columns - 1):", "with m.If(column == 0):"),
    RuleMutant("contexts go through the slices of A first", "feed", "row * columns + column)", "column * rows + row)"),
    RuleMutant("tlast is ignored", "feed", "(1, self.tlast)", "(1, 0)"),
    RuleMutant("a sum ends where both frames end", "feed", "last.eq(reduce(or_, (", "last.eq(reduce(and_, ("),
    RuleMutant("addends are given up with every step", "feed", "c.release.eq(goes & ends & ~first)",
               "c.release.eq(goes & ends)"),
    RuleMutant("a sum does not wait for its addends", "feed", " & (first | c.valid)", ""),
    RuleMutant("a beat has the mode of the macro tile before", "feed", "Mux(begins, self.mode_in, kept)", "kept",
               TWO_MODES),
    RuleMutant("a macro tile's mode is any cycle's", "feed", "Mux(begins, self.mode_in, kept)", "self.mode_in",
               TWO_MODES),
    RuleMutant("a reset leaves the row", "feed", 'Signal(range(max(2, rows)), name="row")',
               'Signal(range(max(2, rows)), name="row", reset_less=True)'),
    RuleMutant("a reset leaves the place of a word", "feed", 'Signal(range(max(2, shape.words)), name="at")',
               'Signal(range(max(2, shape.words)), name="at", reset_less=True)'),
    RuleMutant("a tile is drained twice", "drain", "take.eq(Mux(take == depth - 1, 0, take + 1))", "take.eq(0)"),
    RuleMutant("the queue takes a tile where there is no place", "drain", "self.ready.eq(count != depth)",
               "self.ready.eq(1)"),
    RuleMutant("a queue of three has four places", "drain", "Mux(put == depth - 1, 0, put + 1)", "put + 1",
               {"drain": 3}),
    RuleMutant("tlast goes with the first context's tile", "drain", "context == self.engine.contexts - 1",
               "context == 0"),
    RuleMutant("words leave from the high end", "drain", "self.tdata.eq(select(words, at))",
               "self.tdata.eq(select(words[::-1], at))"),
    RuleMutant("lanes are decoded in the other order", "side", "codes.lane[lane]", "codes.lane[n.lanes - 1 - lane]"),
    RuleMutant("a scale that is NaN is seen in the first block alone", "side",
               "Cat(decode.nan for decode in decoders).any()",
               "decoders[0].nan", SCALED),
    RuleMutant("every lane has the first block's scale", "element", "part(self.scale_a, lane // a, of_a)",
               "part(self.scale_a, 0, of_a)", SCALED),
    RuleMutant("columns' scales that are NaN are not seen", "top", "a_scale_nan[i] | b_scale_nan[j]", "a_scale_nan[i]",
               SCALED),
    RuleMutant("the scale of a partial sum is each group's", "control", "self.opens.eq(opens)", "self.opens.eq(1)",
               PROMOTED),
    RuleMutant("what is promoted opens a sum", "element", 'f"keeps_{name}"',
               'f"keeps_{name}" if name != "first" else "adds_first"',
               PROMOTED | {"cuts": ["multiply", "align", "sum", "round", "promote.sum", "promote"]}),
    RuleMutant("a beat does not wait for the scales of B", "feed", "(bank.valid for bank in steps))), goes",
               "(bank.valid for bank in steps[:-1]))), goes",
               APART | {"ports": {"a": 32, "b": 64, "d": 32, "scale_a": 16, "scale_b": 8}}),
    RuleMutant("the end of a frame of scales is not seen", "feed", "(bank.last for bank in steps)",
               "(bank.last for bank in steps[:2])", APART),
    RuleMutant("scales that end elsewhere are not told of", "feed", "for bank in steps[1:])",
               "for bank in steps[1:2])", APART),
    RuleMutant("columns take scales of the row's slice", "feed", 'column if name.endswith("b")',
               'column if name == "b"',
               APART),
    RuleMutant("scales stand below codes", "top", '(f"scale_{side}", side):', '(side, f"scale_{side}"):', APART),
    RuleMutant("every column has the row's own number", "top", """f"{name}[{'ij'[at]}]" for at""",
               """f"{name}[{'ii'[at]}]" for at"""),
)  # fmt: skip

REGISTERS = (
    EngineMutant("a write does not wait for its data", "does = has_address & has_data & ", "does = has_address & "),
    EngineMutant("a write does not wait for room for its response", "& (~bvalid | bready)", "& 1'b1"),
    EngineMutant("a response of a write leaves by itself", "    if (bready) begin\n      bvalid",
                 "    begin\n      bvalid"),
    EngineMutant("a response of a read leaves by itself", "    if (rready) begin\n      rvalid",
                 "    begin\n      rvalid"),
    EngineMutant("data are taken over those that wait", "assign wready = ~has_data;", "assign wready = 1'b1;"),
    EngineMutant("a read is taken while a response waits", "assign arready = ~rvalid;", "assign arready = 1'b1;"),
    EngineMutant("a read can be taken as the response before is", "assign arready = ~rvalid;",
                 "assign arready = ~rvalid | rready;"),
    EngineMutant("a read takes the address of a write", "case (araddr[8:2])", "case (awaddr[8:2])"),
    EngineMutant("bytes that are not written count", "(does & strobe[0]) ? data", "does ? data"),
    EngineMutant("a soft reset comes with the other bit", "soft_reset <= commands[0];", "soft_reset <= commands[1];"),
    EngineMutant("a soft reset never ends", "soft_reset <= commands[0];", "soft_reset <= soft_reset | commands[0];"),
    EngineMutant("a soft reset leaves results", ".rst(core_rst),\n    .valid(tile_valid)",
                 ".rst(rst),\n    .valid(tile_valid)"),
    EngineMutant("a soft reset leaves the registers' own", "assign counts_cycles = ~soft_reset;",
                 "assign counts_cycles = 1'b1;"),
    EngineMutant("what is no register is OKAY", "rresp <= 2'd2;", "rresp <= 2'd0;"),
    EngineMutant("an error that comes as it is cleared is lost", "(error & (~clear)) | {frames, lengths}",
                 "(error | {frames, lengths}) & (~clear)"),
    EngineMutant("an error is never cleared", "error & (~clear)", "error"),
    EngineMutant("beats in flight are not busy", "feed_busy | flying | d_tvalid", "feed_busy | d_tvalid"),
    EngineMutant("words in banks are not busy", "bank_b_holds, bank_a_holds}", "bank_b_holds, 1'b0}"),
    EngineMutant("a counter counts another port's words", "counts_words_a_both & a_tready",
                 "counts_words_a_both & b_tready"),
    EngineMutant("waits of results count as waits of sums", "counts_cycles & ~enable", "counts_cycles & enable"),
    EngineMutant("an upper half is the lower's", "upper <= count_beats[63:32]", "upper <= count_beats[31:0]"),
    EngineMutant("a reset keeps a response of a read", "      rvalid <= 1'b0;\n    end\n  end",
                 "      rvalid <= rvalid;\n    end\n  end"),
    EngineMutant("counters are not set to 0", "    if (commands[1]) begin\n      count_beats",
                 "    if (1'b0) begin\n      count_beats"),
)  # fmt: skip
# Of which no suite can know: counters would have to run for 2^32 cycles.
UNSEEN = (
    EngineMutant("an upper half is not kept", "rdata <= upper;", "rdata <= count_cycles[63:32];"),
    EngineMutant("counters have 33 bits", "count_cycles <= count_cycles + 64'd1;",
                 "count_cycles <= (count_cycles + 64'd1) & 64'h1FFFFFFFF;"),
)  # fmt: skip
OF_MODES = (
    EngineMutant("a mode that is none is taken", "written >= 32'd3", "written >= 32'd4"),
    EngineMutant("a mode is another's byte", "(data[7:0] & {8{strobe[0]}})", "(data[15:8] & {8{strobe[0]}})"),
)  # fmt: skip


class ResetMutant(NamedTuple):
    """A change of the Verilog of an engine with registers, by which its reset is wrong. module: of which; the top
    where it is empty. seen: whether a suite knows; none does where two cycles of a reset do the same, or an error would
    have to stand as one begins.
    """

    what: str
    reset: str
    module: str
    old: str
    new: str
    seen: bool = True


RESETS = (
    ResetMutant("the drain's reset is active high", "sync-low", "drain", "if (!rst_n)", "if (rst_n)"),
    ResetMutant("the feed's reset is active low", "async", "", ".rst(core_rst),\n    .a_tdata",
                ".rst(~core_rst),\n    .a_tdata"),
    ResetMutant("a bank's reset is active high", "async-low", "feed", ".rst_n(rst_n)", ".rst_n(~rst_n)"),
    ResetMutant("the elements' control is never reset", "async-low", "", ".rst_n(core_rst_n),\n    .enable",
                ".rst_n(1'b1),\n    .enable"),
    ResetMutant("a soft reset is none", "async-low", "", "rst_n & ~soft_reset", "rst_n"),
    ResetMutant("a soft reset has the other level", "sync-low", "", "rst_n & ~soft_reset", "rst_n & soft_reset"),
    ResetMutant("a reset leaves the column", "async", "feed", "      column <= 1'b0;\n      row", "      row"),
    ResetMutant("a reset leaves the count of tiles", "async-low", "drain", "      count <= 2'd0;\n", ""),
    ResetMutant("a reset leaves the response of a write", "async", "registers", "      bvalid <= 1'b0;\n", ""),
    ResetMutant("a reset leaves the place of a word", "sync-low", "drain",
                "    if (!rst_n) begin\n      at <= 2'd0;\n    end\n", ""),
    ResetMutant("the count of tiles waits for the edge", "async", "drain",
                "@(posedge clk or posedge rst) begin\n    if (rst) begin\n      count", "@(posedge clk) begin\n"
                "    if (rst) begin\n      count"),
    ResetMutant("an error waits for the edge", "async-low", "feed",
                "@(posedge clk or negedge rst_n) begin\n    if (!rst_n) begin\n      error",
                "@(posedge clk) begin\n    if (!rst_n) begin\n      error", seen=False),
    ResetMutant("a place in the queue waits for the edge", "async", "drain",
                "@(posedge clk or posedge rst) begin\n    if (rst) begin\n      put",
                "@(posedge clk) begin\n    if (rst) begin\n      put", seen=False),
    ResetMutant("registers move at a reset's end", "async-low", "control", "negedge rst_n", "posedge rst_n",
                seen=False),
)  # fmt: skip
