// Operands in registers, their product in another, then a sum. `clear` and `add` come to the sum itself, two cycles after
// the operands; with PIPED = 1 `valid` comes with them instead of `add`. The sum is on a second port of the clock, which
// is inverted with INVERTED = 1.
//
// FAULT = 1: never clears. 2: clears with the product behind. 3: adds in every cycle. 4: runs while its enable is low.
// 5: the second port is another clock, of half the rate.
module staged #(parameter FAULT = 0, PIPED = 0, INVERTED = 0) (
  input             clk,
  input             clk_sum,
  input             run,
  input             clear,
  input             add,
  input             valid,
  input             last,
  input       [7:0] a,
  input       [7:0] b,
  output reg [31:0] sum
);
  reg signed [7:0]  x, y;
  reg signed [31:0] product;
  reg               came, comes, cleared, half;
  wire              runs   = run || FAULT == 4;
  wire              adds   = FAULT == 3 || (PIPED ? comes : add);
  wire              clears = FAULT == 1 ? 1'b0 : FAULT == 2 ? cleared : clear;
  wire              ticks  = FAULT == 5 ? half : clk_sum ^ (INVERTED != 0);
  always @(posedge clk) half <= half === 1'b0;
  always @(posedge clk)
    if (runs) begin
      x       <= a;
      y       <= b;
      product <= x * y;
      came    <= valid;
      comes   <= came;
    end
  always @(posedge ticks)
    if (runs) begin
      cleared <= clear;
      if (adds) sum <= (clears ? 32'd0 : sum) + product;
    end
endmodule
