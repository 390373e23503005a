// Four products of e4m3 and a binary32 addend, truncated to 13 bits below the largest exponent; e8m13 out.
// Operands packed, lane 0 in the low bits; a new beat every cycle, its result three cycles later. No handshake.
//
// WRONG = 1: exponents are those of the products' leading ones, and not the sums of the factors' exponents.
// WRONG = 2: what is shifted out is floored and not truncated.
module dot4_latency #(parameter WRONG = 0) (
  input             clk,
  input      [31:0] a,
  input      [31:0] b,
  input      [31:0] c,
  output reg [31:0] d
);
  wire [31:0] made;
  dot4_core #(.WRONG(WRONG)) core (.a(a), .b(b), .c(c), .d(made));
  reg [31:0] first, second;
  always @(posedge clk) begin
    first  <= made;
    second <= first;
    d      <= second;
  end
endmodule
