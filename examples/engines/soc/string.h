/* The two functions of the C library that the driver uses. */
#include <stddef.h>

void *memset(void *to, int value, size_t size);
void *memcpy(void *to, const void *from, size_t size);
