// Where an instruction looks for the elements of A and B: the tables of the PTX ISA, element by element. For the
// stand-in alone, which finds with it what fragments.hpp has packed; neither knows the other's formulas.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "instructions.hpp"

namespace capture {

enum class Side { a, b };

// Registers of a lane of mma.sync that hold A, or B.
int register_count(const Instruction& instruction, Side side);

using Words = std::vector<std::uint32_t>;

// The codes, by k, of every row of A or every column of B, which must all be the same. Throws DeviceError where they
// are not, or where an element has no place or two.
// words: register r of lane l at l * register_count + r.
Words mma_codes(const Instruction& instruction, Side side, const Words& words);

// The codes, by block, of the scales of every row of A or every column of B, which must all be the same. Throws
// DeviceError where they are not.
// words: the register of each lane. byte, threads: the selectors of the instruction.
Words mma_scales(const Instruction& instruction, Side side, int byte, int threads, const Words& words);

// The word at an address of shared memory.
using Memory = std::function<std::uint32_t(std::uint32_t)>;

// As mma_codes, of wgmma and of tcgen05. lines: rows of A, or columns of B.
Words wgmma_codes(const Instruction& instruction, Side side, std::uint64_t descriptor, const Memory& memory);
Words tcgen05_codes(const Instruction& instruction, Side side, int lines, std::uint64_t descriptor,
                    const Memory& memory);

// What an instruction descriptor of tcgen05 says: rows of A, columns of B, and the byte of block 0's scale. Throws
// DeviceError where formats are not the instruction's, and where it asks for anything else.
struct Shape {
    int m, n, scale_a_byte, scale_b_byte;
};
Shape described(const Instruction& instruction, std::uint32_t descriptor);

// The 32 rows of 4 words that tcgen05.cp.32x128b reads.
Words copied_words(std::uint64_t descriptor, const Memory& memory);

// As mma_scales, of tcgen05. word: by lane and column of tensor memory.
Words tcgen05_scales(const Instruction& instruction, int lines, int byte,
                     const std::function<std::uint32_t(int, int)>& word);

}  // namespace capture
