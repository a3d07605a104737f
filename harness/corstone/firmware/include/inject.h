/* The fault switch: `--inject name[@stage]` makes a boot go wrong in one named way, so that hosts can be tested on it.
 *
 * Without the option nothing here runs. A run of a list may have one of its own; what is decided at the boot (stage boot,
 * console, pool, exit) can only be asked of the whole boot. Stages, in order: boot, load, input, execute, output, end. An injection that
 * names no stage happens at `execute`. The list is in inject.c, with one line of meaning each.
 */
#ifndef CORSTONE_INJECT_H
#define CORSTONE_INJECT_H

#include "base.h"

enum stage { STAGE_BOOT, STAGE_LOAD, STAGE_INPUT, STAGE_EXECUTE, STAGE_OUTPUT, STAGE_END };

enum injection {
    INJECT_NONE,
    /* at a stage: the CPU */
    INJECT_UDF,
    INJECT_UNALIGNED,
    INJECT_BUS_FAULT,
    INJECT_NULL_CALL,
    INJECT_MEM_MANAGE,
    INJECT_SECURE_FAULT,
    INJECT_NMI,
    INJECT_DIV_ZERO,
    INJECT_NO_COPROCESSOR,
    INJECT_STACK_OVERFLOW,
    INJECT_HARD_FAULT,
    INJECT_LOCKUP,
    INJECT_INTERRUPT,
    INJECT_SVC,
    INJECT_JUMP_ARM,
    /* at a stage: the flow */
    INJECT_LOOP,
    INJECT_LOOP_LOG,
    INJECT_FLOOD,
    INJECT_SLOW,
    INJECT_EXIT_0,
    INJECT_EXIT_1,
    INJECT_EXIT_42,
    INJECT_SYS_EXIT,
    INJECT_ABORT,
    INJECT_EOT,
    INJECT_IDLE,
    /* at a stage: the console */
    INJECT_ERROR_LINE,
    INJECT_TAG_LINE,
    INJECT_GARBAGE,
    INJECT_HALF_LINE,
    INJECT_LONG_LINE,
    INJECT_NUL_BYTES,
    INJECT_ANSI,
    INJECT_FAKE_END,
    INJECT_FAKE_HARD_FAULT,
    /* switches that other parts ask for */
    INJECT_NO_CONSOLE,
    INJECT_NO_FRAMES,
    INJECT_WRONG_CRC,
    INJECT_FRAME_SPOILED,
    INJECT_FRAME_TWICE,
    INJECT_WRONG_COUNT,
    INJECT_WRONG_DTYPE,
    INJECT_WRONG_SHAPE,
    INJECT_WRONG_NAME,
    INJECT_NO_OUTPUT,
    INJECT_MISSING_OUTPUT,
    INJECT_SHORT_OUTPUT,
    INJECT_LONG_OUTPUT,
    INJECT_EMPTY_OUTPUT,
    INJECT_EXTRA_OUTPUT,
    INJECT_ZERO_OUTPUT,
    INJECT_CANARY_OUTPUT,
    INJECT_FLIP_BIT,
    INJECT_SWAP_OUTPUTS,
    INJECT_SKIP_EXECUTE,
    INJECT_POISON,
    INJECT_NPU_NO_START,
    INJECT_NPU_NO_IRQ,
    INJECT_NPU_BAD_STREAM,
    INJECT_NPU_BAD_BASE,
    INJECT_NPU_ELSEWHERE,
    INJECT_NPU_UNALIGNED,
    INJECT_NPU_CONFIG,
    INJECT_NPU_SHORT_STREAM,
    INJECT_SMALL_POOL,
    INJECT_TRUNCATE_PROGRAM,
    INJECT_BAD_IDENTIFIER,
    INJECT_CORRUPT_PROGRAM,
    INJECT_NEVER_EXIT,
    INJECT_NO_VERDICT,
};

/* NULL selects none. False when there is no such injection; inject_list then prints them. */
bool inject_select(const char *text);
void inject_list(void);
bool inject_is(enum injection injection);
/* Does what was asked for at this stage, and then mostly never comes back. */
void inject_at(enum stage stage);

#endif
