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

struct Launcher {
    std::string_view name;
    void (*kernel)(Batch);
};

template <typename Op>
constexpr Launcher launcher() {
    return {Op::NAME, run_cases<Op>};
}

constexpr Launcher LAUNCHERS[] = {
    launcher<WgmmaF32E4m3E4m3>(),
    launcher<WgmmaF32E4m3E5m2>(),
    launcher<WgmmaF32E5m2E4m3>(),
    launcher<WgmmaF32E5m2E5m2>(),
    launcher<WgmmaF16E4m3E4m3>(),
    launcher<WgmmaF16E4m3E5m2>(),
    launcher<WgmmaF16E5m2E4m3>(),
    launcher<WgmmaF16E5m2E5m2>(),
    launcher<WgmmaF32F16>(),
    launcher<WgmmaF16F16>(),
    launcher<WgmmaF32Bf16>(),
    launcher<WgmmaF32Tf32>(),
    launcher<MmaF32E4m3E4m3>(),
    launcher<MmaF32E4m3E5m2>(),
    launcher<MmaF32E5m2E4m3>(),
    launcher<MmaF32E5m2E5m2>(),
    launcher<MmaF16E4m3E4m3>(),
    launcher<MmaF16E4m3E5m2>(),
    launcher<MmaF16E5m2E4m3>(),
    launcher<MmaF16E5m2E5m2>(),
    launcher<MmaF32F16K16>(),
    launcher<MmaF32F16K8>(),
    launcher<MmaF16F16K16>(),
    launcher<MmaF16F16K8>(),
    launcher<MmaF32Bf16K16>(),
    launcher<MmaF32Bf16K8>(),
    launcher<MmaF32Tf32K8>(),
    launcher<MmaF32Tf32K4>(),
#define CAPTURE_MXF8F6F4(A, B, FORMATS, FORMAT_A, FORMAT_B) launcher<Mxf8f6f4##A##B>(),
    CAPTURE_NARROW_PAIRS(CAPTURE_MXF8F6F4)
#undef CAPTURE_MXF8F6F4
    launcher<Mxf4>(),
    launcher<Mxf4nvf4Ue8m0>(),
    launcher<Mxf4nvf4Ue4m3>(),
};

constexpr bool launchers_match() {
    if (sizeof LAUNCHERS / sizeof *LAUNCHERS != INSTRUCTION_COUNT) return false;
    for (std::size_t i = 0; i < INSTRUCTION_COUNT; ++i)
        if (LAUNCHERS[i].name != INSTRUCTIONS[i].name) return false;
    return true;
}
static_assert(launchers_match(), "LAUNCHERS must be in the order of INSTRUCTIONS");

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
        const std::uint64_t count = section.cases.size();
        const Batch batch{cases.get(),   a.get(),     b.get(), scale_a.get(),
                          scale_b.get(), found.get(), count,   order_step(order, count)};
        launch(section, order, batch);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        found.copy_to(seen);
        return seen;
    }

  private:
    // A worker is a warp for mma and a warpgroup for wgmma. given: blocks of 4 warps either way, and a worker a case.
    // shuffled: a block of one worker for every multiprocessor.
    void launch(const Section& section, Order order, const Batch& batch) const {
        const bool group = section.instruction->family == Family::wgmma;
        const std::uint64_t workers_in_block = group || order == Order::shuffled ? 1 : 4;
        const unsigned threads = group || order == Order::given ? 128 : 32;
        const std::uint64_t needed = (batch.count + workers_in_block - 1) / workers_in_block;
        const std::uint64_t blocks = order == Order::given ? needed : std::min<std::uint64_t>(needed, processors_);
        LAUNCHERS[section.instruction - INSTRUCTIONS].kernel<<<static_cast<unsigned>(blocks), threads>>>(batch);
    }

    unsigned processors_;
    Facts facts_;
};

}  // namespace

std::unique_ptr<Device> open_device() { return std::make_unique<Gpu>(); }

}  // namespace capture
