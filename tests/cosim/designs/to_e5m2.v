// f16 to e5m2, its high byte, to the nearest, ties to even.
//
// FAULT = 1: cut. 2: ties away from zero. 3: NaNs are cut like numbers. 4: magnitudes. 5: no carry into the exponent.
module to_e5m2 #(parameter FAULT = 0) (input [15:0] a, output [7:0] y);
  wire       nan  = &a[14:10] & |a[9:0];
  wire       up   = FAULT == 1 ? 1'b0 : FAULT == 2 ? a[7] : a[7] & (a[8] | |a[6:0]);
  wire [7:0] near = FAULT == 5 ? {a[15:10], a[9:8] + {1'b0, up}} : a[15:8] + {7'd0, up};
  assign y = nan && FAULT != 3 ? 8'h7f : {near[7] & FAULT != 4, near[6:0]};
endmodule
