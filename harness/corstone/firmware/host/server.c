/* The runner's loader and kernels as a host program for tests: one request on stdin, one answer on stdout, for ever.
 *
 * Request (little-endian words): pool bytes, step limit, program length, input count, canned count; then the program,
 * then each input and each canned delegate output as length and bytes. Answer: code, text; delegate inputs as they lay
 * in scratch; outputs as dtype, rank, sizes, length, bytes. The NPU is played by the canned outputs, in order; one of
 * another size is left out, as by an NPU that writes elsewhere.
 * No device code is in here; the process ends when stdin does.
 */
#include "canary.h"
#include "inputs.h"

#include <stdio.h>
#include <stdlib.h>

struct blob {
    uint8_t *data;
    uint32_t size;
};

struct stage {
    struct blob *canned;
    uint32_t canned_count;
    uint32_t next;
    struct blob *seen;
    uint32_t seen_count;
};

static void get(void *to, size_t size)
{
    if (size > 0 && fread(to, 1, size, stdin) != size) {
        exit(feof(stdin) ? 0 : 2);
    }
}

static uint32_t get_word(void)
{
    uint8_t bytes[4];
    get(bytes, sizeof bytes);
    return le32(bytes);
}

static struct blob get_blob(uint32_t size)
{
    /* A block of its own, exactly as long: a read one byte past it is seen. */
    struct blob blob = {malloc(size), size};
    get(blob.data, size);
    return blob;
}

static void put_word(uint32_t value)
{
    uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24)};
    (void)fwrite(bytes, 1, sizeof bytes, stdout);
}

static void put_blob(const uint8_t *data, uint32_t size)
{
    put_word(size);
    (void)fwrite(data, 1, size, stdout);
}

static int play_npu(void *context, const struct vela *vela, uint8_t *scratch, struct error *error)
{
    struct stage *stage = context;
    for (uint32_t i = 0; i < vela->input_count; i++) {
        struct vela_io io;
        if (vela_io_at(vela, vela->inputs, i, &io, error) != STATUS_OK) {
            return error->code;
        }
        uint32_t size = io.elements * io.element_size;
        stage->seen = realloc(stage->seen, sizeof(struct blob) * (stage->seen_count + 1u));
        stage->seen[stage->seen_count] = (struct blob){malloc(size + 1u), size};
        (void)copy_bytes(stage->seen[stage->seen_count++].data, scratch + io.offset, size);
    }
    for (uint32_t i = 0; i < vela->output_count; i++) {
        struct vela_io io;
        if (vela_io_at(vela, vela->outputs, i, &io, error) != STATUS_OK) {
            return error->code;
        }
        uint32_t size = io.elements * io.element_size;
        if (stage->next < stage->canned_count && stage->canned[stage->next].size == size) {
            (void)copy_bytes(scratch + io.offset, stage->canned[stage->next].data, size);
        }
        stage->next++;
    }
    return STATUS_OK;
}

static int set_inputs(struct plan *plan, const struct blob *inputs, uint32_t count, struct error *error)
{
    if (inputs_count_check(plan, count, error) != STATUS_OK) {
        return error->code;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = 0;
        if (inputs_match(plan, count, i, &index, error) != STATUS_OK) {
            return error->code;
        }
        struct tensor *tensor = plan_input(plan, index);
        if (tensor == NULL) {
            (void)inputs_check_scalar(plan, index, inputs[i].data, inputs[i].size, error);
        } else if (inputs[i].size != tensor->nbytes) {
            (void)error_set(error, STATUS_INPUT, "input %u has %u bytes, expected %u", (unsigned)index,
                            (unsigned)inputs[i].size, (unsigned)tensor->nbytes);
        } else if (!tensor->constant) {
            (void)copy_bytes(tensor->data, inputs[i].data, inputs[i].size);
        }
    }
    return error->code;
}

static void answer(const struct plan *plan, const struct stage *stage, const struct error *error)
{
    put_word((uint32_t)error->code);
    put_blob((const uint8_t *)error->text, text_length(error->text));
    put_word(stage->seen_count);
    for (uint32_t i = 0; i < stage->seen_count; i++) {
        put_blob(stage->seen[i].data, stage->seen[i].size);
    }
    uint32_t count = error->code == STATUS_OK ? plan->output_count : 0;
    put_word(count);
    for (uint32_t i = 0; i < count; i++) {
        const struct tensor *tensor = plan_output(plan, i);
        put_word(tensor != NULL ? tensor->dtype : 255u);
        put_word(tensor != NULL ? tensor->rank : 0u);
        for (uint32_t k = 0; tensor != NULL && k < tensor->rank; k++) {
            put_word(tensor->sizes[k]);
        }
        put_blob(tensor != NULL ? tensor->data : NULL, tensor != NULL ? tensor->nbytes : 0u);
    }
    (void)fflush(stdout);
}

int main(void)
{
    for (;;) {
        uint32_t pool = get_word();
        uint32_t steps = get_word();
        uint32_t length = get_word();
        uint32_t input_count = get_word();
        struct stage stage = {0};
        stage.canned_count = get_word();
        struct blob program = get_blob(length);
        struct blob *inputs = calloc(input_count + 1u, sizeof *inputs);
        stage.canned = calloc(stage.canned_count + 1u, sizeof *stage.canned);
        for (uint32_t i = 0; i < input_count; i++) {
            inputs[i] = get_blob(get_word());
        }
        for (uint32_t i = 0; i < stage.canned_count; i++) {
            stage.canned[i] = get_blob(get_word());
        }
        struct arena arena = {malloc(pool), pool, 0, 0, (uint32_t)ARENA_AS_FOUND};
        struct error error = {0};
        struct plan plan;
        if (plan_load(&plan, program.data, program.size, &arena, &error) == STATUS_OK) {
            plan.step_limit = steps;
            if (set_inputs(&plan, inputs, input_count, &error) == STATUS_OK &&
                canary_start(&plan, 0x5AC3965Au, &arena, &error) == STATUS_OK) {
                (void)plan_execute(&plan, play_npu, &stage, &error);
                for (uint32_t i = 0; error.code == STATUS_OK && i < plan.output_count; i++) {
                    (void)canary_check_output(&plan, i, &error);
                }
            }
        }
        answer(&plan, &stage, &error);
        for (uint32_t i = 0; i < input_count; i++) {
            free(inputs[i].data);
        }
        for (uint32_t i = 0; i < stage.canned_count; i++) {
            free(stage.canned[i].data);
        }
        for (uint32_t i = 0; i < stage.seen_count; i++) {
            free(stage.seen[i].data);
        }
        free(inputs);
        free(stage.canned);
        free(stage.seen);
        free(program.data);
        free(arena.base);
    }
}
