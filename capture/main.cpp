// Capture what a GPU's matrix instructions return for the cases of a file.
#include <cstdio>
#include <exception>
#include <string>

#include "cases.hpp"
#include "device.hpp"
#include "measure.hpp"
#include "results.hpp"

namespace {

constexpr const char* USAGE = "usage: hwsim-capture CASES RESULTS\n";
constexpr const char* HELP =
    "Run the cases of the file CASES on the GPU, every case twice, and write the file RESULTS.\n"
    "The formats of both: README.md beside the source.\n"
    "Exit status: 0 all is well; 1 written, but something is unstable or out of place; 2 bad usage or files;\n"
    "3 no GPU, or it failed. RESULTS is written whole or not at all.\n";

// Say how a section went. Returns whether all is well with it.
bool report(const capture::Section& section, const capture::Outcome& outcome) {
    const std::string name(section.instruction->name);
    if (!outcome.skipped.empty()) {
        std::fprintf(stderr, "%s: skipped: %s\n", name.c_str(), outcome.skipped.c_str());
        return !outcome.failed;
    }
    std::size_t unstable = 0;
    for (const capture::Result& one : outcome.results) unstable += !one.stable();
    const std::size_t count = outcome.results.size();
    std::fprintf(stderr, "%s: %zu cases, each run twice: %zu stable, %zu unstable\n", name.c_str(), count,
                 count - unstable, unstable);
    return unstable == 0;
}

int run(const std::string& cases, const std::string& results) {
    const capture::CaseFile file = capture::read_cases(cases);
    capture::ResultFile written(results);
    const std::unique_ptr<capture::Device> device = capture::open_device();
    std::fprintf(stderr, "%s\n", device->facts().gpu.c_str());
    written.head(file.checksum, device->facts());
    bool good = true;
    for (const capture::Section& section : file.sections) {
        const capture::Outcome outcome = capture::measure(*device, section);
        written.section(section, outcome);
        good = report(section, outcome) && good;
    }
    written.finish();
    return good ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
    if (count == 2 && (std::string(words[1]) == "--help" || std::string(words[1]) == "-h")) {
        std::printf("%s%s", USAGE, HELP);
        return 0;
    }
    if (count != 3 || words[1][0] == '-' || words[2][0] == '-') {
        std::fputs(USAGE, stderr);
        return 2;
    }
    try {
        return run(words[1], words[2]);
    } catch (const capture::DeviceError& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return 3;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return 2;
    }
}
