#include "measure.hpp"

#include <algorithm>

namespace capture {
namespace {

// A 1 among zeros in a, and one in b: their product is 1 where both are at the same k and else 0, whatever the unit's
// rounding. What is left unseen is a misplacement that a and b share.
Section placement_section(const Section& section) {
    const Instruction& instruction = *section.instruction;
    const int words = instruction.words();
    Section placement{&instruction, section.unit, {}, {}, {}};
    const auto append = [&](std::vector<std::uint32_t>& codes, const Format& format, int at) {
        const int bit = at * format.bits;
        codes.resize(codes.size() + static_cast<std::size_t>(words), 0);
        codes[codes.size() - static_cast<std::size_t>(words - bit / 32)] = format.one << bit % 32;
    };
    for (int i = 0; i < instruction.k; ++i) {
        for (int j = 0; j < instruction.k; ++j) {
            placement.cases.push_back({static_cast<std::uint32_t>(placement.a.size()), 1, 0, 1});
            append(placement.a, instruction.a, i);
            append(placement.b, instruction.b, j);
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
    const Section placement = placement_section(section);
    const std::vector<Seen> seen = run(device, placement, Order::given);
    const Format& result = section.instruction->result;
    const std::uint32_t sign = 1u << (result.bits - 1);
    const auto width = static_cast<std::size_t>(section.instruction->k);
    for (std::size_t at = 0; at < seen.size(); ++at) {
        const bool meet = at / width == at % width;
        const auto wrong = [&](std::uint32_t code) { return meet ? code != result.one : (code & ~sign) != 0; };
        if (wrong(seen[at].lowest) || wrong(seen[at].highest))
            return "a 1 at k " + std::to_string(at / width) + " of a and one at k " + std::to_string(at % width) +
                   " of b must " + (meet ? "" : "not ") + "meet";
    }
    return "";
}

Result compared(const Seen& first, const Seen& second) {
    const bool one_each = first.lowest == first.highest && second.lowest == second.highest;
    if (one_each) return {first.lowest, second.lowest};
    return {std::min(first.lowest, second.lowest), std::max(first.highest, second.highest)};
}

std::string needs_text(const Instruction& instruction) {
    const int needs = instruction.needs();
    return "needs compute capability " + std::to_string(needs / 10) + "." + std::to_string(needs % 10) +
           (instruction.family == Family::wgmma ? "" : " or later");
}

}  // namespace

Outcome measure(Device& device, const Section& section) {
    Outcome outcome;
    if (!section.instruction->runs_on(device.facts().capability)) {
        outcome.skipped = needs_text(*section.instruction);
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
