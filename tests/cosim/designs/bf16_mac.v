// A register that adds products of two bf16 numbers in binary32: the product is rounded, then the sum; subnormal
// factors, products and sums are zero. A product is added a cycle after its factors were enabled.
//
// OVERFLOW = 1: a product of 2^129 or more is taken for one that is too small. GUARD = 0: differences have no guard bits.
module bf16_mac #(parameter OVERFLOW = 0, GUARD = 1) (
  input             clk,
  input             clear,
  input             enable,
  input      [15:0] a,
  input      [15:0] b,
  output reg [31:0] sum
);
  wire        sign = a[15] ^ b[15];
  wire        zero = ~|a[14:7] | ~|b[14:7];
  wire        infinite = &a[14:7] | &b[14:7];
  wire        nan = &a[14:7] & |a[6:0] | &b[14:7] & |b[6:0] | infinite & zero;
  wire [15:0] sig = {1'b1, a[6:0]} * {1'b1, b[6:0]};
  wire [15:0] normal = sig[15] ? sig : sig << 1;
  wire  [9:0] exponent = {2'd0, a[14:7]} + {2'd0, b[14:7]} - 10'd127 + {9'd0, sig[15]};
  wire        under = exponent[9] | exponent == 10'd0 | OVERFLOW != 0 & exponent[8];
  wire        over = ~exponent[9] & exponent >= 10'd255;
  wire [31:0] product = nan ? 32'h7fffffff : infinite ? {sign, 31'h7f800000} : zero | under ? {sign, 31'd0} :
                        over ? {sign, 31'h7f800000} : {sign, exponent[7:0], normal[14:0], 8'd0};
  reg  [31:0] added;
  reg         adds;
  wire [31:0] next;
  f32_add #(.FLUSH(1), .GUARD(GUARD)) add (.x(sum), .y(added), .z(next));
  always @(posedge clk) begin
    added <= product;
    adds  <= enable;
    if (clear) sum <= 32'd0;
    else if (adds) sum <= next;
  end
endmodule
