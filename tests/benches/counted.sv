// Counts the bins of dot products that a file has, in the covergroup and beside it.
`define OF(name) `DESIGN``name
module counted;
  import `OF(_verify_pkg)::*;
  parameter int COUNT = 1;
  dot_product #(1) dot = new;
  bin_coverage coverage = new;
  byte unsigned codes[COUNT * 2 * LANES];

  initial begin
    $readmemh("codes.hex", codes);
    for (int n = 0; n < COUNT; n++) begin
      for (int i = 0; i < LANES; i++) begin
        dot.a[i] = codes[(2 * n + 0) * LANES + i];
        dot.b[i] = codes[(2 * n + 1) * LANES + i];
      end
      coverage.add(dot.hits());
    end
    coverage.write("coverage.txt");
    $display("covered %f", coverage.covered.get_inst_coverage());
    $finish;
  end
endmodule
