#include "measure.hpp"

#include <algorithm>

namespace capture {
namespace {

// Cases that show where the instruction finds what it multiplies, the result of each, and what it means.
struct Placement {
    Section section;
    std::vector<std::uint32_t> wanted;
    std::vector<std::string> meaning;
};

// A 1 at one k among zeros in a meets a 1 at the same k among zeros in b, and then nothing: zero there among ones in b.
// The results are 1 and 0, whatever the unit's rounding. What is left unseen is a misplacement that a and b share.
// With another power of two as the scale of each block of one side, the product at each k is its block's.
Placement placement_of(const Section& section) {
    const Instruction& instruction = *section.instruction;
    Placement placement{{&instruction, section.unit, {}, {}, {}, {}, {}}, {}, {}};
    Section& cases = placement.section;
    // Ones where `at` is, or everywhere else.
    const auto append = [&](std::vector<std::uint32_t>& codes, const Format& format, int at, bool there) {
        const std::size_t first = codes.size();
        codes.resize(first + static_cast<std::size_t>(instruction.words()), 0);
        for (int k = 0; k < instruction.k; ++k)
            if ((k == at) == there) put_code(&codes[first], instruction.bit(format, k), format, format.one);
    };
    // next: how many powers of two are from one block's scale to the next one's.
    const auto append_scales = [&](std::vector<std::uint32_t>& scales, unsigned next) {
        scales.push_back(no_scales(instruction.scale));
        for (unsigned block = 0; block < static_cast<unsigned>(instruction.blocks); ++block)
            scales.back() = with_scale(scales.back(), static_cast<int>(block),
                                       instruction.scale.one + block * next * instruction.scale.next);
    };
    const auto add = [&](int k, bool there, unsigned next_a, unsigned next_b, std::uint32_t wanted, const char* must) {
        cases.cases.push_back({static_cast<std::uint32_t>(cases.a.size()), 1, 0, 1});
        append(cases.a, instruction.a, k, true);
        append(cases.b, instruction.b, k, there);
        if (instruction.blocks) {
            append_scales(cases.scale_a, next_a);
            append_scales(cases.scale_b, next_b);
        }
        placement.wanted.push_back(wanted);
        placement.meaning.push_back("k " + std::to_string(k) + " of " + must);
    };
    for (int k = 0; k < instruction.k; ++k) {
        add(k, true, 0, 0, instruction.result.one, "a must meet that of b");
        add(k, false, 0, 0, 0, "a must meet no other of b");
        if (instruction.blocks) {
            const auto block = static_cast<std::uint32_t>(k / (instruction.k / instruction.blocks));
            const std::uint32_t scaled = instruction.result.one + (block << 23);
            add(k, true, 1, 0, scaled, "a must have the scale of its block");
            add(k, true, 0, 1, scaled, "b must have the scale of its block");
        }
    }
    return placement;
}

std::vector<Seen> run(Device& device, const Section& section, Order order) {
    std::vector<Seen> seen = device.run(section, order);
    for (std::size_t id = 0; id < section.cases.size(); ++id)
        if (id >= seen.size() || seen[id].lowest > seen[id].highest)
            throw DeviceError(std::string(section.instruction->name) + ": no result for case " + std::to_string(id));
    return seen;
}

std::string misplaced(Device& device, const Section& section) {
    const Placement placement = placement_of(section);
    const std::vector<Seen> seen = run(device, placement.section, Order::given);
    const std::uint32_t sign = 1u << (section.instruction->result.bits - 1);
    for (std::size_t at = 0; at < seen.size(); ++at) {
        const std::uint32_t wanted = placement.wanted[at];
        // A zero may have either sign.
        const auto wrong = [&](std::uint32_t code) { return (wanted ? code : code & ~sign) != wanted; };
        if (wrong(seen[at].lowest) || wrong(seen[at].highest)) return placement.meaning[at];
    }
    return "";
}

Result compared(const Seen& first, const Seen& second) {
    const bool one_each = first.lowest == first.highest && second.lowest == second.highest;
    if (one_each) return {first.lowest, second.lowest};
    return {std::min(first.lowest, second.lowest), std::max(first.highest, second.highest)};
}

}  // namespace

Outcome measure(Device& device, const Section& section) {
    Outcome outcome;
    if (!section.instruction->runs_on(device.facts().capability)) {
        outcome.skipped = std::string("needs compute capability ") + section.instruction->needs();
        return outcome;
    }
    const std::string wrong = misplaced(device, section);
    if (!wrong.empty()) {
        outcome.skipped = "operands are out of place: " + wrong;
        outcome.failed = true;
        return outcome;
    }
    const std::vector<Seen> first = run(device, section, Order::given);
    const std::vector<Seen> second = run(device, section, Order::shuffled);
    for (std::size_t id = 0; id < section.cases.size(); ++id) {
        outcome.results.push_back(compared(first[id], second[id]));
        outcome.failed = outcome.failed || !outcome.results.back().stable();
    }
    return outcome;
}

}  // namespace capture
