/* The log. Three kinds of lines:
 *
 *   I [executorch:<file>:<line> <function>()] <text>     the shape ExecuTorch's runner logs in (D, I, W, E, F)
 *   E: <text> (<file>:<line>)                            the shape of the Ethos-U driver
 *   @corstone {"n":3,"e":"output",...} #1a2b3c4d         a frame: one JSON object, numbered, with the CRC-32 of its text
 *
 * Frames are what hosts read; the rest is for people and for other people's tools. Lines are sent whole, to the UART or
 * to the semihosting console.
 */
#ifndef CORSTONE_CONSOLE_H
#define CORSTONE_CONSOLE_H

#include "base.h"

enum console_sink { CONSOLE_UART, CONSOLE_SEMIHOSTING, CONSOLE_NONE };

void console_select(enum console_sink sink);
void console_quiet(bool quiet); /* keeps D and I lines back */
/* Bytes the UART refused within its bound. */
uint32_t console_lost(void);

void console_text(const char *format, ...) PRINTF_LIKE(1, 2);
void console_bytes(const void *data, uint32_t size); /* unbuffered, as they are */
void console_log(char level, const char *file, uint32_t line, const char *function, const char *format, ...)
    PRINTF_LIKE(5, 6);
void console_driver(char level, const char *file, uint32_t line, const char *format, ...) PRINTF_LIKE(4, 5);
/* format gives the members after "n": console_frame("\"e\":\"end\",\"code\":%d", code). */
void console_frame(const char *format, ...) PRINTF_LIKE(1, 2);
/* The last frame with a wrong CRC, or once more: for tests of hosts. */
void console_frame_spoil(bool spoil);

/* A string for a frame: quotes and backslashes escaped, control bytes as '?'. */
void console_quote(char *out, uint32_t size, const char *text);

#define LOG(level, ...) console_log((level), __FILE_NAME__, __LINE__, __func__, __VA_ARGS__)
#define DRIVER_LOG(level, ...) console_driver((level), __FILE_NAME__, __LINE__, __VA_ARGS__)

#endif
