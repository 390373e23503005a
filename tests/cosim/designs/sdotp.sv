// a * b + c * d + e, rounded once: e5m2 factors, a binary16 addend and result, IEEE 754's flags, tiny after rounding.
// The sum is a number in units of 2^-32, in which every product and every addend is whole.
//
// WRONG = 1: two products that cancel below the result's last place leave their bits lost, so that directed roundings
// see a number a little smaller. WRONG = 2: a negative result that rounds to zero loses its sign.
// WRONG = 3: inexact is silent on overflow. WRONG = 4: a result is tiny before it is rounded.
// WRONG = 5: a signaling NaN is as quiet as others. WRONG = 6: every NaN raises invalid, a quiet one too.
module sdotp
  import sdotp_pkg::*;
#(
  parameter WRONG = 0
) (
  input             clk_i,
  input             rst_ni,
  input  request_t  req_i,
  input             valid_i,
  output            ready_o,
  output response_t resp_o,
  output            valid_o,
  input             ready_i
);
  function automatic [32:0] magnitude8(input [7:0] code);  // in units of 2^-16
    reg [4:0] exponent;
    begin
      exponent = code[6:2] == 0 ? 5'd1 : code[6:2];
      magnitude8 = {30'd0, code[6:2] != 0, code[1:0]} << (exponent - 1);
    end
  endfunction

  function automatic is_nan8(input [7:0] code);
    is_nan8 = code[6:0] > 7'h7c;
  endfunction

  function automatic is_inf8(input [7:0] code);
    is_inf8 = code[6:0] == 7'h7c;
  endfunction

  wire [7:0]  a = req_i.pairs[0].factor, b = req_i.pairs[0].other;
  wire [7:0]  c = req_i.pairs[1].factor, d = req_i.pairs[1].other;
  wire [15:0] e = req_i.addend;

  // Products and addend, in units of 2^-32.
  wire [71:0] first  = {39'd0, magnitude8(a)} * {39'd0, magnitude8(b)};
  wire [71:0] second = {39'd0, magnitude8(c)} * {39'd0, magnitude8(d)};
  wire [4:0]  step   = e[14:10] == 0 ? 5'd1 : e[14:10];
  wire [71:0] third  = {61'd0, e[14:10] != 0, e[9:0]} << (step + 7);
  wire first_neg = a[7] ^ b[7], second_neg = c[7] ^ d[7], third_neg = e[15];
  wire signed [72:0] sum = (first_neg ? -$signed({1'b0, first}) : $signed({1'b0, first}))
                         + (second_neg ? -$signed({1'b0, second}) : $signed({1'b0, second}))
                         + (third_neg ? -$signed({1'b0, third}) : $signed({1'b0, third}));
  wire exact_zero = sum == 0;
  wire same_sign = first_neg == second_neg && second_neg == third_neg;
  wire negative = exact_zero ? (same_sign ? first_neg : req_i.rounding == RDN) : sum[72];
  wire [72:0] size = sum[72] ? -sum : sum;

  // The leading one, at least where the least normal number has it: 2^-14.
  reg [6:0] leading;
  integer   place;
  always @* begin
    leading = 7'd18;
    for (place = 19; place < 73; place = place + 1) if (size[place]) leading = place[6:0];
  end
  wire [6:0]  shift = leading - 7'd10;
  wire [72:0] kept = size >> shift;
  wire [72:0] lost = size & ((73'd1 << shift) - 1);
  wire [72:0] half = 73'd1 << (shift - 1);

  function automatic up(input rounding_t rounding, input neg, input [72:0] rest, input [72:0] middle, input odd);
    case (rounding)
      RNE:     up = rest > middle || (rest == middle && odd);
      RDN:     up = neg && rest != 0;
      RUP:     up = !neg && rest != 0;
      default: up = 1'b0;
    endcase
  endfunction

  wire [72:0] below = (73'd1 << shift) - 1;
  wire cancelled = WRONG == 1 && lost == 0 && first_neg != second_neg && first == second && !exact_zero
                && (first & below) != 0;
  wire [72:0] near = kept - {72'd0, cancelled};
  wire [72:0] rest = cancelled ? below : lost;
  wire [72:0] rounded = near + {72'd0, up(req_i.rounding, negative, rest, half, near[0])};
  wire [72:0] code = rounded + ({66'd0, leading - 7'd18} << 10);
  wire overflow = code > 73'h7bff;
  wire inward = req_i.rounding == RTZ || (req_i.rounding == RDN && !negative) || (req_i.rounding == RUP && negative);
  wire inexact = overflow || rest != 0;

  // As if the exponent had no end: a number just below the least normal one may reach it.
  wire [72:0] fine_lost = size & 73'h7f, fine_kept = size >> 7;
  wire reaches = size[17] && fine_kept == 73'h7ff && up(req_i.rounding, negative, fine_lost, 73'h40, 1'b1);
  wire tiny = leading == 18 && !size[18] && !(reaches && WRONG != 4);

  wire any_nan = is_nan8(a) || is_nan8(b) || is_nan8(c) || is_nan8(d) || e[14:0] > 15'h7c00;
  wire signals = (is_nan8(a) && !a[1]) || (is_nan8(b) && !b[1]) || (is_nan8(c) && !c[1]) || (is_nan8(d) && !d[1])
              || (e[14:0] > 15'h7c00 && !e[9]);
  wire first_inf = is_inf8(a) || is_inf8(b), second_inf = is_inf8(c) || is_inf8(d), third_inf = e[14:0] == 15'h7c00;
  wire zero_times = (first_inf && first == 0) || (second_inf && second == 0)
                 || (is_inf8(a) && b[6:0] == 0) || (is_inf8(b) && a[6:0] == 0)
                 || (is_inf8(c) && d[6:0] == 0) || (is_inf8(d) && c[6:0] == 0);
  wire positive_inf = (first_inf && !first_neg) || (second_inf && !second_neg) || (third_inf && !third_neg);
  wire negative_inf = (first_inf && first_neg) || (second_inf && second_neg) || (third_inf && third_neg);
  wire made_nan = !any_nan && (zero_times || (positive_inf && negative_inf));
  wire special = any_nan || made_nan || positive_inf || negative_inf;

  wire [15:0] result = any_nan || made_nan ? 16'h7e00
                     : positive_inf || negative_inf ? {negative_inf, 15'h7c00}
                     : overflow ? {negative, inward ? 15'h7bff : 15'h7c00}
                     : {negative && !(WRONG == 2 && code == 0 && !exact_zero), code[14:0]};
  wire nv = made_nan || (WRONG == 6 ? any_nan : signals && WRONG != 5), of = !special && overflow, uf = !special && tiny && inexact;
  wire nx = !special && inexact && !(WRONG == 3 && overflow);
  response_t made;
  assign made = {nv, 1'b0, of, uf, nx, result};

  reg        waits;
  response_t waiting;
  assign ready_o = !waits || ready_i;
  assign valid_o = waits;
  assign resp_o = waiting;
  always @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) waits <= 1'b0;
    else if (ready_o) begin
      waits   <= valid_i;
      waiting <= made;
    end
endmodule
