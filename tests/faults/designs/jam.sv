// Two products of e5m2 in a window with a sticky bit for each term: SystemVerilog with a package and functions.
package jam_pkg;
  typedef struct packed {
    logic sign;
    logic signed [6:0] exp;
    logic [5:0] sig;
    logic nan;
    logic inf;
  } term_t;

  function automatic term_t multiply(input logic [7:0] x, input logic [7:0] y);
    logic [2:0] mx, my;
    logic x_special, y_special, x_zero, y_zero;
    mx = {x[6:2] != 0, x[1:0]};
    my = {y[6:2] != 0, y[1:0]};
    x_special = x[6:2] == 31;
    y_special = y[6:2] == 31;
    x_zero = x[6:0] == 0;
    y_zero = y[6:0] == 0;
    multiply.sign = x[7] ^ y[7];
    multiply.exp = $signed({2'b0, mx[2] ? x[6:2] : 5'd1}) + $signed({2'b0, my[2] ? y[6:2] : 5'd1}) - 7'sd30;
    multiply.sig = mx * my;
    multiply.nan = (x_special && x[1:0] != 0) || (y_special && y[1:0] != 0)
                || (x_special && x[1:0] == 0 && y_zero) || (y_special && y[1:0] == 0 && x_zero);
    multiply.inf = (x_special && x[1:0] == 0) || (y_special && y[1:0] == 0);
  endfunction

  // A term in units of 2^(top - 9); a lost 1 sets the last place.
  function automatic logic signed [24:0] align(input term_t t, input logic signed [6:0] top);
    logic [6:0] distance;
    logic [10:0] kept;
    logic [43:0] wide;
    distance = top - t.exp;
    wide = {t.sig, 38'd0} >> distance;
    kept = wide[43:33];
    kept[0] = kept[0] | (wide[32:0] != 0) | (distance > 37 && t.sig != 0);
    align = t.sign ? -$signed({14'd0, kept}) : $signed({14'd0, kept});
  endfunction

  function automatic logic [15:0] round(input logic signed [24:0] total, input logic signed [6:0] top);
    logic [24:0] magnitude;
    logic [24:0] normal;
    logic [4:0] lead;
    logic [14:0] code;
    logic signed [9:0] bexp;
    logic up;
    magnitude = total < 0 ? -total : total;
    lead = 0;
    for (int i = 0; i < 25; i++) if (magnitude[i]) lead = 5'(i);
    bexp = $signed({5'b0, lead}) - 10'sd9 + 10'(top) + 10'sd127;
    normal = magnitude << (5'd24 - lead);
    up = normal[16] && (normal[15:0] != 0 || normal[17]);
    code = {bexp[7:0], normal[23:17]} + 15'(up);
    round = {total < 0, code};
  endfunction
endpackage

module jam import jam_pkg::*; (
  input  logic        clk,
  input  logic [15:0] a,
  input  logic [15:0] b,
  output logic [15:0] result
);
  term_t p, q;
  logic signed [6:0] top;
  logic signed [24:0] total;
  logic [15:0] made;
  always_ff @(posedge clk) begin
    p <= multiply(a[7:0], b[7:0]);
    q <= multiply(a[15:8], b[15:8]);
  end
  always_comb begin
    if (p.sig == 0) top = q.exp;
    else if (q.sig == 0) top = p.exp;
    else top = $signed(p.exp) > $signed(q.exp) ? p.exp : q.exp;
    total = align(p, top) + align(q, top);
    if (p.nan || q.nan || (p.inf && q.inf && p.sign != q.sign)) made = 16'h7fff;
    else if (p.inf || q.inf) made = {p.inf ? p.sign : q.sign, 15'h7f80};
    else if (total == 0) made = {p.sign && q.sign, 15'd0};
    else made = round(total, top);
  end
  always_ff @(posedge clk) result <= made;
endmodule
