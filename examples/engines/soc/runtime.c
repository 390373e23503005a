/* What a program needs that no operating system loads: its first instructions, and two functions of the C library. */
#include "string.h"

__attribute__((naked, section(".first"), used)) void first(void) {
    __asm__("la sp, stack\n"
            "la t0, cleared\n"
            "la t1, cleared_end\n"
            "1: bgeu t0, t1, 2f\n"
            "sw zero, 0(t0)\n"
            "addi t0, t0, 4\n"
            "j 1b\n"
            "2: call main\n"
            "3: j 3b\n");
}

void *memset(void *to, int value, size_t size) {
    for (unsigned char *at = to; size > 0; --size) *at++ = (unsigned char)value;
    return to;
}

void *memcpy(void *to, const void *from, size_t size) {
    const unsigned char *read = from;
    for (unsigned char *at = to; size > 0; --size) *at++ = *read++;
    return to;
}
