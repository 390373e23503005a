// Four products of e4m3 and a binary32 addend, a port for each lane, valid and ready on both sides, and an
// asynchronous reset that is active low. One result is held; a new operand is taken when there is room for it.
//
// WRONG = 1: exponents are those of the products' leading ones, and not the sums of the factors' exponents.
module dot4_stream #(parameter WRONG = 0) (
  input             clk_i,
  input             rst_ni,
  input       [7:0] a0_i, a1_i, a2_i, a3_i,
  input       [7:0] b0_i, b1_i, b2_i, b3_i,
  input      [31:0] acc_i,
  input             valid_i,
  output            ready_o,
  output reg [31:0] result_o,
  output reg        valid_o,
  input             ready_i
);
  wire [31:0] made;
  dot4_core #(.WRONG(WRONG)) core (
    .a({a3_i, a2_i, a1_i, a0_i}), .b({b3_i, b2_i, b1_i, b0_i}), .c(acc_i), .d(made)
  );
  reg [31:0] waiting;
  reg        waits;
  wire       room = !valid_o || ready_i;
  assign ready_o = !waits || room;
  always @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      waits   <= 1'b0;
      valid_o <= 1'b0;
    end else begin
      if (room) begin
        valid_o  <= waits;
        result_o <= waiting;
      end
      if (ready_o) begin
        waits   <= valid_i;
        waiting <= made;
      end
    end
endmodule
