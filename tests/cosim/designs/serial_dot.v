// A dot product of 32 products on two ports of a byte, in 41 cycles: a command, two scales, 32 pairs of elements, and
// after two more cycles the four bytes of a binary32, the highest first.
//
// Products are added on a fixed grid of 2^-8, below which each is truncated. Command bit 7 begins, bit 0 chooses e3m2
// with scales in E8M0, for which the grid is exact, in the place of e4m3 without.
//
// FREE = 1: begins again every 41 cycles, whatever the command says.
// FAULT = 1: the result is a cycle late. 2: a sum is not cleared. 3: the last pair is dropped. 4: scale_b is not used.
// 5: terms are floored. 6: a pair is taken in a cycle in which ena is low. 7: bytes of the result change places.
module serial_dot #(parameter FREE = 0, FAULT = 0) (
  input             clk,
  input             rst_n,
  input             ena,
  input       [7:0] ui_in,
  input       [7:0] uio_in,
  output reg  [7:0] uo_out,
  output            busy
);
  reg         [5:0] cycle;
  reg               e3m2, nan;
  reg         [7:0] scale_a, scale_b;
  reg signed [32:0] total;
  assign busy = cycle != 0;

  // Significands and exponents of both codes, of the product, and the term on the grid.
  wire        [3:0] sig_a = e3m2 ? {1'b0, |ui_in[4:2], ui_in[1:0]} : {|ui_in[6:3], ui_in[2:0]};
  wire        [3:0] sig_b = e3m2 ? {1'b0, |uio_in[4:2], uio_in[1:0]} : {|uio_in[6:3], uio_in[2:0]};
  wire        [4:0] exp_a = e3m2 ? {2'b0, ui_in[4:2]} : {1'b0, ui_in[6:3]};
  wire        [4:0] exp_b = e3m2 ? {2'b0, uio_in[4:2]} : {1'b0, uio_in[6:3]};
  wire              negative = e3m2 ? ui_in[5] ^ uio_in[5] : ui_in[7] ^ uio_in[7];
  wire        [7:0] product = sig_a * sig_b;
  wire        [5:0] place = (exp_a == 0 ? 5'd1 : exp_a) + (exp_b == 0 ? 5'd1 : exp_b);
  // e4m3: 2^(place - 14 - 6) is 2^(place - 12) on the grid; e3m2: 2^(place - 6 - 4), 2^(place - 2).
  wire       [39:0] moved = {32'd0, product} << (e3m2 ? place + 6'd10 : place);
  wire              lost = |moved[11:0];
  wire       [27:0] size = moved[39:12];
  wire signed [32:0] term = negative ? -{5'd0, size} - (FAULT == 5 && lost) : {5'd0, size};
  wire              special = !e3m2 && (&ui_in[6:0] || &uio_in[6:0]);

  // The sum as a binary32, towards zero.
  wire       [32:0] magnitude = total[32] ? -total : total;
  reg         [5:0] top;
  integer           bit_;
  always @* begin
    top = 6'd0;
    for (bit_ = 0; bit_ < 33; bit_ = bit_ + 1) if (magnitude[bit_]) top = bit_;
  end
  wire       [56:0] normal = {magnitude, 24'd0} << (6'd32 - top);
  wire signed [10:0] scales = $signed({3'b0, scale_a}) + (FAULT == 4 ? 11'sd127 : $signed({3'b0, scale_b})) - 11'sd254;
  wire signed [10:0] biased = $signed({5'b0, top}) - 11'sd8 + 11'sd127 + (e3m2 ? scales : 11'sd0);
  wire       [24:0] tiny = biased < -11'sd24 ? 25'd0 : {1'b0, normal[56:33]} >> (11'sd1 - biased);
  wire       [31:0] number =
      nan ? 32'h7fffffff : total == 0 ? 32'd0 : biased > 11'sd254 ? {total[32], 31'h7f800000} :
      biased < 11'sd1 ? {total[32], 8'd0, tiny[22:0]} : {total[32], biased[7:0], normal[55:33]};
  reg        [31:0] given;
  wire        [5:0] shown = FAULT == 1 ? cycle - 6'd1 : cycle;
  always @*
    case (shown)
      6'd37: uo_out = given[31:24];
      6'd38: uo_out = FAULT == 7 ? given[15:8] : given[23:16];
      6'd39: uo_out = FAULT == 7 ? given[23:16] : given[15:8];
      6'd40: uo_out = given[7:0];
      default: uo_out = 8'd0;
    endcase
  always @(posedge clk)
    if (!rst_n) cycle <= 6'd0;
    else if (ena || FAULT == 6) begin
      if (cycle != 0 || ui_in[7] || FREE != 0) cycle <= cycle == 6'd40 ? 6'd0 : cycle + 6'd1;
      if (cycle == 6'd0) begin
        e3m2 <= ui_in[0];
        if (FAULT != 2) total <= 33'd0;
        nan <= 1'b0;
      end
      if (cycle == 6'd1) scale_a <= ui_in;
      if (cycle == 6'd2) scale_b <= ui_in;
      if (cycle == 6'd3 && e3m2 && (&scale_a || &scale_b)) nan <= 1'b1;
      if (cycle >= 6'd3 && cycle <= (FAULT == 3 ? 6'd33 : 6'd34)) begin
        total <= total + term;
        if (special) nan <= 1'b1;
      end
      if (cycle == 6'd36) given <= number;
    end
endmodule
