// Multiply and accumulate in a register that is told when a sum begins, and not when it ends.
//
// PULSE = 1: clear and load come in cycles of their own, and a product is added a cycle after its beat.
// PULSE = 0: clear and load come with the first beat, and a product is added at once.
//
// FAULT = 1: adds in every cycle. 2: never clears. 3: loads zero. 4: the sum is seen a cycle late. 5: drops the first
// beat. 6: clears while a sum is open. 7: runs while a clock enable is low. 8: while the other one is.
module mac #(parameter PULSE = 1, FAULT = 0) (
  input             clk,
  input             clear_n,
  input             load,
  input             enable,
  input       [1:0] run,
  input       [7:0] a,
  input       [7:0] b,
  input      [31:0] c,
  output     [31:0] sum
);
  reg signed [31:0] total, late;
  reg signed [31:0] product;
  reg               added, fresh;
  wire              runs = (run[0] || FAULT == 7) && (run[1] || FAULT == 8);
  wire              adds = enable || FAULT == 1;
  wire              clears = !clear_n && FAULT != 2 || FAULT == 6 && added && !enable;
  wire       [31:0] loaded = FAULT == 3 ? 32'd0 : c;
  wire signed [31:0] now = $signed(a) * $signed(b);
  assign sum = FAULT == 4 ? late : total;
  always @(posedge clk)
    if (runs) begin
      late    <= total;
      product <= now;
      added   <= adds && !(FAULT == 5 && fresh);
      fresh   <= (clears || load) && PULSE != 0 || fresh && !enable;
      if (PULSE != 0) begin
        if (clears) total <= 32'd0;
        else if (load) total <= loaded;
        else if (added) total <= total + product;
      end else if (adds)
        total <= (load ? loaded : clears ? 32'd0 : total) + (FAULT == 5 && clears ? 32'd0 : now);
    end
endmodule
