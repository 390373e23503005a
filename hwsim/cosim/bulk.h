// What drivers of a Verilated design share: the design, and its ports as 32-bit words, the low one first.
#pragma once
#include <cstdint>
#include <cstring>

#include "Vtop.h"
#include "verilated.h"

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
}
