// x - y + 8, of bytes.
//
// FAULT = 1: x + y + 8. 2: |x - y| + 8. 3: the last bit of x is lost. 4: x - y.
module differs #(parameter FAULT = 0) (input clk, input [7:0] x, y, output reg [31:0] d);
  wire signed [8:0] difference = $signed(x & (FAULT == 3 ? 8'hfe : 8'hff)) - $signed(y);
  wire signed [8:0] total = $signed(x) + $signed(y);
  wire signed [8:0] size = difference < 0 ? -difference : difference;
  always @(posedge clk)
    d <= (FAULT == 1 ? total : FAULT == 2 ? size : difference) + $signed(FAULT == 4 ? 32'd0 : 32'd8);
endmodule
