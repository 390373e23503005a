// The arithmetic: combinational, written by hand from docs/arithmetic.md.
module dot4_core #(parameter WRONG = 0) (
  input      [31:0] a,
  input      [31:0] b,
  input      [31:0] c,
  output reg [31:0] d
);
  localparam LEADING_ONE = 1, FLOOR = 2;

  // A term is sig * 2^(exp - 7), exp being unbiased plus 200; the addend's 23 fraction bits make it sig * 2^(exp - 23).
  reg        sign [0:4];
  reg [8:0]  exp  [0:4];
  reg [23:0] sig  [0:4];
  reg        nan, plus, minus;
  reg [7:0]  x, y;
  reg [3:0]  xm, ym;
  integer    i, s;

  reg [8:0]         top;
  reg               any;
  reg [63:0]        wide, kept;
  reg signed [31:0] total;
  reg [31:0]        magnitude;
  reg [9:0]         place;
  integer           lead, e;

  always @* begin
    nan = 0; plus = 0; minus = 0;
    for (i = 0; i < 4; i = i + 1) begin
      x = a[8*i +: 8];
      y = b[8*i +: 8];
      nan = nan | (&x[6:0]) | (&y[6:0]);
      xm = {|x[6:3], x[2:0]};
      ym = {|y[6:3], y[2:0]};
      sign[i] = x[7] ^ y[7];
      sig[i]  = {15'd0, xm, 1'b0} * ym;
      exp[i]  = 9'd186 + (xm[3] ? x[6:3] : 4'd1) + (ym[3] ? y[6:3] : 4'd1);
      if (WRONG == LEADING_ONE && sig[i] != 0) begin
        if (sig[i][8]) begin sig[i] = sig[i] >> 1; exp[i] = exp[i] + 9'd1; end
        for (s = 0; s < 6; s = s + 1)
          if (sig[i] < 128) begin sig[i] = sig[i] << 1; exp[i] = exp[i] - 9'd1; end
      end
    end
    sign[4] = c[31];
    sig[4]  = {|c[30:23], c[22:0]};
    exp[4]  = 9'd73 + (c[30:23] == 0 ? 8'd1 : c[30:23]);
    if (&c[30:23]) begin
      if (c[22:0] != 0) nan = 1;
      else if (c[31]) minus = 1;
      else plus = 1;
    end

    any = 0; top = 0;
    for (i = 0; i < 5; i = i + 1)
      if (sig[i] != 0) begin
        any = 1;
        if (exp[i] > top) top = exp[i];
      end

    // Each term in units of 2^(top - 13), with 40 bits below for what is lost.
    total = 0;
    for (i = 0; i < 5; i = i + 1) begin
      wide = {40'd0, sig[i]} << (i == 4 ? 30 : 46);
      kept = (top - exp[i] > 63) ? 64'd0 : wide >> (top - exp[i]);
      if (WRONG == FLOOR && sign[i] && sig[i] != 0 && (kept[39:0] != 0 || top - exp[i] > 40)) kept = kept + 64'h10000000000;
      if (sig[i] != 0)
        total = sign[i] ? total - $signed({8'd0, kept[63:40]}) : total + $signed({8'd0, kept[63:40]});
    end

    magnitude = total < 0 ? -total : total;
    lead = 0;
    for (s = 0; s < 32; s = s + 1) if (magnitude[s]) lead = s;
    e = lead + top - 200 - 13;
    if (nan || (plus && minus)) d = 32'h7fffffff;
    else if (plus || minus) d = {minus, 8'hff, 23'd0};
    else if (!any || magnitude == 0) d = 32'd0;
    else if (e > 127) d = {total < 0, 8'hff, 23'd0};
    else if (e < -126) begin
      // Subnormal: the last place weighs 2^-139.
      kept = {32'd0, magnitude};
      s = top - 200 - 13 + 139;
      kept = s >= 0 ? kept << s : kept >> -s;
      d = {total < 0, 8'd0, kept[12:0], 10'd0};
    end else begin
      kept = {32'd0, magnitude} << 32;
      kept = kept >> (lead + 19);
      place = e + 127;
      d = {total < 0, place[7:0], kept[12:0], 10'd0};
    end
  end
endmodule
