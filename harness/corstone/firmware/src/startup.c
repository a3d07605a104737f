/* Reset: from the vector table to main(), and every other vector to the fault handler.
 *
 * Nothing before CPACR may use an FP or vector register, and compilers use them for plain copies: so the first steps
 * are assembly, and memory is prepared only after it.
 */
#include "board.h"
#include "cortexm.h"
#include "faults.h"

enum { EXTERNAL_INTERRUPTS = 96 };

extern uint8_t __stack_top[];
extern uint8_t __stack_limit[];
extern uint8_t __data_load[];
extern uint8_t __data_start[];
extern uint8_t __data_end[];
extern uint8_t __bss_start[];
extern uint8_t __bss_end[];

int main(void);
void Reset(void);
void reset_continue(void);
void npu_interrupt(void);
void tick_interrupt(void);

/* FVP memory comes up as a pattern and not as zeros, and an ELF loader need not clear .bss: do both here. */
__attribute__((noreturn, used)) void reset_continue(void)
{
    reg_write(SCB_VTOR, (uint32_t)(uintptr_t)__vectors);
    /* Off at reset on SSE-300 and SSE-320: the vector unit's power state. Absent on QEMU, where writes vanish. */
    reg_write(PWRMODCTL_CPDLPSTATE, 0);
    reg_write(SCB_CCR, reg_read(SCB_CCR) | CCR_UNALIGN_TRP | CCR_DIV_0_TRP | CCR_LOB);
    reg_write(SCB_SHCSR, reg_read(SCB_SHCSR) | SHCSR_MEMFAULTENA | SHCSR_BUSFAULTENA | SHCSR_USGFAULTENA |
                             SHCSR_SECUREFAULTENA);
    barrier();
    copy_bytes(__data_start, __data_load, (size_t)(__data_end - __data_start));
    fill_bytes(__bss_start, 0, (size_t)(__bss_end - __bss_start));
    (void)main();
    for (;;) {
        __asm volatile("wfi");
    }
}

__attribute__((naked, noreturn, used)) void Reset(void)
{
    __asm volatile("cpsid i\n\t"
                   "ldr r0, =__stack_limit\n\t"
                   "msr msplim, r0\n\t"
                   "ldr r0, =__stack_top\n\t"
                   "mov sp, r0\n\t"
                   "ldr r0, =0xE000ED88\n\t" /* CPACR: full access to CP10 and CP11 */
                   "ldr r1, [r0]\n\t"
                   "orr r1, r1, #0xF00000\n\t"
                   "str r1, [r0]\n\t"
                   "dsb\n\t"
                   "isb\n\t"
                   "cpsie i\n\t"
                   "b reset_continue\n\t"
                   ".ltorg");
}

#define FOUR(handler) handler, handler, handler, handler
#define SIXTEEN(handler) FOUR(handler), FOUR(handler), FOUR(handler), FOUR(handler)

/* The entry of the board's NPU interrupt is npu_interrupt; all others name themselves in the fault handler. */
__attribute__((section(".vectors"), used)) const vector_entry __vectors[16 + EXTERNAL_INTERRUPTS] = {
    (vector_entry)(uintptr_t)__stack_top,
    Reset,
    fault_entry, /* NMI */
    fault_entry, /* HardFault */
    fault_entry, /* MemManage */
    fault_entry, /* BusFault */
    fault_entry, /* UsageFault */
    fault_entry, /* SecureFault */
    FOUR(fault_entry),
    fault_entry, /* DebugMonitor */
    fault_entry,
    fault_entry, /* PendSV */
    tick_interrupt,
#if BOARD_NPU_IRQ == 56u
    SIXTEEN(fault_entry),
    SIXTEEN(fault_entry),
    SIXTEEN(fault_entry),
    FOUR(fault_entry),
    FOUR(fault_entry),
    npu_interrupt, /* 56 */
    fault_entry,
    fault_entry,
    fault_entry,
    FOUR(fault_entry),
    SIXTEEN(fault_entry),
    SIXTEEN(fault_entry),
#elif BOARD_NPU_IRQ == 16u
    SIXTEEN(fault_entry),
    npu_interrupt, /* 16 */
    fault_entry,
    fault_entry,
    fault_entry,
    FOUR(fault_entry),
    FOUR(fault_entry),
    FOUR(fault_entry),
    SIXTEEN(fault_entry),
    SIXTEEN(fault_entry),
    SIXTEEN(fault_entry),
    SIXTEEN(fault_entry),
#else
#error "the vector table has no entry for this board's NPU interrupt"
#endif
};
