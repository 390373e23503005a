// One type for every instruction: its registers, and its PTX. The name and the PTX come from the same words.
#pragma once

#include <cstdint>
#include <string_view>

#include "cases.hpp"
#include "fragments.hpp"
#include "instructions.hpp"

// The instruction itself on a GPU; without one, what emulates it (emulated.hpp).
#ifdef __CUDACC__
#define CAPTURE_ASM(...) asm volatile(__VA_ARGS__)
#define CAPTURE_EMULATED(...)
#else
#define CAPTURE_ASM(...)
#define CAPTURE_EMULATED(...) emulated::__VA_ARGS__
#endif

namespace capture {

#ifdef __CUDA_ARCH__
inline constexpr int ARCHITECTURE = __CUDA_ARCH__ / 10;
#else
inline constexpr int ARCHITECTURE = 0;
#endif
// What is in no other architecture than the one that is being compiled for.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_FEAT_SM100_ALL) ||                                       \
    defined(__CUDA_ARCH_FEAT_SM103_ALL) || defined(__CUDA_ARCH_FEAT_SM120_ALL) || defined(__CUDA_ARCH_FEAT_SM121_ALL)
inline constexpr bool HAS_ALL = true;
#else
inline constexpr bool HAS_ALL = false;
#endif

constexpr const Instruction& instruction_of(std::string_view name) { return INSTRUCTIONS[find_instruction(name)]; }

// What the architecture that is being compiled for lacks must not be compiled.
constexpr bool available(const Instruction& instruction) {
#ifdef __CUDACC__
    const bool plain = instruction.family == Family::mma && instruction.kind == Kind::none;
    return instruction.runs_on(ARCHITECTURE) && (plain || HAS_ALL);
#else
    static_cast<void>(instruction);
    return true;
#endif
}
template <typename Op>
inline constexpr bool AVAILABLE = available(instruction_of(Op::NAME));
template <typename Op>
inline constexpr Family FAMILY = instruction_of(Op::NAME).family;
// Of the scales of an instruction: how many blocks have one, and what stands where none is read.
template <typename Op>
inline constexpr int BLOCKS = instruction_of(Op::NAME).blocks;
template <typename Op>
inline constexpr std::uint32_t NOT_READ = no_scales(instruction_of(Op::NAME).scale);

// Elements are float, or pairs of f16 codes. D, A, B: registers of each matrix in a thread.
template <typename TYPE, int D_, int A_ = 0, int B_ = 0>
struct Registers {
    using Element = TYPE;
    static constexpr int D = D_, A = A_, B = B_;
};

// mma.sync: D and C are the same registers. PTX ISA 9.0, "Multiply-and-Accumulate Instruction: mma".
#define CAPTURE_MMA_F32(OP, SHAPE, KIND, FORMATS)                                                                      \
    struct OP : Registers<float, 4, 4, 2> {                                                                            \
        static constexpr std::string_view NAME = "mma." SHAPE ".f32." FORMATS;                                         \
        static __device__ void issue(float (&d)[D], const std::uint32_t (&a)[A], const std::uint32_t (&b)[B]) {        \
            CAPTURE_ASM("mma.sync.aligned." SHAPE ".row.col." KIND "f32." FORMATS ".f32 "                              \
                         "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                             \
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                              \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                          \
            CAPTURE_EMULATED(mma(d, D, a, A, b, B));                                                                   \
        }                                                                                                              \
    }
// The same over 16 bytes of k.
#define CAPTURE_MMA_F32_HALF(OP, SHAPE, KIND, FORMATS)                                                                 \
    struct OP : Registers<float, 4, 2, 1> {                                                                            \
        static constexpr std::string_view NAME = "mma." SHAPE ".f32." FORMATS;                                         \
        static __device__ void issue(float (&d)[D], const std::uint32_t (&a)[A], const std::uint32_t (&b)[B]) {        \
            CAPTURE_ASM("mma.sync.aligned." SHAPE ".row.col." KIND "f32." FORMATS ".f32 "                              \
                         "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"                                         \
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                              \
                         : "r"(a[0]), "r"(a[1]), "r"(b[0]));                                                           \
            CAPTURE_EMULATED(mma(d, D, a, A, b, B));                                                                   \
        }                                                                                                              \
    }
#define CAPTURE_MMA_F16(OP, SHAPE, KIND, FORMATS)                                                                      \
    struct OP : Registers<std::uint32_t, 2, 4, 2> {                                                                    \
        static constexpr std::string_view NAME = "mma." SHAPE ".f16." FORMATS;                                         \
        static __device__ void issue(Element (&d)[D], const std::uint32_t (&a)[A], const std::uint32_t (&b)[B]) {      \
            CAPTURE_ASM("mma.sync.aligned." SHAPE ".row.col." KIND "f16." FORMATS ".f16 "                              \
                         "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"                                             \
                         : "+r"(d[0]), "+r"(d[1])                                                                      \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                          \
            CAPTURE_EMULATED(mma(d, D, a, A, b, B));                                                                   \
        }                                                                                                              \
    }
// The same over 16 bytes of k.
#define CAPTURE_MMA_F16_HALF(OP, SHAPE, KIND, FORMATS)                                                                 \
    struct OP : Registers<std::uint32_t, 2, 2, 1> {                                                                    \
        static constexpr std::string_view NAME = "mma." SHAPE ".f16." FORMATS;                                         \
        static __device__ void issue(Element (&d)[D], const std::uint32_t (&a)[A], const std::uint32_t (&b)[B]) {      \
            CAPTURE_ASM("mma.sync.aligned." SHAPE ".row.col." KIND "f16." FORMATS ".f16 "                              \
                         "{%0, %1}, {%2, %3}, {%4}, {%0, %1};"                                                         \
                         : "+r"(d[0]), "+r"(d[1])                                                                      \
                         : "r"(a[0]), "r"(a[1]), "r"(b[0]));                                                           \
            CAPTURE_EMULATED(mma(d, D, a, A, b, B));                                                                   \
        }                                                                                                              \
    }

CAPTURE_MMA_F32(MmaF32E4m3E4m3, "m16n8k32", "", "e4m3.e4m3");
CAPTURE_MMA_F32(MmaF32E4m3E5m2, "m16n8k32", "", "e4m3.e5m2");
CAPTURE_MMA_F32(MmaF32E5m2E4m3, "m16n8k32", "", "e5m2.e4m3");
CAPTURE_MMA_F32(MmaF32E5m2E5m2, "m16n8k32", "", "e5m2.e5m2");
CAPTURE_MMA_F16(MmaF16E4m3E4m3, "m16n8k32", "", "e4m3.e4m3");
CAPTURE_MMA_F16(MmaF16E4m3E5m2, "m16n8k32", "", "e4m3.e5m2");
CAPTURE_MMA_F16(MmaF16E5m2E4m3, "m16n8k32", "", "e5m2.e4m3");
CAPTURE_MMA_F16(MmaF16E5m2E5m2, "m16n8k32", "", "e5m2.e5m2");
CAPTURE_MMA_F32(MmaF32F16K16, "m16n8k16", "", "f16.f16");
CAPTURE_MMA_F32_HALF(MmaF32F16K8, "m16n8k8", "", "f16.f16");
CAPTURE_MMA_F16(MmaF16F16K16, "m16n8k16", "", "f16.f16");
CAPTURE_MMA_F16_HALF(MmaF16F16K8, "m16n8k8", "", "f16.f16");
CAPTURE_MMA_F32(MmaF32Bf16K16, "m16n8k16", "", "bf16.bf16");
CAPTURE_MMA_F32_HALF(MmaF32Bf16K8, "m16n8k8", "", "bf16.bf16");
CAPTURE_MMA_F32(MmaF32Tf32K8, "m16n8k8", "", "tf32.tf32");
CAPTURE_MMA_F32_HALF(MmaF32Tf32K4, "m16n8k4", "", "tf32.tf32");

// With FP6 or FP4 the kind is named.
#define CAPTURE_F8F6F4(A, B, FORMATS, FORMAT_A, FORMAT_B)                                                              \
    CAPTURE_MMA_F32(MmaF32##A##B, "m16n8k32", "kind::f8f6f4.", FORMATS);                                               \
    CAPTURE_MMA_F16(MmaF16##A##B, "m16n8k32", "kind::f8f6f4.", FORMATS);
CAPTURE_NARROWER_PAIRS(CAPTURE_F8F6F4)
#undef CAPTURE_F8F6F4

// mma.sync with block scales: a register of each lane with those of a, and one with those of b.
#define CAPTURE_MMA_SCALED(OP, SHAPE, FORMATS, KIND, BLOCKS, SCALE)                                                    \
    struct OP : Registers<float, 4, 4, 2> {                                                                            \
        static constexpr std::string_view NAME = "mma." SHAPE ".f32." FORMATS "." KIND "." BLOCKS "x." SCALE;          \
        static __device__ void issue(float (&d)[D], const std::uint32_t (&a)[A], const std::uint32_t (&b)[B],          \
                                     std::uint32_t scale_a, std::uint32_t scale_b) {                                   \
            CAPTURE_ASM("mma.sync.aligned." SHAPE ".row.col.kind::" KIND ".block_scale.scale_vec::" BLOCKS            \
                         "X.f32." FORMATS ".f32." SCALE                                                                \
                         " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3},"                            \
                         " %10, {%12, %13}, %11, {%12, %14};"                                                          \
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                              \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(scale_a),             \
                           "r"(scale_b), "n"(SCALE_BYTE), "n"(SCALE_PAIR_A), "n"(SCALE_LANE_B));                       \
            CAPTURE_EMULATED(mma(d, D, a, A, b, B, scale_a, scale_b));                                                 \
        }                                                                                                              \
    };

#define CAPTURE_MXF8F6F4(A, B, FORMATS, FORMAT_A, FORMAT_B)                                                            \
    CAPTURE_MMA_SCALED(Mxf8f6f4##A##B, "m16n8k32", FORMATS, "mxf8f6f4", "1", "ue8m0")
CAPTURE_NARROW_PAIRS(CAPTURE_MXF8F6F4)
#undef CAPTURE_MXF8F6F4
CAPTURE_MMA_SCALED(Mxf4, "m16n8k64", "e2m1.e2m1", "mxf4", "2", "ue8m0")
CAPTURE_MMA_SCALED(Mxf4nvf4Ue8m0, "m16n8k64", "e2m1.e2m1", "mxf4nvf4", "2", "ue8m0")
CAPTURE_MMA_SCALED(Mxf4nvf4Ue4m3, "m16n8k64", "e2m1.e2m1", "mxf4nvf4", "4", "ue4m3")

// wgmma: A and B by their descriptors. scale: 0 switches the addend off (scale-d); the two operands behind it negate
// neither A nor B. MAJOR: two more, where the instruction has them, say that A and B are K-major. The fence is for
// accumulators that were written otherwise before. wait names them so that nothing reads them earlier. PTX ISA 9.0,
// "wgmma.mma_async", "wgmma.fence" and "wgmma.wait_group".
#define CAPTURE_WGMMA_F32(OP, SHAPE, FORMATS, MAJOR)                                                                   \
    struct OP : Registers<float, 4> {                                                                                  \
        static constexpr std::string_view NAME = "wgmma." SHAPE ".f32." FORMATS;                                       \
        static __device__ void issue(float (&d)[D], std::uint64_t a, std::uint64_t b, int scale) {                     \
            CAPTURE_ASM("{.reg .pred p; setp.ne.s32 p, %6, 0;"                                                        \
                         " wgmma.fence.sync.aligned;"                                                                  \
                         " wgmma.mma_async.sync.aligned." SHAPE ".f32." FORMATS                                        \
                         " {%0, %1, %2, %3}, %4, %5, p, 1, 1" MAJOR ";"                                                \
                         " wgmma.commit_group.sync.aligned;}"                                                          \
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                              \
                         : "l"(a), "l"(b), "r"(scale)                                                                  \
                         : "memory");                                                                                  \
            CAPTURE_EMULATED(wgmma(d, D, a, b, scale));                                                                \
        }                                                                                                              \
        static __device__ void wait(float (&d)[D]) {                                                                   \
            CAPTURE_ASM("wgmma.wait_group.sync.aligned 0;"                                                            \
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");                                  \
            CAPTURE_EMULATED(wgmma_wait(d));                                                                           \
        }                                                                                                              \
    }
#define CAPTURE_WGMMA_F16(OP, SHAPE, FORMATS, MAJOR)                                                                   \
    struct OP : Registers<std::uint32_t, 2> {                                                                          \
        static constexpr std::string_view NAME = "wgmma." SHAPE ".f16." FORMATS;                                       \
        static __device__ void issue(Element (&d)[D], std::uint64_t a, std::uint64_t b, int scale) {                   \
            CAPTURE_ASM("{.reg .pred p; setp.ne.s32 p, %4, 0;"                                                        \
                         " wgmma.fence.sync.aligned;"                                                                  \
                         " wgmma.mma_async.sync.aligned." SHAPE ".f16." FORMATS                                        \
                         " {%0, %1}, %2, %3, p, 1, 1" MAJOR ";"                                                        \
                         " wgmma.commit_group.sync.aligned;}"                                                          \
                         : "+r"(d[0]), "+r"(d[1])                                                                      \
                         : "l"(a), "l"(b), "r"(scale)                                                                  \
                         : "memory");                                                                                  \
            CAPTURE_EMULATED(wgmma(d, D, a, b, scale));                                                                \
        }                                                                                                              \
        static __device__ void wait(Element (&d)[D]) {                                                                 \
            CAPTURE_ASM("wgmma.wait_group.sync.aligned 0;" : "+r"(d[0]), "+r"(d[1])::"memory");                       \
            CAPTURE_EMULATED(wgmma_wait(d));                                                                           \
        }                                                                                                              \
    }

CAPTURE_WGMMA_F32(WgmmaF32E4m3E4m3, "m64n8k32", "e4m3.e4m3", "");
CAPTURE_WGMMA_F32(WgmmaF32E4m3E5m2, "m64n8k32", "e4m3.e5m2", "");
CAPTURE_WGMMA_F32(WgmmaF32E5m2E4m3, "m64n8k32", "e5m2.e4m3", "");
CAPTURE_WGMMA_F32(WgmmaF32E5m2E5m2, "m64n8k32", "e5m2.e5m2", "");
CAPTURE_WGMMA_F16(WgmmaF16E4m3E4m3, "m64n8k32", "e4m3.e4m3", "");
CAPTURE_WGMMA_F16(WgmmaF16E4m3E5m2, "m64n8k32", "e4m3.e5m2", "");
CAPTURE_WGMMA_F16(WgmmaF16E5m2E4m3, "m64n8k32", "e5m2.e4m3", "");
CAPTURE_WGMMA_F16(WgmmaF16E5m2E5m2, "m64n8k32", "e5m2.e5m2", "");
CAPTURE_WGMMA_F32(WgmmaF32F16, "m64n8k16", "f16.f16", ", 0, 0");
CAPTURE_WGMMA_F16(WgmmaF16F16, "m64n8k16", "f16.f16", ", 0, 0");
CAPTURE_WGMMA_F32(WgmmaF32Bf16, "m64n8k16", "bf16.bf16", ", 0, 0");
CAPTURE_WGMMA_F32(WgmmaF32Tf32, "m64n8k8", "tf32.tf32", "");

// Both wgmma and tcgen05 read shared memory through the async proxy, which does not see ordinary stores before this.
__device__ inline void fence_shared() { CAPTURE_ASM("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ inline std::uint32_t shared_address(const void* shared) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

// tcgen05, by PTX ISA 9.0, "TensorCore 5th Generation Family Instructions". Addresses of tensor memory have the lane in
// the high half and the column in the low one; a warp sees the 32 lanes that are its own.

// A warp allocates columns, whose address is written to shared memory, and leaves others to other blocks.
__device__ inline void tensor_allocate(std::uint32_t where) {
    CAPTURE_ASM("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;"
                " tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::"r"(where),
                "n"(TENSOR_COLUMNS)
                : "memory");
    CAPTURE_EMULATED(tensor_allocate(where, TENSOR_COLUMNS));
}
__device__ inline void tensor_free(std::uint32_t address) {
    CAPTURE_ASM("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "n"(TENSOR_COLUMNS));
    CAPTURE_EMULATED(tensor_free(address, TENSOR_COLUMNS));
}

// Around what orders threads: before, what this thread has done of tcgen05; after, what others have.
__device__ inline void tensor_fence_before() {
    CAPTURE_ASM("tcgen05.fence::before_thread_sync;" ::: "memory");
    CAPTURE_EMULATED(tensor_fence_before());
}
__device__ inline void tensor_fence_after() {
    CAPTURE_ASM("tcgen05.fence::after_thread_sync;" ::: "memory");
    CAPTURE_EMULATED(tensor_fence_after());
}

// A word in all elements of D that the warp sees, and back.
__device__ inline void tensor_fill(std::uint32_t address, std::uint32_t word) {
    CAPTURE_ASM("tcgen05.st.sync.aligned.32x32b.x16.b32 [%0],"
                " {%1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1};"
                " tcgen05.wait::st.sync.aligned;" ::"r"(address),
                "r"(word)
                : "memory");
    CAPTURE_EMULATED(tensor_fill(address, word, TENSOR_N));
}
__device__ inline void tensor_read(std::uint32_t address, std::uint32_t (&words)[TENSOR_N]) {
    CAPTURE_ASM("tcgen05.ld.sync.aligned.32x32b.x16.b32"
                " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, [%16];"
                " tcgen05.wait::ld.sync.aligned;"
                : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]), "=r"(words[4]), "=r"(words[5]),
                  "=r"(words[6]), "=r"(words[7]), "=r"(words[8]), "=r"(words[9]), "=r"(words[10]), "=r"(words[11]),
                  "=r"(words[12]), "=r"(words[13]), "=r"(words[14]), "=r"(words[15])
                : "r"(address)
                : "memory");
    CAPTURE_EMULATED(tensor_read(address, words, TENSOR_N));
}

// One thread's. Scales are copied before the multiplication that is issued next reads them.
__device__ inline void tensor_scales(std::uint32_t address, std::uint64_t descriptor) {
    CAPTURE_ASM("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(address), "l"(descriptor) : "memory");
    CAPTURE_EMULATED(tensor_scales(address, descriptor));
}
// The barrier is arrived at when all that the thread has issued before is done.
__device__ inline void tensor_commit(std::uint32_t barrier) {
    CAPTURE_ASM("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)
                : "memory");
    CAPTURE_EMULATED(tensor_commit(barrier));
}

__device__ inline void barrier_start(std::uint32_t barrier) {
    CAPTURE_ASM("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(barrier)
                : "memory");
    CAPTURE_EMULATED(barrier_start(barrier));
}
// Wait for the end of the barrier's phase of a parity.
__device__ inline void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
    CAPTURE_ASM("{.reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;"
                " @!done bra again;}" ::"r"(barrier),
                "r"(parity)
                : "memory");
    CAPTURE_EMULATED(barrier_wait(barrier, parity));
}

// D = A B, or with an addend A B + D: D, then A and B by their descriptors, the instruction descriptor, and where the
// scales are. One thread issues it. NAME: of one instruction of several, which the instruction descriptor tells apart.
#define CAPTURE_TCGEN05(OP, KIND, EXAMPLE)                                                                             \
    struct OP {                                                                                                        \
        static constexpr std::string_view NAME = "tcgen05.m128n16" EXAMPLE;                                            \
        static __device__ void issue(std::uint32_t d, std::uint64_t a, std::uint64_t b, std::uint32_t descriptor,      \
                                     int addend) {                                                                     \
            CAPTURE_ASM("{.reg .pred p; setp.ne.s32 p, %4, 0;"                                                         \
                        " tcgen05.mma.cta_group::1.kind::" KIND " [%0], %1, %2, %3, p;}" ::"r"(d),                     \
                        "l"(a), "l"(b), "r"(descriptor), "r"(addend)                                                   \
                        : "memory");                                                                                   \
            CAPTURE_EMULATED(tensor_mma(d, a, b, descriptor, addend));                                                 \
        }                                                                                                              \
    };
#define CAPTURE_TCGEN05_SCALED(OP, KIND, BLOCKS, EXAMPLE)                                                              \
    struct OP {                                                                                                        \
        static constexpr std::string_view NAME = "tcgen05.m128n16" EXAMPLE "." KIND "." BLOCKS "x.ue8m0";              \
        static __device__ void issue(std::uint32_t d, std::uint64_t a, std::uint64_t b, std::uint32_t descriptor,      \
                                     int addend, std::uint32_t scale_a, std::uint32_t scale_b) {                       \
            CAPTURE_ASM("{.reg .pred p; setp.ne.s32 p, %4, 0; tcgen05.mma.cta_group::1.kind::" KIND                    \
                        ".block_scale.scale_vec::" BLOCKS "X [%0], %1, %2, %3, [%5], [%6], p;}" ::"r"(d),              \
                        "l"(a), "l"(b), "r"(descriptor), "r"(addend), "r"(scale_a), "r"(scale_b)                       \
                        : "memory");                                                                                   \
            CAPTURE_EMULATED(tensor_mma(d, a, b, descriptor, addend, scale_a, scale_b));                               \
        }                                                                                                              \
    };

CAPTURE_TCGEN05(Tcgen05F16, "f16", "k16.f32.f16.f16")
CAPTURE_TCGEN05(Tcgen05Tf32, "tf32", "k8.f32.tf32.tf32")
CAPTURE_TCGEN05(Tcgen05F8f6f4, "f8f6f4", "k32.f32.e4m3.e4m3")
CAPTURE_TCGEN05(Tcgen05I8, "i8", "k32.s32.s8.s8")
CAPTURE_TCGEN05_SCALED(Tcgen05Mxf8f6f4, "mxf8f6f4", "1", "k32.f32.e4m3.e4m3")
CAPTURE_TCGEN05_SCALED(Tcgen05Mxf4, "mxf4", "2", "k64.f32.e2m1.e2m1")
CAPTURE_TCGEN05_SCALED(Tcgen05Mxf4nvf4Of32, "mxf4nvf4", "2", "k64.f32.e2m1.e2m1")
CAPTURE_TCGEN05_SCALED(Tcgen05Mxf4nvf4Of16, "mxf4nvf4", "4", "k64.f32.e2m1.e2m1")

}  // namespace capture
