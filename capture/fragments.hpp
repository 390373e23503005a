// Which part of a case goes where an instruction looks for it.
//
// A case's a fills every row of A and its b every column of B, so only k matters here. A row of A (a column of B) of
// one instruction is a run of 32-bit words, k 0 in the low bits of word 0: 4 words, or 8.
#pragma once

#include <cstdint>

#include "instructions.hpp"

#ifdef __CUDACC__
#define CAPTURE_EVERYWHERE __host__ __device__
#else
#define CAPTURE_EVERYWHERE
#endif

namespace capture {

// mma.sync: the word of A's row in register `place` of a lane. With groupID = lane / 4 and
// threadID_in_group = lane % 4, the registers alternate between row groupID and row groupID + 8, and every second one
// moves on by 16 bytes along k. One formula covers .m16n8k4 and .m16n8k8 (TF32), .m16n8k8 and .m16n8k16 (16 bits) and
// .m16n8k32 (8 bits) and .m16n8k64 (4 bits). PTX ISA 9.0, "Matrix Fragments for mma.m16n8k4", "... mma.m16n8k8",
// "... mma.m16n8k16 with floating point type", "... mma.m16n8k32" and "... mma.m16n8k64".
CAPTURE_EVERYWHERE constexpr int a_word(int lane, int place) { return place / 2 * 4 + lane % 4; }

// The same of B's column; here every register moves on by 16 bytes along k.
CAPTURE_EVERYWHERE constexpr int b_word(int lane, int place) { return place * 4 + lane % 4; }

// Block scales of mma.sync: a lane gives the scales of one row of A, or column of B, block 0 in the selected byte. Of
// each four lanes the pair that SCALE_PAIR_A selects gives those of rows groupID and groupID + 8, and the lane that
// SCALE_LANE_B selects those of column groupID. PTX ISA 9.0, "Block Scaling for mma.sync".
inline constexpr int SCALE_BYTE = 0, SCALE_PAIR_A = 0, SCALE_LANE_B = 0;

CAPTURE_EVERYWHERE constexpr bool gives_scale_a(int lane) { return lane % 4 / 2 == SCALE_PAIR_A; }
CAPTURE_EVERYWHERE constexpr bool gives_scale_b(int lane) { return lane % 4 == SCALE_LANE_B; }

// wgmma: A (64 rows) and B (8 columns, called rows here) stand in shared memory K-major and not swizzled, in core
// matrices of 8 rows of 16 bytes that are 128 contiguous bytes; as those of tcgen05 (128 rows, and 16). PTX ISA 9.0,
// "Shared Memory Matrix Layout" and "Strides", and "Shared Memory Layout and Swizzling" of tcgen05.
inline constexpr int LEADING_BYTES = 128;  // from one core matrix to the next along k
inline constexpr int STRIDE_BYTES = 256;   // from 8 rows to the next 8 rows
inline constexpr int ROW_WORDS = 8;        // 32 bytes of codes, whatever their format

CAPTURE_EVERYWHERE constexpr int core_word(int row, int word) {
    return row / 8 * (STRIDE_BYTES / 4) + word / 4 * (LEADING_BYTES / 4) + row % 8 * 4 + word % 4;
}

// The matrix descriptor of such a matrix at an address in shared memory. Bits 13-0: start address; 29-16: leading
// dimension byte offset; 45-32: stride dimension byte offset, all three in units of 16 bytes; 51-49: base offset, 0
// without swizzling; 63-62: 0, no swizzling. PTX ISA 9.0, "Matrix Descriptor Format".
CAPTURE_EVERYWHERE constexpr std::uint64_t descriptor_field(std::uint64_t bytes) { return (bytes & 0x3ffff) >> 4; }

CAPTURE_EVERYWHERE constexpr std::uint64_t descriptor(std::uint32_t address) {
    return descriptor_field(address) | descriptor_field(LEADING_BYTES) << 16 | descriptor_field(STRIDE_BYTES) << 32;
}

// tcgen05: the same matrices, with 1 in bits 48-46; no swizzling is 0 in bits 63-61. PTX ISA 9.0, "Shared Memory
// Descriptor" of tcgen05.
CAPTURE_EVERYWHERE constexpr std::uint64_t tensor_descriptor(std::uint32_t address) {
    return descriptor(address) | std::uint64_t{1} << 46;
}

// Scales of 128 rows of A, or columns of B, that tcgen05.cp.32x128b.warpx4 copies: 32 rows of 16 bytes, of which each 8
// are 128 contiguous bytes. All 128 words are the same here, with the scale of block 0 in byte 0, so that it does not
// matter which lane and column of tensor memory is which row's.
inline constexpr int SCALE_ROWS_BYTES = 128;

CAPTURE_EVERYWHERE constexpr std::uint64_t scales_descriptor(std::uint32_t address) {
    return descriptor_field(address) | descriptor_field(SCALE_ROWS_BYTES) << 32 | std::uint64_t{1} << 46;
}

// tcgen05: rows of A, columns of B, and the columns of tensor memory where D and both scales stand, of as many as are
// allocated. D has a row in each lane ("Layout D (M = 128)"), an element in each column.
inline constexpr int TENSOR_M = 128, TENSOR_N = 16;
inline constexpr int TENSOR_COLUMNS = 32, SCALE_A_COLUMN = 16, SCALE_B_COLUMN = 20;

// The number of a factor's format in the instruction descriptor, and of the result's.
constexpr std::uint32_t format_number(const Instruction& instruction, const Format& format) {
    if (instruction.kind == Kind::mxf4 || instruction.kind == Kind::mxf4nvf4) return 1;
    if (instruction.kind == Kind::tf32) return 2;
    if (instruction.kind == Kind::f16) return format.one == BF16.one;
    if (instruction.kind == Kind::i8) return format.is_signed;
    if (format.bits == 8) return format.one == E5M2.one;
    return format.bits == 6 ? (format.one == E2M3.one ? 3 : 4) : 5;
}

// The instruction descriptor. Bits 9-7: format of A; 12-10: of B; 22-17: N / 8; without scales 5-4: format of D; 28-24:
// M / 16; with scales 23: they are UE8M0; 28-27: M / 128; 30-29 and 5-4: where in its word a's and b's first scale is,
// byte 0. PTX ISA 9.0, "Instruction Descriptor".
constexpr std::uint32_t instruction_descriptor(const Instruction& instruction) {
    const std::uint32_t factors = format_number(instruction, instruction.a) << 7 |
                                  format_number(instruction, instruction.b) << 10 | TENSOR_N / 8 << 17;
    if (instruction.blocks) return factors | (instruction.scale.one == UE8M0.one) << 23 | TENSOR_M / 128 << 27;
    const std::uint32_t result = instruction.kind == Kind::i8 ? 2 : instruction.result.bits == 32;
    return factors | result << 4 | TENSOR_M / 16 << 24;
}

}  // namespace capture
