// Products on valid and ready, whose ready is that of the next cycle: what comes then is taken, whatever ready says now.
//
// FAULT = 1: drops what is under way where it is no longer ready. 2: takes only what comes while it is ready.
module late_ready #(parameter FAULT = 0) (
  input             clk,
  input             rst,
  input             in_valid,
  output reg        in_ready,
  input       [7:0] a,
  input       [7:0] b,
  output            out_valid,
  input             out_ready,
  output     [31:0] y
);
  reg signed [31:0] held [0:3];
  reg         [1:0] head, tail;
  reg         [2:0] count;
  wire take = in_valid && (FAULT != 2 || in_ready) && (FAULT != 1 || count < 3'd2), give = out_valid && out_ready;
  assign out_valid = count != 3'd0;
  assign y         = held[head];
  always @(posedge clk)
    if (rst) begin
      head     <= 2'd0;
      tail     <= 2'd0;
      count    <= 3'd0;
      in_ready <= 1'b0;
    end else begin
      in_ready <= count < 3'd2;
      if (take) held[tail] <= $signed(a) * $signed(b);
      tail  <= tail + {1'b0, take};
      head  <= head + {1'b0, give};
      count <= count + {2'd0, take} - {2'd0, give};
    end
endmodule
