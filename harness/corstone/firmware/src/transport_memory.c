/* Arm's memory protocol: the program at BOARD_PROGRAM, tensor inputs one after the other at BOARD_INPUTS, outputs left
 * at BOARD_OUTPUTS. Inputs that are no tensors have the values the program was made with. */
#include "board.h"
#include "console.h"
#include "transport.h"

static uint32_t taken;
static uint32_t left;

static uint8_t *at(uint32_t address)
{
    return (uint8_t *)(uintptr_t)address;
}

bool transport_memory_present(void)
{
    const uint8_t *program = at(BOARD_PROGRAM);
    return program[4] == 'E' && program[5] == 'T' && program[6] == '1' && program[7] == '2';
}

static int program(const struct run_args *run, struct span *out, struct error *error)
{
    (void)run;
    (void)error;
    uint32_t size = pte_total_size(at(BOARD_PROGRAM), BOARD_PROGRAM_SIZE);
    *out = (struct span){at(BOARD_PROGRAM), size != 0 ? size : BOARD_PROGRAM_SIZE};
    taken = 0;
    left = 0;
    return STATUS_OK;
}

static uint32_t input_count(const struct run_args *run, const struct plan *plan)
{
    (void)run;
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->input_count; i++) {
        count += plan_input(plan, i) != NULL ? 1u : 0u;
    }
    return count;
}

static int input(const struct run_args *run, uint32_t given, uint8_t *data, uint32_t size, uint32_t *got, struct error *error)
{
    (void)run;
    if (size > BOARD_INPUTS_SIZE - taken) {
        return error_set(error, STATUS_INPUT, "input %u: %u bytes, %u left of the inputs' memory", (unsigned)given,
                         (unsigned)size, (unsigned)(BOARD_INPUTS_SIZE - taken));
    }
    (void)copy_bytes(data, at(BOARD_INPUTS) + taken, size);
    taken += size;
    *got = size;
    return STATUS_OK;
}

static void output_name(const struct run_args *run, uint32_t index, char *out, uint32_t size)
{
    (void)run;
    (void)index;
    (void)format_text(out, size, "0x%08x", (unsigned)(BOARD_OUTPUTS + left));
}

static int output(const struct run_args *run, uint32_t index, const uint8_t *data, uint32_t size, struct error *error)
{
    (void)run;
    if (size > BOARD_OUTPUTS_SIZE - left) {
        return error_set(error, STATUS_OUTPUT, "output %u: %u bytes, %u left of the outputs' memory", (unsigned)index,
                         (unsigned)size, (unsigned)(BOARD_OUTPUTS_SIZE - left));
    }
    (void)copy_bytes(at(BOARD_OUTPUTS) + left, data, size);
    left += size;
    return STATUS_OK;
}

static void finish(const struct run_args *run, const struct plan *plan)
{
    (void)run;
    /* The words of Arm's runner, so that its readers understand ours. */
    console_text("INFO - %u input tensor/s populated with %u bytes with data read from 0x%08x",
                 (unsigned)input_count(NULL, plan), (unsigned)taken, (unsigned)BOARD_INPUTS);
    console_text("INFO - Inference completed.");
    console_text("INFO - %u output tensor/s worth %u bytes copied to 0x%08x", (unsigned)plan->output_count, (unsigned)left,
                 (unsigned)BOARD_OUTPUTS);
}

/* A boot of this transport has one run. */
static void forget(void)
{
}

const struct transport transport_memory = {program, input_count, input, output, output_name, finish, forget};
