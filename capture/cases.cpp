#include "cases.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

namespace capture {
namespace {

constexpr std::string_view HEAD = "hwsim-capture-cases 1";

// Cases are numbered, and a section's words counted, in 32 bits; this is far from both, and far more than is of use.
constexpr std::uint64_t MOST_CASES = 100'000'000, MOST_K = 1 << 16;
constexpr std::uint64_t MOST_WORDS = 0xffff'ffff;

std::string quoted(std::string_view text) {
    std::string shown = text.size() > 60 ? std::string(text.substr(0, 60)) + "..." : std::string(text);
    return "'" + shown + "'";
}

// The lines of a file, taken one after the other.
class Lines {
  public:
    Lines(const std::string& path, std::string_view text) : path_(path), text_(text) {}

    [[noreturn]] void fail(const std::string& message) const {
        throw FileError(path_ + ":" + std::to_string(number_) + ": " + message);
    }

    std::string_view next(const std::string& wanted) {
        ++number_;
        const std::size_t end = text_.find('\n', at_);
        if (end == std::string_view::npos) {
            const char* where = at_ == text_.size() ? "" : " in the middle of a line";
            fail(std::string("the file ends") + where + ", and " + wanted + " should be here: it is not whole");
        }
        const std::string_view line = text_.substr(at_, end - at_);
        at_ = end + 1;
        for (const char letter : line)
            if (letter < 0x20 || letter > 0x7e) fail("a line is ASCII text and ends with LF alone");
        return line;
    }

    std::string_view field(const std::string& key) { return value(next("'" + key + " ...'"), key); }

    std::string_view value(std::string_view line, const std::string& key) const {
        if (line.substr(0, key.size() + 1) != key + " " || line.size() == key.size() + 1)
            fail("must be '" + key + " ...', not " + quoted(line));
        return line.substr(key.size() + 1);
    }

    bool at_end() const { return at_ == text_.size(); }

  private:
    const std::string& path_;
    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t number_ = 0;
};

std::optional<std::uint64_t> decimal(std::string_view text) {
    if (text.empty() || text.size() > 19) return std::nullopt;
    std::uint64_t value = 0;
    for (const char digit : text) {
        if (digit < '0' || digit > '9') return std::nullopt;
        value = value * 10 + static_cast<unsigned>(digit - '0');
    }
    return value;
}

std::uint32_t hexadecimal(const Lines& lines, const char* what, std::string_view text) {
    std::uint32_t value = 0;
    for (const char digit : text) {
        const char* found = digit ? std::strchr("0123456789abcdef", digit) : nullptr;
        if (!found) lines.fail(std::string(what) + " must be lower-case hexadecimal digits, not " + quoted(text));
        value = value << 4 | static_cast<std::uint32_t>(found - "0123456789abcdef");
    }
    return value;
}

// Codes of a side of a case, without separators.
std::vector<std::uint32_t> read_codes(const Lines& lines, const char* what, std::string_view text, std::uint64_t count,
                                      int bits) {
    const std::size_t digits = static_cast<std::size_t>(bits + 3) / 4;
    if (text.size() != count * digits)
        lines.fail(std::string(what) + " must have " + std::to_string(count) + " codes of " + std::to_string(digits) +
                   " digits, which is " + std::to_string(count * digits) + ", not " + std::to_string(text.size()));
    std::vector<std::uint32_t> codes;
    for (std::size_t at = 0; at < count; ++at) {
        const std::string_view word = text.substr(at * digits, digits);
        codes.push_back(hexadecimal(lines, what, word));
        if (bits < 32 && codes.back() >> bits)
            lines.fail(std::string(what) + " must be codes of " + std::to_string(bits) + " bits, not " + quoted(word));
    }
    return codes;
}

void append_codes(const Lines& lines, const Instruction& instruction, const Format& format, const char* what,
                  std::string_view text, std::uint64_t k, std::vector<std::uint32_t>& words) {
    const std::vector<std::uint32_t> codes = read_codes(lines, what, text, k, format.bits);
    const std::size_t first = words.size(), width = static_cast<std::size_t>(instruction.k);
    words.resize(first + codes.size() / width * static_cast<std::size_t>(instruction.words()));
    for (std::size_t at = 0; at < codes.size(); ++at) {
        if (instruction.tf32 && (codes[at] & TF32_IGNORED))
            lines.fail(std::string(what) + " must be binary32 codes whose low 13 bits are zero, not " +
                       quoted(text.substr(at * 8, 8)));
        const std::size_t row = first + at / width * static_cast<std::size_t>(instruction.words());
        put_code(&words[row], instruction.bit(format, static_cast<int>(at % width)), format, codes[at]);
    }
}

void append_scales(const Lines& lines, const Instruction& instruction, const char* what, std::string_view text,
                   std::uint64_t steps, std::vector<std::uint32_t>& words) {
    const auto blocks = static_cast<std::size_t>(instruction.blocks);
    const std::vector<std::uint32_t> codes = read_codes(lines, what, text, steps * blocks, 8);
    for (std::size_t at = 0; at < codes.size(); ++at) {
        if (at % blocks == 0) words.push_back(no_scales(instruction.scale));
        words.back() = with_scale(words.back(), static_cast<int>(at % blocks), codes[at]);
    }
}

void read_case(const Lines& lines, std::string_view line, std::uint64_t id, Section& section) {
    const Instruction& instruction = *section.instruction;
    const int wanted = instruction.blocks ? 8 : 6;
    std::string_view word[8];
    std::size_t at = 0;
    for (int i = 0; i < wanted; ++i) {
        const std::size_t end = i < wanted - 1 ? line.find(' ', at) : line.size();
        if (end == std::string_view::npos || end == at)
            lines.fail(std::string("must be a case, 'ID TAG K C A B") + (instruction.blocks ? " SA SB'" : "'"));
        word[i] = line.substr(at, end - at);
        at = end + 1;
    }
    if (word[0] != std::to_string(id)) lines.fail("must be case " + std::to_string(id) + ", not " + quoted(word[0]));
    const std::optional<std::uint64_t> k = decimal(word[2]);
    if (!k || *k == 0 || *k % static_cast<unsigned>(instruction.k) || *k > MOST_K)
        lines.fail("K must be a multiple of " + std::to_string(instruction.k) + " up to " + std::to_string(MOST_K) +
                   ", not " + quoted(word[2]));
    Case one{};
    one.first = static_cast<std::uint32_t>(section.a.size());
    one.steps = static_cast<std::uint32_t>(*k / static_cast<unsigned>(instruction.k));
    one.addend = word[3] != "-";
    if (one.addend) {
        if (word[3].size() != static_cast<std::size_t>(instruction.result.digits()))
            lines.fail("c must have " + std::to_string(instruction.result.digits()) + " digits, not " +
                       quoted(word[3]));
        one.c = hexadecimal(lines, "c", word[3]);
    } else if (!instruction.can_switch()) {
        lines.fail("the addend of " + std::string(instruction.name) + " cannot be switched off");
    }
    append_codes(lines, instruction, instruction.a, "a", word[4], *k, section.a);
    append_codes(lines, instruction, instruction.b, "b", word[5], *k, section.b);
    if (instruction.blocks) {
        append_scales(lines, instruction, "the scales of a", word[6], one.steps, section.scale_a);
        append_scales(lines, instruction, "the scales of b", word[7], one.steps, section.scale_b);
    }
    if (section.a.size() > MOST_WORDS) lines.fail("too many cases in one section");
    section.cases.push_back(one);
}

Section read_section(Lines& lines, std::string_view name) {
    const std::size_t known = find_instruction(name);
    if (known == INSTRUCTION_COUNT) lines.fail("unknown instruction " + quoted(name));
    Section section{&INSTRUCTIONS[known], std::string(lines.field("unit")), {}, {}, {}, {}, {}};
    if (section.unit.find(' ') != std::string::npos) lines.fail("unit must be one word, not " + quoted(section.unit));
    const std::string_view text = lines.field("cases");
    const std::optional<std::uint64_t> count = decimal(text);
    if (!count || *count == 0 || *count > MOST_CASES)
        lines.fail("cases must be a number from 1 to " + std::to_string(MOST_CASES) + ", not " + quoted(text));
    for (std::uint64_t id = 0; id < *count; ++id)
        read_case(lines, lines.next("case " + std::to_string(id) + " of " + std::to_string(*count)), id, section);
    return section;
}

std::string contents(const std::string& path) {
    const auto close = [](std::FILE* file) { std::fclose(file); };
    const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
    std::string text;
    std::size_t got = 1;
    while (file && got > 0) {
        char block[1 << 16];
        got = std::fread(block, 1, sizeof block, file.get());
        text.append(block, got);
    }
    if (!file || std::ferror(file.get())) throw FileError(path + ": " + std::strerror(errno));
    return text;
}

}  // namespace

std::string checksum(std::string_view bytes) {
    std::uint32_t table[256];
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        table[byte] = byte;
        for (int bit = 0; bit < 8; ++bit) table[byte] = table[byte] >> 1 ^ (table[byte] & 1 ? 0xedb88320 : 0);
    }
    std::uint32_t crc = 0xffffffff;
    for (const char byte : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
    char text[9];
    std::snprintf(text, sizeof text, "%08x", ~crc);
    return text;
}

CaseFile read_cases(const std::string& path) {
    const std::string text = contents(path);
    Lines lines(path, text);
    const std::string_view head = lines.next("'" + std::string(HEAD) + "'");
    if (head != HEAD) lines.fail("this is no case file: must be '" + std::string(HEAD) + "', not " + quoted(head));
    lines.field("generator");
    const std::string_view seed = lines.field("seed");
    if (seed.find_first_not_of("0123456789") != std::string_view::npos)
        lines.fail("seed must be a number, not " + quoted(seed));
    CaseFile file{checksum(text), {}};
    std::string_view line = lines.next("'instruction ...'");
    do {
        file.sections.push_back(read_section(lines, lines.value(line, "instruction")));
        line = lines.next("'instruction ...' or 'end'");
    } while (line != "end");
    if (!lines.at_end()) {
        lines.next("nothing");
        lines.fail("'end' must be the last line");
    }
    return file;
}

}  // namespace capture
