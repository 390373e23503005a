// The layer that runs cases: a GPU (device.cu), or a stand-in for one (standin.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "cases.hpp"

namespace capture {

// The device is not there, or failed.
struct DeviceError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// capability: times ten, as in instructions.hpp.
struct Facts {
    std::string gpu;
    int capability;
    std::string driver, cuda_driver, cuda_runtime, compiler;
};

// The lowest and the highest code among all elements of a case's tile; lowest > highest where no result came.
struct Seen {
    std::uint32_t lowest, highest;
};

// given: every worker of the device takes one case, in their order. shuffled: a few workers take many cases each, in
// another order, so that a case meets another place and other neighbours.
enum class Order { given, shuffled };

// The case at a slot of an order is slot * order_step % count: a step that has no factor in common with the count
// visits every case once.
inline std::uint64_t order_step(Order order, std::uint64_t count) {
    if (order == Order::given) return 1;
    std::uint64_t step = count * 5 / 8 + 1;
    while (std::gcd(step, count) != 1) ++step;
    return step;
}

class Device {
  public:
    virtual ~Device() = default;
    virtual const Facts& facts() const = 0;

    // What every case gives, by the case's number. Throws DeviceError.
    virtual std::vector<Seen> run(const Section& section, Order order) = 0;
};

// Throws DeviceError.
std::unique_ptr<Device> open_device();

}  // namespace capture
