// Result files: what came back.
#pragma once

#include <cstdio>
#include <string>

#include "cases.hpp"
#include "device.hpp"
#include "measure.hpp"

namespace capture {

// A result file that is there when it is whole, and not before: it is written under another name beside its own, which
// goes if the run fails or is interrupted. One at a time. Throws FileError.
class ResultFile {
  public:
    explicit ResultFile(const std::string& path);
    ~ResultFile();
    ResultFile(const ResultFile&) = delete;
    ResultFile& operator=(const ResultFile&) = delete;

    void head(const std::string& cases, const Facts& facts);
    void section(const Section& section, const Outcome& outcome);
    void finish();

  private:
    void check(bool good);

    std::string path_, part_;
    std::FILE* file_;
};

}  // namespace capture
