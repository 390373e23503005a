// The sum of two binary32 numbers, to nearest, ties to even.
//
// FLUSH = 1: a result that is subnormal becomes zero. GUARD = 0: a difference keeps no bits below the larger operand's
// last place.
module f32_add #(parameter FLUSH = 0, GUARD = 1) (input [31:0] x, input [31:0] y, output [31:0] z);
  wire        swap = y[30:0] > x[30:0];
  wire [31:0] more = swap ? y : x, less = swap ? x : y;
  wire        subtract = x[31] ^ y[31];
  wire  [7:0] exp_more = |more[30:23] ? more[30:23] : 8'd1, exp_less = |less[30:23] ? less[30:23] : 8'd1;
  wire [26:0] sig_more = {|more[30:23], more[22:0], 3'd0}, sig_less = {|less[30:23], less[22:0], 3'd0};

  // The smaller one in the larger one's place: guard, round and sticky bits below it.
  wire  [7:0] distance = exp_more - exp_less;
  wire [53:0] far = distance > 8'd27 ? 54'd0 : {sig_less, 27'd0} >> distance;
  wire        sticky = distance > 8'd27 ? |sig_less : |far[26:0];
  wire [26:0] aligned = GUARD == 0 && subtract ? {far[53:30], 3'd0} : {far[53:28], far[27] | sticky};
  wire [27:0] total = subtract ? {1'b0, sig_more} - {1'b0, aligned} : {1'b0, sig_more} + {1'b0, aligned};

  // To the leading one, or to the least exponent.
  reg   [4:0] zeros;
  integer     place;
  always @* begin
    zeros = 5'd27;
    for (place = 0; place < 27; place = place + 1) if (total[place]) zeros = 5'd26 - place[4:0];
  end
  wire  [7:0] most = exp_more - 8'd1;
  wire  [4:0] left = {3'd0, zeros} > most ? most[4:0] : zeros;
  wire [26:0] shifted = total[27] ? {total[27:2], |total[1:0]} : total[26:0] << left;
  wire  [8:0] exponent = total[27] ? {1'b0, exp_more} + 9'd1 : shifted[26] ? {1'b0, exp_more} - {4'd0, left} : 9'd0;
  wire        up = shifted[2] & (|shifted[1:0] | shifted[3]);
  wire [31:0] rounded = {exponent, shifted[25:3]} + {31'd0, up};

  wire nan = &x[30:23] & |x[22:0] | &y[30:23] & |y[22:0] | &x[30:23] & &y[30:23] & subtract;
  wire infinite = &more[30:23] | rounded >= 32'h7f800000;
  wire tiny = FLUSH != 0 && rounded[30:23] == 8'd0;
  wire sign = total == 28'd0 ? x[31] & y[31] : more[31];
  assign z = nan ? 32'h7fffffff : infinite ? {more[31], 31'h7f800000} : {sign, tiny ? 31'd0 : rounded[30:0]};
endmodule
