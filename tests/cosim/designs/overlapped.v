// A product of two int8 and an addend that come in halves, and a sum whose halves leave while the next operands come.
//
// FAULT = 1: the lower half leaves twice. 2: an addend's halves are the same. 3: a sum is lost when the next one begins.
module overlapped #(parameter FAULT = 0) (
  input             clk,
  input             rst,
  input             go,
  input       [7:0] data,
  input      [15:0] part,
  output     [15:0] out
);
  reg               second, upper;
  reg         [7:0] a;
  reg        [15:0] low;
  reg signed [31:0] y;
  assign out = upper ? y[31:16] : y[15:0];
  always @(posedge clk) begin
    upper <= !second && FAULT != 1;
    if (rst) second <= 1'b0;
    else if (!second) begin
      second <= go;
      a      <= data;
      low    <= part;
      if (go && FAULT == 3) y <= 0;
    end else begin
      second <= 1'b0;
      y      <= $signed(a) * $signed(data) + $signed({part, FAULT == 2 ? part : low});
    end
  end
endmodule
