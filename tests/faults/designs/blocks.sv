// Four products of e2m1 in two blocks with E8M0 scales, summed in a window onto a binary32 register; valid and ready.
module blocks (
  input  logic        clk,
  input  logic        rst_n,
  input  logic        in_valid,
  output logic        in_ready,
  input  logic        in_first,
  input  logic        in_last,
  input  logic [15:0] a,
  input  logic [15:0] b,
  input  logic [15:0] scale_a,
  input  logic [15:0] scale_b,
  output logic        out_valid,
  input  logic        out_ready,
  output logic [31:0] out_data
);
  localparam F = 12;

  // A term in units of 2^(top - F), cut off in magnitude.
  function automatic logic signed [39:0] cut(input logic sign, input logic [38:0] value, input logic [11:0] distance);
    logic signed [39:0] wide;
    logic [5:0] by;
    wide = {1'b0, value};
    by = distance > 39 ? 6'd39 : distance[5:0];
    cut = sign ? -(wide >>> by) : wide >>> by;
  endfunction

  // Of each term: sign, exponent (signed), significand with 2 fraction bits; of the sum so far with 23.
  logic               s [0:3];
  logic signed [10:0] e [0:3];
  logic [5:0]         m [0:3];
  logic [31:0]        so_far, start, made;
  logic signed [10:0] start_e, top;
  logic [23:0]        start_m;
  logic               nan, any;
  logic signed [31:0] total;
  logic [31:0]        magnitude;
  logic [63:0]        placed;
  logic [4:0]         lead;
  logic signed [11:0] bexp;
  logic [7:0]         sa, sb;
  logic [3:0]         x, y;

  always_comb begin
    nan = 0;
    for (int i = 0; i < 4; i++) begin
      x = a[4*i +: 4];
      y = b[4*i +: 4];
      sa = scale_a[8*(i/2) +: 8];
      sb = scale_b[8*(i/2) +: 8];
      nan = nan || sa == 8'hff || sb == 8'hff;
      s[i] = x[3] ^ y[3];
      m[i] = {4'd0, x[2:1] != 0, x[0]} * {4'd0, y[2:1] != 0, y[0]};
      e[i] = $signed({9'd0, x[2:1] == 0 ? 2'd1 : x[2:1]}) + $signed({9'd0, y[2:1] == 0 ? 2'd1 : y[2:1]}) - 11'sd2
           + $signed({3'd0, sa}) + $signed({3'd0, sb}) - 11'sd254;
    end
    start = in_first ? 32'd0 : so_far;
    nan = nan || (start[30:23] == 8'hff && start[22:0] != 0);
    start_e = $signed({3'd0, start[30:23] == 0 ? 8'd1 : start[30:23]}) - 11'sd127;
    start_m = {start[30:23] != 0, start[22:0]};
    any = 0;
    top = -11'sd1024;
    for (int i = 0; i < 4; i++) if (m[i] != 0) begin
      any = 1;
      if (e[i] > top) top = e[i];
    end
    if (start_m != 0) begin
      any = 1;
      if (start_e > top) top = start_e;
    end
    total = 0;
    for (int i = 0; i < 4; i++)
      total = total + 32'(cut(s[i], {33'd0, m[i]} << (F - 2), 12'(top) - 12'(e[i])));
    total = total + 32'(cut(start[31], {15'd0, start_m}, 12'(top) - 12'(start_e) + 12'd23 - F));
    magnitude = total < 0 ? -total : total;
    lead = 0;
    for (int i = 0; i < 32; i++) if (magnitude[i]) lead = 5'(i);
    bexp = 12'(top) + $signed({7'd0, lead}) - 12'(F) + 12'sd127;
    placed = {magnitude, 32'd0} << (5'd31 - lead);
    if (bexp < 1) placed = placed >> (12'sd1 - bexp);
    made = {total < 0, bexp < 1 ? 8'd0 : bexp[7:0], placed[62:40]};
    if (bexp >= 255) made = {total < 0, 8'hff, 23'd0};
    // What is lost of a number that vanishes, its sign stays.
    if (magnitude == 0) made = 32'd0;
    if (start[30:0] == 31'h7f800000) made = start;
    if (nan) made = 32'h7fffffff;
  end

  assign in_ready = !out_valid || out_ready;
  always_ff @(posedge clk)
    if (!rst_n) out_valid <= 0;
    else if (in_ready) begin
      out_valid <= in_valid && in_last;
      if (in_valid) so_far <= made;
      if (in_valid && in_last) out_data <= made;
    end
endmodule
