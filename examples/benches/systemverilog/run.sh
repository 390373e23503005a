#!/bin/sh
# Builds and runs the testbench of fp6dot4.sv in Verilator, which asks z3 for what constraints want.
# FAULT=1 in the environment builds the design that is not right. The folder to build in is the argument.
set -e
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" && cd "$1"
hwsim export-sv "$here/fp6dot4.yaml" -o .
verilator --binary --timing -CFLAGS -std=c++20 --output-split 0 -GFAULT="${FAULT:-0}" --top-module bench_fp6dot4 \
  fp6dot4_dpi_pkg.sv fp6dot4_verify_pkg.sv "$here/fp6dot4.sv" "$here/bench_fp6dot4.sv" fp6dot4_dpi.c fp6dot4_bins.c
./obj_dir/Vbench_fp6dot4
