/* Log lines and frames; see console.h. */
#include "console.h"

#include "semihosting.h"
#include "uart.h"

enum { LINE_SIZE = 768 };

static enum console_sink chosen = CONSOLE_NONE;
static bool hushed;
static bool spoiled;
static bool uart_ready;
static uint32_t lost;
static uint32_t frames;

void console_select(enum console_sink sink)
{
    chosen = sink == CONSOLE_SEMIHOSTING && !semihosting_available() ? CONSOLE_UART : sink;
    if (chosen == CONSOLE_UART && !uart_ready) {
        uart_start();
        uart_ready = true;
    }
}

void console_quiet(bool quiet)
{
    hushed = quiet;
}

uint32_t console_lost(void)
{
    return lost;
}

/* In pieces with a terminator of their own; bytes that are terminators themselves one by one. One call a piece: on an
 * emulator every call costs. */
static void to_semihosting(const uint8_t *bytes, uint32_t size)
{
    char piece[LINE_SIZE + 1];
    uint32_t used = 0;
    for (uint32_t i = 0; i < size; i++) {
        if (bytes[i] != 0) {
            piece[used++] = (char)bytes[i];
        }
        if (used > 0 && (bytes[i] == 0 || used == LINE_SIZE || i + 1u == size)) {
            piece[used] = '\0';
            semihosting_print(piece);
            used = 0;
        }
        if (bytes[i] == 0) {
            semihosting_print_byte(0);
        }
    }
}

void console_bytes(const void *data, uint32_t size)
{
    const uint8_t *bytes = data;
    if (chosen == CONSOLE_SEMIHOSTING) {
        to_semihosting(bytes, size);
        return;
    }
    for (uint32_t i = 0; chosen == CONSOLE_UART && i < size; i++) {
        if (!uart_put(bytes[i])) {
            /* A dead UART would cost its whole bound for every byte: give it up. */
            lost += size - i;
            chosen = CONSOLE_NONE;
        }
    }
}

static void send(char *line, uint32_t used)
{
    if (used >= LINE_SIZE - 1u) {
        used = LINE_SIZE - 2u;
    }
    line[used] = '\n';
    console_bytes(line, used + 1u);
}

void console_text(const char *format, ...)
{
    char line[LINE_SIZE];
    va_list args;
    va_start(args, format);
    uint32_t used = format_args(line, sizeof line - 1u, format, args);
    va_end(args);
    send(line, used);
}

void console_log(char level, const char *file, uint32_t line, const char *function, const char *format, ...)
{
    if (hushed && (level == 'I' || level == 'D')) {
        return;
    }
    char text[LINE_SIZE];
    uint32_t used =
        format_text(text, sizeof text - 1u, "%c [executorch:%s:%u %s()] ", level, file, (unsigned)line, function);
    va_list args;
    va_start(args, format);
    used += format_args(text + used, (uint32_t)sizeof text - 1u - used, format, args);
    va_end(args);
    send(text, used);
}

void console_driver(char level, const char *file, uint32_t line, const char *format, ...)
{
    char text[LINE_SIZE];
    uint32_t used = format_text(text, sizeof text - 1u, "%c: ", level);
    va_list args;
    va_start(args, format);
    used += format_args(text + used, (uint32_t)sizeof text - 1u - used, format, args);
    va_end(args);
    used += format_text(text + used, (uint32_t)sizeof text - 1u - used, " (%s:%u)", file, (unsigned)line);
    send(text, used);
}

void console_frame(const char *format, ...)
{
    static const char mark[] = "@corstone ";
    char text[LINE_SIZE];
    uint32_t start = format_text(text, sizeof text, "%s", mark);
    uint32_t room = (uint32_t)sizeof text - 16u; /* leaves space for the brace and the CRC */
    uint32_t used = start + format_text(text + start, room - start, "{\"n\":%u,", (unsigned)frames++);
    va_list args;
    va_start(args, format);
    used += format_args(text + used, room - used, format, args);
    va_end(args);
    text[used++] = '}';
    uint32_t crc = crc32(0, text + start, used - start) ^ (spoiled ? 1u : 0u);
    used += format_text(text + used, (uint32_t)sizeof text - used, " #%08x", (unsigned)crc);
    send(text, used);
}

void console_frame_spoil(bool spoil)
{
    spoiled = spoil;
}

void console_quote(char *out, uint32_t size, const char *text)
{
    uint32_t used = 0;
    for (; *text != '\0' && used + 3u < size; text++) {
        if (*text == '"' || *text == '\\') {
            out[used++] = '\\';
        }
        out[used++] = (uint8_t)*text < ' ' || (uint8_t)*text > 0x7E ? '?' : *text;
    }
    out[used] = '\0';
}
