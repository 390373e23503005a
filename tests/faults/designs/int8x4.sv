// Four int8 products and an int32, one result a cycle, two cycles later; all operands packed, lane 0 lowest.
module int8x4 (
  input  logic        clk,
  input  logic [31:0] a,
  input  logic [31:0] b,
  input  logic [31:0] acc,
  output logic [31:0] y
);
  logic signed [15:0] p [0:3];
  logic signed [31:0] c;
  logic signed [17:0] s;
  genvar i;
  generate
    for (i = 0; i < 4; i = i + 1) begin : g_lane
      wire signed [7:0] x = a[8*i +: 8];
      wire signed [7:0] z = b[8*i +: 8];
      always_ff @(posedge clk) p[i] <= x * z;
    end
  endgenerate
  always_ff @(posedge clk) c <= $signed(acc);
  assign s = p[0] + p[1] + p[2] + p[3];
  always_ff @(posedge clk) y <= c + s;
endmodule
