// Four e2m1 products in a window of 3 fraction bits, floored, to f16; as one always block.
module fp4x4 (input [15:0] a, input [15:0] b, output reg [15:0] y);
  integer i, exp [0:3], top, lead;
  reg [3:0] x, z, sig [0:3];
  reg signed [8:0] term, total;
  reg [8:0] size;
  always @* begin
    top = 0;
    for (i = 0; i < 4; i = i + 1) begin
      x = a[4*i +: 4];
      z = b[4*i +: 4];
      sig[i] = {x[2:1] != 0, x[0]} * {z[2:1] != 0, z[0]};        // 2 fraction bits
      exp[i] = (x[2:1] != 0 ? x[2:1] - 1 : 0) + (z[2:1] != 0 ? z[2:1] - 1 : 0);
      if (sig[i] != 0 && exp[i] > top) top = exp[i];
    end
    total = 0;
    for (i = 0; i < 4; i = i + 1) begin
      term = {sig[i], 1'b0};                                     // 3 fraction bits
      if (a[4*i + 3] ^ b[4*i + 3]) term = -term;
      total = total + (term >>> (top - exp[i]));
    end
    size = total < 0 ? -total : total;
    lead = 0;
    for (i = 0; i < 9; i = i + 1) if (size[i]) lead = i;
    y = size == 0 ? 16'h0 : {total < 0, 5'(15 + lead + top - 3), 10'(size << (10 - lead))};
  end
endmodule
