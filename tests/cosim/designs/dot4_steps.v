// Four products of e4m3 and a binary32 addend, in steps that have modules and names of their own. Two registers: behind
// the products, and behind the sum.
//
// WRONG: 0, or one of the mistakes that are named where they are. WRONG = 8: a subnormal addend is zero.
module dot4_steps #(parameter WRONG = 0) (
  input             clk,
  input      [31:0] a,
  input      [31:0] b,
  input      [31:0] c,
  output     [31:0] y
);
  // Products.
  wire [3:0]  neg, isnan;
  wire [19:0] place;                 // five bits of each lane: both exponent fields
  wire [31:0] mant;                  // eight bits of each lane
  genvar k;
  generate
    for (k = 0; k < 4; k = k + 1) begin : lane
      lane_product #(.WRONG(k == 2 ? WRONG : 0)) mul (
        .x(a[8*k +: 8]), .y(b[8*k +: 8]),
        .neg(neg[k]), .place(place[5*k +: 5]), .mant(mant[8*k +: 8]), .isnan(isnan[k])
      );
    end
  endgenerate
  wire        big = &c[30:23];
  wire [7:0]  cplace = (c[30:23] == 0) ? 8'd1 : c[30:23];
  wire [23:0] cmant = (WRONG == 8 && c[30:23] == 0) ? 24'd0 : {|c[30:23], c[22:0]};
  wire        anynan = |isnan | (big & |c[22:0]);
  wire        plus = big & ~|c[22:0] & ~c[31], minus = big & ~|c[22:0] & c[31];

  reg [3:0]  neg_q;
  reg [19:0] place_q;
  reg [31:0] mant_q;
  reg        cneg_q, nan_q, plus_q, minus_q;
  reg [7:0]  cplace_q;
  reg [23:0] cmant_q;
  always @(posedge clk) begin
    neg_q <= neg; place_q <= place; mant_q <= mant;
    cneg_q <= c[31]; cplace_q <= cplace; cmant_q <= cmant;
    nan_q <= anynan; plus_q <= plus; minus_q <= minus;
  end

  // The largest exponent, in the addend's scale: a product's is 113 less there.
  wire [8:0] top;
  find_top #(.WRONG(WRONG)) finder (.place(place_q), .mant(mant_q), .cplace(cplace_q), .cmant(cmant_q), .top(top));

  // The window.
  wire [79:0] fixed;                 // sixteen bits of each, the addend's in a signal of its own
  wire [15:0] cfixed;
  generate
    for (k = 0; k < 4; k = k + 1) begin : shift
      into_window #(.BITS(8), .UP(7), .WRONG(WRONG)) shifter (
        .neg(neg_q[k]), .mant(mant_q[8*k +: 8]), .below(top - place_q[5*k +: 5] - 9'd113), .fixed(fixed[16*k +: 16])
      );
    end
  endgenerate
  into_window #(.BITS(24), .UP(-10), .WRONG(WRONG)) cshifter (
    .neg(cneg_q), .mant(cmant_q), .below(top - cplace_q), .fixed(cfixed)
  );
  assign fixed[79:64] = 16'd0;

  // The sum, one after the other. WRONG = 4: the addend's sign is not extended. WRONG = 6: a lane is left out.
  wire [18:0] first = {{3{fixed[15]}}, fixed[15:0]} + {{3{fixed[31]}}, fixed[31:16]};
  wire [18:0] second = first + {{3{fixed[47]}}, fixed[47:32]};
  wire [18:0] third = second + (WRONG == 6 ? 19'd0 : {{3{fixed[63]}}, fixed[63:48]});
  wire [18:0] sum = third + (WRONG == 4 ? {3'd0, cfixed} : {{3{cfixed[15]}}, cfixed});

  reg [18:0] sum_q;
  reg [8:0]  top_q;
  reg        nan_qq, plus_qq, minus_qq;
  always @(posedge clk) begin
    sum_q <= sum; top_q <= top; nan_qq <= nan_q; plus_qq <= plus_q; minus_qq <= minus_q;
  end

  finish #(.WRONG(WRONG)) last (.sum(sum_q), .top(top_q), .isnan(nan_qq), .plus(plus_qq), .minus(minus_qq), .y(y));
endmodule

// One product: (-1)^neg * mant * 2^(place - 20). What is zero has any place. WRONG = 1: the sign of x alone.
module lane_product #(parameter WRONG = 0) (
  input  [7:0] x, y,
  output       neg, isnan,
  output [4:0] place,
  output [7:0] mant
);
  wire [3:0] xm = {|x[6:3], x[2:0]}, ym = {|y[6:3], y[2:0]};
  wire [4:0] xe = x[6:3] + {4'd0, ~xm[3]}, ye = y[6:3] + {4'd0, ~ym[3]};
  assign neg = WRONG == 1 ? x[7] : x[7] ^ y[7];
  assign place = xe + ye;
  assign mant = xm * ym;
  assign isnan = (&x[6:0]) | (&y[6:0]);
endmodule

// WRONG = 2: a product of zero takes part.
module find_top #(parameter WRONG = 0) (
  input  [19:0]     place,
  input  [31:0]     mant,
  input  [7:0]      cplace,
  input  [23:0]     cmant,
  output reg [8:0]  top
);
  integer i;
  always @* begin
    top = (cmant == 0) ? 9'd0 : {1'b0, cplace};
    for (i = 0; i < 4; i = i + 1)
      if ((WRONG == 2 || mant[8*i +: 8] != 0) && place[5*i +: 5] + 9'd113 > top) top = place[5*i +: 5] + 9'd113;
  end
endmodule

// A term below the largest exponent, thirteen fraction bits, in two's complement. WRONG = 3: floored.
module into_window #(parameter BITS = 8, UP = 0, WRONG = 0) (
  input             neg,
  input  [BITS-1:0] mant,
  input  [8:0]      below,
  output [15:0]     fixed
);
  wire [BITS+UP+20:0] room = mant << (UP + 20);
  wire [BITS+UP+20:0] moved = room >> below;
  wire [15:0] kept = moved[BITS+UP+20:20];
  wire        lost = |moved[19:0] | (below > 20 && mant != 0);
  assign fixed = neg ? -(kept + (WRONG == 3 && lost)) : kept;
endmodule

// Normalised and rounded towards zero to thirteen fraction bits. WRONG = 5: NaN is lost beside infinity.
// WRONG = 7: rounded up from a half on. WRONG = 9, no mistake: infinities of both signs, which never meet, make one.
module finish #(parameter WRONG = 0) (
  input  [18:0]     sum,
  input  [8:0]      top,
  input             isnan, plus, minus,
  output reg [31:0] y
);
  wire        neg = sum[18];
  wire [18:0] size = neg ? -sum : sum;
  reg [18:0]  left;
  reg [9:0]   field;
  integer     i;
  always @* begin
    left = size;
    field = {1'b0, top} + 10'd5;
    for (i = 0; i < 18; i = i + 1)
      if (!left[18] && field > 1) begin left = left << 1; field = field - 10'd1; end
    if ((isnan && !(WRONG == 5 && plus)) || (plus && minus && WRONG != 9)) y = 32'h7fffffff;
    else if (plus || minus) y = {minus, 8'hff, 23'd0};
    else if (size == 0) y = 32'd0;
    else if (!left[18]) y = {neg, 8'd0, left[17:5], 10'd0};
    else if (field > 254) y = {neg, 8'hff, 23'd0};
    else y = {neg, {field[7:0], left[17:5]} + (WRONG == 7 && left[4]), 10'd0};
  end
endmodule
