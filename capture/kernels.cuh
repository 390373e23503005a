// The kernels: one case fills a tile, and every element of the tile must come out the same.
#pragma once

#include <cstdint>

#include "cases.hpp"
#include "device.hpp"
#include "fragments.hpp"
#include "operations.cuh"

namespace capture {

// The cases of a run, in device memory. Slot s of `count` holds case s * step % count.
struct Batch {
    const Case* cases;
    const std::uint32_t *a, *b, *scale_a, *scale_b;
    Seen* seen;
    std::uint64_t count, step;
};

// Codes go in and out of registers as they are; nothing here calculates with floating-point numbers.
__device__ inline void fill(float& element, std::uint32_t code) { element = __uint_as_float(code); }
__device__ inline void fill(std::uint32_t& pair, std::uint32_t code) { pair = code << 16 | code; }
__device__ inline std::uint32_t low_code(float element) { return __float_as_uint(element); }
__device__ inline std::uint32_t low_code(std::uint32_t pair) { return pair & 0xffff; }
__device__ inline std::uint32_t high_code(float element) { return __float_as_uint(element); }
__device__ inline std::uint32_t high_code(std::uint32_t pair) { return pair >> 16; }

// Add what the calling warp holds of a tile to what was seen of its case.
template <typename Element, int COUNT>
__device__ void note(const Element (&tile)[COUNT], Seen& seen) {
    std::uint32_t lowest = low_code(tile[0]), highest = lowest;
    for (int i = 0; i < COUNT; ++i) {
        lowest = min(lowest, min(low_code(tile[i]), high_code(tile[i])));
        highest = max(highest, max(low_code(tile[i]), high_code(tile[i])));
    }
    lowest = __reduce_min_sync(~0u, lowest);
    highest = __reduce_max_sync(~0u, highest);
    if (threadIdx.x % 32 == 0) {
        atomicMin(&seen.lowest, lowest);
        atomicMax(&seen.highest, highest);
    }
}

// A warp a case. Every element of C is the case's c; the D of one step is the C of the next.
template <typename Op>
__device__ void mma_cases(const Batch& batch) {
    const int lane = threadIdx.x % 32;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / 32);
    std::uint64_t slot = std::uint64_t{blockIdx.x} * (blockDim.x / 32) + threadIdx.x / 32;
    for (; slot < batch.count; slot += warps) {
        const std::uint64_t id = slot * batch.step % batch.count;
        const Case one = batch.cases[id];
        typename Op::Element d[Op::D];
        for (int i = 0; i < Op::D; ++i) fill(d[i], one.c);
#pragma unroll 1
        for (std::uint32_t step = 0; step < one.steps; ++step) {
            const std::uint64_t first = one.first + std::uint64_t{step} * 4 * Op::B;
            std::uint32_t a[Op::A], b[Op::B];
            for (int i = 0; i < Op::A; ++i) a[i] = batch.a[first + a_word(lane, i)];
            for (int i = 0; i < Op::B; ++i) b[i] = batch.b[first + b_word(lane, i)];
            if constexpr (BLOCKS<Op> == 0) {
                Op::issue(d, a, b);
            } else {
                const std::uint64_t at = first / (4 * Op::B);
                Op::issue(d, a, b, gives_scale_a(lane) ? batch.scale_a[at] : NOT_READ<Op>,
                          gives_scale_b(lane) ? batch.scale_b[at] : NOT_READ<Op>);
            }
        }
        note(d, batch.seen[id]);
    }
}

// A warpgroup a case. Up to STAGED steps of a chain stand in shared memory and are issued back to back.
template <typename Op>
__device__ void wgmma_cases(const Batch& batch) {
    constexpr std::uint32_t STAGED = 16, A_WORDS = 64 * ROW_WORDS, B_WORDS = 8 * ROW_WORDS;
    // Where the addend is off, a NaN stands in the accumulators: it shows if they are read all the same.
    constexpr std::uint32_t POISON = 0xffffffff;
    alignas(128) __shared__ std::uint32_t a[STAGED][A_WORDS], b[STAGED][B_WORDS];
    for (std::uint64_t slot = blockIdx.x; slot < batch.count; slot += gridDim.x) {
        const std::uint64_t id = slot * batch.step % batch.count;
        const Case one = batch.cases[id];
        typename Op::Element d[Op::D];
        for (int i = 0; i < Op::D; ++i) fill(d[i], one.addend ? one.c : POISON);
        for (std::uint32_t done = 0; done < one.steps; done += STAGED) {
            const std::uint32_t staged = min(STAGED, one.steps - done);
            const std::uint64_t first = one.first + std::uint64_t{done} * ROW_WORDS;
            for (std::uint32_t i = threadIdx.x; i < staged * A_WORDS; i += blockDim.x) {
                const std::uint32_t step = i / A_WORDS, row = i % A_WORDS / ROW_WORDS, word = i % ROW_WORDS;
                a[step][core_word(row, word)] = batch.a[first + step * ROW_WORDS + word];
                if (row < 8) b[step][core_word(row, word)] = batch.b[first + step * ROW_WORDS + word];
            }
            // wgmma reads shared memory through the async proxy, which does not see ordinary stores before this.
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            __syncthreads();
#pragma unroll 1
            for (std::uint32_t step = 0; step < staged; ++step) {
                const auto address = [](const void* shared) {
                    return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
                };
                Op::issue(d, descriptor(address(a[step])), descriptor(address(b[step])), one.addend || done + step);
            }
            Op::wait(d);
            __syncthreads();
        }
        note(d, batch.seen[id]);
    }
}

// A trap shows should the host ask for what the architecture lacks.
template <typename Op>
__global__ void __launch_bounds__(128) run_cases(Batch batch) {
    if constexpr (!AVAILABLE<Op>) __trap();
    else if constexpr (Op::A == 0) wgmma_cases<Op>(batch);
    else mma_cases<Op>(batch);
}

}  // namespace capture
