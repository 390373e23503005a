// The matrix instructions that can be asked for, by the names that case files give them:
// FAMILY.mMnNkK.D.A.B, where D is the format of addend and result, then .KIND, and .BLOCKSx.SCALE of those with scales.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace capture {

// bits: of a code. one: the code of 1.
struct Format {
    int bits;
    std::uint32_t one;
    bool is_signed = true;

    // Hexadecimal digits of a code in a file.
    constexpr int digits() const { return (bits + 3) / 4; }
};

inline constexpr Format E4M3{8, 0x38}, E5M2{8, 0x3c}, E3M2{6, 0xc}, E2M3{6, 0x8}, E2M1{4, 0x2};
inline constexpr Format F16{16, 0x3c00}, BF16{16, 0x3f80};
inline constexpr Format F32{32, 0x3f800000}, TF32{32, 0x3f800000}, S32{32, 1}, S8{8, 1}, U8{8, 1, false};

// A binary32 number is a TF32 number where these bits of its fraction are zero (PTX ISA, "Alternate floating-point
// data formats").
inline constexpr std::uint32_t TF32_IGNORED = 0x1fff;

// The format of scales, whose codes are bytes. The code of 2^n is one + n * next, and nan is NaN's.
struct Scale {
    std::uint32_t one, next, nan;
};

inline constexpr Scale UNSCALED{}, UE8M0{0x7f, 1, 0xff}, UE4M3{0x38, 8, 0x7f};

enum class Family { wgmma, mma, tcgen05 };

// Of PTX, where the instruction has one: tcgen05 always, mma with block scales, FP6 or FP4.
enum class Kind { none, f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };

// Compute capabilities are numbers of one digit after the point, times ten: 90 is 9.0.
struct Instruction {
    std::string_view name;
    Family family;
    int k;
    Format result, a, b;
    bool tf32;
    Kind kind = Kind::none;
    int blocks = 0;  // of k, each with a scale of a and one of b
    Scale scale = UNSCALED;

    // Where a row of A, or a column of B, has element k: its lowest bit. Where FP8, FP6 and FP4 may meet, an element
    // takes a byte on average. In registers each has its own, FP6 in the lower six bits, FP4 in the middle four (PTX
    // ISA 9.0, "Multiply-and-Accumulate Instruction: mma"). In shared memory 16 neighbours stand together, and what is
    // left of 16 bytes is padding ("Packing format used for matrix A and B by .kind::mxf8f6f4 in Shared Memory"; CUDA
    // driver API, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B and _16U6_ALIGN16B).
    constexpr int bit(const Format& format, int at) const {
        if (kind != Kind::f8f6f4 && kind != Kind::mxf8f6f4) return at * format.bits;
        return family == Family::tcgen05 ? at / 16 * 128 + at % 16 * format.bits : at * 8 + (format.bits == 4 ? 2 : 0);
    }

    // 32-bit words that a row of A, or a column of B, fills in one instruction.
    constexpr int words() const { return bit(a, k) / 32; }

    // Of tcgen05 every instruction has an addend that can be switched off, as wgmma's.
    constexpr bool can_switch() const { return family != Family::mma; }

    // wgmma is in no other architecture than sm_90a, tcgen05 in sm_100a and sm_103a, the latter without integers; kinds
    // of mma.sync are in sm_120a and sm_121a; FP8 came to mma.sync with sm_89, all else was there in sm_80 (PTX ISA,
    // "Target ISA Notes" of wgmma.mma_async, tcgen05.mma and mma).
    constexpr bool runs_on(int capability) const {
        if (family == Family::wgmma) return capability == 90;
        if (family == Family::tcgen05) return capability == 100 || (capability == 103 && kind != Kind::i8);
        if (kind != Kind::none) return capability == 120 || capability == 121;
        return capability >= (a.bits == 8 ? 89 : 80);
    }
    constexpr const char* needs() const {
        if (family == Family::wgmma) return "9.0";
        if (family == Family::tcgen05) return kind == Kind::i8 ? "10.0" : "10.0 or 10.3";
        if (kind != Kind::none) return "12.0 or 12.1";
        return a.bits == 8 ? "8.9 or later" : "8.0 or later";
    }
};

// All pairs of FP8, FP6 and FP4 factors, and those with FP6 or FP4: EACH(A, B, "a.b", A's format, B's format).
#define CAPTURE_FP8_B(EACH, A, a, FORMAT)                                                                              \
    EACH(A, E4m3, a ".e4m3", FORMAT, E4M3)                                                                             \
    EACH(A, E5m2, a ".e5m2", FORMAT, E5M2)
#define CAPTURE_NARROWER_B(EACH, A, a, FORMAT)                                                                         \
    EACH(A, E3m2, a ".e3m2", FORMAT, E3M2)                                                                             \
    EACH(A, E2m3, a ".e2m3", FORMAT, E2M3)                                                                             \
    EACH(A, E2m1, a ".e2m1", FORMAT, E2M1)
#define CAPTURE_EACH_B(EACH, A, a, FORMAT)                                                                             \
    CAPTURE_FP8_B(EACH, A, a, FORMAT)                                                                                  \
    CAPTURE_NARROWER_B(EACH, A, a, FORMAT)
#define CAPTURE_NARROWER_A(EACH)                                                                                       \
    CAPTURE_EACH_B(EACH, E3m2, "e3m2", E3M2)                                                                           \
    CAPTURE_EACH_B(EACH, E2m3, "e2m3", E2M3)                                                                           \
    CAPTURE_EACH_B(EACH, E2m1, "e2m1", E2M1)
#define CAPTURE_NARROWER_PAIRS(EACH)                                                                                   \
    CAPTURE_NARROWER_B(EACH, E4m3, "e4m3", E4M3)                                                                       \
    CAPTURE_NARROWER_B(EACH, E5m2, "e5m2", E5M2)                                                                       \
    CAPTURE_NARROWER_A(EACH)
#define CAPTURE_NARROW_PAIRS(EACH)                                                                                     \
    CAPTURE_EACH_B(EACH, E4m3, "e4m3", E4M3)                                                                           \
    CAPTURE_EACH_B(EACH, E5m2, "e5m2", E5M2)                                                                           \
    CAPTURE_NARROWER_A(EACH)

inline constexpr Instruction INSTRUCTIONS[] = {
    {"wgmma.m64n8k32.f32.e4m3.e4m3", Family::wgmma, 32, F32, E4M3, E4M3, false},
    {"wgmma.m64n8k32.f32.e4m3.e5m2", Family::wgmma, 32, F32, E4M3, E5M2, false},
    {"wgmma.m64n8k32.f32.e5m2.e4m3", Family::wgmma, 32, F32, E5M2, E4M3, false},
    {"wgmma.m64n8k32.f32.e5m2.e5m2", Family::wgmma, 32, F32, E5M2, E5M2, false},
    {"wgmma.m64n8k32.f16.e4m3.e4m3", Family::wgmma, 32, F16, E4M3, E4M3, false},
    {"wgmma.m64n8k32.f16.e4m3.e5m2", Family::wgmma, 32, F16, E4M3, E5M2, false},
    {"wgmma.m64n8k32.f16.e5m2.e4m3", Family::wgmma, 32, F16, E5M2, E4M3, false},
    {"wgmma.m64n8k32.f16.e5m2.e5m2", Family::wgmma, 32, F16, E5M2, E5M2, false},
    {"wgmma.m64n8k16.f32.f16.f16", Family::wgmma, 16, F32, F16, F16, false},
    {"wgmma.m64n8k16.f16.f16.f16", Family::wgmma, 16, F16, F16, F16, false},
    {"wgmma.m64n8k16.f32.bf16.bf16", Family::wgmma, 16, F32, BF16, BF16, false},
    {"wgmma.m64n8k8.f32.tf32.tf32", Family::wgmma, 8, F32, TF32, TF32, true},
    {"mma.m16n8k32.f32.e4m3.e4m3", Family::mma, 32, F32, E4M3, E4M3, false},
    {"mma.m16n8k32.f32.e4m3.e5m2", Family::mma, 32, F32, E4M3, E5M2, false},
    {"mma.m16n8k32.f32.e5m2.e4m3", Family::mma, 32, F32, E5M2, E4M3, false},
    {"mma.m16n8k32.f32.e5m2.e5m2", Family::mma, 32, F32, E5M2, E5M2, false},
    {"mma.m16n8k32.f16.e4m3.e4m3", Family::mma, 32, F16, E4M3, E4M3, false},
    {"mma.m16n8k32.f16.e4m3.e5m2", Family::mma, 32, F16, E4M3, E5M2, false},
    {"mma.m16n8k32.f16.e5m2.e4m3", Family::mma, 32, F16, E5M2, E4M3, false},
    {"mma.m16n8k32.f16.e5m2.e5m2", Family::mma, 32, F16, E5M2, E5M2, false},
    {"mma.m16n8k16.f32.f16.f16", Family::mma, 16, F32, F16, F16, false},
    {"mma.m16n8k8.f32.f16.f16", Family::mma, 8, F32, F16, F16, false},
    {"mma.m16n8k16.f16.f16.f16", Family::mma, 16, F16, F16, F16, false},
    {"mma.m16n8k8.f16.f16.f16", Family::mma, 8, F16, F16, F16, false},
    {"mma.m16n8k16.f32.bf16.bf16", Family::mma, 16, F32, BF16, BF16, false},
    {"mma.m16n8k8.f32.bf16.bf16", Family::mma, 8, F32, BF16, BF16, false},
    {"mma.m16n8k8.f32.tf32.tf32", Family::mma, 8, F32, TF32, TF32, true},
    {"mma.m16n8k4.f32.tf32.tf32", Family::mma, 4, F32, TF32, TF32, true},
#define CAPTURE_F8F6F4(A, B, FORMATS, FORMAT_A, FORMAT_B)                                                              \
    {"mma.m16n8k32.f32." FORMATS, Family::mma, 32, F32, FORMAT_A, FORMAT_B, false, Kind::f8f6f4},                      \
    {"mma.m16n8k32.f16." FORMATS, Family::mma, 32, F16, FORMAT_A, FORMAT_B, false, Kind::f8f6f4},
    CAPTURE_NARROWER_PAIRS(CAPTURE_F8F6F4)
#undef CAPTURE_F8F6F4
#define CAPTURE_MXF8F6F4(A, B, FORMATS, FORMAT_A, FORMAT_B)                                                            \
    {"mma.m16n8k32.f32." FORMATS ".mxf8f6f4.1x.ue8m0", Family::mma, 32, F32, FORMAT_A, FORMAT_B, false,                \
     Kind::mxf8f6f4, 1, UE8M0},
    CAPTURE_NARROW_PAIRS(CAPTURE_MXF8F6F4)
#undef CAPTURE_MXF8F6F4
    {"mma.m16n8k64.f32.e2m1.e2m1.mxf4.2x.ue8m0", Family::mma, 64, F32, E2M1, E2M1, false, Kind::mxf4, 2, UE8M0},
    {"mma.m16n8k64.f32.e2m1.e2m1.mxf4nvf4.2x.ue8m0", Family::mma, 64, F32, E2M1, E2M1, false, Kind::mxf4nvf4, 2, UE8M0},
    {"mma.m16n8k64.f32.e2m1.e2m1.mxf4nvf4.4x.ue4m3", Family::mma, 64, F32, E2M1, E2M1, false, Kind::mxf4nvf4, 4, UE4M3},
    {"tcgen05.m128n16k16.f32.f16.f16", Family::tcgen05, 16, F32, F16, F16, false, Kind::f16},
    {"tcgen05.m128n16k16.f16.f16.f16", Family::tcgen05, 16, F16, F16, F16, false, Kind::f16},
    {"tcgen05.m128n16k16.f32.bf16.bf16", Family::tcgen05, 16, F32, BF16, BF16, false, Kind::f16},
    {"tcgen05.m128n16k8.f32.tf32.tf32", Family::tcgen05, 8, F32, TF32, TF32, true, Kind::tf32},
    {"tcgen05.m128n16k32.s32.s8.s8", Family::tcgen05, 32, S32, S8, S8, false, Kind::i8},
    {"tcgen05.m128n16k32.s32.s8.u8", Family::tcgen05, 32, S32, S8, U8, false, Kind::i8},
    {"tcgen05.m128n16k32.s32.u8.s8", Family::tcgen05, 32, S32, U8, S8, false, Kind::i8},
    {"tcgen05.m128n16k32.s32.u8.u8", Family::tcgen05, 32, S32, U8, U8, false, Kind::i8},
#define CAPTURE_F8F6F4(A, B, FORMATS, FORMAT_A, FORMAT_B)                                                              \
    {"tcgen05.m128n16k32.f32." FORMATS, Family::tcgen05, 32, F32, FORMAT_A, FORMAT_B, false, Kind::f8f6f4},            \
    {"tcgen05.m128n16k32.f16." FORMATS, Family::tcgen05, 32, F16, FORMAT_A, FORMAT_B, false, Kind::f8f6f4},
    CAPTURE_NARROW_PAIRS(CAPTURE_F8F6F4)
#undef CAPTURE_F8F6F4
#define CAPTURE_MXF8F6F4(A, B, FORMATS, FORMAT_A, FORMAT_B)                                                            \
    {"tcgen05.m128n16k32.f32." FORMATS ".mxf8f6f4.1x.ue8m0", Family::tcgen05, 32, F32, FORMAT_A, FORMAT_B, false,      \
     Kind::mxf8f6f4, 1, UE8M0},
    CAPTURE_NARROW_PAIRS(CAPTURE_MXF8F6F4)
#undef CAPTURE_MXF8F6F4
#define CAPTURE_FP4(KIND, BLOCKS, NAME, SCALE)                                                                         \
    {"tcgen05.m128n16k64.f32.e2m1.e2m1." #KIND "." #BLOCKS "x." NAME, Family::tcgen05, 64, F32, E2M1, E2M1, false,     \
     Kind::KIND, BLOCKS, SCALE},
    CAPTURE_FP4(mxf4, 2, "ue8m0", UE8M0)
    CAPTURE_FP4(mxf4nvf4, 2, "ue8m0", UE8M0)
    CAPTURE_FP4(mxf4nvf4, 4, "ue8m0", UE8M0)
    CAPTURE_FP4(mxf4nvf4, 4, "ue4m3", UE4M3)
#undef CAPTURE_FP4
};
inline constexpr std::size_t INSTRUCTION_COUNT = sizeof INSTRUCTIONS / sizeof *INSTRUCTIONS;

// The place in INSTRUCTIONS, which is INSTRUCTION_COUNT for a name that is not there.
constexpr std::size_t find_instruction(std::string_view name) {
    std::size_t at = 0;
    while (at < INSTRUCTION_COUNT && INSTRUCTIONS[at].name != name) ++at;
    return at;
}

}  // namespace capture
