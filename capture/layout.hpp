// Where an instruction looks for the elements of A and B: the tables of the PTX ISA, element by element. For the
// stand-in alone, which finds with it what fragments.hpp has packed; neither knows the other's formulas.
#pragma once

#include <cstdint>
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

// The same of wgmma. words: shared memory from address 0.
Words wgmma_codes(const Instruction& instruction, Side side, std::uint64_t descriptor, const Words& words);

// The codes, by block, of the scales of every row of A or every column of B, which must all be the same. Throws
// DeviceError where they are not.
// words: the register of each lane. byte, threads: the selectors of the instruction.
Words mma_scales(const Instruction& instruction, Side side, int byte, int threads, const Words& words);

}  // namespace capture
