// A tree of binary16 adders over rounded products of e4m3: every sum in fixed point, then rounded.
module tree_multiply (input logic [7:0] x, input logic [7:0] y, output logic [15:0] z);
  logic [7:0] product;
  logic [5:0] e;
  logic s;
  always_comb begin
    s = x[7] ^ y[7];
    product = {x[6:3] != 0, x[2:0]} * {y[6:3] != 0, y[2:0]};
    e = 6'(x[6:3] == 0 ? 4'd1 : x[6:3]) + 6'(y[6:3] == 0 ? 4'd1 : y[6:3]) + 6'd2;
    for (int i = 0; i < 7; i++) if (!product[7] && product != 0) begin product = product << 1; e = e - 6'd1; end
    if (x[6:0] == 7'h7f || y[6:0] == 7'h7f) z = 16'h7fff;
    else if (product == 0) z = {s, 15'd0};
    else if (e >= 31 && e <= 40) z = {s, 15'h7c00};
    // Below 2^-14 the last place weighs 2^-24; products are multiples of 2^-18.
    else if (e < 1 || e > 40) z = {s, 15'({product, 3'd0} >> (6'd1 - e))};
    else z = {s, e[4:0], product[6:0], 3'd0};
  end
endmodule

module tree_add (input logic [15:0] x, input logic [15:0] y, output logic [15:0] z);
  logic signed [43:0] fx, fy, total;
  logic [43:0] magnitude, placed;
  logic [5:0] lead, dx, dy, top;
  logic [5:0] ex, ey, down;
  logic x_nan, y_nan, x_inf, y_inf, guard, sticky;
  logic signed [7:0] e;
  logic [15:0] code;
  always_comb begin
    x_nan = x[14:0] > 15'h7c00;
    y_nan = y[14:0] > 15'h7c00;
    x_inf = x[14:0] == 15'h7c00;
    y_inf = y[14:0] == 15'h7c00;
    ex = x[14:10] == 0 ? 6'd1 : {1'b0, x[14:10]};
    ey = y[14:10] == 0 ? 6'd1 : {1'b0, y[14:10]};
    top = ex > ey ? ex : ey;
    dx = top - ex;
    dy = top - ey;
    magnitude = {2'd0, x[14:10] != 0, x[9:0], 31'd0} >> dx;
    fx = x[15] ? -magnitude : magnitude;
    magnitude = {2'd0, y[14:10] != 0, y[9:0], 31'd0} >> dy;
    fy = y[15] ? -magnitude : magnitude;
    total = fx + fy;
    magnitude = total < 0 ? -total : total;
    lead = 0;
    for (int i = 0; i < 44; i++) if (magnitude[i]) lead = 6'(i);
    e = $signed({2'd0, top}) + $signed({2'd0, lead}) - 8'sd41;
    down = e < 1 ? 6'(8'sd1 - e) : 6'd0;
    placed = (magnitude << (6'd43 - lead)) >> down;
    guard = placed[32];
    sticky = placed[31:0] != 0;
    code = {e < 1 ? 6'd0 : e[5:0], placed[42:33]} + 16'(guard && (sticky || placed[33]));
    if (x_nan || y_nan || (x_inf && y_inf && x[15] != y[15])) z = 16'h7fff;
    else if (x_inf) z = x;
    else if (y_inf) z = y;
    else if (total == 0) z = {x[15] && y[15], 15'd0};
    else if (code >= 16'h7c00) z = {total < 0, 15'h7c00};
    else z = {total < 0, code[14:0]};
  end
endmodule

module tree (input logic [31:0] a, input logic [31:0] b, output logic [15:0] y);
  logic [15:0] p0, p1, p2, p3, left, right, sum;
  tree_multiply m0 (.x(a[7:0]), .y(b[7:0]), .z(p0));
  tree_multiply m1 (.x(a[15:8]), .y(b[15:8]), .z(p1));
  tree_multiply m2 (.x(a[23:16]), .y(b[23:16]), .z(p2));
  tree_multiply m3 (.x(a[31:24]), .y(b[31:24]), .z(p3));
  tree_add s0 (.x(p0), .y(p1), .z(left));
  tree_add s1 (.x(p2), .y(p3), .z(right));
  tree_add s2 (.x(left), .y(right), .z(sum));
  assign y = sum;
endmodule
