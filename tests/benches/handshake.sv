// The sum of two INT8 products and an addend, three cycles later. `fault` breaks one promise of its handshake.
module handshake (
  input clk, rst, input [2:0] fault,
  input in_valid, output in_ready, input [15:0] in_a, in_b, input [31:0] in_c,
  output out_valid, input out_ready, output [31:0] out_result
);
  localparam DROPS = 1, CHANGES = 2, REPEATS = 3, LOSES = 4, UNKNOWN = 5, REFUSES = 6, WRONG = 7;
  reg [7:0] words [4:1];  // each of which a bench writes
  initial words[1] = 0;
  reg [2:0] valid;
  reg [31:0] sum [0:2];
  reg [5:0] count;
  reg waited;  // the result was not taken in the last cycle
  wire last = count[1:0] == 3;
  wire advance = !valid[2] || out_ready;
  assign in_ready = advance && !(fault == REFUSES && count > 20);
  assign out_valid = valid[2] && !(fault == DROPS && last && waited && !out_ready);
  assign out_result = sum[2] ^ (fault == CHANGES && last && waited && !out_ready ? 32'd1 : 32'd0)
    ^ (fault == UNKNOWN && last ? 32'dx : 32'd0) ^ (fault == WRONG && last ? 32'd4 : 32'd0);
  always @(posedge clk) waited <= valid[2] && !out_ready;
  always @(posedge clk)
    if (rst) begin
      valid <= 0;
      count <= 0;
    end else if (advance) begin
      valid <= {valid[1:0], in_valid && in_ready};
      if (valid[2] && out_ready) count <= count + 1;
      if (fault == REPEATS && last && valid[2]) valid[2] <= 1;
      if (fault == LOSES && last) valid[2] <= 0;
      sum[0] <= $signed(in_a[7:0]) * $signed(in_b[7:0]) + $signed(in_a[15:8]) * $signed(in_b[15:8]) + $signed(in_c);
      sum[1] <= sum[0];
      sum[2] <= sum[1];
    end
endmodule
