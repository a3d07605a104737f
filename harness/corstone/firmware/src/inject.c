/* Ways to go wrong on purpose; see inject.h. */
#include "inject.h"

#include "console.h"
#include "cortexm.h"
#include "faults.h"
#include "semihosting.h"

struct named {
    const char *name;
    enum injection injection;
    const char *meaning;
};

static const struct named table[] = {
    {"udf", INJECT_UDF, "UsageFault UNDEFINSTR"},
    {"unaligned", INJECT_UNALIGNED, "UsageFault UNALIGNED"},
    {"bus-fault", INJECT_BUS_FAULT, "BusFault PRECISERR, a read where nothing is"},
    {"null-call", INJECT_NULL_CALL, "a call through a null pointer: UsageFault INVSTATE"},
    {"mem-manage", INJECT_MEM_MANAGE, "MemManage IACCVIOL, a jump to a peripheral"},
    {"secure-fault", INJECT_SECURE_FAULT, "SecureFault, pended by software"},
    {"nmi", INJECT_NMI, "NMI, pended by software"},
    {"div-zero", INJECT_DIV_ZERO, "UsageFault DIVBYZERO"},
    {"nocp", INJECT_NO_COPROCESSOR, "an FP instruction with the FPU off: UsageFault NOCP"},
    {"stack-overflow", INJECT_STACK_OVERFLOW, "UsageFault STKOF, endless recursion"},
    {"hard-fault", INJECT_HARD_FAULT, "a fault with its handler disabled: HardFault FORCED"},
    {"lockup", INJECT_LOCKUP, "a fault in HardFault: the CPU stops"},
    {"interrupt", INJECT_INTERRUPT, "interrupt 90, which nobody asked for"},
    {"svc", INJECT_SVC, "SVC, which has no handler"},
    {"jump-arm", INJECT_JUMP_ARM, "a branch to an even address: UsageFault INVSTATE"},
    {"loop", INJECT_LOOP, "loops without a word"},
    {"loop-log", INJECT_LOOP_LOG, "loops and logs a line now and then"},
    {"flood", INJECT_FLOOD, "prints without end and without a line end"},
    {"slow", INJECT_SLOW, "takes long, with a progress line now and then, and ends well"},
    {"exit-0", INJECT_EXIT_0, "exits with 0 before it is done"},
    {"exit-1", INJECT_EXIT_1, "exits with 1 and no reason"},
    {"exit-42", INJECT_EXIT_42, "exits with 42 and no reason"},
    {"sys-exit", INJECT_SYS_EXIT, "SYS_EXIT with the reason run-time error"},
    {"abort", INJECT_ABORT, "an assertion fails"},
    {"eot", INJECT_EOT, "sends EOT and idles"},
    {"idle", INJECT_IDLE, "sleeps for ever"},
    {"error-line", INJECT_ERROR_LINE, "a harmless line of severity E"},
    {"tag-line", INJECT_TAG_LINE, "lines that begin with EXITTHESIM and Ethos-U"},
    {"garbage", INJECT_GARBAGE, "256 bytes of noise"},
    {"half-line", INJECT_HALF_LINE, "half a line and then the exit"},
    {"long-line", INJECT_LONG_LINE, "one line of 64 KiB"},
    {"nul-bytes", INJECT_NUL_BYTES, "NUL bytes between lines"},
    {"ansi", INJECT_ANSI, "terminal escape sequences"},
    {"fake-end", INJECT_FAKE_END, "a frame of success with a wrong CRC, then silence"},
    {"fake-hard-fault", INJECT_FAKE_HARD_FAULT, "prints the words Hard fault, and goes on"},
    {"no-console", INJECT_NO_CONSOLE, "prints nothing at all"},
    {"no-frames", INJECT_NO_FRAMES, "announces no outputs"},
    {"wrong-crc", INJECT_WRONG_CRC, "announces outputs with another CRC"},
    {"frame-spoiled", INJECT_FRAME_SPOILED, "announces outputs in frames whose own CRC is wrong"},
    {"frame-twice", INJECT_FRAME_TWICE, "announces each output twice"},
    {"wrong-count", INJECT_WRONG_COUNT, "says one output more than there are"},
    {"wrong-dtype", INJECT_WRONG_DTYPE, "announces another dtype"},
    {"wrong-shape", INJECT_WRONG_SHAPE, "announces another shape"},
    {"wrong-name", INJECT_WRONG_NAME, "announces another file name"},
    {"no-output", INJECT_NO_OUTPUT, "writes no output and says nothing of it"},
    {"missing-output", INJECT_MISSING_OUTPUT, "leaves the last output out"},
    {"short-output", INJECT_SHORT_OUTPUT, "writes one byte less"},
    {"long-output", INJECT_LONG_OUTPUT, "writes four bytes more"},
    {"empty-output", INJECT_EMPTY_OUTPUT, "writes empty files"},
    {"extra-output", INJECT_EXTRA_OUTPUT, "writes one file more"},
    {"zero-output", INJECT_ZERO_OUTPUT, "outputs are all zero"},
    {"canary-output", INJECT_CANARY_OUTPUT, "outputs hold the canary and the status says ok"},
    {"flip-bit", INJECT_FLIP_BIT, "one bit of the first output is wrong"},
    {"swap-outputs", INJECT_SWAP_OUTPUTS, "the first output's bytes are in reverse order"},
    {"skip-execute", INJECT_SKIP_EXECUTE, "the program is loaded and not run"},
    {"poison", INJECT_POISON, "the run is good, and leaves all memory full of ones behind"},
    {"npu-no-start", INJECT_NPU_NO_START, "the NPU is never started: timeout"},
    {"npu-no-irq", INJECT_NPU_NO_IRQ, "the NPU's interrupt is off: timeout"},
    {"npu-bad-stream", INJECT_NPU_BAD_STREAM, "the command stream starts with ones: parse error"},
    {"npu-bad-base", INJECT_NPU_BAD_BASE, "scratch where nothing is: bus error"},
    {"npu-elsewhere", INJECT_NPU_ELSEWHERE, "scratch 16 MiB further on: the NPU writes to other memory"},
    {"npu-unaligned", INJECT_NPU_UNALIGNED, "a command stream off by four bytes"},
    {"npu-config", INJECT_NPU_CONFIG, "a command stream for other MACs"},
    {"npu-short-stream", INJECT_NPU_SHORT_STREAM, "a command stream that ends before its STOP"},
    {"small-pool", INJECT_SMALL_POOL, "a pool of 256 bytes"},
    {"truncate-program", INJECT_TRUNCATE_PROGRAM, "half of the program"},
    {"bad-identifier", INJECT_BAD_IDENTIFIER, "a program that is none"},
    {"corrupt-program", INJECT_CORRUPT_PROGRAM, "a program with its root overwritten"},
    {"never-exit", INJECT_NEVER_EXIT, "does everything right and does not stop"},
    {"no-verdict", INJECT_NO_VERDICT, "ends with status 0 and without a last frame"},
};

static const char *const stages[] = {"boot", "load", "input", "execute", "output", "end"};

static enum injection selected;
static enum stage wanted;

bool inject_select(const char *text)
{
    char name[32];
    uint32_t length = 0;
    selected = INJECT_NONE;
    if (text == NULL) {
        return true;
    }
    while (text[length] != '\0' && text[length] != '@' && length + 1u < sizeof name) {
        name[length] = text[length];
        length++;
    }
    name[length] = '\0';
    wanted = STAGE_EXECUTE;
    if (text[length] == '@') {
        bool known = false;
        for (uint32_t i = 0; i < ARRAY_SIZE(stages); i++) {
            if (text_equal(text + length + 1, stages[i])) {
                wanted = (enum stage)i;
                known = true;
            }
        }
        if (!known) {
            return false;
        }
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(table); i++) {
        if (text_equal(name, table[i].name)) {
            selected = table[i].injection;
            return true;
        }
    }
    return false;
}

void inject_list(void)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(table); i++) {
        console_text("   %-18s %s", table[i].name, table[i].meaning);
    }
}

bool inject_is(enum injection injection)
{
    return selected == injection;
}

/* Frames that really grow: the result is used after the call. */
__attribute__((noinline)) static uint32_t recurse(uint32_t levels)
{
    volatile uint32_t block[16];
    block[levels & 15u] = levels;
    __asm volatile("" ::: "memory");
    return levels == 0 ? 0 : recurse(levels - 1u) + block[levels & 15u];
}

static void cpu(enum injection injection)
{
    switch (injection) {
    case INJECT_UDF: __asm volatile("udf #0"); break;
    case INJECT_UNALIGNED: __asm volatile("ldrd r2, r3, [%0]" ::"r"(0x30000001u) : "r2", "r3", "memory"); break;
    case INJECT_BUS_FAULT: (void)reg_read(0x1E000000u); break;
    case INJECT_NULL_CALL: __asm volatile("blx %0" ::"r"(0u) : "lr", "memory"); break;
    case INJECT_MEM_MANAGE: __asm volatile("bx %0" ::"r"(0x40000001u)); break;
    case INJECT_SECURE_FAULT: reg_write(SCB_SHCSR, reg_read(SCB_SHCSR) | SHCSR_SECUREFAULTPENDED); break;
    case INJECT_NMI: reg_write(SCB_ICSR, ICSR_NMIPENDSET); break;
    case INJECT_DIV_ZERO: __asm volatile("udiv r2, %0, %1" ::"r"(1u), "r"(0u) : "r2"); break;
    case INJECT_NO_COPROCESSOR:
        reg_write(SCB_CPACR, 0);
        barrier();
        __asm volatile("vmov s0, %0" ::"r"(0u));
        break;
    case INJECT_STACK_OVERFLOW: console_text("%u", (unsigned)recurse(1000000)); break;
    case INJECT_HARD_FAULT:
        reg_write(SCB_SHCSR, reg_read(SCB_SHCSR) & ~SHCSR_USGFAULTENA);
        barrier();
        __asm volatile("udf #1");
        break;
    case INJECT_LOCKUP:
        reg_write(SCB_VTOR, 0x1E000000u);
        barrier();
        __asm volatile("udf #2");
        break;
    case INJECT_INTERRUPT:
        reg_write(NVIC_ISER0 + 8u, 1u << (90 - 64));
        reg_write(NVIC_STIR, 90);
        break;
    case INJECT_SVC: __asm volatile("svc #7"); break;
    case INJECT_JUMP_ARM: __asm volatile("bx %0" ::"r"(0x30000100u)); break;
    default: break;
    }
    barrier();
}

static void idle(void)
{
    for (;;) {
        __asm volatile("wfi");
    }
}

/* Time that passes whatever the clock: an empty loop. */
static void waste(uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; i++) {
        __asm volatile("" ::: "memory");
    }
}

static void flow(enum injection injection)
{
    switch (injection) {
    case INJECT_LOOP:
        for (;;) {
            __asm volatile("" ::: "memory");
        }
    case INJECT_LOOP_LOG:
        for (uint32_t i = 0;; i++) {
            LOG('I', "still working, step %u", (unsigned)i);
            waste(20000000);
        }
    case INJECT_FLOOD:
        for (;;) {
            console_bytes("0123456789abcdef", 16);
        }
    case INJECT_SLOW:
        for (uint32_t i = 0; i < 10; i++) {
            LOG('I', "step %u of 10", (unsigned)i);
            waste(100000000);
        }
        break;
    case INJECT_EXIT_0: semihosting_exit(0); break;
    case INJECT_EXIT_1: semihosting_exit(1); break;
    case INJECT_EXIT_42: semihosting_exit(42); break;
    case INJECT_SYS_EXIT: semihosting_exit_reason(0x20023u); break;
    case INJECT_ABORT: stop_abort(__FILE_NAME__, __LINE__, "injected"); break;
    case INJECT_EOT:
        console_bytes("\x04", 1);
        idle();
        break;
    case INJECT_IDLE: idle(); break;
    default: break;
    }
}

static void console(enum injection injection)
{
    uint8_t noise[256];
    switch (injection) {
    case INJECT_ERROR_LINE: LOG('E', "this getter is deprecated"); break;
    case INJECT_TAG_LINE: console_text("EXITTHESIM is a word\nEthos-U is a word, too"); break;
    case INJECT_GARBAGE:
        for (uint32_t i = 0; i < sizeof noise; i++) {
            noise[i] = (uint8_t)(i * 167u + 129u);
        }
        console_bytes(noise, sizeof noise);
        break;
    case INJECT_HALF_LINE:
        console_bytes("@corstone {\"n\":99,\"e\":\"en", 26);
        semihosting_exit(0);
        break;
    case INJECT_LONG_LINE:
        for (uint32_t i = 0; i < 4096; i++) {
            console_bytes("0123456789abcdef", 16);
        }
        console_bytes("\n", 1);
        break;
    case INJECT_NUL_BYTES: console_bytes("\0\0\0\0\n\0\n", 7); break;
    case INJECT_ANSI: console_bytes("\x1b[2J\x1b[31mred\x1b]0;title\x07\x1b[0m\r\n", 26); break;
    case INJECT_FAKE_END:
        console_frame_spoil(true);
        console_frame("\"e\":\"exit\",\"code\":0,\"status\":\"ok\",\"runs\":1,\"ok\":1,\"lost\":0");
        idle();
        break;
    case INJECT_FAKE_HARD_FAULT: console_text("Hard fault. pc=0x00000000 (a sentence of a model)"); break;
    default: break;
    }
}

void inject_at(enum stage stage)
{
    if (selected == INJECT_NONE || stage != wanted) {
        return;
    }
    if (selected >= INJECT_UDF && selected <= INJECT_JUMP_ARM) {
        cpu(selected);
    } else if (selected >= INJECT_LOOP && selected <= INJECT_IDLE) {
        flow(selected);
    } else if (selected >= INJECT_ERROR_LINE && selected <= INJECT_FAKE_HARD_FAULT) {
        console(selected);
    }
}
