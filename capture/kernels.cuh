// The kernels: one case fills a tile, and every element of the tile must come out the same.
#pragma once

#include <cstdint>

#include "cases.hpp"
#include "device.hpp"
#include "fragments.hpp"
#include "operations.cuh"

#ifdef __CUDACC__
#define CAPTURE_SHARED(TYPE, NAME) alignas(128) __shared__ TYPE NAME
#define CAPTURE_NOT_UNROLLED _Pragma("unroll 1")
#else
#define CAPTURE_SHARED(TYPE, NAME)        \
    alignas(128) static TYPE NAME;        \
    emulated::shared_memory(&NAME, sizeof NAME)
#define CAPTURE_NOT_UNROLLED
#endif

namespace capture {

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
        CAPTURE_NOT_UNROLLED
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

// What a warpgroup has in shared memory: up to STAGED steps of a chain.
inline constexpr std::uint32_t STAGED = 16;
struct WgmmaShared {
    std::uint32_t a[STAGED][64 * ROW_WORDS], b[STAGED][8 * ROW_WORDS];
};

// Where the addend is off, a NaN stands in the accumulators: it shows if they are read all the same.
inline constexpr std::uint32_t POISON = 0xffffffff;

// A warpgroup a case. The staged steps are issued back to back.
template <typename Op>
__device__ void wgmma_cases(const Batch& batch) {
    constexpr std::uint32_t A_WORDS = 64 * ROW_WORDS;
    CAPTURE_SHARED(WgmmaShared, shared);
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
                shared.a[step][core_word(row, word)] = batch.a[first + step * ROW_WORDS + word];
                if (row < 8) shared.b[step][core_word(row, word)] = batch.b[first + step * ROW_WORDS + word];
            }
            fence_shared();
            __syncthreads();
            CAPTURE_NOT_UNROLLED
            for (std::uint32_t step = 0; step < staged; ++step)
                Op::issue(d, descriptor(shared_address(shared.a[step])), descriptor(shared_address(shared.b[step])),
                          one.addend || done + step);
            Op::wait(d);
            __syncthreads();
        }
        note(d, batch.seen[id]);
    }
}

struct Tcgen05Shared {
    std::uint32_t a[TENSOR_M * ROW_WORDS], b[TENSOR_N * ROW_WORDS], scale_a[128], scale_b[128];
    std::uint64_t barrier;
    std::uint32_t address;
};

// Four warps a case, of which each sees the 32 rows of D that are its lanes of tensor memory. One thread issues.
template <typename Op>
__device__ void tcgen05_cases(const Batch& batch) {
    CAPTURE_SHARED(Tcgen05Shared, shared);
    const std::uint32_t barrier = shared_address(&shared.barrier), thread = threadIdx.x;
    if (thread / 32 == 0) tensor_allocate(shared_address(&shared.address));
    if (thread == 0) barrier_start(barrier);
    tensor_fence_before();
    __syncthreads();
    tensor_fence_after();
    const std::uint32_t d = shared.address, own = d + (thread / 32 * 32 << 16);
    std::uint32_t phase = 0;
    for (std::uint64_t slot = blockIdx.x; slot < batch.count; slot += gridDim.x) {
        const std::uint64_t id = slot * batch.step % batch.count;
        const Case one = batch.cases[id];
        tensor_fill(own, one.addend ? one.c : POISON);
        CAPTURE_NOT_UNROLLED
        for (std::uint32_t step = 0; step < one.steps; ++step) {
            const std::uint64_t first = one.first + std::uint64_t{step} * ROW_WORDS;
            for (std::uint32_t i = thread; i < TENSOR_M * ROW_WORDS; i += blockDim.x) {
                const std::uint32_t row = i / ROW_WORDS, word = i % ROW_WORDS;
                shared.a[core_word(row, word)] = batch.a[first + word];
                if (row < TENSOR_N) shared.b[core_word(row, word)] = batch.b[first + word];
            }
            if constexpr (BLOCKS<Op> > 0) {
                shared.scale_a[thread] = batch.scale_a[first / ROW_WORDS];
                shared.scale_b[thread] = batch.scale_b[first / ROW_WORDS];
            }
            fence_shared();
            tensor_fence_before();
            __syncthreads();
            if (thread == 0) {
                tensor_fence_after();
                const std::uint64_t a = tensor_descriptor(shared_address(shared.a));
                const std::uint64_t b = tensor_descriptor(shared_address(shared.b));
                const int addend = one.addend || step;
                if constexpr (BLOCKS<Op> > 0) {
                    tensor_scales(d + SCALE_A_COLUMN, scales_descriptor(shared_address(shared.scale_a)));
                    tensor_scales(d + SCALE_B_COLUMN, scales_descriptor(shared_address(shared.scale_b)));
                    Op::issue(d, a, b, batch.descriptor, addend, d + SCALE_A_COLUMN, d + SCALE_B_COLUMN);
                } else {
                    Op::issue(d, a, b, batch.descriptor, addend);
                }
                tensor_commit(barrier);
            }
            barrier_wait(barrier, phase);
            phase ^= 1;
            tensor_fence_after();
        }
        std::uint32_t words[TENSOR_N];
        tensor_read(own, words);
        // A result of 16 bits is in the lower half of its word.
        float tile[TENSOR_N];
        for (int i = 0; i < TENSOR_N; ++i) fill(tile[i], words[i] & batch.mask);
        note(tile, batch.seen[id]);
    }
    tensor_fence_before();
    __syncthreads();
    if (thread / 32 == 0) tensor_free(d);
}

// A trap shows should the host ask for what the architecture lacks.
template <typename Op>
__global__ void __launch_bounds__(128) run_cases(Batch batch) {
    if constexpr (!AVAILABLE<Op>) __trap();
    else if constexpr (FAMILY<Op> == Family::wgmma) wgmma_cases<Op>(batch);
    else if constexpr (FAMILY<Op> == Family::tcgen05) tcgen05_cases<Op>(batch);
    else mma_cases<Op>(batch);
}

using Kernel = void (*)(Batch);

struct Launcher {
    const Instruction* instruction;
    Kernel kernel;
};

template <typename Op>
constexpr Launcher launcher() {
    return {&instruction_of(Op::NAME), run_cases<Op>};
}

constexpr Launcher LAUNCHERS[] = {
    launcher<WgmmaF32E4m3E4m3>(),
    launcher<WgmmaF32E4m3E5m2>(),
    launcher<WgmmaF32E5m2E4m3>(),
    launcher<WgmmaF32E5m2E5m2>(),
    launcher<WgmmaF16E4m3E4m3>(),
    launcher<WgmmaF16E4m3E5m2>(),
    launcher<WgmmaF16E5m2E4m3>(),
    launcher<WgmmaF16E5m2E5m2>(),
    launcher<WgmmaF32F16>(),
    launcher<WgmmaF16F16>(),
    launcher<WgmmaF32Bf16>(),
    launcher<WgmmaF32Tf32>(),
    launcher<MmaF32E4m3E4m3>(),
    launcher<MmaF32E4m3E5m2>(),
    launcher<MmaF32E5m2E4m3>(),
    launcher<MmaF32E5m2E5m2>(),
    launcher<MmaF16E4m3E4m3>(),
    launcher<MmaF16E4m3E5m2>(),
    launcher<MmaF16E5m2E4m3>(),
    launcher<MmaF16E5m2E5m2>(),
    launcher<MmaF32F16K16>(),
    launcher<MmaF32F16K8>(),
    launcher<MmaF16F16K16>(),
    launcher<MmaF16F16K8>(),
    launcher<MmaF32Bf16K16>(),
    launcher<MmaF32Bf16K8>(),
    launcher<MmaF32Tf32K8>(),
    launcher<MmaF32Tf32K4>(),
#define CAPTURE_F8F6F4(A, B, FORMATS, FORMAT_A, FORMAT_B) launcher<MmaF32##A##B>(), launcher<MmaF16##A##B>(),
    CAPTURE_NARROWER_PAIRS(CAPTURE_F8F6F4)
#undef CAPTURE_F8F6F4
#define CAPTURE_MXF8F6F4(A, B, FORMATS, FORMAT_A, FORMAT_B) launcher<Mxf8f6f4##A##B>(),
    CAPTURE_NARROW_PAIRS(CAPTURE_MXF8F6F4)
#undef CAPTURE_MXF8F6F4
    launcher<Mxf4>(),
    launcher<Mxf4nvf4Ue8m0>(),
    launcher<Mxf4nvf4Ue4m3>(),
    launcher<Tcgen05F16>(),
    launcher<Tcgen05Tf32>(),
    launcher<Tcgen05F8f6f4>(),
    launcher<Tcgen05I8>(),
    launcher<Tcgen05Mxf8f6f4>(),
    launcher<Tcgen05Mxf4>(),
    launcher<Tcgen05Mxf4nvf4Of32>(),
    launcher<Tcgen05Mxf4nvf4Of16>(),
};

// The kernel of an instruction. One of tcgen05 serves all instructions of its kind.
constexpr Kernel kernel_of(const Instruction& instruction) {
    for (const Launcher& one : LAUNCHERS) {
        const Instruction& known = *one.instruction;
        const bool both = known.family == Family::tcgen05 && instruction.family == Family::tcgen05;
        const bool alike = both && known.kind == instruction.kind && known.blocks == instruction.blocks;
        if (one.instruction == &instruction || alike) return one.kernel;
    }
    return nullptr;
}

}  // namespace capture
