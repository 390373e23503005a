// The Verilated unit as a shared library, driven cycle by cycle from NumPy's memory. No checks here: the answers go
// back whole, and NumPy compares them.
#include <cstdint>
#include <cstring>

#include "Vtop.h"
#include "verilated.h"

#ifdef HWSIM_MISUSE
#define HWSIM_MISUSED(top) (top).HWSIM_MISUSE
#else
#define HWSIM_MISUSED(top) 0
#endif

double sc_time_stamp() { return 0; }

namespace {
struct Bench {
    VerilatedContext context;
    Vtop top{&context};
};

template <typename T>
void put(T& port, const uint32_t* words) {
    std::memcpy(&port, words, sizeof(T));
}

template <typename T>
void get(const T& port, uint32_t* words) {
    std::memcpy(words, &port, sizeof(T));
}
}  // namespace

extern "C" {

void* hwsim_open() { return new Bench; }

void hwsim_close(void* bench) { delete static_cast<Bench*>(bench); }

// drive: bit 0 the input is valid, bit 1 the output is ready, bit 2 reset.
// beat: which row of `words` stands at the input; -1 keeps what is there.
// seen: bit 0 the input was ready, bit 1 the output was valid, bit 2 misuse; taken just before the rising edge.
// results: one row for each cycle in which a result was handed over. Returns how many there were.
int64_t hwsim_run(void* bench, int64_t cycles, const uint8_t* drive, const int32_t* beat, const uint32_t* words,
                  int64_t row, uint8_t* seen, uint32_t* results, int64_t result_row) {
    Vtop& top = static_cast<Bench*>(bench)->top;
    int64_t count = 0;
    for (int64_t cycle = 0; cycle < cycles; ++cycle) {
        if (beat[cycle] >= 0) put(top.HWSIM_INPUT_PAYLOAD, words + beat[cycle] * row);
        top.HWSIM_INPUT_VALID = drive[cycle] & 1;
        top.HWSIM_OUTPUT_READY = drive[cycle] >> 1 & 1;
        top.HWSIM_RESET = drive[cycle] >> 2 & 1;
        top.HWSIM_CLOCK = 0;
        top.eval();
        seen[cycle] = top.HWSIM_INPUT_READY | top.HWSIM_OUTPUT_VALID << 1 | HWSIM_MISUSED(top) << 2;
        if (top.HWSIM_OUTPUT_VALID && (drive[cycle] & 6) == 2) {
            get(top.HWSIM_OUTPUT_PAYLOAD, results + count * result_row);
            ++count;
        }
        top.HWSIM_CLOCK = 1;
        top.eval();
    }
    return count;
}
}
