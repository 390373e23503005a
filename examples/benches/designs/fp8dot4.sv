// Four products of E4M3, aligned to the largest exponent and summed; the result is bfloat16, rounded towards zero.
// FAULT 1: the aligner takes only four bits of a distance, which goes up to 28.
module fp8dot4 #(parameter int FAULT = 0) (
  input  logic        clk, rst,
  input  logic        in_valid,
  output logic        in_ready,
  input  logic [31:0] in_a, in_b,  // a code a byte, lane 0 in the low bits
  output logic        out_valid,
  input  logic        out_ready,
  output logic [15:0] out_result
);
  // Products: significands of 8 bits, 6 of them fraction, at the sum of the biased exponents.
  wire        sign [4], is_nan [4];
  wire [4:0]  exp [4];
  wire [7:0]  sig [4];
  for (genvar i = 0; i < 4; i++) begin : lane
    wire [7:0] a = in_a[8*i +: 8], b = in_b[8*i +: 8];
    wire [3:0] a_exp = a[6:3], b_exp = b[6:3];
    wire [3:0] a_sig = {a_exp != 0, a[2:0]}, b_sig = {b_exp != 0, b[2:0]};
    assign is_nan[i] = &a[6:0] | &b[6:0];
    assign sign[i] = a[7] ^ b[7];
    assign exp[i] = 5'(a_exp) + 5'(a_exp == 0) + 5'(b_exp) + 5'(b_exp == 0);
    assign sig[i] = 8'(a_sig) * 8'(b_sig);
  end
  wire nan = is_nan[0] | is_nan[1] | is_nan[2] | is_nan[3];

  // Alignment to the largest exponent, 10 fraction bits below it; what is shifted out is lost. Then the sum.
  logic [4:0]         top, distance;
  logic [11:0]        aligned;
  logic signed [14:0] total;
  always_comb begin
    top = 0;
    for (int i = 0; i < 4; i++) if (sig[i] != 0 && exp[i] > top) top = exp[i];
    total = 0;
    for (int i = 0; i < 4; i++) begin
      distance = (sig[i] == 0) ? 5'd0 : top - exp[i];
      if (FAULT == 1) distance = distance & 5'd15;
      aligned = {sig[i], 4'b0} >> distance;
      total = sign[i] ? total - 15'(aligned) : total + 15'(aligned);
    end
  end

  // The leading one becomes bit 13; 7 bits below it are the fraction, and no result is subnormal or too large.
  wire         negative = total < 0;
  logic [13:0] magnitude, normal;
  logic [3:0]  place;
  always_comb begin
    magnitude = 14'(negative ? -total : total);
    place = 0;
    for (int i = 0; i < 14; i++) if (magnitude[i]) place = 4'(i);
    normal = magnitude << (13 - place);
  end
  wire [7:0]  biased = 8'(place) + 8'(top) + 8'd103;
  wire [15:0] result = nan ? 16'h7FFF : (magnitude == 0) ? 16'h0 : {negative, biased, normal[12:6]};

  assign in_ready = !out_valid || out_ready;
  always_ff @(posedge clk)
    if (rst) out_valid <= 0;
    else if (in_ready) begin
      out_valid <= in_valid;
      out_result <= result;
    end
endmodule
