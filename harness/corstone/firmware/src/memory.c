/* The four memory functions that compilers call on their own. */
#include "base.h"

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *a, const void *b, size_t size);

/* Word by word when both sides allow it: outputs can be megabytes. */
void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    if ((((uintptr_t)out | (uintptr_t)in) & 3u) == 0) {
        for (; size >= 4; size -= 4, out += 4, in += 4) {
            *(uint32_t *)(void *)out = *(const uint32_t *)(const void *)in;
        }
    }
    while (size-- > 0) {
        *out++ = *in++;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    if ((uintptr_t)out - (uintptr_t)in >= size) {
        return memcpy(to, from, size);
    }
    while (size-- > 0) {
        out[size] = in[size];
    }
    return to;
}

void *memset(void *to, int value, size_t size)
{
    uint8_t *out = to;
    while (size > 0 && ((uintptr_t)out & 3u) != 0) {
        *out++ = (uint8_t)value;
        size--;
    }
    uint32_t word = (uint8_t)value * 0x01010101u;
    for (; size >= 32; size -= 32, out += 32) {
        uint32_t *words = (uint32_t *)(void *)out;
        words[0] = words[1] = words[2] = words[3] = words[4] = words[5] = words[6] = words[7] = word;
    }
    for (; size >= 4; size -= 4, out += 4) {
        *(uint32_t *)(void *)out = word;
    }
    while (size-- > 0) {
        *out++ = (uint8_t)value;
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
    const uint8_t *left = a;
    const uint8_t *right = b;
    for (; size > 0; size--, left++, right++) {
        if (*left != *right) {
            return *left < *right ? -1 : 1;
        }
    }
    return 0;
}

/* The names that Arm's run-time ABI gives them (RTABI 4.3.4); memset's arguments come in another order there. */
#define AEABI_COPY(name, function)                                                                                           \
    void name(void *to, const void *from, size_t size);                                                                      \
    void name(void *to, const void *from, size_t size)                                                                       \
    {                                                                                                                        \
        (void)function(to, from, size);                                                                                      \
    }
#define AEABI_SET(name)                                                                                                      \
    void name(void *to, size_t size, int value);                                                                             \
    void name(void *to, size_t size, int value)                                                                              \
    {                                                                                                                        \
        (void)memset(to, value, size);                                                                                       \
    }
#define AEABI_CLEAR(name)                                                                                                    \
    void name(void *to, size_t size);                                                                                        \
    void name(void *to, size_t size)                                                                                         \
    {                                                                                                                        \
        (void)memset(to, 0, size);                                                                                           \
    }

AEABI_COPY(__aeabi_memcpy, memcpy)
AEABI_COPY(__aeabi_memcpy4, memcpy)
AEABI_COPY(__aeabi_memcpy8, memcpy)
AEABI_COPY(__aeabi_memmove, memmove)
AEABI_COPY(__aeabi_memmove4, memmove)
AEABI_COPY(__aeabi_memmove8, memmove)
AEABI_SET(__aeabi_memset)
AEABI_SET(__aeabi_memset4)
AEABI_SET(__aeabi_memset8)
AEABI_CLEAR(__aeabi_memclr)
AEABI_CLEAR(__aeabi_memclr4)
AEABI_CLEAR(__aeabi_memclr8)
