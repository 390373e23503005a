// binary16 a*b + c, one rounding to nearest even, by an exact fixed-point sum in units of 2^-48.
module fma16 (input [15:0] a, b, c, output reg [15:0] y);
  function [10:0] sig(input [15:0] x); sig = {x[14:10] != 0, x[9:0]}; endfunction
  function [5:0] ex(input [15:0] x); ex = x[14:10] == 0 ? 1 : x[14:10]; endfunction
  wire nan = (&a[14:10] && a[9:0] != 0) || (&b[14:10] && b[9:0] != 0) || (&c[14:10] && c[9:0] != 0);
  wire ia = &a[14:10], ib = &b[14:10], ic = &c[14:10];
  wire ps = a[15] ^ b[15];
  wire [83:0] p = {62'b0, sig(a) * sig(b) + 22'b0} << (ex(a) + ex(b) - 2);      // units of 2^-48
  wire [83:0] q = {73'b0, sig(c)} << (ex(c) + 23);
  integer i, mp, mq, m;
  reg signed [85:0] t;
  reg [84:0] s;
  reg [84:0] low;
  reg [11:0] n;
  reg g, st;
  integer e;
  reg [4:0] f;
  always @* begin
    mp = -1; mq = -1;
    for (i = 0; i < 84; i = i + 1) begin if (p[i]) mp = i; if (q[i]) mq = i; end
    t = (ps ? -$signed({2'b0, p}) : $signed({2'b0, p}));
    t = t + (c[15] ? -$signed({2'b0, q}) : $signed({2'b0, q}));
    s = t < 0 ? -t : t;
    m = 0;
    for (i = 0; i < 85; i = i + 1) if (s[i]) m = i;
    e = m < 34 ? 34 : m;                                 // 2^-14 is bit 34
    n = s >> (e - 10);
    low = s << (95 - e);                                 // what lies below the last place, from the top
    g = low[84]; st = |low[83:0];
    n = n + {11'b0, g & (st | n[0])};
    if (n[11]) begin n = n >> 1; e = e + 1; end
    f = n[10] ? e - 33 : 0;
    if (nan || ((ia && b[14:0] == 0) || (ib && a[14:0] == 0)) || ((ia || ib) && ic && ps != c[15])) y = 16'h7e00;
    else if (ia || ib) y = {ps, 15'h7c00};
    else if (ic) y = c;
    else if (s == 0) y = {mp < 0 && mq < 0 && ps && c[15], 15'h0};
    else if (e - 33 >= 31) y = {t < 0, 15'h7c00};
    else y = {t < 0, f, n[9:0]};
  end
endmodule
