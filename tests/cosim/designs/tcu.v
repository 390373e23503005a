// Four products of binary16 and a binary32 addend in a window of 25 bits, all lost bits OR-ed into one sticky bit of
// which only the rounding knows, in the style of published tensor units: a result in every cycle, held by enable.
//
// FAULT = 1: bits that are lost in the six lowest places of a shifted term are not seen. 2: the sticky bit is a place of
// a negative sum. 3: a zero product counts for the largest exponent. 4: the lost bits of the addend are not seen.
module tcu #(parameter FAULT = 0) (
  input clk, enable,
  input [63:0] a, b,
  input [31:0] c,
  output reg [31:0] y
);
  // Terms: sign, exponent (that of a significand of 1.0), significand with 23 fraction bits.
  reg [4:0] sign;
  reg signed [9:0] exp [0:4];
  reg [24:0] sig [0:4];
  reg nan, plus, minus, one_nan, other_nan, one_inf, other_inf, one_zero, other_zero;
  reg [15:0] f, g;
  reg [10:0] fs, gs;
  reg [21:0] product;
  reg signed [9:0] top, d;
  reg some, sticky, negative, up, least, guard, below;
  reg [25:0] kept;
  reg [57:0] wide;
  reg signed [31:0] sum;
  reg [31:0] size, rounded, made;
  integer i, lead, places;
  reg signed [11:0] exponent;

  always @* begin
    nan = 0; plus = 0; minus = 0;
    for (i = 0; i < 4; i = i + 1) begin
      f = a[16 * i +: 16]; g = b[16 * i +: 16];
      one_nan = &f[14:10] & |f[9:0]; other_nan = &g[14:10] & |g[9:0];
      one_inf = &f[14:10] & ~|f[9:0]; other_inf = &g[14:10] & ~|g[9:0];
      one_zero = ~|f[14:0]; other_zero = ~|g[14:0];
      fs = {|f[14:10], f[9:0]}; gs = {|g[14:10], g[9:0]};
      product = fs * gs;
      sign[i] = f[15] ^ g[15];
      exp[i] = (|f[14:10] ? f[14:10] : 1) + (|g[14:10] ? g[14:10] : 1) - 30;
      sig[i] = product << 3;
      nan = nan | one_nan | other_nan | (one_inf & other_zero) | (other_inf & one_zero);
      if (one_inf | other_inf) if (sign[i]) minus = 1; else plus = 1;
    end
    sign[4] = c[31];
    exp[4] = (|c[30:23] ? c[30:23] : 1) - 127;
    sig[4] = {|c[30:23], c[22:0]};
    nan = nan | (&c[30:23] & |c[22:0]);
    if (&c[30:23] & ~|c[22:0]) if (c[31]) minus = 1; else plus = 1;

    some = 0; top = 0;
    for (i = 0; i < 5; i = i + 1)
      if (sig[i] != 0 || (FAULT == 3 && i < 4))
        if (!some || exp[i] > top) begin top = exp[i]; some = 1; end
    sum = 0; sticky = 0;
    for (i = 0; i < 5; i = i + 1) begin
      d = top - exp[i];
      if (d > 31) d = 31;
      wide = {sig[i], 1'b0, 31'd0} >> d;   // 24 places below the largest exponent, and 31 more
      kept = wide[57:31];
      below = FAULT == 1 ? |wide[30:6] : |wide[30:0];
      if (!(FAULT == 4 && i == 4)) sticky = sticky | below | (d == 31 && sig[i] != 0);
      sum = sign[i] ? sum - $signed({1'b0, kept}) : sum + $signed({1'b0, kept});
    end

    negative = sum < 0;
    size = negative ? -sum : sum;
    if (FAULT == 2 && negative && sticky) size = size - 1;
    lead = 0;
    for (i = 0; i < 31; i = i + 1) if (size[i]) lead = i;
    exponent = top - 24 + lead;
    // The last place of the result in places of the window: 23 below the leading one, or that of subnormal numbers.
    places = exponent < -126 ? -126 - 23 - (top - 24) : lead - 23;
    if (places > 0) begin
      rounded = places > 31 ? 0 : size >> places;
      guard = places > 32 ? 0 : size[places - 1];
      least = places > 1 && (size & ((32'd1 << (places - 1)) - 1)) != 0;
    end else begin
      rounded = size << -places;
      guard = 0; least = 0;
    end
    up = guard & (least | sticky | rounded[0]);
    rounded = rounded + up;
    if (exponent < -126) made = rounded;
    else begin
      made = ((exponent + 127) << 23) + rounded[24:0] - (1 << 23);
      if (rounded[24]) made = (exponent + 128) << 23;
      if (exponent > 127 || (exponent == 127 && rounded[24])) made = 32'h7f800000;
    end
  end

  always @(posedge clk)
    if (enable)
      if (nan || (plus && minus)) y <= 32'h7fffffff;
      else if (plus || minus) y <= {minus, 31'h7f800000};
      else y <= size == 0 ? 32'd0 : {negative, made[30:0]};
endmodule
