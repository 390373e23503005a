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

// The cases of a run, in device memory. Slot s of `count` holds case s * step % count. descriptor: the instruction
// descriptor of tcgen05. mask: of the bits of a word that a result fills.
struct Batch {
    const Case* cases;
    const std::uint32_t *a, *b, *scale_a, *scale_b;
    Seen* seen;
    std::uint64_t count, step;
    std::uint32_t descriptor, mask;
};

inline Batch batch_of(const Section& section, Order order, const Case* cases, const std::uint32_t* a,
                      const std::uint32_t* b, const std::uint32_t* scale_a, const std::uint32_t* scale_b, Seen* seen) {
    const std::uint64_t count = section.cases.size();
    const Instruction& instruction = *section.instruction;
    return {cases, a, b, scale_a, scale_b, seen, count, order_step(order, count), instruction_descriptor(instruction),
            instruction.result.bits == 16 ? 0xffffu : ~0u};
}

// A worker is a warp for mma, and four for wgmma and tcgen05. given: blocks of 4 warps either way, and a worker a case.
// shuffled: a block of one worker for every multiprocessor.
struct Grid {
    unsigned blocks, threads;
};

inline Grid grid_of(const Section& section, Order order, unsigned processors) {
    const bool group = section.instruction->family != Family::mma;
    const std::uint64_t workers_in_block = group || order == Order::shuffled ? 1 : 4;
    const std::uint64_t needed = (section.cases.size() + workers_in_block - 1) / workers_in_block;
    const std::uint64_t blocks = order == Order::given || needed < processors ? needed : processors;
    return {static_cast<unsigned>(blocks), group || order == Order::given ? 128u : 32u};
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
