// The matrix instructions that can be asked for, by the names that case files give them:
// FAMILY.mMnNkK.D.A.B, where D is the format of addend and result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace capture {

// bits: of a code as the case file and the registers hold it. one: the code of 1.
struct Format {
    int bits;
    std::uint32_t one;
};

inline constexpr Format E4M3{8, 0x38}, E5M2{8, 0x3c}, F16{16, 0x3c00}, BF16{16, 0x3f80};
inline constexpr Format F32{32, 0x3f800000}, TF32{32, 0x3f800000};

// A binary32 number is a TF32 number where these bits of its fraction are zero (PTX ISA, "Alternate floating-point
// data formats").
inline constexpr std::uint32_t TF32_IGNORED = 0x1fff;

enum class Family { wgmma, mma };

// Compute capabilities are numbers of one digit after the point, times ten: 90 is 9.0.
struct Instruction {
    std::string_view name;
    Family family;
    int k;
    Format result, a, b;
    bool tf32;

    // 32-bit words that a row of A, or a column of B, fills in one instruction.
    constexpr int words() const { return k * a.bits / 32; }

    // wgmma is in no other architecture than sm_90a; FP8 came to mma.sync with sm_89, all else was there in sm_80
    // (PTX ISA, "Target ISA Notes" of wgmma.mma_async and of mma).
    constexpr int needs() const { return family == Family::wgmma ? 90 : a.bits == 8 ? 89 : 80; }
    constexpr bool runs_on(int capability) const {
        return family == Family::wgmma ? capability == needs() : capability >= needs();
    }
};

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
};
inline constexpr std::size_t INSTRUCTION_COUNT = sizeof INSTRUCTIONS / sizeof *INSTRUCTIONS;

// The place in INSTRUCTIONS, which is INSTRUCTION_COUNT for a name that is not there.
constexpr std::size_t find_instruction(std::string_view name) {
    std::size_t at = 0;
    while (at < INSTRUCTION_COUNT && INSTRUCTIONS[at].name != name) ++at;
    return at;
}

}  // namespace capture
