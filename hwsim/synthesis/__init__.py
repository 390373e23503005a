"""Gates, depth and clock rate of generated Verilog, by Yosys and nextpnr."""
