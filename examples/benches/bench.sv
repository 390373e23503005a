// A testbench of any design here: solved operands for each bin of pairs and of distances, and random ones.
`define OF(name) `DESIGN``name
module bench;
  import `OF(_verify_pkg)::*;

  localparam int BEATS = CHAINS ? 3 : 1;
  parameter int FAULT = 0;
  bit clk = 0, rst = 1, in_valid = 0, in_first, in_last, out_ready = 0;
  bit [A_BITS*LANES-1:0] in_a;
  bit [B_BITS*LANES-1:0] in_b;
  bit [C_BITS-1:0] in_c;
  wire in_ready, out_valid;
  wire [RESULT_BITS-1:0] out_result;
  always #5 clk = !clk;
  `DESIGN #(.FAULT(FAULT)) dut (.*);  // which has some of these ports

  dot_product #(BEATS) dot = new;
  bin_coverage coverage = new;
  int count = 0, wrong = 0;

  // Send a dot product, take its result, and hold it against the model.
  task send();
    for (int i = 0; i < BEATS; i++) begin
      in_valid = 1;
      in_first = i == 0;
      in_last = i == BEATS - 1;
      in_a = dot.beat_a(i);
      in_b = dot.beat_b(i);
      in_c = C_BITS'(dot.c);
      do @(posedge clk); while (!in_ready);
      #1;
    end
    in_valid = 0;
    out_ready = 1;
    while (!out_valid) @(posedge clk) #1;
    if (longint'(out_result) != dot.result()) begin
      if (wrong == 0)
        $display("MISMATCH expected %h, got %h: %s", RESULT_BITS'(dot.result()), out_result, dot.explain({UNIT, ".yaml"}));
      wrong++;
    end
    @(posedge clk) #1 out_ready = 0;
    count++;
    coverage.add(dot.hits());
  endtask

  initial begin
    class_pair pair;
    distant_pair two;
    lanes_a_t a;
    lanes_b_t b;
    pair = new;
    two = new;
    repeat (2) @(posedge clk);
    #1 rst = 0;
    for (int x = 0; x < CLASSES_A; x++)
      for (int y = 0; y < CLASSES_B; y++) begin
        if (pair.randomize() with { class_a == 8'(x); class_b == 8'(y); } != 1) $fatal(1, "no pair %0d, %0d", x, y);
        pair.put(a, b);
        dot.put(a, b);
        send();
      end
    for (int d = 0; d <= FARTHEST; d++)
      for (int s = 0; s < 2; s++)
        for (int l = 0; l < 2; l++)
          if (!UNREACHABLE[DISTANCE_BIN + 4*d + 2*s + l]) begin
            if (two.randomize() with { distance == 8'(d); subtract == 1'(s); lost == 1'(l); } != 1)
              $fatal(1, "no products %0d apart", d);
            two.put(a, b);
            dot.put(a, b);
            send();
          end
    // Each lane sets max_exp, and each other one straddles the window below it.
    for (int x = 0; x < LANES; x++)
      for (int y = 0; y < LANES; y++)
        if (FARTHEST >= 0 && x != y && !UNREACHABLE[STRADDLING_BIN + (LANES - 1)*x + y - 32'(y > x)]) begin
          if (two.randomize() with { lane_top == x; lane_low == y; distance != 0; lost == 1; kept == 1; } != 1)
            $fatal(1, "lane %0d never straddles below lane %0d", y, x);
          two.put(a, b);
          dot.put(a, b);
          send();
        end
    repeat (5000) begin
      dot.draw();
      send();
    end
    coverage.report();
    coverage.write("coverage.txt");
    $display("%s: %0d dot products, %0d wrong", wrong == 0 ? "PASS" : "FAIL", count, wrong);
    $finish;
  end
endmodule
