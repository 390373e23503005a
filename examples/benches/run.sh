#!/bin/sh
# Builds and runs bench.sv with a design in Verilator, which asks z3 for what constraints want: run.sh DESIGN FOLDER.
# FAULT=1 in the environment builds the design that is not right.
set -e
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2" && cd "$2"
hwsim export-sv "$here/designs/$1.yaml" -o .
verilator --binary --timing -CFLAGS -std=c++20 --output-split 0 -DDESIGN="$1" -GFAULT="${FAULT:-0}" --top-module bench \
  "$1_dpi_pkg.sv" "$1_verify_pkg.sv" "$here/designs/$1.sv" "$here/bench.sv" "$1_dpi.c" "$1_bins.c"
./obj_dir/Vbench
