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

#ifdef HWSIM_CONTROL
static int bus_read(void* self, uint32_t address, uint32_t* value) {
    Bench& bench = *static_cast<Bench*>(self);
    Vtop& top = bench.top;
    top.s_axil_araddr = address;
    top.s_axil_arvalid = top.s_axil_rready = 1;
    for (int taken = 0; !taken; top.s_axil_arvalid = !taken) bench.settle(), taken = top.s_axil_arready, bench.tick();
    for (bench.settle(); !top.s_axil_rvalid; bench.settle()) bench.tick();
    *value = top.s_axil_rdata;
    const int response = top.s_axil_rresp;
    bench.tick();
    top.s_axil_rready = 0;
    return -response;
}

static int bus_write(void* self, uint32_t address, uint32_t value) {
    Bench& bench = *static_cast<Bench*>(self);
    Vtop& top = bench.top;
    top.s_axil_awaddr = address;
    top.s_axil_wdata = value;
    top.s_axil_wstrb = 15;
    top.s_axil_awvalid = top.s_axil_wvalid = top.s_axil_bready = 1;
    while (top.s_axil_awvalid || top.s_axil_wvalid) {
        bench.settle();
        const int address_taken = top.s_axil_awready, data_taken = top.s_axil_wready;
        bench.tick();
        if (address_taken) top.s_axil_awvalid = 0;
        if (data_taken) top.s_axil_wvalid = 0;
    }
    for (bench.settle(); !top.s_axil_bvalid; bench.settle()) bench.tick();
    const int response = top.s_axil_bresp;
    bench.tick();
    top.s_axil_bready = 0;
    return -response;
}

#define BUS(bench) const NAME(HWSIM_NAME, _bus) bus = {bench, bus_read, bus_write}
int driver_check(void* bench) { BUS(bench); return NAME(HWSIM_NAME, _check)(&bus); }
int driver_reset(void* bench) { BUS(bench); return NAME(HWSIM_NAME, _reset)(&bus); }
int driver_busy(void* bench, int* busy) { BUS(bench); return NAME(HWSIM_NAME, _busy)(&bus, busy); }
int driver_count(void* bench, uint32_t at, uint64_t* count) { BUS(bench); return NAME(HWSIM_NAME, _count)(&bus, at, count); }
// Zeros, so many words of A.
void driver_zeros(void* bench, int words) {
    const uint8_t word[HWSIM_A] = {0};
    while (words) words -= put(bench, 0, word, 0);
}
#endif

static void mode(void* self, unsigned mode) {
#if defined HWSIM_CONTROL && defined HWSIM_MODE
    BUS(self);
    NAME(HWSIM_NAME, _set_mode)(&bus, mode);
#elif defined HWSIM_MODE
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
