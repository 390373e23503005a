// Sums of products of INT8 on AXI4-Stream of 64 bits: eight codes of a, then eight of b, and so on; a frame is a sum.
// FAULT 1: a new sum replaces one that waits for m_axis_tready.
module int8axis #(parameter int FAULT = 0) (
  input  logic        clk, rst,
  input  logic        s_axis_tvalid, s_axis_tlast,
  output logic        s_axis_tready,
  input  logic [63:0] s_axis_tdata,
  output logic        m_axis_tvalid, m_axis_tlast,
  input  logic        m_axis_tready,
  output logic [31:0] m_axis_tdata
);
  logic        second;
  logic [63:0] a;
  logic [31:0] sum;
  wire signed [31:0] product [8];
  for (genvar i = 0; i < 8; i++) begin : lane
    wire signed [7:0] x = a[8*i +: 8], y = s_axis_tdata[8*i +: 8];
    assign product[i] = x * y;
  end
  wire [31:0] next = sum + product[0] + product[1] + product[2] + product[3]
                         + product[4] + product[5] + product[6] + product[7];

  assign m_axis_tlast = m_axis_tvalid;
  assign s_axis_tready = !m_axis_tvalid || m_axis_tready || FAULT == 1;
  always_ff @(posedge clk)
    if (rst) begin
      m_axis_tvalid <= 0;
      second <= 0;
      sum <= 0;
    end else begin
      if (m_axis_tready) m_axis_tvalid <= 0;
      if (s_axis_tvalid && s_axis_tready) begin
        second <= !second;
        if (!second) a <= s_axis_tdata;
        else begin
          sum <= s_axis_tlast ? 0 : next;
          if (s_axis_tlast) begin
            m_axis_tdata <= next;
            m_axis_tvalid <= 1;
          end
        end
      end
    end
endmodule
