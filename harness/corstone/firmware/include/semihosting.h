/* Semihosting calls (BKPT 0xAB). Source: Arm abi-aa, semihosting.rst. */
#ifndef CORSTONE_SEMIHOSTING_H
#define CORSTONE_SEMIHOSTING_H

#include "base.h"

enum semihosting_mode { SH_READ_BINARY = 1, SH_WRITE_BINARY = 5 };

/* Tries one harmless call. Without a server the BKPT faults; the fault handler then steps over it and this is false. */
bool semihosting_probe(void);
bool semihosting_available(void);
/* For the fault handler: the server is not there, or it went away. */
void semihosting_missing(void);

/* Length of the command line, 0 when there is none or it does not fit. */
uint32_t semihosting_command_line(char *out, uint32_t size);

/* Handle, or -1. */
int32_t semihosting_open(const char *name, enum semihosting_mode mode);
int32_t semihosting_length(int32_t handle);
/* Bytes read or written. */
uint32_t semihosting_read(int32_t handle, void *data, uint32_t size);
uint32_t semihosting_write(int32_t handle, const void *data, uint32_t size);
void semihosting_close(int32_t handle);
int32_t semihosting_errno(void);

/* To the debug console (SYS_WRITE0, SYS_WRITEC). */
void semihosting_print(const char *text);
void semihosting_print_byte(uint8_t byte);

/* SYS_EXIT_EXTENDED with the code; where a server lacks it, SYS_EXIT. Returns only when nobody listens. */
void semihosting_exit(uint32_t code);
/* SYS_EXIT with a bare reason. */
void semihosting_exit_reason(uint32_t reason);

#endif
