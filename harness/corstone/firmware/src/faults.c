/* Fault handling and the end of a boot; see faults.h. Registers: Armv8-M ARM (DDI0553), CFSR, HFSR, SFSR. */
#include "faults.h"

#include "board.h"
#include "console.h"
#include "cortexm.h"
#include "semihosting.h"

extern uint8_t __ram_start[];
extern uint8_t __ram_end[];

/* r4 to r11 as the handler found them. */
uint32_t fault_registers[8];

static uint32_t depth;
static uint32_t runs_started;
static uint32_t runs_ok;
static bool with_eot;

struct frame {
    uint32_t r0, r1, r2, r3, r12, lr, pc, xpsr;
};

bool fault_dispatch(struct frame *frame, uint32_t exc_return, uint32_t exception);

/* Switches to a stack of its own, since the thread's may be what broke. Comes back only to step over a BKPT. */
__attribute__((naked)) void fault_entry(void)
{
    __asm volatile("mov r0, sp\n\t"
                   "mov r1, lr\n\t"
                   "mrs r2, ipsr\n\t"
                   "ldr r3, =fault_registers\n\t"
                   "stm r3, {r4-r11}\n\t"
                   "mov r4, r0\n\t"
                   "mov r5, r1\n\t"
                   "mrs r6, msplim\n\t"
                   "movs r3, #0\n\t"
                   "msr msplim, r3\n\t"
                   "ldr r3, =__fault_stack_top\n\t"
                   "mov sp, r3\n\t"
                   "ldr r3, =0xE000ED88\n\t" /* CPACR: whoever turned the vector unit off, the report may need it */
                   "ldr r7, [r3]\n\t"
                   "orr r7, r7, #0xF00000\n\t"
                   "str r7, [r3]\n\t"
                   "dsb\n\t"
                   "isb\n\t"
                   "bl fault_dispatch\n\t"
                   "mov sp, r4\n\t"
                   "msr msplim, r6\n\t"
                   "mov lr, r5\n\t"
                   "ldr r3, =fault_registers\n\t"
                   "ldm r3, {r4-r11}\n\t"
                   "bx lr\n\t"
                   ".ltorg");
}

struct flag {
    uint8_t bit;
    const char *name;
};

static const struct flag cfsr_flags[] = {
    {0, "IACCVIOL"},    {1, "DACCVIOL"},   {3, "MUNSTKERR"}, {4, "MSTKERR"}, {5, "MLSPERR"},    {7, "MMARVALID"},
    {8, "IBUSERR"},     {9, "PRECISERR"},  {10, "IMPRECISERR"}, {11, "UNSTKERR"}, {12, "STKERR"}, {13, "LSPERR"},
    {15, "BFARVALID"},  {16, "UNDEFINSTR"}, {17, "INVSTATE"}, {18, "INVPC"},  {19, "NOCP"},      {20, "STKOF"},
    {24, "UNALIGNED"},  {25, "DIVBYZERO"},
};
static const struct flag hfsr_flags[] = {{1, "VECTTBL"}, {30, "FORCED"}, {31, "DEBUGEVT"}};
static const struct flag sfsr_flags[] = {{0, "INVEP"},   {1, "INVIS"},   {2, "INVER"},     {3, "AUVIOL"},
                                         {4, "INVTRAN"}, {5, "LSPERR"},  {6, "SFARVALID"}, {7, "LSERR"}};

static uint32_t name_flags(char *out, uint32_t size, uint32_t used, uint32_t value, const struct flag *flags, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if ((value >> flags[i].bit & 1u) != 0) {
            used += format_text(out + used, size - used, used == 0 ? "%s" : " %s", flags[i].name);
        }
    }
    return used;
}

static int code_of(uint32_t exception)
{
    switch (exception) {
    case 2: return STATUS_NMI;
    case 3: return STATUS_HARDFAULT;
    case 4: return STATUS_MEMMANAGE;
    case 5: return STATUS_BUSFAULT;
    case 6: return STATUS_USAGEFAULT;
    case 7: return STATUS_SECUREFAULT;
    default: return STATUS_INTERRUPT;
    }
}

static void name_exception(char *out, uint32_t size, uint32_t exception)
{
    if (exception >= 2 && exception <= 7) {
        (void)format_text(out, size, "%s", status_name(code_of(exception)));
    } else if (exception >= 16) {
        (void)format_text(out, size, "unexpected interrupt %u", (unsigned)(exception - 16u));
    } else {
        (void)format_text(out, size, "unexpected exception %u", (unsigned)exception);
    }
}

static bool readable(const struct frame *frame)
{
    uintptr_t at = (uintptr_t)frame;
    return (at & 3u) == 0 && at >= (uintptr_t)__ram_start && at + sizeof *frame <= (uintptr_t)__ram_end;
}

static void report(const struct frame *frame, uint32_t exc_return, uint32_t exception)
{
    uint32_t cfsr = reg_read(SCB_CFSR);
    uint32_t hfsr = reg_read(SCB_HFSR);
    uint32_t sfsr = reg_read(SAU_SFSR);
    uint32_t mmfar = reg_read(SCB_MMFAR);
    uint32_t bfar = reg_read(SCB_BFAR);
    uint32_t sfar = reg_read(SAU_SFAR);
    /* After a stack overflow or a failed stacking the frame holds whatever was there before. */
    bool stacked = readable(frame) && (cfsr & (1u << 20 | 1u << 12 | 1u << 4)) == 0;
    static const struct frame nothing;
    const struct frame *at = readable(frame) ? frame : &nothing;
    char name[32];
    char flags[96];
    name_exception(name, sizeof name, exception);
    uint32_t used = name_flags(flags, sizeof flags, 0, cfsr, cfsr_flags, ARRAY_SIZE(cfsr_flags));
    used = name_flags(flags, sizeof flags, used, hfsr, hfsr_flags, ARRAY_SIZE(hfsr_flags));
    (void)name_flags(flags, sizeof flags, used, sfsr, sfsr_flags, ARRAY_SIZE(sfsr_flags));
    flags[sizeof flags - 1u] = '\0';

    console_quiet(false);
    console_bytes("\n", 1); /* whatever was being printed ends here */
    if (stacked) {
        LOG('F', "%s at pc=0x%08x lr=0x%08x (%s)", name, (unsigned)at->pc, (unsigned)at->lr, flags);
    } else {
        LOG('F', "%s (%s): the stack is not readable, so where it happened is unknown", name, flags);
    }
    if (exception == 3) {
        /* The shape of ethos-u-core-platform's handler, which ExecuTorch's tests look for. */
        console_text("Hard fault. pc=0x%08x, lr=0x%08x, cfsr=0x%08x, bfar=0x%08x, mmfar=0x%08x", (unsigned)at->pc,
                     (unsigned)at->lr, (unsigned)cfsr, (unsigned)bfar, (unsigned)mmfar);
    }
    LOG('F', "cfsr=0x%08x hfsr=0x%08x sfsr=0x%08x mmfar=0x%08x bfar=0x%08x sfar=0x%08x exc_return=0x%08x sp=%p", (unsigned)cfsr,
        (unsigned)hfsr, (unsigned)sfsr, (unsigned)mmfar, (unsigned)bfar, (unsigned)sfar, (unsigned)exc_return,
        (const void *)frame);
    LOG('F', "r0=0x%08x r1=0x%08x r2=0x%08x r3=0x%08x r4=0x%08x r5=0x%08x r6=0x%08x r7=0x%08x", (unsigned)at->r0,
        (unsigned)at->r1, (unsigned)at->r2, (unsigned)at->r3, (unsigned)fault_registers[0], (unsigned)fault_registers[1],
        (unsigned)fault_registers[2], (unsigned)fault_registers[3]);
    LOG('F', "r8=0x%08x r9=0x%08x r10=0x%08x r11=0x%08x r12=0x%08x xpsr=0x%08x", (unsigned)fault_registers[4],
        (unsigned)fault_registers[5], (unsigned)fault_registers[6], (unsigned)fault_registers[7], (unsigned)at->r12,
        (unsigned)at->xpsr);
    console_frame("\"e\":\"fault\",\"fault\":\"%s\",\"flags\":\"%s\",\"pc\":%u,\"lr\":%u,\"sp\":%u,\"xpsr\":%u,\"cfsr\":%u,"
                  "\"hfsr\":%u,\"sfsr\":%u,\"mmfar\":%u,\"bfar\":%u,\"sfar\":%u,\"stacked\":%s",
                  name, flags, (unsigned)at->pc, (unsigned)at->lr, (unsigned)(uintptr_t)frame, (unsigned)at->xpsr,
                  (unsigned)cfsr, (unsigned)hfsr, (unsigned)sfsr, (unsigned)mmfar, (unsigned)bfar, (unsigned)sfar,
                  stacked ? "true" : "false");
}

bool fault_dispatch(struct frame *frame, uint32_t exc_return, uint32_t exception)
{
    /* A BKPT 0xAB that nobody serves: -1 is what semihosting calls return on failure; go on behind it. */
    if (exception == 3 && readable(frame) && (frame->pc & 1u) == 0) {
        uint16_t instruction;
        __builtin_memcpy(&instruction, (const void *)(uintptr_t)frame->pc, sizeof instruction);
        if (instruction == 0xBEABu) {
            semihosting_missing();
            /* HFSR says DEBUGEVT on hardware, FORCED on QEMU; both clear by writing ones. */
            reg_write(SCB_HFSR, 1u << 31 | 1u << 30);
            reg_write(SCB_DFSR, 1u << 1);
            frame->r0 = UINT32_MAX;
            frame->pc += 2u;
            return true;
        }
    }
    if (depth++ == 0) {
        report(frame, exc_return, exception);
    } else if (depth == 2) {
        console_text("F [executorch:faults.c] a fault inside the fault handler");
    }
    stop_with(code_of(exception));
}

void stop_count(uint32_t runs, uint32_t ok)
{
    runs_started = runs;
    runs_ok = ok;
}

void stop_with_eot(bool eot)
{
    with_eot = eot;
}

void stop_with(int code)
{
    console_frame("\"e\":\"exit\",\"code\":%d,\"status\":\"%s\",\"runs\":%u,\"ok\":%u,\"lost\":%u", code, status_name(code),
                  (unsigned)runs_started, (unsigned)runs_ok, (unsigned)console_lost());
    console_text("Application exit code: %d.", code);
    /* Ways to stop a simulator: UART EOT (shutdown_on_eot), then the semihosting exit that carries the code. */
    if (with_eot || !semihosting_available()) {
        console_bytes("\x04", 1);
    }
    semihosting_exit((uint32_t)code);
    for (;;) {
        __asm volatile("wfi");
    }
}

void stop_abort(const char *file, uint32_t line, const char *what)
{
    console_quiet(false);
    console_text("F [executorch:%s:%u] Assertion failed: %s", file, (unsigned)line, what);
    stop_with(STATUS_ABORT);
}
