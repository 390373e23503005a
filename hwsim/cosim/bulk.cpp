// The Verilated unit as a shared library, driven cycle by cycle from NumPy's memory. No checks here: the answers go
// back whole, and NumPy compares them.
#include "bulk.h"

extern "C" {

// drive: bit 0 the input is valid, 1 the output is ready, 2 reset, 3 the clock is not enabled.
// beat: which row of `words` stands at the input; -1 keeps what is there.
// seen: bit 0 the input was ready, bit 1 the output was valid, bit 2 misuse; taken just before the rising edge.
// results: one row for each cycle in which a result was handed over. Returns how many there were.
int64_t hwsim_run(void* bench, int64_t cycles, const uint8_t* drive, const int32_t* beat, const uint32_t* words,
                  int64_t row, uint8_t* seen, uint32_t* results, int64_t result_row) {
    Vtop& top = static_cast<Bench*>(bench)->top;
    int64_t count = 0;
    for (int64_t cycle = 0; cycle < cycles; ++cycle) {
        if (beat[cycle] >= 0) put(top.offered, words + beat[cycle] * row);
        top.driven = drive[cycle];
        top.load ^= 1;
        top.clk = 0;
        top.eval();
        seen[cycle] = top.seen;
        if ((top.seen & 2) && (drive[cycle] & 14) == 2) {
            get(top.out, results + count * result_row);
            ++count;
        }
        top.clk = 1;
        top.eval();
    }
    return count;
}
}
