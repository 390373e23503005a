// Two blocks of four int8, each with a scale for a and for b, summed to an integer and a scale, in the style of
// published dot products of MX blocks: blocks exactly, their sum aligned to the larger scale with three places below,
// the last of which is sticky, normalised in two's complement and rounded to nearest, ties to even.
//
// FAULT = 1: the scale grows by the distance of the normalisation. 2: a negative integer is shifted in without its sign.
// 3: the sticky place knows of no lost bits.
module mx_pair #(parameter FAULT = 0) (
  input clk,
  input [63:0] x, y,
  input [13:0] s, t,
  output reg signed [17:0] dp,
  output reg [8:0] scale
);
  reg signed [17:0] block [0:1];
  reg [7:0] at [0:1];
  reg signed [7:0] f, g;
  reg signed [20:0] upper, lower, moved;
  reg signed [21:0] sum, lined;
  reg [7:0] top, distance;
  reg sticky, up;
  reg signed [18:0] rounded;
  integer i, places;

  always @* begin
    for (i = 0; i < 2; i = i + 1) begin
      block[i] = 0;
      at[i] = s[7 * i +: 7] + t[7 * i +: 7];
    end
    for (i = 0; i < 8; i = i + 1) begin
      f = x[8 * i +: 8]; g = y[8 * i +: 8];
      block[i / 4] = block[i / 4] + f * g;
    end
    if (at[0] < at[1]) begin
      upper = block[1] <<< 3; lower = block[0] <<< 3; top = at[1]; distance = at[1] - at[0];
    end else begin
      upper = block[0] <<< 3; lower = block[1] <<< 3; top = at[0]; distance = at[0] - at[1];
    end
    if (distance > 21) distance = 21;
    sticky = |(lower & ((22'd1 << distance) - 22'd1)) && FAULT != 3;
    if (FAULT == 2) moved = $unsigned(lower) >> distance; else moved = lower >>> distance;
    moved[0] = moved[0] | sticky;
    sum = upper + moved;

    places = 0;  // that it goes up, until its sign and the next bit differ
    for (i = 0; i < 21; i = i + 1) if (sum[i] != sum[21]) places = 20 - i;
    if (sum == -1) places = 21;
    lined = sum <<< places;
    up = lined[3] & (|lined[2:0] | lined[4]);
    rounded = $signed({lined[21], lined[21:4]}) + $signed({1'b0, up});
  end

  always @(posedge clk)
    if (sum == 0) begin
      dp <= 0; scale <= 0;
    end else begin
      dp <= rounded[18] != rounded[17] ? rounded[18:1] : rounded[17:0];
      scale <= top + 33 + (FAULT == 1 ? places : -places) + (rounded[18] != rounded[17]);
    end
endmodule
