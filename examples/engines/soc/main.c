/* Products of matrices by the driver of an engine that stands behind CSRs of a LiteX SoC. For each a line: its number,
 * what the driver returned, cycles, those within hooks, words that waited for the engine to take the one before, its
 * port error, and counters, where it has some; and a line of the results' codes. ASCII's end of transmission ends all. */
#include "csr.h"
#include "mem.h"
#include "problem.h"

#define REGISTER(address) ((volatile uint32_t *)(address))

enum { END = 4 };
enum { OF_D = 5, LAST = 6, ERROR = 7 }; /* bits of the register status; those below are of the streams INPUTS */
static const struct { unsigned bytes, word, offer; } INPUTS[] = {STREAMS};
static ENGINE(d) results[MOST_RESULTS];

/* every: of calls for a word of D, those that are answered. */
struct traffic { unsigned every, calls, waits, cycles; };

static uint32_t now(void) {
    *REGISTER(CSR_TIMER0_UPTIME_LATCH_ADDR) = 1;
    return *REGISTER(CSR_TIMER0_UPTIME_CYCLES_ADDR);
}

static int offer(struct traffic *traffic, int stream, const uint8_t *word, int last) {
    volatile uint32_t *const parts = REGISTER(INPUTS[stream].word);
    const unsigned bytes = INPUTS[stream].bytes;
    if (*REGISTER(CSR_ENGINE_STATUS_ADDR) >> stream & 1) {
        ++traffic->waits;
        return 0;
    }
    for (unsigned at = 0; at < bytes; at += 4) {
        uint32_t part = 0;
        for (unsigned byte = 0; byte < 4 && at + byte < bytes; ++byte) part |= (uint32_t)word[at + byte] << 8 * byte;
        parts[at / 4] = part;
    }
    *REGISTER(INPUTS[stream].offer) = (uint32_t)last;
    return 1;
}

static int take(struct traffic *traffic, uint8_t *word, int *last) {
    volatile uint32_t *const parts = REGISTER(CSR_ENGINE_D_WORD_ADDR);
    const uint32_t status = *REGISTER(CSR_ENGINE_STATUS_ADDR);
    if (++traffic->calls % traffic->every || !(status >> OF_D & 1)) return 0;
    for (unsigned at = 0; at < D_BYTES; at += 4) {
        const uint32_t part = parts[at / 4];
        for (unsigned byte = 0; byte < 4 && at + byte < D_BYTES; ++byte) word[at + byte] = (uint8_t)(part >> 8 * byte);
    }
    *last = status >> LAST & 1;
    *REGISTER(CSR_ENGINE_D_TAKE_ADDR) = 1;
    return 1;
}

static int put(void *self, int stream, const uint8_t *word, int last) {
    const uint32_t before = now();
    const int done = offer(self, stream, word, last);
    ((struct traffic *)self)->cycles += now() - before;
    return done;
}

static int get(void *self, uint8_t *word, int *last) {
    const uint32_t before = now();
    const int done = take(self, word, last);
    ((struct traffic *)self)->cycles += now() - before;
    return done;
}

#ifdef ENGINE_REGISTERS_BASE
static int read_register(void *self, uint32_t address, uint32_t *value) {
    (void)self;
    *value = *REGISTER(ENGINE_REGISTERS_BASE + address);
    return 0;
}

static int write_register(void *self, uint32_t address, uint32_t value) {
    (void)self;
    *REGISTER(ENGINE_REGISTERS_BASE + address) = value;
    return 0;
}

static const ENGINE(bus) BUS = {NULL, read_register, write_register};
static const uint32_t COUNTED[] = {COUNTERS};
#endif

static void mode(void *self, unsigned number) {
    (void)self;
    SET_MODE(number);
}

static void write(char letter) {
    while (*REGISTER(CSR_UART_TXFULL_ADDR)) continue;
    *REGISTER(CSR_UART_RXTX_ADDR) = (uint8_t)letter;
}

static void write_hex(uint64_t number, unsigned digits) {
    while (digits--) write("0123456789abcdef"[number >> 4 * digits & 15]);
}

int main(void) {
    for (unsigned at = 0; at < sizeof PRODUCTS / sizeof *PRODUCTS; ++at) {
        const struct product *const of = &PRODUCTS[at];
        struct traffic traffic = {of->every, 0, 0, 0};
        const ENGINE(hooks) hooks = {&traffic, put, get, mode};
        int status = 0;
#ifdef ENGINE_REGISTERS_BASE
        status = ENGINE(check)(&BUS);
        ENGINE(clear_counts)(&BUS);
#endif
        const uint32_t before = now();
        if (status == 0) status = ENGINE(multiply)(&hooks, of->mode, of->m, of->n, of->k, OPERANDS(of), results);
        const uint32_t numbers[] = {at, (uint32_t)status, now() - before, traffic.cycles, traffic.waits,
                                    *REGISTER(CSR_ENGINE_STATUS_ADDR) >> ERROR & 3};
        for (unsigned number = 0; number < sizeof numbers / sizeof *numbers; ++number) {
            if (number) write(' ');
            write_hex(numbers[number], 8);
        }
#ifdef ENGINE_REGISTERS_BASE
        for (unsigned counter = 0; counter < sizeof COUNTED / sizeof *COUNTED; ++counter) {
            uint64_t count;
            ENGINE(count)(&BUS, COUNTED[counter], &count);
            write(' ');
            write_hex(count, 16);
        }
#endif
        write('\n');
        for (size_t result = 0; result < of->m * of->n; ++result) write_hex(results[result], 2 * sizeof *results);
        write('\n');
    }
    write(END);
    return 0;
}
