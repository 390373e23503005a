// Sums of e4m3 products of any length in a fixed-point register, rounded to bfloat16 after the last beat.
module exact_product (input [7:0] x, input [7:0] y, output signed [47:0] z, output nan);
  // In units of 2^-18.
  wire [3:0] ex = x[6:3] == 0 ? 4'd1 : x[6:3];
  wire [3:0] ey = y[6:3] == 0 ? 4'd1 : y[6:3];
  wire [3:0] mx = {|x[6:3], x[2:0]};
  wire [3:0] my = {|y[6:3], y[2:0]};
  wire [7:0] product = mx * my;
  wire [47:0] placed = {40'd0, product} << (ex + ey - 5'd2);
  assign z = x[7] ^ y[7] ? -placed : placed;
  assign nan = &x[6:0] | &y[6:0];
endmodule

module exact (
  input             clk,
  input             rst,
  input             in_valid,
  input             in_last,
  input      [31:0] a,
  input      [31:0] b,
  output reg        out_valid,
  output reg [15:0] y
);
  wire signed [47:0] z0, z1, z2, z3;
  wire [3:0] nan;
  exact_product p0 (a[7:0], b[7:0], z0, nan[0]);
  exact_product p1 (a[15:8], b[15:8], z1, nan[1]);
  exact_product p2 (a[23:16], b[23:16], z2, nan[2]);
  exact_product p3 (a[31:24], b[31:24], z3, nan[3]);
  reg signed [47:0] so_far;
  reg so_far_nan;
  wire signed [47:0] total = so_far + z0 + z1 + z2 + z3;
  wire total_nan = so_far_nan | (|nan);
  wire [47:0] magnitude = total < 0 ? -total : total;
  reg [5:0] lead;
  integer i;
  always @* begin
    lead = 0;
    for (i = 0; i < 48; i = i + 1) if (magnitude[i]) lead = i;
  end
  wire [47:0] normal = magnitude << (6'd47 - lead);
  wire guard = normal[39];
  wire sticky = |normal[38:0];
  wire up = guard & (sticky | normal[40]);
  wire [7:0] bexp = lead + 8'd109;
  wire [14:0] code = {bexp, normal[46:40]} + up;
  always @(posedge clk)
    if (rst) begin
      out_valid <= 0;
      so_far <= 0;
      so_far_nan <= 0;
    end else begin
      out_valid <= in_valid & in_last;
      if (in_valid) begin
        so_far <= in_last ? 48'd0 : total;
        so_far_nan <= in_last ? 1'b0 : total_nan;
        y <= total_nan ? 16'h7fff : total == 0 ? 16'd0 : {total < 0, code};
      end
    end
endmodule
