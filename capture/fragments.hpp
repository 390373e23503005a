// Which part of a case goes where an instruction looks for it.
//
// A case's a fills every row of A and its b every column of B, so only k matters here. A row of A (a column of B) of
// one instruction is a run of 32-bit words, k 0 in the low bits of word 0: 4 words, or 8.
#pragma once

#include <cstdint>

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
// matrices of 8 rows of 16 bytes that are 128 contiguous bytes. PTX ISA 9.0, "Shared Memory Matrix Layout" and
// "Strides".
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

}  // namespace capture
