// A product of two int8 that are sent one after the other, in as many cycles as a's low bits say; its bytes, the lowest
// first, come with done and in the three cycles after it.
//
// FAULT = 1: done never comes. 2: done comes again. 3: done comes with b. 4: busy stays. 5: busy falls too early, and what
// is sent then is lost. 6: done comes a cycle before the first byte.
module serial_mul #(parameter FAULT = 0) (
  input            clk,
  input            rst,
  input            start,
  input      [7:0] data,
  output reg [7:0] out,
  output           busy,
  output           done_n
);
  reg         [3:0] step;
  reg         [1:0] waits;
  reg         [7:0] a;
  reg signed [31:0] y;
  wire idle = step == 4'd0;
  assign busy   = FAULT == 5 ? !idle && step < 4'd4 : !idle || FAULT == 4 && y != 0;
  assign done_n = !(step == (FAULT == 6 ? 4'd2 : 4'd3) && waits == 0 && FAULT != 1 || FAULT == 2 && step == 4'd6
                    || FAULT == 3 && step == 4'd1);
  always @*
    case (step)
      4'd3: out = y[7:0];
      4'd4: out = y[15:8];
      4'd5: out = y[23:16];
      4'd6: out = y[31:24];
      default: out = 8'd0;
    endcase
  always @(posedge clk)
    if (rst) begin
      step <= 4'd0;
      y    <= 0;
    end else if (idle) begin
      if (start) begin
        a    <= data;
        step <= 4'd1;
      end
    end else if (step == 4'd1) begin
      y     <= $signed(a) * $signed(data);
      waits <= a[1:0];
      step  <= 4'd2;
    end else if (waits != 0) waits <= waits - 2'd1;
    else step <= step == 4'd6 ? 4'd0 : step + 4'd1;
endmodule
