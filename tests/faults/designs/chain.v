// A chain of two fused multiply-adds, e4m3 products into binary16: guard, round and sticky bit, as textbooks have it.
module chain_fma (input [7:0] x, input [7:0] y, input [15:0] c, output reg [15:0] z);
  // Both terms have an 11-bit significand with its leading one on top; a biased exponent of binary16's, plus 32.
  reg        p_s, c_s, big_s, small_s;
  reg [6:0]  p_e, c_e, big_e, small_e;
  reg [10:0] p_m, c_m, big_m, small_m;
  reg [7:0]  product;
  reg        nan, p_zero, c_zero, c_inf, swap, guard, sticky, up;
  reg [6:0]  d;
  reg [13:0] lower;
  reg [27:0] wide;
  reg [14:0] sum;
  reg signed [8:0] e;
  reg [15:0] code;
  integer    i, down;

  always @* begin
    nan = &x[6:0] | &y[6:0] | (&c[14:10] & |c[9:0]);
    c_inf = &c[14:10] & ~|c[9:0];
    p_s = x[7] ^ y[7];
    product = {|x[6:3], x[2:0]} * {|y[6:3], y[2:0]};
    p_e = (x[6:3] == 0 ? 1 : x[6:3]) + (y[6:3] == 0 ? 1 : y[6:3]) + 7'd34;
    p_m = {product, 3'd0};
    p_zero = product == 0;
    for (i = 0; i < 8; i = i + 1) if (!p_m[10] && !p_zero) begin p_m = p_m << 1; p_e = p_e - 7'd1; end
    c_s = c[15];
    c_e = (c[14:10] == 0 ? 1 : c[14:10]) + 7'd32;
    c_m = {|c[14:10], c[9:0]};
    c_zero = c_m == 0;
    for (i = 0; i < 11; i = i + 1) if (!c_m[10] && !c_zero) begin c_m = c_m << 1; c_e = c_e - 7'd1; end

    swap = p_zero || (!c_zero && {c_e, c_m} > {p_e, p_m});
    big_s = swap ? c_s : p_s;       small_s = swap ? p_s : c_s;
    big_e = swap ? c_e : p_e;       small_e = swap ? p_e : c_e;
    big_m = swap ? c_m : p_m;       small_m = swap ? p_m : c_m;
    if (p_zero || c_zero) small_m = 0;
    d = big_e - small_e;
    wide = {small_m, 17'd0} >> d;
    lower = wide[27:14];
    lower[0] = lower[0] | (wide[13:0] != 0) | (d > 27 && small_m != 0);
    sum = big_s == small_s ? {1'b0, big_m, 3'd0} + lower : {1'b0, big_m, 3'd0} - lower;

    e = big_e - 9'sd32;
    if (sum[14]) begin
      sum = {1'b0, sum[14:2], sum[1] | sum[0]};
      e = e + 9'sd1;
    end
    for (i = 0; i < 14; i = i + 1) if (!sum[13] && sum != 0) begin sum = sum << 1; e = e - 9'sd1; end
    down = e < 1 ? 1 - e : 0;
    wide = {sum[13:0], 14'd0} >> down;
    guard = wide[16];
    sticky = |wide[15:0] | (down > 27 && sum != 0);
    up = guard & (sticky | wide[17]);
    code = {e < 1 ? 6'd0 : e[5:0], wide[26:17]} + up;

    if (nan) z = 16'h7fff;
    else if (c_inf) z = c;
    else if (p_zero && c_zero) z = {p_s & c_s, 15'd0};
    else if (sum == 0) z = 16'd0;
    else if (code >= 16'h7c00) z = {big_s, 15'h7c00};
    else z = {big_s, code[14:0]};
  end
endmodule

module chain (input [15:0] a, input [15:0] b, input [15:0] c, output [15:0] d);
  wire [15:0] between;
  chain_fma first (.x(a[7:0]), .y(b[7:0]), .c(c), .z(between));
  chain_fma second (.x(a[15:8]), .y(b[15:8]), .c(between), .z(d));
endmodule
