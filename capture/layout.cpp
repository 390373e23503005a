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
    return instruction.kind == Kind::f8f6f4 || instruction.kind == Kind::mxf8f6f4 ? 8 : instruction.a.bits;
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
    const int bits = container_bits(instruction), in_register = 32 / bits;
    const int registers = register_count(instruction, side);
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

namespace {

// The element at a bit of a matrix's row. K-major without swizzling: core matrices of 8 rows of 16 bytes that are 128
// contiguous bytes; the leading offset leads to the next one along k, the stride offset to the next 8 rows.
std::uint32_t shared_element(std::uint64_t descriptor, int line, int bit, int bits, const Memory& memory) {
    const auto field = [&](int low) { return static_cast<std::uint32_t>(descriptor >> low & 0x3fff) * 16; };
    const auto byte = [&](int at) {
        const auto along = static_cast<std::uint32_t>(at), row = static_cast<std::uint32_t>(line);
        const std::uint32_t core = field(0) + row / 8 * field(32) + along / 16 * field(16);
        const std::uint32_t address = core + row % 8 * 16 + along % 16;
        return memory(address & ~3u) >> address % 4 * 8 & 0xff;
    };
    std::uint64_t code = 0;
    for (int i = bit / 8; i * 8 < bit + bits; ++i) code |= std::uint64_t{byte(i)} << (i - bit / 8) * 8;
    return static_cast<std::uint32_t>(code >> bit % 8 & ((std::uint64_t{1} << bits) - 1));
}

}  // namespace

Words wgmma_codes(const Instruction& instruction, Side side, std::uint64_t descriptor, const Memory& memory) {
    if (descriptor >> 46) throw DeviceError("the descriptor asks for swizzling");
    const int lines = side == Side::a ? 64 : 8, bits = instruction.a.bits;
    Matrix matrix(lines, instruction.k);
    for (int line = 0; line < lines; ++line)
        for (int k = 0; k < instruction.k; ++k)
            matrix.put(line, k, shared_element(descriptor, line, k * bits, bits, memory));
    return matrix.line();
}

Words tcgen05_codes(const Instruction& instruction, Side side, int lines, std::uint64_t descriptor,
                    const Memory& memory) {
    if (descriptor >> 46 != 1) throw DeviceError("the descriptor lacks its constant, or asks for swizzling");
    const int bits = (side == Side::a ? instruction.a : instruction.b).bits;
    const bool padded = instruction.kind == Kind::f8f6f4 || instruction.kind == Kind::mxf8f6f4;
    Matrix matrix(lines, instruction.k);
    for (int line = 0; line < lines; ++line) {
        for (int k = 0; k < instruction.k; ++k) {
            // Where formats mix, 16 neighbours begin on 16 bytes each.
            const int bit = padded ? (k >> 4) * 128 + (k & 15) * bits : k * bits;
            matrix.put(line, k, shared_element(descriptor, line, bit, bits, memory));
        }
    }
    return matrix.line();
}

Shape described(const Instruction& instruction, std::uint32_t descriptor) {
    const auto field = [&](int low, int high) { return descriptor >> low & ((2u << (high - low)) - 1); };
    const auto must = [&](bool good, const char* what) {
        if (!good) throw DeviceError(std::string("the instruction descriptor has another ") + what);
    };
    const auto number = [&](const Format& format) -> unsigned {
        switch (instruction.kind) {
            case Kind::f16:  // F16 0, BF16 1
                return format.one == 0x3f80;
            case Kind::tf32:
                return 2;
            case Kind::i8:  // unsigned 0, signed 1
                return format.is_signed;
            case Kind::mxf4:
            case Kind::mxf4nvf4:
                return 1;
            default:
                break;
        }
        if (format.bits == 4) return 5;
        switch (format.one) {
            case 0x38:  // E4M3
                return 0;
            case 0x3c:  // E5M2
                return 1;
            case 0x08:  // E2M3
                return 3;
            case 0x0c:  // E3M2
                return 4;
        }
        throw DeviceError("no number of a format");
    };
    must(field(7, 9) == number(instruction.a), "format of A");
    must(field(10, 12) == number(instruction.b), "format of B");
    must(field(0, 3) == 0 && field(13, 16) == 0 && field(6, 6) == 0, "sparsity, saturation, negation or transposition");
    const int n = static_cast<int>(field(17, 22)) * 8;
    if (!instruction.blocks) {
        const unsigned result = instruction.kind == Kind::i8 ? 2 : instruction.result.bits == 16 ? 0 : 1;
        must(field(4, 5) == result, "format of D");
        must(field(23, 23) == 0 && field(29, 31) == 0, "reserved bit");
        return {static_cast<int>(field(24, 28)) * 16, n, 0, 0};
    }
    must(field(23, 23) == (instruction.scale.nan == 0xff), "format of scales");
    must(field(24, 26) == 0 && field(31, 31) == 0, "reserved bit");
    return {static_cast<int>(field(27, 28)) * 128, n, static_cast<int>(field(29, 30)), static_cast<int>(field(4, 5))};
}

Words copied_words(std::uint64_t descriptor, const Memory& memory) {
    if (descriptor >> 46 != 1) throw DeviceError("the descriptor lacks its constant, or asks for swizzling");
    Words words;
    for (int row = 0; row < 32; ++row)
        for (int word = 0; word < 4; ++word) words.push_back(shared_element(descriptor, row, word * 32, 32, memory));
    return words;
}

Words tcgen05_scales(const Instruction& instruction, int lines, int byte,
                     const std::function<std::uint32_t(int, int)>& word) {
    Matrix matrix(lines, instruction.blocks);
    for (int line = 0; line < lines; ++line) {
        // 32 lines go down the lanes, the next 32 into the next column; every 32 lanes hold the same.
        const std::uint32_t scales = word(line % 32, line / 32);
        for (int warp = 1; warp < 4; ++warp)
            if (word(warp * 32 + line % 32, line / 32) != scales) throw DeviceError("scales differ from warp to warp");
        for (int block = 0; block < instruction.blocks; ++block)
            matrix.put(line, block, scales >> (byte + block) * 8 & 0xff);
    }
    return matrix.line();
}

}  // namespace capture
