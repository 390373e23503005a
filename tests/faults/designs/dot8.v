// Eight E4M3 products (every code a number), exact in units of 2^-18, as an integer of 44 bits.
module dot8 (input [63:0] a, b, output reg [43:0] y);
  integer i;
  reg [4:0] e, f;
  reg signed [63:0] t, p;
  always @* begin
    t = 0;
    for (i = 0; i < 8; i = i + 1) begin
      p = {a[8*i+3 +: 4] != 0, a[8*i +: 3]} * {b[8*i+3 +: 4] != 0, b[8*i +: 3]};      // 6 fraction bits
      e = a[8*i+3 +: 4] == 0 ? 1 : a[8*i+3 +: 4];
      f = b[8*i+3 +: 4] == 0 ? 1 : b[8*i+3 +: 4];
      if (a[8*i+7] ^ b[8*i+7]) p = -p;
      p = p <<< (e + f - 2);                                // units of 2^-18
      t = t + p;
    end
    y = t[43:0];
  end
endmodule
