/*
 * Executes Arm instructions on vectors that it reads, without any library: what QEMU runs.
 *
 * Standard input holds batches: a header, and records of a, b and c. For each record it writes d, as long as c. An
 * instruction is a word of the table below, on registers 1 and 2, into register 0 or tile ZA0.
 */
#include <stdint.h>

enum { RECORDS = 2048, LONGEST = 128 };

struct header {
    uint32_t instruction, records;
    uint64_t fpmr, fpcr;
};

static uint8_t in[RECORDS * (32 + LONGEST)], out[RECORDS * LONGEST];

static long call(long number, long first, void *second, long third)
{
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = first, x2 __asm__("x2") = third;
    register void *x1 __asm__("x1") = second;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}

enum { READ = 63, WRITE = 64, EXIT = 93 };

/* All of some bytes, from or to a file; ends the program where there are no more. */
static void whole(long number, long file, void *bytes, long length)
{
    for (long done = 0, more; done < length; done += more)
        if ((more = call(number, file, (uint8_t *)bytes + done, length - done)) <= 0)
            call(EXIT, done || number == WRITE, 0, 0);
}

#define VECTOR(word)                                                                                                   \
    for (uint32_t i = 0; i < h.records; i++) {                                                                         \
        const uint8_t *record = in + i * 48;                                                                           \
        __asm__ volatile("ldp q1, q2, [%0]; ldr q0, [%0, 32]; .inst " #word "; str q0, [%1]" ::"r"(record),            \
                         "r"(out + i * 16)                                                                             \
                         : "v0", "v1", "v2", "memory");                                                                \
    }                                                                                                                  \
    break

/* Streaming vectors have 16 bytes: row r of a tile of `rows` is vector r * 16 / rows of ZA. smstart; ptrue p0.b. */
#define TILE(word, rows)                                                                                               \
    __asm__ volatile(".inst 0xd503477f; .inst 0x2518e3e0; .inst 0x2518e3e1" ::: "memory");                             \
    registers(&h); /* smstart sets FPMR to 0 */                                                                        \
    for (uint32_t i = 0; i < h.records; i++) {                                                                         \
        uint8_t *record = in + i * (32 + 16 * rows);                                                                   \
        for (uint32_t r = 0; r < rows; r++) /* ldr za[w12, 0], [x0] */                                                 \
            row(0, r * (16 / rows), record + 32 + 16 * r);                                                             \
        __asm__ volatile("ldp q1, q2, [%0]; .inst " #word ::"r"(record) : "v1", "v2", "memory");                       \
        for (uint32_t r = 0; r < rows; r++)                                                                            \
            row(1, r * (16 / rows), out + (i * rows + r) * 16);                                                        \
    }                                                                                                                  \
    __asm__ volatile(".inst 0xd503467f" ::: "memory"); /* smstop */                                                    \
    break

static inline void row(int store, uint32_t number, void *bytes)
{
    register uint32_t w12 __asm__("w12") = number;
    register void *x0 __asm__("x0") = bytes;
    if (store)
        __asm__ volatile(".inst 0xe1200000" ::"r"(w12), "r"(x0) : "memory"); /* str za[w12, 0], [x0] */
    else
        __asm__ volatile(".inst 0xe1000000" ::"r"(w12), "r"(x0) : "memory"); /* ldr za[w12, 0], [x0] */
}

static inline void registers(const struct header *h)
{
    __asm__ volatile("msr S3_3_C4_C4_2, %0; msr fpcr, %1" ::"r"(h->fpmr), "r"(h->fpcr));
}

void _start(void)
{
    for (struct header h;;) {
        whole(READ, 0, &h, sizeof h);
        const long length = h.instruction >= 32 ? h.instruction >= 48 ? 128 : 64 : 16;
        if (h.records > RECORDS)
            call(EXIT, 2, 0, 0);
        whole(READ, 0, in, h.records * (32 + length));
        registers(&h);
        switch (h.instruction) {
        case 0: VECTOR(0x4e02fc20); /* fdot v0.4s, v1.16b, v2.16b */
        case 1: VECTOR(0x4e42fc20); /* fdot v0.8h, v1.16b, v2.16b */
        case 2: VECTOR(0x0e02c420); /* fmlallbb v0.4s, v1.16b, v2.16b */
        case 3: VECTOR(0x0e42c420); /* fmlallbt */
        case 4: VECTOR(0x4e02c420); /* fmlalltb */
        case 5: VECTOR(0x4e42c420); /* fmlalltt */
        case 6: VECTOR(0x0ec2fc20); /* fmlalb v0.8h, v1.16b, v2.16b */
        case 7: VECTOR(0x4ec2fc20); /* fmlalt */
        case 8: VECTOR(0x6e82ec20); /* fmmla v0.4s, v1.16b, v2.16b */
        case 9: VECTOR(0x6e02ec20); /* fmmla v0.8h, v1.16b, v2.16b */
        case 10: VECTOR(0x6e42fc20); /* bfdot v0.4s, v1.8h, v2.8h */
        case 11: VECTOR(0x6e42ec20); /* bfmmla v0.4s, v1.8h, v2.8h */
        case 12: VECTOR(0x2ec2fc20); /* bfmlalb v0.4s, v1.8h, v2.8h */
        case 13: VECTOR(0x6ec2fc20); /* bfmlalt */
        case 14: VECTOR(0x64228020); /* fdot z0.s, z1.h, z2.h */
        case 15: VECTOR(0x4e22ec20); /* fmlal v0.4s, v1.4h, v2.4h */
        case 16: VECTOR(0x0e02f420); /* fcvtn v0.8b, v1.4s, v2.4s */
        case 17: VECTOR(0x4e42f420); /* fcvtn v0.16b, v1.8h, v2.8h */
        case 18: VECTOR(0x2e217820); /* f1cvtl v0.8h, v1.8b */
        case 19: VECTOR(0x2ea17820); /* bf1cvtl v0.8h, v1.8b */
        case 32: TILE(0x81a22020, 4); /* fmopa za0.s, p0/m, p1/m, z1.h, z2.h */
        case 33: TILE(0x81822020, 4); /* bfmopa za0.s, p0/m, p1/m, z1.h, z2.h */
        case 34: TILE(0x80a22020, 4); /* fmopa za0.s, p0/m, p1/m, z1.b, z2.b */
        case 48: TILE(0x80a22028, 8); /* fmopa za0.h, p0/m, p1/m, z1.b, z2.b */
        default: call(EXIT, 3, 0, 0);
        }
        whole(WRITE, 1, out, h.records * length);
    }
}
