// The GPU.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "device.hpp"
#include "kernels.cuh"

namespace capture {
namespace {

void check(cudaError_t status, const char* file, int line, const char* call) {
    if (status == cudaSuccess) return;
    throw DeviceError(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " + cudaGetErrorName(status) +
                      ": " + cudaGetErrorString(status));
}
#define CHECK(CALL) check(CALL, __FILE__, __LINE__, #CALL)

// An array in device memory.
template <typename Item>
class Array {
  public:
    explicit Array(const std::vector<Item>& items) : bytes_(items.size() * sizeof(Item)) {
        if (bytes_ == 0) return;
        CHECK(cudaMalloc(&items_, bytes_));
        CHECK(cudaMemcpy(items_, items.data(), bytes_, cudaMemcpyHostToDevice));
    }
    ~Array() { cudaFree(items_); }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;

    Item* get() const { return items_; }
    void copy_to(std::vector<Item>& items) const {
        CHECK(cudaMemcpy(items.data(), items_, bytes_, cudaMemcpyDeviceToHost));
    }

  private:
    Item* items_ = nullptr;
    std::size_t bytes_;
};

constexpr bool every_instruction_has_a_kernel() {
    for (const Instruction& one : INSTRUCTIONS)
        if (!kernel_of(one)) return false;
    return true;
}
static_assert(every_instruction_has_a_kernel());

std::string version(int number) { return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10); }

// The run script knows the driver's version from nvidia-smi; the driver says it too, where /proc is the host's.
std::string driver_version() {
    const char* given = std::getenv("HWSIM_DRIVER");
    if (given && *given) return given;
    std::ifstream file("/proc/driver/nvidia/version");
    std::string word;
    while (file >> word) {
        const bool number = word.find_first_not_of("0123456789.") == std::string::npos;
        if (number && word.find('.') != std::string::npos) return word;
    }
    return "unknown";
}

class Gpu : public Device {
  public:
    Gpu() {
        int number = 0, driver = 0, runtime = 0;
        CHECK(cudaGetDeviceCount(&number));
        cudaDeviceProp properties;
        CHECK(cudaGetDeviceProperties(&properties, 0));
        CHECK(cudaDriverGetVersion(&driver));
        CHECK(cudaRuntimeGetVersion(&runtime));
        processors_ = static_cast<unsigned>(properties.multiProcessorCount);
        facts_ = {properties.name, properties.major * 10 + properties.minor, driver_version(), version(driver),
                  version(runtime),
                  "nvcc " + std::to_string(__CUDACC_VER_MAJOR__) + "." + std::to_string(__CUDACC_VER_MINOR__) + "." +
                      std::to_string(__CUDACC_VER_BUILD__)};
    }

    const Facts& facts() const override { return facts_; }

    std::vector<Seen> run(const Section& section, Order order) override {
        std::vector<Seen> seen(section.cases.size(), Seen{0xffffffff, 0});
        const Array<Case> cases(section.cases);
        const Array<std::uint32_t> a(section.a), b(section.b), scale_a(section.scale_a), scale_b(section.scale_b);
        const Array<Seen> found(seen);
        const Batch batch = batch_of(section, order, cases.get(), a.get(), b.get(), scale_a.get(),
                                     scale_b.get(), found.get());
        const Grid grid = grid_of(section, order, processors_);
        kernel_of(*section.instruction)<<<grid.blocks, grid.threads>>>(batch);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        found.copy_to(seen);
        return seen;
    }

  private:
    unsigned processors_;
    Facts facts_;
};

}  // namespace

std::unique_ptr<Device> open_device() { return std::make_unique<Gpu>(); }

}  // namespace capture
