// The kernels on a machine without a GPU: what CUDA gives them, and instructions that find their operands where the PTX
// ISA says. For the stand-in alone.
//
// Instructions calculate nothing. Each writes down its operands and leaves, in every element of D, the number of
// instructions in the chain so far; the next one's C, and what is read at the end, must be that number throughout.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "device.hpp"
#include "layout.hpp"

#define __device__
#define __global__
#define __launch_bounds__(threads)

namespace capture {

using std::max;
using std::min;

namespace emulated {

// The operands of an instruction: codes by k, and by block.
struct Step {
    Words a, b, scale_a, scale_b;
};

// A dot product that a kernel asked for.
struct Asked {
    bool addend;
    std::uint32_t c;
    std::vector<Step> steps;
};

// Run a kernel on every thread of a grid, one block after the other. What it asked for, by case. Throws DeviceError
// where threads wait for each other for ever, and for what the PTX ISA does not allow.
std::vector<Asked> run(void (*kernel)(Batch), const Instruction& instruction, const Batch& batch, Grid grid);

// As in operations.cuh. D: 32-bit words, which hold a code of 32 bits or two of 16.
void mma(void* d, int count, const std::uint32_t* a, int a_count, const std::uint32_t* b, int b_count,
         std::uint32_t scale_a = 0, std::uint32_t scale_b = 0);
void wgmma(void* d, int count, std::uint64_t a, std::uint64_t b, int addend);
inline void wgmma_wait(void*) {}
void tensor_allocate(std::uint32_t where, int columns);
void tensor_free(std::uint32_t address, int columns);
inline void tensor_fence_before() {}
inline void tensor_fence_after() {}
void tensor_fill(std::uint32_t address, std::uint32_t word, int columns);
void tensor_read(std::uint32_t address, std::uint32_t* words, int columns);
void tensor_scales(std::uint32_t address, std::uint64_t descriptor);
void tensor_mma(std::uint32_t d, std::uint64_t a, std::uint64_t b, std::uint32_t descriptor, int addend,
                std::uint32_t scale_a = 0, std::uint32_t scale_b = 0);
void tensor_commit(std::uint32_t barrier);
void barrier_start(std::uint32_t barrier);
void barrier_wait(std::uint32_t barrier, std::uint32_t parity);

void shared_memory(void* start, std::size_t bytes);
std::uint32_t shared_address(const void* place);

// All threads of a warp, or of the block.
void together();
std::uint32_t least_of_warp(std::uint32_t value);
std::uint32_t greatest_of_warp(std::uint32_t value);
void note(const std::uint32_t* place, std::uint32_t value);

struct Index {
    unsigned x;
};

}  // namespace emulated

inline emulated::Index threadIdx, blockIdx, blockDim, gridDim;

inline void __syncthreads() { emulated::together(); }
inline void __trap() {}
inline std::uint32_t __reduce_min_sync(std::uint32_t, std::uint32_t value) { return emulated::least_of_warp(value); }
inline std::uint32_t __reduce_max_sync(std::uint32_t, std::uint32_t value) { return emulated::greatest_of_warp(value); }
inline void atomicMin(const std::uint32_t* place, std::uint32_t value) { emulated::note(place, value); }
inline void atomicMax(const std::uint32_t* place, std::uint32_t value) { emulated::note(place, value); }
inline std::uint32_t __cvta_generic_to_shared(const void* place) { return emulated::shared_address(place); }

inline float __uint_as_float(std::uint32_t word) {
    float same;
    std::memcpy(&same, &word, sizeof same);
    return same;
}
inline std::uint32_t __float_as_uint(float word) {
    std::uint32_t same;
    std::memcpy(&same, &word, sizeof same);
    return same;
}

}  // namespace capture
