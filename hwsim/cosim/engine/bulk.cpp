// A Verilated engine as a shared library, driven cycle by cycle from NumPy's memory. No checks here: what its ports
// show goes back whole, and NumPy compares it. HWSIM_C, HWSIM_MODE: the engine has a stream of addends, and modes.
#include "bulk.h"

extern "C" {

// drive: bits 0 to 2 the words of a, b and c are valid, 3 to 5 they end their frames, 6 a result may leave, 7 reset.
// offered: of each stream, by cycle, which row of its words stands there; -1 keeps what does. rows: 32-bit words a row.
// seen: bits 0 to 2 a, b and c are taken, 3 a result is valid, 4 it ends its frame, 5 and 6 error; just before the edge.
// results: one row for each cycle in which a result is valid. Returns how many there were.
int64_t hwsim_run(void* bench, int64_t cycles, const uint8_t* drive, const uint8_t* mode, const int32_t* const* offered,
                  const uint32_t* const* words, const int64_t* rows, uint8_t* seen, uint32_t* results,
                  int64_t result_row) {
    Vtop& top = static_cast<Bench*>(bench)->top;
    int64_t count = 0;
    for (int64_t cycle = 0; cycle < cycles; ++cycle) {
        const unsigned driven = drive[cycle];
        if (offered[0][cycle] >= 0) put(top.a_tdata, words[0] + offered[0][cycle] * rows[0]);
        if (offered[1][cycle] >= 0) put(top.b_tdata, words[1] + offered[1][cycle] * rows[1]);
        top.a_tvalid = driven & 1;
        top.b_tvalid = driven >> 1 & 1;
        top.a_tlast = driven >> 3 & 1;
        top.b_tlast = driven >> 4 & 1;
#ifdef HWSIM_C
        if (offered[2][cycle] >= 0) put(top.c_tdata, words[2] + offered[2][cycle] * rows[2]);
        top.c_tvalid = driven >> 2 & 1;
        top.c_tlast = driven >> 5 & 1;
#endif
#ifdef HWSIM_MODE
        top.mode = mode[cycle];
#endif
        top.d_tready = driven >> 6 & 1;
        top.rst = driven >> 7 & 1;
        top.clk = 0;
        top.eval();
        unsigned now = top.a_tready | top.b_tready << 1 | top.d_tvalid << 3 | top.d_tlast << 4 | top.error << 5;
#ifdef HWSIM_C
        now |= top.c_tready << 2;
#endif
        seen[cycle] = now;
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
