// Four products of e4m3 and a binary32 addend, without a clock. Both vectors in one port, a above b, lane 0 in the
// high bits, and vectors declared from 0 up.
//
// WRONG = 2: what is shifted out is floored and not truncated.
module dot4_comb #(parameter WRONG = 0) (
  input  [0:63] operands,
  input  [0:31] addend,
  output [0:31] y
);
  wire [7:0] a0 = operands[0:7],   a1 = operands[8:15],  a2 = operands[16:23], a3 = operands[24:31];
  wire [7:0] b0 = operands[32:39], b1 = operands[40:47], b2 = operands[48:55], b3 = operands[56:63];
  dot4_core #(.WRONG(WRONG)) core (
    .a({a3, a2, a1, a0}), .b({b3, b2, b1, b0}), .c(addend), .d(y)
  );
endmodule
