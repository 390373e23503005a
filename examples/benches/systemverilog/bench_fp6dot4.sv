// A testbench of fp6dot4.sv: solved operands for each bin of pairs and of distances, and random ones.
module bench_fp6dot4;
  import fp6dot4_dpi_pkg::fp6dot4_dpi_dot;
  import fp6dot4_verify_pkg::*;

  parameter int FAULT = 0;
  bit clk = 0, rst = 1, in_valid = 0, out_ready = 0;
  bit [23:0] in_a, in_b;
  wire in_ready, out_valid;
  wire [15:0] out_result;
  always #5 clk = !clk;
  fp6dot4 #(.FAULT(FAULT)) dut (.*);

  fp6dot4_coverage coverage = new;
  lanes_a_t a;
  lanes_b_t b;
  int count = 0, wrong = 0;

  // Send a dot product, take its result, and hold it against the model.
  task send();
    longint expected;
    hits_t hits;
    for (int i = 0; i < LANES; i++) begin
      in_a[6*i +: 6] = 6'(a[i]);
      in_b[6*i +: 6] = 6'(b[i]);
    end
    in_valid = 1;
    do @(posedge clk); while (!in_ready);
    #1 in_valid = 0;
    out_ready = 1;
    while (!out_valid) @(posedge clk) #1;
    expected = fp6dot4_dpi_dot(a, b);
    if (longint'(out_result) != expected) begin
      if (wrong == 0)
        $display("MISMATCH expected %h, got %h: hwsim explain fp6dot4.yaml --a %0d,%0d,%0d,%0d --b %0d,%0d,%0d,%0d",
                 16'(expected), out_result, a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]);
      wrong++;
    end
    @(posedge clk) #1 out_ready = 0;
    count++;
    void'(fp6dot4_bins(a, b, hits));
    coverage.add(hits);
  endtask

  initial begin
    fp6dot4_pair pair;
    fp6dot4_distance two;
    pair = new;
    two = new;
    repeat (2) @(posedge clk);
    #1 rst = 0;
    for (int x = 0; x < CLASSES_A; x++)
      for (int y = 0; y < CLASSES_B; y++) begin
        if (pair.randomize() with { class_a == 8'(x); class_b == 8'(y); } != 1) $fatal(1, "no pair %0d, %0d", x, y);
        pair.put(a, b);
        send();
      end
    for (int d = 0; d <= FARTHEST; d++)
      for (int s = 0; s < 2; s++)
        for (int l = 0; l < 2; l++)
          if (!UNREACHABLE[DISTANCE_BIN + 4*d + 2*s + l]) begin
            if (two.randomize() with { distance == 8'(d); subtract == 1'(s); lost == 1'(l); } != 1)
              $fatal(1, "no products %0d apart", d);
            two.put(a, b);
            send();
          end
    repeat (2000) begin
      foreach (a[i]) a[i] = 8'($urandom_range(63));
      foreach (b[i]) b[i] = 8'($urandom_range(63));
      send();
    end
    coverage.report();
    coverage.write("coverage.txt");
    $display("%s: %0d dot products, %0d wrong", wrong == 0 ? "PASS" : "FAIL", count, wrong);
    $finish;
  end
endmodule
