// A driver in C on the Verilated engine: each hook is a cycle, in which its word is transferred or not.
#include <cstdint>
#include <cstring>

#include "Vtop.h"
#include "verilated.h"

double sc_time_stamp() { return 0; }

namespace {
struct Bench {
    VerilatedContext context;
    Vtop top{&context};
    uint64_t cycles = 0;
    uint32_t busy = 1;  // draws the cycles in which a hook does nothing

    void tick() {
        top.clk = 1;
        top.eval();
        top.a_tvalid = top.b_tvalid = top.d_tready = 0;
#ifdef HWSIM_C
        top.c_tvalid = 0;
#endif
#ifdef HWSIM_SCALE_A
        top.scale_a_tvalid = top.scale_b_tvalid = 0;
#endif
        ++cycles;
    }
    void settle() {
        top.clk = 0;
        top.eval();
    }
    bool waits() {
        busy = busy * 1664525u + 1013904223u;
        if (busy >> 30) return false;
        settle();
        tick();
        return true;
    }
};

template <typename T>
void put_word(T& port, const uint8_t* word, size_t bytes) {
    std::memset(&port, 0, sizeof(T));
    std::memcpy(&port, word, bytes);
}
}  // namespace

extern "C" {
#include HWSIM_DRIVER

#define NAME_(a, b) a##b
#define NAME(a, b) NAME_(a, b)

static int put(void* self, int stream, const uint8_t* word, int last) {
    Bench& bench = *static_cast<Bench*>(self);
    if (bench.waits()) return 0;
    Vtop& top = bench.top;
    if (stream == 0) put_word(top.a_tdata, word, HWSIM_A), top.a_tvalid = 1, top.a_tlast = last;
    if (stream == 1) put_word(top.b_tdata, word, HWSIM_B), top.b_tvalid = 1, top.b_tlast = last;
#ifdef HWSIM_C
    if (stream == 2) put_word(top.c_tdata, word, HWSIM_C), top.c_tvalid = 1, top.c_tlast = last;
#endif
#ifdef HWSIM_SCALE_A
    if (stream == 3) put_word(top.scale_a_tdata, word, HWSIM_SCALE_A), top.scale_a_tvalid = 1, top.scale_a_tlast = last;
    if (stream == 4) put_word(top.scale_b_tdata, word, HWSIM_SCALE_B), top.scale_b_tvalid = 1, top.scale_b_tlast = last;
#endif
    bench.settle();
    int taken = stream == 0 ? top.a_tready : top.b_tready;
#ifdef HWSIM_SCALE_A
    if (stream > 2) taken = stream == 3 ? top.scale_a_tready : top.scale_b_tready;
#endif
#ifdef HWSIM_C
    if (stream == 2) taken = top.c_tready;
#endif
    bench.tick();
    return taken;
}

static int get(void* self, uint8_t* word, int* last) {
    Bench& bench = *static_cast<Bench*>(self);
    if (bench.waits()) return 0;
    bench.top.d_tready = 1;
    bench.settle();
    const int valid = bench.top.d_tvalid;
    if (valid) std::memcpy(word, &bench.top.d_tdata, HWSIM_D), *last = bench.top.d_tlast;
    bench.tick();
    return valid;
}

static void mode(void* self, unsigned mode) {
#ifdef HWSIM_MODE
    static_cast<Bench*>(self)->top.mode = mode;
#endif
}

void* driver_open() {
    Bench* bench = new Bench;
    bench->top.rst = 1;
    for (int cycle = 0; cycle < 2; ++cycle) bench->settle(), bench->tick();
    bench->top.rst = 0;
    return bench;
}

void driver_close(void* bench) { delete static_cast<Bench*>(bench); }

int driver_multiply(void* bench, unsigned of_mode, size_t m, size_t n, size_t k, const void* a, const void* b,
                    const void* c, const void* scale_a, const void* scale_b, void* d) {
    const NAME(HWSIM_NAME, _hooks) hooks = {bench, put, get, mode};
#define AS(name) static_cast<const NAME(HWSIM_NAME, _##name)*>(name)
    return NAME(HWSIM_NAME, _multiply)(&hooks, of_mode, m, n, k, AS(a), AS(b),
#ifdef HWSIM_C
                                       AS(c),
#endif
#ifdef HWSIM_SCALED
                                       AS(scale_a), AS(scale_b),
#endif
                                       static_cast<NAME(HWSIM_NAME, _d)*>(d));
}
}
