#include "results.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

namespace capture {
namespace {

// A signal's handler may not look into a std::string.
char unfinished[PATH_MAX];

extern "C" void interrupted(int number) {
    unlink(unfinished);
    signal(number, SIG_DFL);
    raise(number);
}

void catch_signals(void (*handler)(int)) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        // A shell's background job ignores SIGINT, and goes on doing so.
        if (signal(number, handler) == SIG_IGN) signal(number, SIG_IGN);
    }
}

}  // namespace

ResultFile::ResultFile(const std::string& path)
    : path_(path), part_(path + ".part" + std::to_string(getpid())), file_(nullptr) {
    if (part_.size() >= sizeof unfinished) throw FileError(path_ + ": " + std::strerror(ENAMETOOLONG));
    std::strcpy(unfinished, part_.c_str());
    catch_signals(interrupted);
    file_ = std::fopen(part_.c_str(), "wbx");
    if (!file_) {
        catch_signals(SIG_DFL);
        throw FileError(path_ + ": " + std::strerror(errno));
    }
}

ResultFile::~ResultFile() {
    if (!file_) return;
    std::fclose(file_);
    unlink(part_.c_str());
    catch_signals(SIG_DFL);
}

void ResultFile::check(bool good) {
    if (!good) throw FileError(path_ + ": " + std::strerror(errno));
}

void ResultFile::head(const std::string& cases, const Facts& facts) {
    check(std::fprintf(file_,
                       "hwsim-capture-results 1\ncases %s\ngpu %s\ncapability %d.%d\ndriver %s\ncuda-driver %s\n"
                       "cuda-runtime %s\ncompiler %s\n",
                       cases.c_str(), facts.gpu.c_str(), facts.capability / 10, facts.capability % 10,
                       facts.driver.c_str(), facts.cuda_driver.c_str(), facts.cuda_runtime.c_str(),
                       facts.compiler.c_str()) > 0);
}

void ResultFile::section(const Section& section, const Outcome& outcome) {
    const int digits = section.instruction->result.digits();
    check(std::fprintf(file_, "instruction %s\n", std::string(section.instruction->name).c_str()) > 0);
    if (!outcome.skipped.empty()) {
        check(std::fprintf(file_, "skipped %s\n", outcome.skipped.c_str()) > 0);
        return;
    }
    check(std::fprintf(file_, "results %zu\n", outcome.results.size()) > 0);
    for (std::size_t id = 0; id < outcome.results.size(); ++id) {
        const Result& one = outcome.results[id];
        if (one.stable())
            check(std::fprintf(file_, "%zu %0*x\n", id, digits, one.code) > 0);
        else
            check(std::fprintf(file_, "%zu unstable %0*x %0*x\n", id, digits, one.code, digits, one.other) > 0);
    }
}

void ResultFile::finish() {
    check(std::fputs("end\n", file_) >= 0);
    check(std::fflush(file_) == 0 && fsync(fileno(file_)) == 0);
    check(std::rename(part_.c_str(), path_.c_str()) == 0);
    std::fclose(file_);
    file_ = nullptr;
    catch_signals(SIG_DFL);
}

}  // namespace capture
