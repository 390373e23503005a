// A device layer for rehearsals on a machine without a GPU: the shell command in HWSIM_STANDIN gives the results.
//
// The command reads batches and answers each when it has read all of it: a line `run ORDER INSTRUCTION UNIT COUNT`,
// then COUNT lines `K C A B`, or `K C A B SA SB`, as case files have them. It answers a line for every case: the code
// of the result, or two codes, which are of elements of the tile that differ. The operands are those that the kernels
// give their instructions, found where a GPU would look for them (emulated.hpp).
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "device.hpp"
#include "emulated.hpp"
#include "kernels.cuh"

namespace capture {
namespace {

std::string hexadecimal(std::uint32_t code, int digits) {
    char text[9];
    std::snprintf(text, sizeof text, "%0*x", digits, code);
    return text;
}

std::string codes_text(const Words& codes, int digits) {
    std::string text;
    for (const std::uint32_t code : codes) text += hexadecimal(code, digits);
    return text;
}

// A case as the kernel's instructions found it.
std::string asked_text(const Instruction& instruction, const emulated::Asked& one) {
    std::string a, b, scale_a, scale_b;
    for (const emulated::Step& step : one.steps) {
        a += codes_text(step.a, instruction.a.digits());
        b += codes_text(step.b, instruction.b.digits());
        scale_a += codes_text(step.scale_a, 2);
        scale_b += codes_text(step.scale_b, 2);
    }
    return std::to_string(one.steps.size() * static_cast<std::size_t>(instruction.k)) + " " +
           (one.addend ? hexadecimal(one.c, instruction.result.digits()) : "-") + " " + a + " " + b +
           (instruction.blocks ? " " + scale_a + " " + scale_b : "") + "\n";
}

constexpr unsigned PROCESSORS = 3;

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
        const Instruction& instruction = *section.instruction;
        const std::uint64_t count = section.cases.size(), step = order_step(order, count);
        std::vector<Seen> seen(count);
        const Batch batch = batch_of(section, order, section.cases.data(), section.a.data(), section.b.data(),
                                     section.scale_a.data(), section.scale_b.data(), seen.data());
        const std::vector<emulated::Asked> all =
            emulated::run(kernel_of(instruction), instruction, batch, grid_of(section, order, PROCESSORS));
        std::string asked = std::string("run ") + (order == Order::given ? "given " : "shuffled ") +
                            std::string(instruction.name) + " " + section.unit + " " + std::to_string(count) + "\n";
        for (std::uint64_t slot = 0; slot < count; ++slot)
            asked += asked_text(instruction, all.at(slot * step % count));
        if (std::fwrite(asked.data(), 1, asked.size(), to_) != asked.size() || std::fflush(to_))
            throw DeviceError("the stand-in no longer reads");
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
