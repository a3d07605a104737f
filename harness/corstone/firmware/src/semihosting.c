/* Semihosting calls; see semihosting.h. */
#include "semihosting.h"

enum operation {
    SYS_OPEN = 0x01,
    SYS_CLOSE = 0x02,
    SYS_WRITEC = 0x03,
    SYS_WRITE0 = 0x04,
    SYS_WRITE = 0x05,
    SYS_READ = 0x06,
    SYS_FLEN = 0x0C,
    SYS_ERRNO = 0x13,
    SYS_GET_CMDLINE = 0x15,
    SYS_EXIT = 0x18,
    SYS_EXIT_EXTENDED = 0x20,
};

enum { APPLICATION_EXIT = 0x20026 };

static bool available;

/* Kept out of line and alone: the fault handler recognises the BKPT by its encoding, at the faulting address. */
__attribute__((noinline)) static int32_t call(uint32_t operation, const void *block)
{
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = block;
    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return (int32_t)r0;
}

bool semihosting_probe(void)
{
    available = true;
    (void)call(SYS_ERRNO, NULL);
    return available;
}

bool semihosting_available(void)
{
    return available;
}

void semihosting_missing(void)
{
    available = false;
}

uint32_t semihosting_command_line(char *out, uint32_t size)
{
    uintptr_t block[2] = {(uintptr_t)out, size - 1u};
    if (!available || call(SYS_GET_CMDLINE, block) != 0 || block[1] >= size) {
        return 0;
    }
    out[block[1]] = '\0';
    return text_length(out);
}

int32_t semihosting_open(const char *name, enum semihosting_mode mode)
{
    const uintptr_t block[3] = {(uintptr_t)name, (uintptr_t)mode, text_length(name)};
    return available ? call(SYS_OPEN, block) : -1;
}

void semihosting_print(const char *text)
{
    (void)call(SYS_WRITE0, text);
}

void semihosting_print_byte(uint8_t byte)
{
    (void)call(SYS_WRITEC, &byte);
}

int32_t semihosting_length(int32_t handle)
{
    const uintptr_t block[1] = {(uintptr_t)handle};
    return call(SYS_FLEN, block);
}

uint32_t semihosting_read(int32_t handle, void *data, uint32_t size)
{
    const uintptr_t block[3] = {(uintptr_t)handle, (uintptr_t)data, size};
    int32_t rest = call(SYS_READ, block);
    return rest < 0 || (uint32_t)rest > size ? 0 : size - (uint32_t)rest;
}

uint32_t semihosting_write(int32_t handle, const void *data, uint32_t size)
{
    const uintptr_t block[3] = {(uintptr_t)handle, (uintptr_t)data, size};
    int32_t rest = call(SYS_WRITE, block);
    return rest < 0 || (uint32_t)rest > size ? 0 : size - (uint32_t)rest;
}

void semihosting_close(int32_t handle)
{
    const uintptr_t block[1] = {(uintptr_t)handle};
    (void)call(SYS_CLOSE, block);
}

int32_t semihosting_errno(void)
{
    return call(SYS_ERRNO, NULL);
}

void semihosting_exit(uint32_t code)
{
    const uintptr_t block[2] = {APPLICATION_EXIT, code};
    if (available) {
        (void)call(SYS_EXIT_EXTENDED, block);
    }
    if (available) {
        semihosting_exit_reason(code == 0 ? APPLICATION_EXIT : 0x20024u);
    }
}

void semihosting_exit_reason(uint32_t reason)
{
    if (available) {
        (void)call(SYS_EXIT, (const void *)(uintptr_t)reason);
    }
}
