// A device layer for rehearsals on a machine without a GPU: the shell command in HWSIM_STANDIN gives the results.
//
// The command reads batches and answers each when it has read all of it: a line `run ORDER INSTRUCTION UNIT COUNT`,
// then COUNT lines `K C A B`, or `K C A B SA SB`, as case files have them. It answers a line for every case: the code of the result, or two
// codes, which are of elements of the tile that differ. Operands go through the packing that a GPU needs, and back.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "device.hpp"
#include "fragments.hpp"
#include "layout.hpp"

namespace capture {
namespace {

std::string hexadecimal(std::uint32_t code, int digits) {
    char text[9];
    std::snprintf(text, sizeof text, "%0*x", digits, code);
    return text;
}

// The codes of one instruction, packed as for a GPU and found again as a GPU does.
Words through_fragments(const Instruction& instruction, Side side, const std::uint32_t* row) {
    Words packed;
    if (instruction.family == Family::wgmma) {
        const int lines = side == Side::a ? 64 : 8;
        packed.resize(static_cast<std::size_t>(lines * ROW_WORDS));
        for (int line = 0; line < lines; ++line)
            for (int word = 0; word < ROW_WORDS; ++word)
                packed.at(static_cast<std::size_t>(core_word(line, word))) = row[word];
        return wgmma_codes(instruction, side, descriptor(0), packed);
    }
    for (int lane = 0; lane < 32; ++lane)
        for (int place = 0; place < register_count(instruction, side); ++place)
            packed.push_back(row[side == Side::a ? a_word(lane, place) : b_word(lane, place)]);
    return mma_codes(instruction, side, packed);
}

std::string codes_text(const Section& section, const Case& one, Side side) {
    const Instruction& instruction = *section.instruction;
    const Words& words = side == Side::a ? section.a : section.b;
    std::string text;
    for (std::uint32_t step = 0; step < one.steps; ++step) {
        const std::size_t at = one.first + std::size_t{step} * static_cast<std::size_t>(instruction.words());
        for (const std::uint32_t code : through_fragments(instruction, side, &words.at(at)))
            text += hexadecimal(code, (side == Side::a ? instruction.a : instruction.b).digits());
    }
    return text;
}

// The scales of one side, put into the lanes' registers as for a GPU and found again as a GPU does.
std::string scales_text(const Section& section, const Case& one, Side side) {
    const Instruction& instruction = *section.instruction;
    const Words& words = side == Side::a ? section.scale_a : section.scale_b;
    std::string text;
    for (std::uint32_t step = 0; step < one.steps; ++step) {
        const std::uint32_t word = words.at(one.first / static_cast<unsigned>(instruction.words()) + step);
        Words registers;
        for (int lane = 0; lane < 32; ++lane)
            registers.push_back((side == Side::a ? gives_scale_a(lane) : gives_scale_b(lane))
                                    ? word
                                    : no_scales(instruction.scale));
        const int threads = side == Side::a ? SCALE_PAIR_A : SCALE_LANE_B;
        for (const std::uint32_t code : mma_scales(instruction, side, SCALE_BYTE, threads, registers))
            text += hexadecimal(code, 2);
    }
    return text;
}

class StandIn : public Device {
  public:
    explicit StandIn(const char* command) {
        const char* capability = std::getenv("HWSIM_STANDIN_CAPABILITY");
        const int tenfold = static_cast<int>(std::strtod(capability ? capability : "9.0", nullptr) * 10 + 0.5);
        facts_ = {"stand-in (no GPU)", tenfold, "none", "none", "none", "g++ " __VERSION__};
        signal(SIGPIPE, SIG_IGN);
        int down[2], up[2];
        if (pipe(down) || pipe(up)) throw DeviceError("no pipe to the stand-in");
        child_ = fork();
        if (child_ < 0) throw DeviceError("no process for the stand-in");
        if (child_ == 0) {
            dup2(down[0], STDIN_FILENO);
            dup2(up[1], STDOUT_FILENO);
            for (const int end : {down[0], down[1], up[0], up[1]}) close(end);
            execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
            _exit(127);
        }
        close(down[0]);
        close(up[1]);
        to_ = fdopen(down[1], "w");
        from_ = fdopen(up[0], "r");
    }

    ~StandIn() override {
        std::fclose(to_);
        std::fclose(from_);
        waitpid(child_, nullptr, 0);
    }

    const Facts& facts() const override { return facts_; }

    std::vector<Seen> run(const Section& section, Order order) override {
        const std::uint64_t count = section.cases.size(), step = order_step(order, count);
        const int digits = section.instruction->result.digits();
        std::string asked = std::string("run ") + (order == Order::given ? "given " : "shuffled ") +
                            std::string(section.instruction->name) + " " + section.unit + " " + std::to_string(count) +
                            "\n";
        for (std::uint64_t slot = 0; slot < count; ++slot) {
            const Case& one = section.cases.at(slot * step % count);
            asked += std::to_string(one.steps * static_cast<unsigned>(section.instruction->k)) + " " +
                     (one.addend ? hexadecimal(one.c, digits) : "-") + " " + codes_text(section, one, Side::a) + " " +
                     codes_text(section, one, Side::b);
            if (section.instruction->blocks)
                asked += " " + scales_text(section, one, Side::a) + " " + scales_text(section, one, Side::b);
            asked += "\n";
        }
        if (std::fwrite(asked.data(), 1, asked.size(), to_) != asked.size() || std::fflush(to_))
            throw DeviceError("the stand-in no longer reads");
        std::vector<Seen> seen(count);
        for (std::uint64_t slot = 0; slot < count; ++slot) seen.at(slot * step % count) = answer();
        return seen;
    }

  private:
    Seen answer() {
        char line[64];
        if (!std::fgets(line, sizeof line, from_)) throw DeviceError("the stand-in ended before it had answered");
        Seen seen{};
        const int codes = std::sscanf(line, "%x %x", &seen.lowest, &seen.highest);
        if (codes < 1) throw DeviceError("the stand-in answered '" + std::string(line) + "', which is no code");
        if (codes == 1) seen.highest = seen.lowest;
        if (seen.lowest > seen.highest) std::swap(seen.lowest, seen.highest);
        return seen;
    }

    Facts facts_;
    pid_t child_;
    std::FILE *to_, *from_;
};

}  // namespace

std::unique_ptr<Device> open_device() {
    const char* command = std::getenv("HWSIM_STANDIN");
    if (!command || !*command) throw DeviceError("HWSIM_STANDIN names no command");
    return std::make_unique<StandIn>(command);
}

}  // namespace capture
