// Sums of beats that are closed by `last`, with a fault in the handshake.
//
// FAULT = 1: valid falls under back-pressure. 2: the payload changes under back-pressure. 3: a result for every beat,
// closed or not. 4: no result at all. 5: a bit of the result that nothing drives.
// 6: no beat is ever taken.
module faulty_stream #(parameter FAULT = 0) (
  input             clk,
  input             rst,
  input       [7:0] a,
  input       [7:0] b,
  input             first,
  input             last,
  input             in_valid,
  output            in_ready,
  output     [31:0] d,
  output            out_valid,
  input             out_ready
);
  reg signed [31:0] sum;
  reg               full, stalled;
  wire signed [15:0] product = $signed(a) * $signed(b);
  wire               take = in_valid && in_ready;
  assign in_ready  = FAULT != 6 && (!full || out_ready);
  assign out_valid = full && !(FAULT == 1 && stalled) && FAULT != 4;
  wire             floating;
  assign d = FAULT == 2 && stalled ? ~sum : FAULT == 5 ? {floating, sum[30:0]} : sum;
  always @(posedge clk)
    if (rst) begin
      full    <= 1'b0;
      stalled <= 1'b0;
    end else begin
      stalled <= full && !out_ready;
      if (in_ready) full <= take && (last || FAULT == 3);
      if (take) sum <= first ? product : sum + product;
    end
endmodule
