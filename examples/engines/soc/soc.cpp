// Clocks a SoC from its reset until its program is done, and keeps what its UART sends.
#include "bulk.h"

extern "C" {
// Returns the cycles, or -1 where the program did not end in so many. letters: room for `room`, with a 0 at their end.
int64_t soc_run(int64_t most, char* letters, int64_t room) {
    const char end = 4;
    Bench bench;
    Vtop& top = bench.top;
    int64_t written = 0;
    top.serial_source_ready = 1;
    top.serial_sink_valid = 0;
    for (int64_t cycle = 0; cycle < most && written < room; ++cycle) {
        top.sys_rst = cycle < 2;
        top.sys_clk = 0;
        top.eval();
        letters[written] = 0;
        if (cycle > 2 && top.serial_source_valid) {
            if (top.serial_source_data == end) return cycle;
            letters[written++] = static_cast<char>(top.serial_source_data);
        }
        top.sys_clk = 1;
        top.eval();
    }
    letters[room - 1] = 0;
    return -1;
}
}
