// Four products of E3M2, aligned to the largest exponent and summed; the result is bfloat16, rounded towards zero.
// FAULT 1: a subnormal factor has the exponent 0, not 1.
module fp6dot4 #(parameter int FAULT = 0) (
  input  logic        clk, rst,
  input  logic        in_valid,
  output logic        in_ready,
  input  logic [23:0] in_a, in_b,  // lane 0 in the low bits
  output logic        out_valid,
  input  logic        out_ready,
  output logic [15:0] out_result
);
  wire       sign [4];
  wire [3:0] exp [4];
  wire [5:0] sig [4];
  for (genvar i = 0; i < 4; i++) begin : lane
    wire [5:0] a = in_a[6*i +: 6], b = in_b[6*i +: 6];
    wire [2:0] a_exp = a[4:2], b_exp = b[4:2];
    wire [2:0] a_sig = {a_exp != 0, a[1:0]}, b_sig = {b_exp != 0, b[1:0]};
    assign sign[i] = a[5] ^ b[5];
    assign exp[i] = 4'(a_exp) + 4'(a_exp == 0 && FAULT != 1) + 4'(b_exp) + 4'(b_exp == 0 && FAULT != 1);
    assign sig[i] = 6'(a_sig) * 6'(b_sig);
  end

  // Alignment to the largest exponent, 7 fraction bits below it; what is shifted out is lost. Then the sum.
  logic [3:0]         top, distance;
  logic [8:0]         aligned;
  logic signed [11:0] total;
  always_comb begin
    top = 0;
    for (int i = 0; i < 4; i++) if (sig[i] != 0 && exp[i] > top) top = exp[i];
    total = 0;
    for (int i = 0; i < 4; i++) begin
      distance = (sig[i] == 0) ? 4'd0 : top - exp[i];
      aligned = {sig[i], 3'b0} >> distance;
      total = sign[i] ? total - 12'(aligned) : total + 12'(aligned);
    end
  end

  // The leading one becomes bit 10; 7 bits below it are the fraction.
  wire         negative = total < 0;
  logic [10:0] magnitude, normal;
  logic [3:0]  place;
  always_comb begin
    magnitude = 11'(negative ? -total : total);
    place = 0;
    for (int i = 0; i < 11; i++) if (magnitude[i]) place = 4'(i);
    normal = magnitude << (10 - place);
  end
  wire [7:0]  biased = 8'(place) + 8'(top) + 8'd114;
  wire [15:0] result = (magnitude == 0) ? 16'h0 : {negative, biased, normal[9:3]};

  assign in_ready = !out_valid || out_ready;
  always_ff @(posedge clk)
    if (rst) out_valid <= 0;
    else if (in_ready) begin
      out_valid <= in_valid;
      out_result <= result;
    end
endmodule
