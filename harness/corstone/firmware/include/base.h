/* Integer types, helpers and the status codes that every part of the runner shares.
 *
 * Codes are the exit status of a boot (SYS_EXIT_EXTENDED) and the "code" of a run's result line.
 * Leaves out everything that touches hardware.
 */
#ifndef CORSTONE_BASE_H
#define CORSTONE_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum status {
    STATUS_OK = 0,
    STATUS_USAGE = 1,       /* the command line; ExecuTorch's runner uses 1 as well */
    STATUS_FILE = 2,        /* a file could not be opened or read */
    STATUS_PROGRAM = 3,     /* the .pte contradicts itself or the format */
    STATUS_UNSUPPORTED = 4, /* a well-formed program asks for what this runner has not */
    STATUS_INPUT = 5,       /* number or size of inputs */
    STATUS_POOL = 6,        /* a memory pool is too small */
    STATUS_CONFIG = 7,      /* the command stream is for another NPU */
    STATUS_NPU_FAULT = 8,
    STATUS_NPU_TIMEOUT = 9,
    STATUS_CANARY = 10, /* an output still holds the canary */
    STATUS_OUTPUT = 11, /* an output could not be written whole */
    STATUS_LIMIT = 12,  /* a bound on the work of a program was reached */
    STATUS_NO_NPU = 13,
    STATUS_ALIGNMENT = 14,
    STATUS_CONSOLE = 15, /* the UART did not take a byte in time */
    STATUS_HARDFAULT = 20,
    STATUS_MEMMANAGE = 21,
    STATUS_BUSFAULT = 22,
    STATUS_USAGEFAULT = 23,
    STATUS_SECUREFAULT = 24,
    STATUS_NMI = 25,
    STATUS_INTERRUPT = 26, /* an interrupt or exception nobody asked for */
    STATUS_ABORT = 27,     /* an assertion of the runner itself */
};

const char *status_name(int code);

/* What went wrong first: a code and one line of text. */
struct error {
    int code;
    char text[200];
};

/* Records and returns the code; a second error does not replace the first. */
int error_set(struct error *error, int code, const char *format, ...) PRINTF_LIKE(3, 4);

/* %s %c %d %u %x %p %% with '0', width, '-' and l, ll, z. Always terminates; returns the length written. */
uint32_t format_text(char *out, uint32_t size, const char *format, ...) PRINTF_LIKE(3, 4);
uint32_t format_args(char *out, uint32_t size, const char *format, va_list args) PRINTF_LIKE(3, 0);

/* CRC-32 of IEEE 802.3 (zlib's); start with 0. */
uint32_t crc32(uint32_t crc, const void *data, uint32_t size);

void *copy_bytes(void *to, const void *from, size_t size); /* may overlap */
void fill_bytes(void *to, uint8_t value, size_t size);
bool text_equal(const char *a, const char *b);
uint32_t text_length(const char *text);

/* A pool that only grows; emptied as a whole between runs. */
struct arena {
    uint8_t *base;
    uint32_t size;
    uint32_t used;
    uint32_t peak;
    uint32_t cleared; /* bytes from here on are zeroed as they are taken */
};

enum { ARENA_AS_FOUND = -1 }; /* `cleared` of a boot's first run: memory is as the board starts with it */

/* NULL when it does not fit; zeroed is not implied in a boot's first run. align is a power of two. */
void *arena_take(struct arena *arena, uint32_t size, uint32_t align);
/* For count items of size bytes; NULL also when the product overflows. */
void *arena_take_array(struct arena *arena, uint32_t count, uint32_t size, uint32_t align);
/* Empties the pool for another run and zeroes what the last one had of it. */
void arena_restart(struct arena *arena);

#endif
