// Case files: what is asked for.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fragments.hpp"
#include "instructions.hpp"

namespace capture {

// What cannot be read or written, or is not what it should be; the message names file and line.
struct FileError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// One dot product. first: the first of its words in its section's a and in its b. steps: instructions in its chain.
// c: the addend's code. addend: 0 where the addend is switched off, else 1.
struct Case {
    std::uint32_t first, steps, c, addend;
};

// The cases of one instruction. a, b: the codes of every case, one case after the other, as words with the lower k in
// the lower bits. scale_a, scale_b: a word for each instruction of each case, with the scale of the first block in
// SCALE_BYTE, and NaNs in bytes that are no block's.
struct Section {
    const Instruction* instruction;
    std::string unit;
    std::vector<Case> cases;
    std::vector<std::uint32_t> a, b, scale_a, scale_b;
};

// A word of scales that is NaN throughout: what must not be read.
CAPTURE_EVERYWHERE constexpr std::uint32_t no_scales(const Scale& scale) { return scale.nan * 0x01010101; }

// The same word with another scale of a block.
constexpr std::uint32_t with_scale(std::uint32_t word, int block, std::uint32_t code) {
    const int low = (SCALE_BYTE + block) * 8;
    return (word & ~(0xffu << low)) | code << low;
}

// checksum: of the file's bytes, by which a result file names the case file.
struct CaseFile {
    std::string checksum;
    std::vector<Section> sections;
};

// Put a code into words, from a bit on.
inline void put_code(std::uint32_t* words, int bit, const Format& format, std::uint32_t code) {
    words[bit / 32] |= code << bit % 32;
    if (bit % 32 + format.bits > 32) words[bit / 32 + 1] |= code >> (32 - bit % 32);
}

// CRC-32, as of gzip and PNG (polynomial 0xedb88320, reflected), in 8 hexadecimal digits.
std::string checksum(std::string_view bytes);

// Throws FileError.
CaseFile read_cases(const std::string& path);

}  // namespace capture
