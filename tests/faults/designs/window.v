// Four products of e4m3 and an addend of binary16 in a window: structural Verilog-2001, combinational.
module window_decode (input [7:0] x, output s, output [3:0] e, output [3:0] m, output nan);
  wire sub = x[6:3] == 4'd0;
  assign s = x[7];
  assign e = sub ? 4'd1 : x[6:3];
  assign m = {~sub, x[2:0]};
  assign nan = &x[6:0];
endmodule

module window_product (input [7:0] x, input [7:0] y, output s, output [5:0] e, output [7:0] m, output nan);
  wire sx, sy, nx, ny;
  wire [3:0] ex, ey, mx, my;
  window_decode dx (.x(x), .s(sx), .e(ex), .m(mx), .nan(nx));
  window_decode dy (.x(y), .s(sy), .e(ey), .m(my), .nan(ny));
  assign s = sx ^ sy;
  assign e = ex + ey + 6'd2;
  assign m = mx * my;
  assign nan = nx | ny;
endmodule

module window_align (input [15:0] x, input [5:0] d, input s, output signed [19:0] y);
  wire [15:0] x0 = d[0] ? x >> 1 : x;
  wire [15:0] x1 = d[1] ? x0 >> 2 : x0;
  wire [15:0] x2 = d[2] ? x1 >> 4 : x1;
  wire [15:0] x3 = d[3] ? x2 >> 8 : x2;
  wire [15:0] x4 = d[4] ? 16'd0 : x3;
  wire [15:0] x5 = d[5] ? 16'd0 : x4;
  wire signed [19:0] wide = {4'd0, x5};
  assign y = s ? -wide : wide;
endmodule

module window_larger (input [5:0] x, input x_counts, input [5:0] y, input y_counts, output [5:0] z, output z_counts);
  assign z_counts = x_counts | y_counts;
  assign z = x_counts && (!y_counts || x >= y) ? x : y;
endmodule

module window_round (input signed [19:0] total, input [5:0] top, output [15:0] z);
  wire negative = total[19];
  wire [19:0] magnitude = negative ? -total : total;
  reg [4:0] lead;
  integer i;
  always @* begin
    lead = 0;
    for (i = 0; i < 20; i = i + 1) if (magnitude[i]) lead = i;
  end
  wire signed [7:0] bexp = $signed({3'd0, lead}) + $signed({2'd0, top}) - 8'sd15;
  wire [23:0] normal = {magnitude, 4'd0} << (5'd19 - lead);
  wire tiny = bexp < 1;
  wire [7:0] down = tiny ? 8'd1 - bexp : 8'd0;
  wire [47:0] placed = {normal, 24'd0} >> down;
  wire [10:0] kept = placed[47:37];
  wire guard = placed[36];
  wire sticky = |placed[35:0];
  wire up = guard & (sticky | kept[0]);
  wire [15:0] code = {tiny ? 6'd0 : bexp[5:0], kept[9:0]} + up;
  wire overflow = code >= 16'h7c00;
  assign z = magnitude == 0 ? 16'd0 : overflow ? {negative, 15'h7c00} : {negative, code[14:0]};
endmodule

module window (input [31:0] a, input [31:0] b, input [15:0] c, output [15:0] d);
  wire [3:0] s, nan, used;
  wire [5:0] e0, e1, e2, e3;
  wire [7:0] m0, m1, m2, m3;
  window_product p0 (a[7:0], b[7:0], s[0], e0, m0, nan[0]);
  window_product p1 (a[15:8], b[15:8], s[1], e1, m1, nan[1]);
  window_product p2 (a[23:16], b[23:16], s[2], e2, m2, nan[2]);
  window_product p3 (a[31:24], b[31:24], s[3], e3, m3, nan[3]);
  assign used = {m3 != 0, m2 != 0, m1 != 0, m0 != 0};
  wire c_sub = c[14:10] == 0;
  wire c_s = c[15];
  wire [5:0] c_e = (c_sub ? 6'd1 : {1'b0, c[14:10]}) + 6'd1;
  wire [10:0] c_m = {~c_sub, c[9:0]};
  wire c_inf = &c[14:10] & ~|c[9:0];
  wire c_nan = &c[14:10] & |c[9:0];
  wire [5:0] t0, t1, t2, top;
  wire u0, u1, u2, any;
  window_larger l0 (e0, used[0], e1, used[1], t0, u0);
  window_larger l1 (e2, used[2], e3, used[3], t1, u1);
  window_larger l2 (t0, u0, t1, u1, t2, u2);
  window_larger l3 (t2, u2, c_e, c_m != 0, top, any);
  wire signed [19:0] y0, y1, y2, y3, yc;
  window_align a0 ({m0, 8'd0}, top - e0, s[0], y0);
  window_align a1 ({m1, 8'd0}, top - e1, s[1], y1);
  window_align a2 ({m2, 8'd0}, top - e2, s[2], y2);
  window_align a3 ({m3, 8'd0}, top - e3, s[3], y3);
  window_align ac ({1'b0, c_m, 4'd0}, top - c_e, c_s, yc);
  wire [15:0] rounded;
  window_round r (y0 + y1 + y2 + y3 + yc, top, rounded);
  assign d = |nan | c_nan ? 16'h7fff : c_inf ? {c_s, 15'h7c00} : any ? rounded : 16'd0;
endmodule
