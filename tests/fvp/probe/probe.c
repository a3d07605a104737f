/* A probe of the emulator: one image, a scenario number in the first word of the DDR. Built by conftest.py with
 * UART, NPU, IRQ and VECTORS for each board. No initialised data, so nothing is copied at start. */
#include <stdint.h>

typedef volatile uint32_t reg;
#define REG(a) (*(reg *)(uintptr_t)(a))
#define SCENARIO REG(0x60000000u)
#define STREAM 0x60001000u

extern void Reset(void);
static void put(char c)
{
    while (REG(UART + 4) & 1) { }
    REG(UART) = (uint8_t)c;
}
static void text(const char *s) { while (*s) put(*s++); }
static void hex(uint32_t v)
{
    for (int i = 28; i >= 0; i -= 4) put("0123456789abcdef"[v >> i & 15]);
}
static void line(const char *name, uint32_t v) { text(name); put('='); hex(v); put('\n'); }
static void eot(void) { put(4); for (;;) __asm__ volatile("wfi"); }

static int semihost(int op, const void *block)
{
    register int r0 __asm__("r0") = op;
    register const void *r1 __asm__("r1") = block;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory", "lr");
    return r0;
}

__attribute__((naked)) void Loop(void) { __asm__ volatile("b ."); }
void UsageFault(void) { text("usage fault handler spoke\n"); eot(); }
static volatile uint32_t interrupts;
void NpuInterrupt(void)
{
    REG(NPU + 8) = 2;
    interrupts++;
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16 + 64] = {
    (void *)0x30008000, Reset, Loop, Loop, Loop, Loop, UsageFault, Loop, Loop, Loop, Loop, Loop, Loop, Loop, Loop, Loop,
    [16 ... 16 + IRQ - 1] = Loop, [16 + IRQ] = NpuInterrupt, [16 + IRQ + 1 ... 79] = Loop,
};

static void run_npu(uint32_t address, uint32_t size)
{
    REG(0xE000E100 + 4 * (IRQ / 32)) = 1u << (IRQ % 32);
    REG(NPU + 0x0C) = 1;
    while (REG(NPU + 4) & 8) { }
    line("prot", REG(NPU + 0x24));
    REG(NPU + 0x10) = address;
    REG(NPU + 0x20) = size;
    REG(NPU + 0x08) = 1;
    for (int i = 0; i < 1000000 && !interrupts; i++) __asm__ volatile("nop");
    line("interrupts", interrupts);
    line("status", REG(NPU + 4));
    line("qread", REG(NPU + 0x18));
}

/* Every way a compiler loads and stores, on registers that keep their value: BASEP0 and BASEP1. */
static void forms(void)
{
    uint32_t a, b, c, d, p;
    const uint32_t base = NPU + 0x80;
    REG(base) = 0x89abcdef;
    REG(base + 8) = 0x01234567;
#define LOAD(name, code) a = b = 0; p = base; \
    __asm__ volatile(code : "+&r"(a), "+&r"(b), "+&r"(p) : "r"(base), "r"(8) : "memory", "cc"); \
    line(name, a + p - base)
    LOAD("ldr", "ldr %0, [%3]");
    LOAD("ldrb", "ldrb %0, [%3, #1]");
    LOAD("ldrh", "ldrh %0, [%3, #2]");
    LOAD("ldrsb", "ldrsb %0, [%3, #3]");
    LOAD("ldrsh", "ldrsh %0, [%3, #0]");
    LOAD("ldr_register", "ldr %0, [%3, %4]");
    LOAD("ldr_shift", "mov %1, #4\n ldr.w %0, [%3, %1, lsl #1]");
    LOAD("ldr_negative", "add %1, %3, #16\n ldr %0, [%1, #-8]");
    LOAD("ldr_post", "ldr %0, [%2], #8");
    LOAD("ldr_pre", "ldr %0, [%2, #8]!");
    LOAD("lda", "lda %0, [%3]");
    LOAD("ldrd", "ldrd %0, %1, [%3, #8]");
    LOAD("ldrt", "ldrt %0, [%3, #8]");
    LOAD("it_taken", "cmp %3, %3\n ite eq\n ldreq %0, [%3]\n addne %0, #1\n add %0, #1");
    LOAD("it_three", "cmp %3, %3\n itet eq\n ldreq %0, [%3]\n movne %0, #7\n addeq %0, #2\n add %0, #1");
    __asm__ volatile("mov r4, %2\n ldmia r4!, {r5, r6}\n mov %0, r5\n sub %1, r4, %2"
                     : "=&r"(c), "=&r"(d) : "r"(base) : "r4", "r5", "r6", "memory");
    line("ldm", c + d);
    __asm__ volatile("mov r4, %0\n mov r5, #17\n mov r6, #0\n stmia r4!, {r5, r6}" :: "r"(base) : "r4", "r5", "r6", "memory");
    line("stm", REG(base));
    __asm__ volatile("mov r5, #33\n mov r6, #0\n strd r5, r6, [%0]" :: "r"(base) : "r5", "r6", "memory");
    line("strd", REG(base));
    REG(base) = 0x11223344;
    *(volatile uint8_t *)(base + 1) = 0xaa;
    *(volatile uint16_t *)(base + 2) = 0xbbcc;
    line("strb_strh", REG(base));
    __asm__ volatile("mov r5, #6\n mov r4, %0\n str r5, [r4], #4\n sub %0, r4, %0" : "+r"(p) : : "r4", "r5", "memory");
    line("str_post", p + REG(base));
}

static void files(void)
{
    char out[200];
    static const char name[] = "made.bin", read_name[] = "given.txt", console[] = ":tt";
    uint32_t line_block[2] = { (uint32_t)out, sizeof out };
    if (semihost(0x15, line_block) == 0) { text("args="); text(out); put('\n'); }
    uint32_t open_write[3] = { (uint32_t)name, 5, 8 };
    uint32_t handle = (uint32_t)semihost(1, open_write);
    uint32_t write[3] = { handle, (uint32_t)"payload", 7 };
    line("not-written", (uint32_t)semihost(5, write));
    semihost(2, &handle);
    uint32_t open_read[3] = { (uint32_t)read_name, 1, 9 };
    handle = (uint32_t)semihost(1, open_read);
    for (unsigned i = 0; i < sizeof out; i++) out[i] = 0;
    uint32_t read[3] = { handle, (uint32_t)out, 100 };
    line("not-read", (uint32_t)semihost(6, read));
    text(out);
    uint32_t open_console[3] = { (uint32_t)console, 4, 3 };
    handle = (uint32_t)semihost(1, open_console);
    uint32_t say[3] = { handle, (uint32_t)"said to tt\n", 11 };
    semihost(5, say);
    semihost(4, "said by write0\n");
    uint32_t done[2] = { 0x20026, 0 };
    semihost(0x20, done);
}

static uint32_t length(const char *s) { uint32_t n = 0; while (s[n]) n++; return n; }

/* Change files by paths that are not the guest's: create, append to, remove, move in and out. ABSOLUTE comes as data. */
static void escape(void)
{
    const char *absolute = (const char *)0x60000100u;
    const char *paths[] = { "../made", absolute, "../../made", "sub/../../made", "link/made", "victim-link" };
    for (uint32_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        uint32_t open_write[3] = { (uint32_t)paths[i], 5, length(paths[i]) };
        line("open", (uint32_t)semihost(1, open_write));
        uint32_t open_append[3] = { (uint32_t)paths[i], 9, length(paths[i]) };
        line("append", (uint32_t)semihost(1, open_append));
    }
    uint32_t remove[2] = { (uint32_t)"../victim", 9 };
    line("remove", (uint32_t)semihost(0x0e, remove));
    uint32_t out[4] = { (uint32_t)"own", 3, (uint32_t)"../moved", 8 };
    line("rename", (uint32_t)semihost(0x0f, out));
    uint32_t in[4] = { (uint32_t)"../victim", 9, (uint32_t)"taken", 5 };
    line("rename", (uint32_t)semihost(0x0f, in));
    uint32_t inside[3] = { (uint32_t)"sub/made", 5, 8 };
    uint32_t handle = (uint32_t)semihost(1, inside);
    uint32_t write[3] = { handle, (uint32_t)"payload", 7 };
    line("not-written", (uint32_t)semihost(5, write));
    uint32_t done[2] = { 0x20026, 0 };
    semihost(0x20, done);
}

static void spend(uint32_t rounds) { for (uint32_t i = 0; i < rounds; i++) __asm__ volatile("nop"); }

void Reset(void)
{
    REG(0xE000ED88) |= 0xF00000;
    __asm__ volatile("dsb\n isb" ::: "memory");
    REG(UART + 0x10) = 16;
    REG(UART + 0x08) = 3;
    interrupts = 0;
    switch (SCENARIO) {
    case 0: text("hello\n"); eot();
    case 1: text("done\nEXITTHESIM\nnever seen"); for (;;) { }
    case 2: { uint32_t block[2] = { 0x20026, 7 }; semihost(0x20, block); } for (;;) { }
    case 3: semihost(0x18, (void *)0x20026); for (;;) { }
    case 4: semihost(0x18, (void *)0x20023); for (;;) { }
    case 5: text("looping\n"); for (;;) { }
    case 6: text("about to fault\n"); (void)REG(0x11f00000); for (;;) { }
    case 7: REG(0xE000ED24) |= 1 << 18; __asm__ volatile("udf #0"); for (;;) { }
    case 8: text("about to lock up\n"); __asm__ volatile("cpsid f\n udf #0"); for (;;) { }
    case 9: forms(); eot();
    case 10: files(); for (;;) { }
    case 12: REG(STREAM) = 0xffff0000; run_npu(STREAM, 4); eot();
    case 13: REG(STREAM) = 0x00003fff; run_npu(STREAM, 4); eot();
    case 14: run_npu(0x10000000, 64); eot();
    case 15: __asm__ volatile("vldr s0, [%0]" :: "r"(NPU + 0x28) : "s0"); eot();
    case 16:
        for (;;) {
            while (!(REG(UART + 4) & 2)) { }
            char c = (char)REG(UART);
            put(c);
            if (c == '\n') eot();
        }
    case 17: for (uint32_t i = 0; i < 3000; i++) { hex(i); put('\n'); } eot();
    case 18: REG(0xE000E100) = 1 << 5; REG(0xE000E200) = 1 << 5; for (;;) { }
    case 19: { uint32_t block[2] = { (uint32_t)"touch harmed", 12 }; line("system", (uint32_t)semihost(0x12, block)); } eot();
    case 20: ((void (*)(void))0x10)(); for (;;) { }
    case 21: line("config", REG(NPU + 0x28)); line("id", REG(NPU)); line("pid0", REG(NPU + 0xFE0)); eot();
    case 22: text("sleeping\n"); for (;;) __asm__ volatile("wfi");
    case 23: spend(200000000); text("slow\n"); eot();
    case 24: REG(0x60002000) = 0x600d; REG(0x31000000) = 0xf00d; text("wrote\n"); eot();
    case 25: text("half a line"); for (;;) { }
    case 26: line("unimplemented", REG(NPU + 0x700)); line("beyond", REG(NPU + 0xE00)); eot();
    case 27: { uint32_t v; __asm__ volatile("ldrex %0, [%1]" : "=r"(v) : "r"(NPU + 0x28)); line("ldrex", v); } eot();
    case 28: escape(); for (;;) { }
    default: text("no such scenario\n"); eot();
    }
}
