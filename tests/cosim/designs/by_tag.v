// Products in four slots, one for each tag, which take as long as the low bits of a say: results come out of order.
//
// FAULT = 1: a result comes twice. 2: with another tag. 3: with a tag that there is not. 4: every eighth never comes.
// 5: a result changes places with another under back-pressure. 6: in the order of tags, but with the newest product.
module by_tag #(parameter FAULT = 0) (
  input             clk,
  input             rst,
  input             in_valid,
  output            in_ready,
  input       [7:0] a,
  input       [7:0] b,
  input       [1:0] tag,
  output            out_valid,
  input             out_ready,
  output     [31:0] y,
  output      [2:0] out_tag
);
  reg signed [31:0] products [0:3];
  reg         [1:0] waits [0:3];
  reg         [3:0] full;
  reg         [1:0] held, newest;
  reg         [2:0] count;
  reg               stays, again;
  integer           slot;
  wire        [3:0] done = {full[3] && waits[3] == 0, full[2] && waits[2] == 0,
                            full[1] && waits[1] == 0, full[0] && waits[0] == 0};
  wire        [1:0] next = done[3] ? 2'd3 : done[2] ? 2'd2 : done[1] ? 2'd1 : 2'd0;
  wire        [1:0] chosen = stays && FAULT != 5 ? held : next;
  assign in_ready  = 1'b1;
  assign out_valid = (|done || stays) && !(FAULT == 4 && count == 3'd7) || again;
  assign y         = products[FAULT == 6 ? newest : chosen];
  assign out_tag   = FAULT == 3 && count == 3'd5 ? 3'd4 : FAULT == 2 && count == 3'd6 ? {1'b0, ~chosen} : {1'b0, chosen};
  always @(posedge clk)
    if (rst) begin
      full  <= 4'd0;
      stays <= 1'b0;
      again <= 1'b0;
      count <= 3'd0;
    end else begin
      for (slot = 0; slot < 4; slot = slot + 1) if (waits[slot] != 0) waits[slot] <= waits[slot] - 2'd1;
      stays <= out_valid && !out_ready;
      held  <= chosen;
      again <= FAULT == 1 && out_valid && out_ready && count == 3'd3 && !again;
      if (out_valid && out_ready) begin
        full[chosen] <= 1'b0;
        count        <= count + 3'd1;
      end
      if (in_valid) begin
        full[tag]     <= 1'b1;
        products[tag] <= $signed(a) * $signed(b);
        waits[tag]    <= a[1:0];
        newest        <= tag;
      end
    end
endmodule
