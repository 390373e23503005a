// A Verilated engine as a shared library, driven cycle by cycle from NumPy's memory. No checks here: what its ports
// show goes back whole, and NumPy compares it. HWSIM_C, HWSIM_SCALES, HWSIM_MODE, HWSIM_CONTROL, HWSIM_RESET_LOW:
// the engine has a stream of addends, streams of scales, a port for modes, registers, and rst_n in the place of rst.
#include "bulk.h"

extern "C" {

// drive: bits 0 to 4 the words of a, b, c, scale_a and scale_b are valid, 5 to 9 they end their frames, 10 a result may
// leave, 11 reset.
// offered: of each stream, by cycle, which row of its words stands there; -1 keeps what does. rows: 32-bit words a row.
// seen: bits 0 to 4 words are taken, 5 a result is valid, 6 it ends its frame, 7 and 8 error; just before the edge.
// control: of registers' ports what each is driven with, one column after another: awaddr, awvalid, wdata, wstrb, wvalid,
// bready, araddr, arvalid, rready. shown: so what they show: awready, wready, bresp, bvalid, arready, rdata, rresp,
// rvalid.
// results: one row for each cycle in which a result is valid. Returns how many there were.
int64_t hwsim_run(void* bench, int64_t cycles, const uint16_t* drive, const uint8_t* mode, const int32_t* const* offered,
                  const uint32_t* const* words, const int64_t* rows, uint16_t* seen, uint32_t* results,
                  int64_t result_row, const uint32_t* const* control, uint32_t* const* shown) {
    Vtop& top = static_cast<Bench*>(bench)->top;
    int64_t count = 0;
    for (int64_t cycle = 0; cycle < cycles; ++cycle) {
        const unsigned driven = drive[cycle];
#define OFFER(place, name)                                                                       \
    if (offered[place][cycle] >= 0) put(top.name##_tdata, words[place] + offered[place][cycle] * rows[place]); \
    top.name##_tvalid = driven >> (place) & 1;                                                   \
    top.name##_tlast = driven >> ((place) + 5) & 1;
        OFFER(0, a)
        OFFER(1, b)
#ifdef HWSIM_C
        OFFER(2, c)
#endif
#ifdef HWSIM_SCALES
        OFFER(3, scale_a)
        OFFER(4, scale_b)
#endif
#ifdef HWSIM_CONTROL
        top.s_axil_awaddr = control[0][cycle];
        top.s_axil_awvalid = control[1][cycle];
        top.s_axil_wdata = control[2][cycle];
        top.s_axil_wstrb = control[3][cycle];
        top.s_axil_wvalid = control[4][cycle];
        top.s_axil_bready = control[5][cycle];
        top.s_axil_araddr = control[6][cycle];
        top.s_axil_arvalid = control[7][cycle];
        top.s_axil_rready = control[8][cycle];
#endif
#ifdef HWSIM_MODE
        top.mode = mode[cycle];
#endif
        top.d_tready = driven >> 10 & 1;
#ifdef HWSIM_RESET_LOW
        top.rst_n = ~driven >> 11 & 1;
#else
        top.rst = driven >> 11 & 1;
#endif
        top.clk = 0;
        top.eval();
        unsigned now = top.a_tready | top.b_tready << 1 | top.d_tvalid << 5 | top.d_tlast << 6 | top.error << 7;
#ifdef HWSIM_C
        now |= top.c_tready << 2;
#endif
#ifdef HWSIM_SCALES
        now |= top.scale_a_tready << 3 | top.scale_b_tready << 4;
#endif
#ifdef HWSIM_CONTROL
        shown[0][cycle] = top.s_axil_awready;
        shown[1][cycle] = top.s_axil_wready;
        shown[2][cycle] = top.s_axil_bresp;
        shown[3][cycle] = top.s_axil_bvalid;
        shown[4][cycle] = top.s_axil_arready;
        shown[5][cycle] = top.s_axil_rdata;
        shown[6][cycle] = top.s_axil_rresp;
        shown[7][cycle] = top.s_axil_rvalid;
#endif
        seen[cycle] = (uint16_t)now;
        if (top.d_tvalid) {
            get(top.d_tdata, results + count * result_row);
            ++count;
        }
        top.clk = 1;
        top.eval();
    }
    return count;
}
}
