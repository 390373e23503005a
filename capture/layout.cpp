#include "layout.hpp"

#include <string>

#include "device.hpp"

namespace capture {
namespace {

constexpr std::uint32_t EMPTY = 0xffffffff;  // a TF32 code has 13 low bits that are zero, and the others are short

// The rows of A, or the columns of B, as they fill up.
class Matrix {
  public:
    Matrix(int lines, int k) : k_(k), codes_(static_cast<std::size_t>(lines * k), EMPTY) {}

    void put(int line, int k, std::uint32_t code) {
        std::uint32_t& place = codes_.at(static_cast<std::size_t>(line * k_ + k));
        if (place != EMPTY) throw DeviceError("an element is in two registers");
        place = code;
    }

    Words line() const {
        const Words first(codes_.begin(), codes_.begin() + k_);
        for (std::size_t i = 0; i < codes_.size(); ++i) {
            if (codes_[i] == EMPTY) throw DeviceError("an element is in no register");
            if (codes_[i] != first[i % static_cast<std::size_t>(k_)]) throw DeviceError("rows or columns differ");
        }
        return first;
    }

  private:
    int k_;
    Words codes_;
};

struct Place {
    int line, k;
};

// Bits of a register that an element takes. FP8, FP6 and FP4 in one instruction have containers of 8 bits.
int container_bits(const Instruction& instruction) {
    return instruction.kind == Kind::mxf8f6f4 ? 8 : instruction.a.bits;
}

// The code in a container: of 8 bits FP4 has the central 4, and FP6 the lower 6. The others are padding, 0 here.
std::uint32_t unpadded(const Instruction& instruction, Side side, std::uint32_t container) {
    const int bits = (side == Side::a ? instruction.a : instruction.b).bits;
    if (bits == container_bits(instruction)) return container;
    const std::uint32_t used = bits == 4 ? 0x3c : 0x3f;
    if (container & ~used) throw DeviceError("padding is not zero");
    return bits == 4 ? container >> 2 : container;
}

// PTX ISA 9.0, the sections "Matrix Fragments for mma.m16n8k4" to "... mma.m16n8k32": element ai of A is at row, col of
// the tables there, which is line, k here.
Place a_place(const Instruction& instruction, int lane, int i) {
    const int group = lane >> 2, thread = lane % 4;
    switch (instruction.k * 100 + container_bits(instruction)) {  // m16n8k4 with 32-bit codes is 432
        case 432:
            return {i == 0 ? group : group + 8, thread};
        case 832:
            return {i == 0 || i == 2 ? group : group + 8, i < 2 ? thread : thread + 4};
        case 816:
            return {i < 2 ? group : group + 8, thread * 2 + (i & 1)};
        case 1616:
            return {i < 2 || (i >= 4 && i < 6) ? group : group + 8, thread * 2 + (i & 1) + (i < 4 ? 0 : 8)};
        case 3208:
            return {i < 4 || (i >= 8 && i < 12) ? group : group + 8, thread * 4 + (i & 3) + (i < 8 ? 0 : 16)};
        case 6404:
            return {i < 8 || (i >= 16 && i < 24) ? group : group + 8, thread * 8 + (i & 7) + (i < 16 ? 0 : 32)};
    }
    throw DeviceError("no table of A's fragments for " + std::string(instruction.name));
}

// The same of B: element bi is at row, col there, which is k, line here.
Place b_place(const Instruction& instruction, int lane, int i) {
    const int group = lane >> 2, thread = lane % 4;
    switch (instruction.k * 100 + container_bits(instruction)) {
        case 432:
            return {group, thread};
        case 832:
            return {group, i == 0 ? thread : thread + 4};
        case 816:
            return {group, thread * 2 + i};
        case 1616:
            return {group, thread * 2 + (i & 1) + (i < 2 ? 0 : 8)};
        case 3208:
            return {group, thread * 4 + (i & 3) + (i < 4 ? 0 : 16)};
        case 6404:
            return {group, thread * 8 + (i & 7) + (i < 8 ? 0 : 32)};
    }
    throw DeviceError("no table of B's fragments for " + std::string(instruction.name));
}

std::uint32_t code_in(const Words& words, int at, int shift, int bits) {
    if (at >= static_cast<int>(words.size())) throw DeviceError("an element is beyond what is filled");
    const std::uint32_t code = words[static_cast<std::size_t>(at)] >> shift;
    return bits == 32 ? code : code & ((1u << bits) - 1);
}

}  // namespace

int register_count(const Instruction& instruction, Side side) {
    // 16 rows of A, 8 columns of B, over 32 lanes.
    return (side == Side::a ? 16 : 8) * instruction.k * container_bits(instruction) / 32 / 32;
}

Words mma_codes(const Instruction& instruction, Side side, const Words& words) {
    const int bits = container_bits(instruction), in_register = 32 / bits, registers = register_count(instruction, side);
    Matrix matrix(side == Side::a ? 16 : 8, instruction.k);
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < registers * in_register; ++i) {
            const Place place = side == Side::a ? a_place(instruction, lane, i) : b_place(instruction, lane, i);
            const int at = lane * registers + i / in_register;
            const std::uint32_t container = code_in(words, at, i % in_register * bits, bits);
            matrix.put(place.line, place.k, unpadded(instruction, side, container));
        }
    }
    return matrix.line();
}

Words mma_scales(const Instruction& instruction, Side side, int byte, int threads, const Words& words) {
    const int lines = side == Side::a ? 16 : 8;
    Matrix matrix(lines, instruction.blocks);
    for (int line = 0; line < lines; ++line) {
        // Of a quad, two threads hold the scales of rows 8 apart of A, and one those of a column of B.
        const int lane = line % 8 * 4 + (side == Side::a ? threads * 2 + line / 8 : threads);
        for (int block = 0; block < instruction.blocks; ++block)
            matrix.put(line, block, code_in(words, lane, (byte + block) * 8, 8));
    }
    return matrix.line();
}

Words wgmma_codes(const Instruction& instruction, Side side, std::uint64_t descriptor, const Words& words) {
    const auto field = [&](int low) { return static_cast<int>(descriptor >> low & 0x3fff) * 16; };
    const int start = field(0), leading = field(16), stride = field(32);
    if (descriptor >> 46) throw DeviceError("the descriptor asks for swizzling");
    const int lines = side == Side::a ? 64 : 8, bytes = instruction.a.bits / 8;
    Matrix matrix(lines, instruction.k);
    for (int line = 0; line < lines; ++line) {
        for (int k = 0; k < instruction.k; ++k) {
            const int at = k * bytes;  // along k
            const int address = start + line / 8 * stride + at / 16 * leading + line % 8 * 16 + at % 16;
            matrix.put(line, k, code_in(words, address / 4, address % 4 * 8, instruction.a.bits));
        }
    }
    return matrix.line();
}

}  // namespace capture
