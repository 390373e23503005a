#include "emulated.hpp"

#include <ucontext.h>

#include <exception>
#include <functional>
#include <memory>

namespace capture {
namespace emulated {
namespace {

constexpr std::size_t STACK_BYTES = 1 << 17, MOST_THREADS = 128;
constexpr std::uint32_t SHARED_START = 0x400, UNWRITTEN = 0xabababab;
constexpr int TENSOR_LANES = 128, ALL_COLUMNS = 512, FIRST_COLUMN = 64;

struct Thread {
    ucontext_t context;
    std::vector<char> stack = std::vector<char>(STACK_BYTES);
    bool done = false;
};

// Threads that do something together: what each gives, until all have come.
struct Meeting {
    std::vector<void*> given = std::vector<void*>(MOST_THREADS);
    unsigned came = 0, times = 0;
};

struct Worker {
    Asked asked{};
    bool noted = true;
};

// What runs: one block at a time, its threads in turn, each until it waits.
struct Machine {
    void (*kernel)(Batch);
    const Instruction* instruction;
    const Batch* batch;
    std::vector<Asked> asked;

    std::vector<Thread> threads = std::vector<Thread>(MOST_THREADS);
    ucontext_t scheduler;
    bool progress;
    std::exception_ptr failure;
    Meeting block, warps[MOST_THREADS / 32];
    Worker workers[MOST_THREADS / 32];

    char* shared;
    std::size_t shared_bytes;

    std::uint32_t tensor[TENSOR_LANES][ALL_COLUMNS];
    int columns;
    std::vector<std::function<void()>> issued, committed;
    std::uint32_t barrier, phases;
};

std::unique_ptr<Machine> machine;

void yield() { swapcontext(&machine->threads[threadIdx.x].context, &machine->scheduler); }

void run_thread() {
    try {
        machine->kernel(*machine->batch);
    } catch (...) {
        machine->failure = std::current_exception();
    }
    machine->threads[threadIdx.x].done = true;
    machine->progress = true;
    yield();
}

// The last of a number of threads to come acts for all of them.
void meet(Meeting& meeting, unsigned size, void* mine, const std::function<void(const std::vector<void*>&)>& act) {
    meeting.given[threadIdx.x % size] = mine;
    const unsigned times = meeting.times;
    if (++meeting.came == size) {
        meeting.came = 0;
        act(meeting.given);
        ++meeting.times;
        machine->progress = true;
    }
    while (meeting.times == times) yield();
}

void meet_warp(void* mine, const std::function<void(const std::vector<void*>&)>& act) {
    meet(machine->warps[threadIdx.x / 32], 32, mine, act);
}

void run_block() {
    machine->block = Meeting{};
    for (Meeting& warp : machine->warps) warp = Meeting{};
    for (Worker& worker : machine->workers) worker = Worker{};
    machine->shared = nullptr;
    machine->columns = 0;
    machine->issued.clear();
    machine->committed.clear();
    machine->barrier = machine->phases = 0;
    for (auto& lane : machine->tensor) std::fill(std::begin(lane), std::end(lane), UNWRITTEN);
    for (unsigned i = 0; i < blockDim.x; ++i) {
        Thread& thread = machine->threads[i];
        thread.done = false;
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = thread.stack.data();
        thread.context.uc_stack.ss_size = thread.stack.size();
        thread.context.uc_link = nullptr;
        makecontext(&thread.context, run_thread, 0);
    }
    bool running = true;
    while (running) {
        running = machine->progress = false;
        for (unsigned i = 0; i < blockDim.x; ++i) {
            if (machine->threads[i].done) continue;
            running = true;
            threadIdx.x = i;
            swapcontext(&machine->scheduler, &machine->threads[i].context);
            if (machine->failure) std::rethrow_exception(machine->failure);
        }
        if (running && !machine->progress) throw DeviceError("threads wait for each other for ever");
    }
    if (machine->columns) throw DeviceError("tensor memory is not freed");
}

Worker& worker() { return machine->workers[machine->instruction->family == Family::mma ? threadIdx.x / 32 : 0]; }

// Write an instruction down. c: what every element of C is. Returns what every element of D becomes.
std::uint32_t written(std::uint32_t c, bool addend, Step step) {
    Worker& one = worker();
    if (one.noted) {
        one = {{addend, c, {}}, false};
    } else if (!addend || c != one.asked.steps.size()) {
        throw DeviceError("an instruction's addend is not the result before it");
    }
    one.asked.steps.push_back(std::move(step));
    return static_cast<std::uint32_t>(one.asked.steps.size());
}

std::uint32_t the_code(const Words& words) {
    const bool halves = machine->instruction->result.bits == 16;
    const std::uint32_t code = halves ? words[0] & 0xffff : words[0];
    for (const std::uint32_t word : words)
        if (word != (halves ? code << 16 | code : code)) throw DeviceError("elements of C differ");
    return code;
}

// The words of D of several threads: read them, act, and fill all with what comes back.
void replace(const std::vector<void*>& tiles, unsigned threads, int count,
             const std::function<std::uint32_t(std::uint32_t)>& act) {
    Words words;
    for (unsigned i = 0; i < threads; ++i) {
        const auto* tile = static_cast<const char*>(tiles[i]);
        for (int j = 0; j < count; ++j) {
            words.emplace_back();
            std::memcpy(&words.back(), tile + 4 * j, 4);
        }
    }
    std::uint32_t code = act(the_code(words));
    if (machine->instruction->result.bits == 16) code |= code << 16;
    for (unsigned i = 0; i < threads; ++i)
        for (int j = 0; j < count; ++j) std::memcpy(static_cast<char*>(tiles[i]) + 4 * j, &code, 4);
}

std::uint32_t shared_word(std::uint32_t address) {
    if (address % 4 || address < SHARED_START || address - SHARED_START >= machine->shared_bytes)
        throw DeviceError("an element is beyond what is filled");
    std::uint32_t word;
    std::memcpy(&word, machine->shared + (address - SHARED_START), 4);
    return word;
}

void write_shared(std::uint32_t address, std::uint32_t word) {
    shared_word(address);
    std::memcpy(machine->shared + (address - SHARED_START), &word, 4);
}

std::uint32_t& tensor_word(std::uint32_t address, int lane, int column) {
    const int first = static_cast<int>(address & 0xffff) + column, row = static_cast<int>(address >> 16) + lane;
    if (row >= TENSOR_LANES || first < FIRST_COLUMN || first >= FIRST_COLUMN + machine->columns)
        throw DeviceError("an address is in no tensor memory that is allocated");
    return machine->tensor[row][first];
}

}  // namespace

std::vector<Asked> run(void (*kernel)(Batch), const Instruction& instruction, const Batch& batch, Grid grid) {
    if (!machine) machine = std::make_unique<Machine>();
    machine->kernel = kernel;
    machine->instruction = &instruction;
    machine->batch = &batch;
    machine->failure = nullptr;
    machine->asked.assign(batch.count, Asked{});
    blockDim.x = grid.threads;
    gridDim.x = grid.blocks;
    for (unsigned block = 0; block < grid.blocks; ++block) {
        blockIdx.x = block;
        run_block();
    }
    for (const Asked& one : machine->asked)
        if (one.steps.empty()) throw DeviceError("a case was not computed");
    return std::move(machine->asked);
}

void together() {
    meet(machine->block, blockDim.x, nullptr, [](const std::vector<void*>&) {});
}

std::uint32_t least_of_warp(std::uint32_t value) {
    meet_warp(&value, [](const std::vector<void*>& given) {
        std::uint32_t least = ~0u;
        for (unsigned i = 0; i < 32; ++i) least = min(least, *static_cast<std::uint32_t*>(given[i]));
        for (unsigned i = 0; i < 32; ++i) *static_cast<std::uint32_t*>(given[i]) = least;
    });
    return value;
}

std::uint32_t greatest_of_warp(std::uint32_t value) { return ~least_of_warp(~value); }

void note(const std::uint32_t* place, std::uint32_t value) {
    Worker& one = worker();
    if (value != one.asked.steps.size()) throw DeviceError("an element of D is not its last result");
    const auto bytes = reinterpret_cast<const char*>(place) - reinterpret_cast<const char*>(machine->batch->seen);
    machine->asked.at(static_cast<std::size_t>(bytes) / sizeof(Seen)) = one.asked;
    one.noted = true;
}

void shared_memory(void* start, std::size_t bytes) {
    if (!machine->shared) std::memset(start, static_cast<int>(UNWRITTEN & 0xff), bytes);
    machine->shared = static_cast<char*>(start);
    machine->shared_bytes = bytes;
}

std::uint32_t shared_address(const void* place) {
    return static_cast<std::uint32_t>(static_cast<const char*>(place) - machine->shared) + SHARED_START;
}

void mma(void* d, int count, const std::uint32_t* a, int a_count, const std::uint32_t* b, int b_count,
         std::uint32_t scale_a, std::uint32_t scale_b) {
    struct Operands {
        void* d;
        const std::uint32_t *a, *b;
        std::uint32_t scale_a, scale_b;
    } mine{d, a, b, scale_a, scale_b};
    meet_warp(&mine, [=](const std::vector<void*>& given) {
        const Instruction& instruction = *machine->instruction;
        std::vector<void*> tiles;
        Words a_words, b_words, a_scales, b_scales;
        for (unsigned lane = 0; lane < 32; ++lane) {
            const auto& one = *static_cast<const Operands*>(given[lane]);
            tiles.push_back(one.d);
            a_words.insert(a_words.end(), one.a, one.a + a_count);
            b_words.insert(b_words.end(), one.b, one.b + b_count);
            a_scales.push_back(one.scale_a);
            b_scales.push_back(one.scale_b);
        }
        Step step{mma_codes(instruction, Side::a, a_words), mma_codes(instruction, Side::b, b_words), {}, {}};
        if (instruction.blocks) {
            step.scale_a = mma_scales(instruction, Side::a, SCALE_BYTE, SCALE_PAIR_A, a_scales);
            step.scale_b = mma_scales(instruction, Side::b, SCALE_BYTE, SCALE_LANE_B, b_scales);
        }
        replace(tiles, 32, count, [&](std::uint32_t c) { return written(c, true, step); });
    });
}

void wgmma(void* d, int count, std::uint64_t a, std::uint64_t b, int addend) {
    meet(machine->block, blockDim.x, d, [=](const std::vector<void*>& tiles) {
        const Instruction& instruction = *machine->instruction;
        const Step step{wgmma_codes(instruction, Side::a, a, shared_word),
                        wgmma_codes(instruction, Side::b, b, shared_word),
                        {},
                        {}};
        replace(tiles, 128, count, [&](std::uint32_t c) { return written(c, addend, step); });
    });
}

void tensor_allocate(std::uint32_t where, int columns) {
    meet_warp(nullptr, [=](const std::vector<void*>&) {
        machine->columns = columns;
        write_shared(where, FIRST_COLUMN);
    });
}

void tensor_free(std::uint32_t address, int columns) {
    meet_warp(nullptr, [=](const std::vector<void*>&) {
        if (address != FIRST_COLUMN || columns != machine->columns || !machine->committed.empty())
            throw DeviceError("tensor memory is freed that is not allocated, or in use");
        machine->columns = 0;
    });
}

void tensor_fill(std::uint32_t address, std::uint32_t word, int columns) {
    meet_warp(nullptr, [](const std::vector<void*>&) {});
    if (address >> 16 != threadIdx.x / 32 * 32) throw DeviceError("a warp's lanes of tensor memory are others");
    for (int i = 0; i < columns; ++i) tensor_word(address, static_cast<int>(threadIdx.x % 32), i) = word;
}

void tensor_read(std::uint32_t address, std::uint32_t* words, int columns) {
    meet_warp(nullptr, [](const std::vector<void*>&) {});
    if (address >> 16 != threadIdx.x / 32 * 32) throw DeviceError("a warp's lanes of tensor memory are others");
    for (int i = 0; i < columns; ++i) words[i] = tensor_word(address, static_cast<int>(threadIdx.x % 32), i);
}

// What is issued happens when somebody has waited for it, as late as may be.
void tensor_scales(std::uint32_t address, std::uint64_t descriptor) {
    machine->issued.emplace_back([=] {
        const Words words = copied_words(descriptor, shared_word);
        for (int lane = 0; lane < TENSOR_LANES; ++lane)
            for (int column = 0; column < 4; ++column)
                tensor_word(address, lane, column) = words[static_cast<std::size_t>(lane % 32 * 4 + column)];
    });
}

void tensor_mma(std::uint32_t d, std::uint64_t a, std::uint64_t b, std::uint32_t descriptor, int addend,
                std::uint32_t scale_a, std::uint32_t scale_b) {
    machine->issued.emplace_back([=] {
        const Instruction& instruction = *machine->instruction;
        const Shape shape = described(instruction, descriptor);
        Step step{tcgen05_codes(instruction, Side::a, shape.m, a, shared_word),
                  tcgen05_codes(instruction, Side::b, shape.n, b, shared_word),
                  {},
                  {}};
        if (instruction.blocks) {
            const auto scales = [&](std::uint32_t address, int lines, int byte) {
                return tcgen05_scales(instruction, lines, byte, [=](int lane, int column) {
                    return tensor_word(address, lane, column);
                });
            };
            step.scale_a = scales(scale_a, shape.m, shape.scale_a_byte);
            step.scale_b = scales(scale_b, shape.n, shape.scale_b_byte);
        }
        // An element of 16 bits is in the lower half of its word; nothing is said of the other half.
        const std::uint32_t mask = instruction.result.bits == 16 ? 0xffff : ~0u;
        const std::uint32_t c = tensor_word(d, 0, 0) & mask;
        for (int row = 0; row < shape.m; ++row)
            for (int column = 0; column < shape.n; ++column)
                if ((tensor_word(d, row, column) & mask) != c) throw DeviceError("elements of C differ");
        const std::uint32_t word = (UNWRITTEN & ~mask) | written(c, addend, std::move(step));
        for (int row = 0; row < shape.m; ++row)
            for (int column = 0; column < shape.n; ++column) tensor_word(d, row, column) = word;
    });
}

void tensor_commit(std::uint32_t barrier) {
    if (barrier != machine->barrier) throw DeviceError("a barrier was not initialised");
    machine->committed.insert(machine->committed.end(), machine->issued.begin(), machine->issued.end());
    machine->issued.clear();
}

void barrier_start(std::uint32_t barrier) { machine->barrier = barrier; }

void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
    if (barrier != machine->barrier) throw DeviceError("a barrier was not initialised");
    while ((machine->phases & 1) == parity) {
        if (machine->committed.empty()) {
            yield();
            continue;
        }
        for (const auto& act : machine->committed) act();
        machine->committed.clear();
        ++machine->phases;
        machine->progress = true;
    }
}

}  // namespace emulated
}  // namespace capture
