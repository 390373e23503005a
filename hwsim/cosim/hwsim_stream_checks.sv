// What must hold at the ports of a stream device, whatever it computes. Bind it to the device:
//
//   bind my_unit hwsim_stream_checks #(.INPUT_WIDTH(578), .OUTPUT_WIDTH(34), .LAST(577)) checks (
//     .clk(clk), .rst(rst),
//     .i_payload({in_context, in_last, in_first, in_c, in_b, in_a}), .i_valid(in_valid), .i_ready(in_ready),
//     .o_payload({out_context, out_result}), .o_valid(out_valid), .o_ready(out_ready));
//
// LAST: the bit of the input's payload that closes a sum; -1 where every beat does. rst: active high.
// For Verilator (--assert) and other simulators with SystemVerilog assertions; Icarus Verilog has none.
// verilator lint_off DECLFILENAME
module hwsim_stream_checks #(
  parameter int INPUT_WIDTH = 1,
  parameter int OUTPUT_WIDTH = 1,
  parameter int LAST = -1
) (
  input logic                    clk,
  input logic                    rst,
  input logic [INPUT_WIDTH-1:0]  i_payload,
  input logic                    i_valid,
  input logic                    i_ready,
  input logic [OUTPUT_WIDTH-1:0] o_payload,
  input logic                    o_valid,
  input logic                    o_ready
);
  // Sums that were closed and whose results have not left.
  logic [31:0] pending;
  initial pending = 0;
  wire closes = i_valid && i_ready && (LAST < 0 ? 1'b1 : i_payload[LAST < 0 ? 0 : LAST]);
  wire leaves = o_valid && o_ready;
  always_ff @(posedge clk)
    if (rst) pending <= 0;
    else pending <= pending + 32'(closes) - 32'(leaves);

  input_valid_stays: assert property (@(posedge clk) disable iff (rst)
      i_valid && !i_ready |=> i_valid)
    else $error("input_valid_stays: valid fell before ready");
  input_payload_stays: assert property (@(posedge clk) disable iff (rst)
      i_valid && !i_ready |=> $stable(i_payload))
    else $error("input_payload_stays: the payload changed before ready");
  output_valid_stays: assert property (@(posedge clk) disable iff (rst)
      o_valid && !o_ready |=> o_valid)
    else $error("output_valid_stays: valid fell before ready");
  output_payload_stays: assert property (@(posedge clk) disable iff (rst)
      o_valid && !o_ready |=> $stable(o_payload))
    else $error("output_payload_stays: the payload changed before ready");
  result_was_asked_for: assert property (@(posedge clk) disable iff (rst)
      o_valid |-> pending != 0 || closes)
    else $error("result_was_asked_for: a result without a beat that closes a sum");
  result_is_known: assert property (@(posedge clk) disable iff (rst)
      o_valid |-> !$isunknown(o_payload))
    else $error("result_is_known: an unknown bit in a result");
endmodule
