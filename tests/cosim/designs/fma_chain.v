// Four products of e5m2, added one after the other to a binary32 number, each with one rounding: a lane a cycle, sums of
// several beats, valid and ready.
//
// FAULT = 1: the lanes in the other order. 2: differences have no guard bits. 3: a result does not wait. 4: the addend of
// every beat is used.
module fma_chain #(parameter FAULT = 0) (
  input             clk,
  input             rst,
  input             in_valid,
  output            in_ready,
  input      [31:0] a,
  input      [31:0] b,
  input      [31:0] c,
  input             first,
  input             last,
  output            out_valid,
  input             out_ready,
  output     [31:0] y
);
  reg  [31:0] rest_a, rest_b, sum;
  reg   [2:0] left;
  reg         closes, full;
  assign in_ready  = left == 3'd0 && (!full || FAULT == 3);
  assign out_valid = full;
  assign y         = sum;

  wire  [7:0] one_a = FAULT == 1 ? rest_a[31:24] : rest_a[7:0], one_b = FAULT == 1 ? rest_b[31:24] : rest_b[7:0];
  wire [31:0] product, next;
  e5m2_product mul (.a(one_a), .b(one_b), .p(product));
  f32_add #(.GUARD(FAULT != 2)) add (.x(sum), .y(product), .z(next));
  always @(posedge clk)
    if (rst) begin
      left <= 3'd0;
      full <= 1'b0;
    end else begin
      if (out_ready) full <= 1'b0;
      if (left != 3'd0) begin
        sum    <= next;
        left   <= left - 3'd1;
        rest_a <= FAULT == 1 ? rest_a << 8 : rest_a >> 8;
        rest_b <= FAULT == 1 ? rest_b << 8 : rest_b >> 8;
        if (left == 3'd1 && closes) full <= 1'b1;
      end else if (in_valid && in_ready) begin
        rest_a <= a;
        rest_b <= b;
        left   <= 3'd4;
        closes <= last;
        if (first || FAULT == 4) sum <= c;
      end
    end
endmodule

// The product of two e5m2 numbers, which binary32 holds exactly.
module e5m2_product (input [7:0] a, input [7:0] b, output [31:0] p);
  wire       sign = a[7] ^ b[7];
  wire       infinite = &a[6:2] | &b[6:2];
  wire       nan = &a[6:2] & |a[1:0] | &b[6:2] & |b[1:0] | infinite & (a[6:0] == 7'd0 | b[6:0] == 7'd0);
  wire [5:0] sig = {3'd0, |a[6:2], a[1:0]} * {3'd0, |b[6:2], b[1:0]};
  wire [4:0] exp_a = |a[6:2] ? a[6:2] : 5'd1, exp_b = |b[6:2] ? b[6:2] : 5'd1;
  reg  [2:0] top;
  integer    place;
  always @* begin
    top = 3'd0;
    for (place = 0; place < 6; place = place + 1) if (sig[place]) top = place[2:0];
  end
  wire [5:0] normal = sig << (3'd5 - top);
  wire [7:0] exponent = {3'd0, exp_a} + {3'd0, exp_b} + 8'd93 + {5'd0, top};
  assign p = nan ? 32'h7fffffff : infinite ? {sign, 31'h7f800000} :
             sig == 6'd0 ? {sign, 31'd0} : {sign, exponent, normal[4:0], 18'd0};
endmodule
