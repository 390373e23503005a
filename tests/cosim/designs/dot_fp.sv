// The exact dot product of two vectors of small floats, or of integers (EXP = 0), as a fixed number; without a clock.
// A float's number is whole in units of its least one: 2^(1 - bias - MAN). Every port of a vector is an array of words.
//
// WRONG = 1: subnormals have a hidden one. WRONG = 2: the last product is not summed.
module dot_fp #(
  parameter K = 4,
  parameter EXP = 2,
  parameter MAN = 1,
  parameter WIDTH = 11,
  parameter WRONG = 0
) (
  input  logic        [EXP + MAN:0] a [K],
  input  logic        [EXP + MAN:0] b [K],
  output logic signed [WIDTH - 1:0] sum
);
  localparam SIZE = EXP == 0 ? MAN : (1 << EXP) - 2 + MAN + 1;  // bits of a magnitude
  wire signed [2 * SIZE + 1:0] products [K];

  dot_fp_products #(.K(K), .EXP(EXP), .MAN(MAN), .SIZE(SIZE), .WRONG(WRONG)) multiply (.a, .b, .products);

  always_comb begin
    sum = '0;
    for (int lane = 0; lane < (WRONG == 2 ? K - 1 : K); lane++) sum += WIDTH'(products[lane]);
  end
endmodule

module dot_fp_products #(
  parameter K = 4,
  parameter EXP = 2,
  parameter MAN = 1,
  parameter SIZE = 4,
  parameter WRONG = 0
) (
  input  logic        [EXP + MAN:0]  a [K],
  input  logic        [EXP + MAN:0]  b [K],
  output logic signed [2 * SIZE + 1:0] products [K]
);
  function automatic logic signed [SIZE:0] number(input logic [EXP + MAN:0] code);
    if (EXP == 0) return $signed(code);
    else begin
      logic [EXP - 1:0] exponent;
      logic signed [SIZE:0] magnitude;
      exponent = code[EXP + MAN - 1:MAN];
      magnitude = (SIZE + 1)'({exponent != 0 || WRONG == 1, code[MAN - 1:0]});
      if (exponent > 1) magnitude = magnitude << (exponent - 1'b1);
      return code[EXP + MAN] ? -magnitude : magnitude;
    end
  endfunction

  for (genvar lane = 0; lane < K; lane++)
    assign products[lane] = number(a[lane]) * number(b[lane]);
endmodule
