// Running a section so that its results can be believed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device.hpp"

namespace capture {

// code: of every element of the tile in every run; where they differ, other is another code that was seen.
struct Result {
    std::uint32_t code, other;
    bool stable() const { return code == other; }
};

// skipped: why there are no results, or empty. failed: what should not have happened did: an unstable case, or operands
// that are out of place.
struct Outcome {
    std::string skipped;
    bool failed = false;
    std::vector<Result> results;
};

// Find out whether the device can run the section, and finds a and b where they should be; then run it twice. Throws
// DeviceError.
Outcome measure(Device& device, const Section& section);

}  // namespace capture
