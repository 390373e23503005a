// One type for every instruction: its registers, and its PTX. The name and the PTX come from the same words.
#pragma once

#include <cstdint>
#include <string_view>

#include "cases.hpp"
#include "fragments.hpp"
#include "instructions.hpp"

namespace capture {

#ifdef __CUDA_ARCH__
inline constexpr int ARCHITECTURE = __CUDA_ARCH__ / 10;
#else
inline constexpr int ARCHITECTURE = 0;
#endif
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
inline constexpr bool HAS_WGMMA = true;
#else
inline constexpr bool HAS_WGMMA = false;
#endif

#if defined(__CUDA_ARCH_FEAT_SM120_ALL) || defined(__CUDA_ARCH_FEAT_SM121_ALL)
inline constexpr bool HAS_BLOCK_SCALES = true;
#else
inline constexpr bool HAS_BLOCK_SCALES = false;
#endif

constexpr const Instruction& instruction_of(std::string_view name) { return INSTRUCTIONS[find_instruction(name)]; }

// What the architecture that is being compiled for lacks must not be compiled.
constexpr bool available(const Instruction& instruction) {
    return instruction.runs_on(ARCHITECTURE) && (instruction.family == Family::mma || HAS_WGMMA) &&
           (instruction.kind == Kind::none || HAS_BLOCK_SCALES);
}
template <typename Op>
inline constexpr bool AVAILABLE = available(instruction_of(Op::NAME));
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
#define CAPTURE_MMA_F32(OP, SHAPE, FORMATS)                                                                            \
    struct OP : Registers<float, 4, 4, 2> {                                                                            \
        static constexpr std::string_view NAME = "mma." SHAPE ".f32." FORMATS;                                         \
        static __device__ void issue(float (&d)[D], const std::uint32_t (&a)[A], const std::uint32_t (&b)[B]) {        \
            asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." FORMATS ".f32 "                                     \
                         "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                             \
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                              \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                          \
        }                                                                                                              \
    }
// The same over 16 bytes of k.
#define CAPTURE_MMA_F32_HALF(OP, SHAPE, FORMATS)                                                                       \
    struct OP : Registers<float, 4, 2, 1> {                                                                            \
        static constexpr std::string_view NAME = "mma." SHAPE ".f32." FORMATS;                                         \
        static __device__ void issue(float (&d)[D], const std::uint32_t (&a)[A], const std::uint32_t (&b)[B]) {        \
            asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." FORMATS ".f32 "                                     \
                         "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"                                         \
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                              \
                         : "r"(a[0]), "r"(a[1]), "r"(b[0]));                                                           \
        }                                                                                                              \
    }
#define CAPTURE_MMA_F16(OP, SHAPE, FORMATS)                                                                            \
    struct OP : Registers<std::uint32_t, 2, 4, 2> {                                                                    \
        static constexpr std::string_view NAME = "mma." SHAPE ".f16." FORMATS;                                         \
        static __device__ void issue(Element (&d)[D], const std::uint32_t (&a)[A], const std::uint32_t (&b)[B]) {      \
            asm volatile("mma.sync.aligned." SHAPE ".row.col.f16." FORMATS ".f16 "                                     \
                         "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"                                             \
                         : "+r"(d[0]), "+r"(d[1])                                                                      \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                          \
        }                                                                                                              \
    }
// The same over 16 bytes of k.
#define CAPTURE_MMA_F16_HALF(OP, SHAPE, FORMATS)                                                                       \
    struct OP : Registers<std::uint32_t, 2, 2, 1> {                                                                    \
        static constexpr std::string_view NAME = "mma." SHAPE ".f16." FORMATS;                                         \
        static __device__ void issue(Element (&d)[D], const std::uint32_t (&a)[A], const std::uint32_t (&b)[B]) {      \
            asm volatile("mma.sync.aligned." SHAPE ".row.col.f16." FORMATS ".f16 "                                     \
                         "{%0, %1}, {%2, %3}, {%4}, {%0, %1};"                                                         \
                         : "+r"(d[0]), "+r"(d[1])                                                                      \
                         : "r"(a[0]), "r"(a[1]), "r"(b[0]));                                                           \
        }                                                                                                              \
    }

CAPTURE_MMA_F32(MmaF32E4m3E4m3, "m16n8k32", "e4m3.e4m3");
CAPTURE_MMA_F32(MmaF32E4m3E5m2, "m16n8k32", "e4m3.e5m2");
CAPTURE_MMA_F32(MmaF32E5m2E4m3, "m16n8k32", "e5m2.e4m3");
CAPTURE_MMA_F32(MmaF32E5m2E5m2, "m16n8k32", "e5m2.e5m2");
CAPTURE_MMA_F16(MmaF16E4m3E4m3, "m16n8k32", "e4m3.e4m3");
CAPTURE_MMA_F16(MmaF16E4m3E5m2, "m16n8k32", "e4m3.e5m2");
CAPTURE_MMA_F16(MmaF16E5m2E4m3, "m16n8k32", "e5m2.e4m3");
CAPTURE_MMA_F16(MmaF16E5m2E5m2, "m16n8k32", "e5m2.e5m2");
CAPTURE_MMA_F32(MmaF32F16K16, "m16n8k16", "f16.f16");
CAPTURE_MMA_F32_HALF(MmaF32F16K8, "m16n8k8", "f16.f16");
CAPTURE_MMA_F16(MmaF16F16K16, "m16n8k16", "f16.f16");
CAPTURE_MMA_F16_HALF(MmaF16F16K8, "m16n8k8", "f16.f16");
CAPTURE_MMA_F32(MmaF32Bf16K16, "m16n8k16", "bf16.bf16");
CAPTURE_MMA_F32_HALF(MmaF32Bf16K8, "m16n8k8", "bf16.bf16");
CAPTURE_MMA_F32(MmaF32Tf32K8, "m16n8k8", "tf32.tf32");
CAPTURE_MMA_F32_HALF(MmaF32Tf32K4, "m16n8k4", "tf32.tf32");

// mma.sync with block scales: a register of each lane with those of a, and one with those of b.
#define CAPTURE_MMA_SCALED(OP, SHAPE, FORMATS, KIND, BLOCKS, SCALE)                                                    \
    struct OP : Registers<float, 4, 4, 2> {                                                                            \
        static constexpr std::string_view NAME = "mma." SHAPE ".f32." FORMATS "." KIND "." BLOCKS "x." SCALE;          \
        static __device__ void issue(float (&d)[D], const std::uint32_t (&a)[A], const std::uint32_t (&b)[B],          \
                                     std::uint32_t scale_a, std::uint32_t scale_b) {                                   \
            asm volatile("mma.sync.aligned." SHAPE ".row.col.kind::" KIND ".block_scale.scale_vec::" BLOCKS            \
                         "X.f32." FORMATS ".f32." SCALE                                                                \
                         " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3},"                            \
                         " %10, {%12, %13}, %11, {%12, %14};"                                                          \
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                              \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(scale_a),             \
                           "r"(scale_b), "n"(SCALE_BYTE), "n"(SCALE_PAIR_A), "n"(SCALE_LANE_B));                       \
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
// neither A nor B. MAJOR: two more, where the instruction has them, say that A and B are K-major. The fence is for accumulators that were written otherwise before. wait names them so that nothing reads them
// earlier. PTX ISA 9.0, "wgmma.mma_async", "wgmma.fence" and "wgmma.wait_group".
#define CAPTURE_WGMMA_F32(OP, SHAPE, FORMATS, MAJOR)                                                                   \
    struct OP : Registers<float, 4> {                                                                                  \
        static constexpr std::string_view NAME = "wgmma." SHAPE ".f32." FORMATS;                                       \
        static __device__ void issue(float (&d)[D], std::uint64_t a, std::uint64_t b, int scale) {                     \
            asm volatile("{.reg .pred p; setp.ne.s32 p, %6, 0;"                                                        \
                         " wgmma.fence.sync.aligned;"                                                                  \
                         " wgmma.mma_async.sync.aligned." SHAPE ".f32." FORMATS                                        \
                         " {%0, %1, %2, %3}, %4, %5, p, 1, 1" MAJOR ";"                                                \
                         " wgmma.commit_group.sync.aligned;}"                                                          \
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                              \
                         : "l"(a), "l"(b), "r"(scale)                                                                  \
                         : "memory");                                                                                  \
        }                                                                                                              \
        static __device__ void wait(float (&d)[D]) {                                                                   \
            asm volatile("wgmma.wait_group.sync.aligned 0;"                                                            \
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");                                  \
        }                                                                                                              \
    }
#define CAPTURE_WGMMA_F16(OP, SHAPE, FORMATS, MAJOR)                                                                   \
    struct OP : Registers<std::uint32_t, 2> {                                                                          \
        static constexpr std::string_view NAME = "wgmma." SHAPE ".f16." FORMATS;                                       \
        static __device__ void issue(Element (&d)[D], std::uint64_t a, std::uint64_t b, int scale) {                   \
            asm volatile("{.reg .pred p; setp.ne.s32 p, %4, 0;"                                                        \
                         " wgmma.fence.sync.aligned;"                                                                  \
                         " wgmma.mma_async.sync.aligned." SHAPE ".f16." FORMATS                                        \
                         " {%0, %1}, %2, %3, p, 1, 1" MAJOR ";"                                                        \
                         " wgmma.commit_group.sync.aligned;}"                                                          \
                         : "+r"(d[0]), "+r"(d[1])                                                                      \
                         : "l"(a), "l"(b), "r"(scale)                                                                  \
                         : "memory");                                                                                  \
        }                                                                                                              \
        static __device__ void wait(Element (&d)[D]) {                                                                 \
            asm volatile("wgmma.wait_group.sync.aligned 0;" : "+r"(d[0]), "+r"(d[1])::"memory");                       \
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

}  // namespace capture
