/* Text, CRC and the pool: what a C library would give, freestanding and bounded. */
#include "base.h"

const char *status_name(int code)
{
    switch (code) {
    case STATUS_OK: return "ok";
    case STATUS_USAGE: return "usage";
    case STATUS_FILE: return "file";
    case STATUS_PROGRAM: return "bad-program";
    case STATUS_UNSUPPORTED: return "unsupported";
    case STATUS_INPUT: return "bad-input";
    case STATUS_POOL: return "allocator";
    case STATUS_CONFIG: return "config-mismatch";
    case STATUS_NPU_FAULT: return "npu-fault";
    case STATUS_NPU_TIMEOUT: return "npu-timeout";
    case STATUS_CANARY: return "canary";
    case STATUS_OUTPUT: return "output";
    case STATUS_LIMIT: return "limit";
    case STATUS_NO_NPU: return "no-npu";
    case STATUS_ALIGNMENT: return "alignment";
    case STATUS_CONSOLE: return "console";
    case STATUS_HARDFAULT: return "HardFault";
    case STATUS_MEMMANAGE: return "MemManage";
    case STATUS_BUSFAULT: return "BusFault";
    case STATUS_USAGEFAULT: return "UsageFault";
    case STATUS_SECUREFAULT: return "SecureFault";
    case STATUS_NMI: return "NMI";
    case STATUS_INTERRUPT: return "interrupt";
    case STATUS_ABORT: return "abort";
    default: return "unknown";
    }
}

int error_set(struct error *error, int code, const char *format, ...)
{
    if (error->code != STATUS_OK) {
        return error->code;
    }
    va_list args;
    va_start(args, format);
    error->code = code;
    (void)format_args(error->text, sizeof error->text, format, args);
    va_end(args);
    return code;
}

struct sink {
    char *out;
    uint32_t size;
    uint32_t used;
};

static void put(struct sink *sink, char c)
{
    if (sink->used + 1u < sink->size) {
        sink->out[sink->used++] = c;
    }
}

/* Divides in place by 10 without a 64-bit division, which would need a compiler library. */
static uint32_t divide_by_ten(uint64_t *value)
{
    uint32_t high = (uint32_t)(*value >> 32);
    uint32_t low = (uint32_t)*value;
    uint32_t rest = high % 10u;
    uint32_t upper = (rest << 16) | (low >> 16);
    uint32_t lower = ((upper % 10u) << 16) | (low & 0xFFFFu);
    *value = ((uint64_t)(high / 10u) << 32) | ((upper / 10u) << 16) | (lower / 10u);
    return lower % 10u;
}

static uint32_t digits_of(char *digits, uint64_t value, bool hex)
{
    uint32_t count = 0;
    do {
        if (hex) {
            digits[count++] = "0123456789abcdef"[value & 15u];
            value >>= 4;
        } else {
            digits[count++] = (char)('0' + divide_by_ten(&value));
        }
    } while (value != 0);
    return count;
}

static void put_padded(struct sink *sink, const char *text, uint32_t length, uint32_t width, bool left, char pad)
{
    uint32_t fill = width > length ? width - length : 0;
    for (uint32_t i = 0; !left && i < fill; i++) {
        put(sink, pad);
    }
    for (uint32_t i = 0; i < length; i++) {
        put(sink, text[i]);
    }
    for (uint32_t i = 0; left && i < fill; i++) {
        put(sink, ' ');
    }
}

static void put_number(struct sink *sink, uint64_t value, bool negative, bool hex, uint32_t width, bool left, char pad)
{
    char reversed[24];
    char text[24];
    uint32_t count = digits_of(reversed, value, hex);
    uint32_t length = 0;
    if (negative) {
        text[length++] = '-';
    }
    while (count > 0) {
        text[length++] = reversed[--count];
    }
    put_padded(sink, text, length, width, left, negative ? ' ' : pad);
}

uint32_t format_args(char *out, uint32_t size, const char *format, va_list args)
{
    struct sink sink = {out, size, 0};
    for (const char *p = format; *p != '\0'; p++) {
        if (*p != '%') {
            put(&sink, *p);
            continue;
        }
        p++;
        bool left = false;
        char pad = ' ';
        uint32_t width = 0;
        uint32_t longs = 0;
        if (*p == '-') {
            left = true;
            p++;
        }
        if (*p == '0') {
            pad = '0';
            p++;
        }
        while (*p >= '0' && *p <= '9') {
            width = width * 10u + (uint32_t)(*p++ - '0');
        }
        while (*p == 'l' || *p == 'z') {
            longs += *p == 'z' ? (sizeof(size_t) > 4 ? 2u : 1u) : 1u;
            p++;
        }
        bool wide = longs > 1 || (longs == 1 && sizeof(long) > 4);
        switch (*p) {
        case 'd': {
            int64_t value = wide ? (int64_t)va_arg(args, long long) : (int64_t)va_arg(args, int);
            uint64_t magnitude = value < 0 ? 0u - (uint64_t)value : (uint64_t)value;
            put_number(&sink, magnitude, value < 0, false, width, left, pad);
            break;
        }
        case 'u':
        case 'x': {
            uint64_t value = wide ? (uint64_t)va_arg(args, unsigned long long) : (uint64_t)va_arg(args, unsigned int);
            put_number(&sink, value, false, *p == 'x', width, left, pad);
            break;
        }
        case 'p': {
            uintptr_t value = (uintptr_t)va_arg(args, void *);
            put_padded(&sink, "0x", 2, 0, false, ' ');
            put_number(&sink, value, false, true, 0, false, ' ');
            break;
        }
        case 's': {
            const char *text = va_arg(args, const char *);
            text = text != NULL ? text : "(null)";
            put_padded(&sink, text, text_length(text), width, left, ' ');
            break;
        }
        case 'c': {
            char c = (char)va_arg(args, int);
            put_padded(&sink, &c, 1, width, left, ' ');
            break;
        }
        case '\0': p--; break;
        default: put(&sink, *p); break;
        }
    }
    if (size > 0) {
        out[sink.used] = '\0';
    }
    return sink.used;
}

uint32_t format_text(char *out, uint32_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    uint32_t length = format_args(out, size, format, args);
    va_end(args);
    return length;
}

uint32_t crc32(uint32_t crc, const void *data, uint32_t size)
{
    /* Two nibbles a byte: sixteen words of table, no start-up cost. Polynomial 0xEDB88320, reflected. */
    static const uint32_t table[16] = {
        0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u, 0x5005713Cu,
        0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu, 0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu,
    };
    const uint8_t *bytes = data;
    crc = ~crc;
    for (uint32_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        crc = (crc >> 4) ^ table[crc & 15u];
        crc = (crc >> 4) ^ table[crc & 15u];
    }
    return ~crc;
}

void *copy_bytes(void *to, const void *from, size_t size)
{
    return size == 0 ? to : __builtin_memmove(to, from, size);
}

void fill_bytes(void *to, uint8_t value, size_t size)
{
    if (size > 0) {
        __builtin_memset(to, value, size);
    }
}

bool text_equal(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

uint32_t text_length(const char *text)
{
    uint32_t length = 0;
    while (text[length] != '\0') {
        length++;
    }
    return length;
}
