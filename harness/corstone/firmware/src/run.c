/* One run, step by step; see run.h. */
#include "run.h"

#include "canary.h"
#include "console.h"
#include "ethosu.h"
#include "inject.h"

extern uint8_t __fast_start[];
extern uint8_t __fast_end[];

enum { POISON_BEYOND = 1u << 20 };

static struct npu_counters counters;

static int delegate(void *context, const struct vela *vela, uint8_t *scratch, struct error *error)
{
    (void)context;
    return npu_run(vela, scratch, &counters, error);
}

static int load(const struct run_args *run, const struct transport *transport, struct arena *arena, struct plan *plan,
                struct error *error)
{
    struct span file;
    if (transport->program(run, &file, error) != STATUS_OK) {
        return error->code;
    }
    if (inject_is(INJECT_TRUNCATE_PROGRAM)) {
        file.size /= 2u;
    } else if (inject_is(INJECT_BAD_IDENTIFIER) || inject_is(INJECT_CORRUPT_PROGRAM)) {
        uint8_t *bytes = (uint8_t *)(uintptr_t)file.data;
        fill_bytes(bytes + (inject_is(INJECT_BAD_IDENTIFIER) ? 4 : 0), 0x5A, 4);
    }
    LOG('I', "PTE @ %p [----%c%c%c%c]", (const void *)file.data, file.size > 7 ? file.data[4] : '?',
        file.size > 7 ? file.data[5] : '?', file.size > 7 ? file.data[6] : '?', file.size > 7 ? file.data[7] : '?');
    if (plan_load(plan, file.data, file.size, arena, error) == STATUS_OK) {
        LOG('I', "Method '%s' loaded.", plan->name);
    }
    return error->code;
}

static int set_inputs(const struct run_args *run, const struct transport *transport, struct plan *plan, struct error *error)
{
    uint32_t count = transport->input_count(run, plan);
    LOG('I', "Preparing inputs...");
    if (inputs_count_check(plan, count, error) != STATUS_OK) {
        return error->code;
    }
    for (uint32_t given = 0; given < count; given++) {
        uint32_t index = 0;
        uint32_t got = 0;
        uint8_t number[8] = {0};
        if (inputs_match(plan, count, given, &index, error) != STATUS_OK) {
            return error->code;
        }
        struct tensor *tensor = plan_input(plan, index);
        uint32_t room = tensor != NULL ? tensor->nbytes : (uint32_t)sizeof number;
        if (tensor != NULL && tensor->constant) {
            return error_set(error, STATUS_PROGRAM, "input %u is a constant of the program", (unsigned)index);
        }
        if (transport->input(run, given, tensor != NULL ? tensor->data : number, room, &got, error) != STATUS_OK) {
            return error->code;
        }
        if (tensor == NULL) {
            (void)inputs_check_scalar(plan, index, number, got, error);
        } else if (got != room) {
            (void)error_set(error, STATUS_INPUT, "input %u has %u bytes, its tensor %u", (unsigned)index, (unsigned)got,
                            (unsigned)room);
        }
    }
    if (error->code == STATUS_OK) {
        LOG('I', "Input prepared.");
    }
    return error->code;
}

static void spoil(const struct plan *plan, struct tensor *tensor, uint32_t index)
{
    if (inject_is(INJECT_ZERO_OUTPUT)) {
        fill_bytes(tensor->data, 0, tensor->nbytes);
    } else if (inject_is(INJECT_CANARY_OUTPUT)) {
        canary_fill(plan, tensor);
    } else if (index == 0 && tensor->nbytes > 0 && inject_is(INJECT_FLIP_BIT)) {
        tensor->data[tensor->nbytes / 2u] ^= 0x10u;
    } else if (index == 0 && inject_is(INJECT_SWAP_OUTPUTS)) {
        for (uint32_t k = 0; k < tensor->nbytes / 2u; k++) {
            uint8_t byte = tensor->data[k];
            tensor->data[k] = tensor->data[tensor->nbytes - 1u - k];
            tensor->data[tensor->nbytes - 1u - k] = byte;
        }
    }
}

static void announce(uint32_t number, uint32_t index, const struct tensor *tensor, const char *name, uint32_t untouched)
{
    char shape[96];
    char quoted[300];
    tensor_shape_text(tensor, shape, sizeof shape);
    console_quote(quoted, sizeof quoted, inject_is(INJECT_WRONG_NAME) ? "elsewhere.bin" : name);
    uint32_t crc = crc32(inject_is(INJECT_WRONG_CRC) ? 1u : 0u, tensor->data, tensor->nbytes);
    if (inject_is(INJECT_NO_FRAMES)) {
        return;
    }
    console_frame_spoil(inject_is(INJECT_FRAME_SPOILED));
    for (uint32_t i = 0; i < (inject_is(INJECT_FRAME_TWICE) ? 2u : 1u); i++) {
        console_frame("\"e\":\"output\",\"run\":%u,\"index\":%u,\"name\":\"%s\",\"dtype\":\"%s\",\"shape\":%s,\"bytes\":%u,"
                      "\"crc\":\"%08x\",\"untouched\":%u",
                      (unsigned)number, (unsigned)index, quoted,
                      inject_is(INJECT_WRONG_DTYPE) ? "uint16" : dtype_name(tensor->dtype),
                      inject_is(INJECT_WRONG_SHAPE) ? "[1,2,3]" : shape, (unsigned)tensor->nbytes, (unsigned)crc,
                      (unsigned)untouched);
    }
    console_frame_spoil(false);
}

static uint32_t bytes_to_write(const struct tensor *tensor)
{
    if (inject_is(INJECT_SHORT_OUTPUT) && tensor->nbytes > 0) {
        return tensor->nbytes - 1u;
    }
    if (inject_is(INJECT_LONG_OUTPUT)) {
        return tensor->nbytes + 4u;
    }
    return inject_is(INJECT_EMPTY_OUTPUT) ? 0 : tensor->nbytes;
}

/* Writes every output, even after one failed: the first error stays. */
static int put_outputs(uint32_t number, const struct run_args *run, const struct transport *transport, struct plan *plan,
                       struct error *error)
{
    LOG('I', "%u outputs: ", (unsigned)plan->output_count + (inject_is(INJECT_WRONG_COUNT) ? 1u : 0u));
    for (uint32_t i = 0; i < plan->output_count; i++) {
        struct tensor *tensor = plan_output(plan, i);
        char name[256];
        if (tensor == NULL) {
            LOG('I', "Output[%u]: Not Tensor", (unsigned)i);
            continue;
        }
        transport->output_name(run, i, name, sizeof name);
        (void)canary_check_output(plan, i, error);
        spoil(plan, tensor, i);
        uint32_t untouched = canary_left(plan, tensor);
        bool last = i + 1u == plan->output_count;
        if (!inject_is(INJECT_NO_OUTPUT) && !(last && inject_is(INJECT_MISSING_OUTPUT))) {
            (void)transport->output(run, i, tensor->data, bytes_to_write(tensor), error);
        }
        if (last && inject_is(INJECT_EXTRA_OUTPUT)) {
            (void)transport->output(run, i + 1u, tensor->data, tensor->nbytes, error);
        }
        announce(number, i, tensor, name, untouched);
    }
    return error->code;
}

static void report_counters(uint32_t number)
{
    if (counters.calls == 0) {
        return;
    }
    char events[160];
    uint32_t used = 0;
    events[0] = '\0';
    LOG('I', "NPU Inferences : 1");
    LOG('I', "NPU delegations: %u (%u.00 per inference)", (unsigned)counters.calls, (unsigned)counters.calls);
    LOG('I', "Ethos-U PMU report:");
    LOG('I', "ethosu_pmu_cycle_cntr : %llu (%llu.00 per inference)", (unsigned long long)counters.cycles,
        (unsigned long long)counters.cycles);
    for (uint32_t i = 0; i < counters.event_count; i++) {
        LOG('I', "ethosu_pmu_cntr%u : %u (%u.00 per inference)", (unsigned)i, (unsigned)counters.events[i],
            (unsigned)counters.events[i]);
        used += format_text(events + used, (uint32_t)sizeof events - used, i == 0 ? "%u" : ",%u", (unsigned)counters.events[i]);
    }
    LOG('I', "Ethos-U PMU Events:[%s]", npu_event_names());
    console_frame("\"e\":\"counters\",\"run\":%u,\"delegations\":%u,\"cycles\":%llu,\"events\":[%s]", (unsigned)number,
                  (unsigned)counters.calls, (unsigned long long)counters.cycles, events);
}

static int execute(struct plan *plan, struct arena *arena, uint32_t canary, struct error *error)
{
    counters = (struct npu_counters){0};
    if (canary_start(plan, canary, arena, error) != STATUS_OK) {
        return error->code;
    }
    LOG('I', "Starting running 1 inferences...");
    if (!inject_is(INJECT_SKIP_EXECUTE) && plan_execute(plan, delegate, NULL, error) != STATUS_OK) {
        return error->code;
    }
    LOG('I', "1 inferences finished");
    return STATUS_OK;
}

static int steps(uint32_t number, const struct run_args *run, const struct transport *transport, struct arena *arena,
                 uint32_t canary, struct plan *plan, struct error *error)
{
    inject_at(STAGE_LOAD);
    if (load(run, transport, arena, plan, error) != STATUS_OK) {
        return error->code;
    }
    inject_at(STAGE_INPUT);
    if (set_inputs(run, transport, plan, error) != STATUS_OK) {
        return error->code;
    }
    inject_at(STAGE_EXECUTE);
    if (execute(plan, arena, canary, error) != STATUS_OK) {
        return error->code;
    }
    report_counters(number);
    inject_at(STAGE_OUTPUT);
    if (put_outputs(number, run, transport, plan, error) == STATUS_OK) {
        transport->finish(run, plan);
    }
    inject_at(STAGE_END);
    return error->code;
}

/* As at the start of a boot: whatever an earlier run left in a memory or in the NPU can neither help nor harm this one. */
static void forget_earlier_runs(struct arena *arena, const struct transport *transport)
{
    arena_restart(arena);
    fill_bytes(__fast_start, 0, (size_t)(__fast_end - __fast_start));
    transport->forget();
    npu_forget();
}

static void poison(struct arena *arena)
{
    uint32_t room = arena->size - arena->peak;
    fill_bytes(arena->base, 1, arena->peak + (room < POISON_BEYOND ? room : POISON_BEYOND));
    fill_bytes(__fast_start, 1, (size_t)(__fast_end - __fast_start));
}

int run_program(uint32_t number, const struct run_args *run, const struct transport *transport, struct arena *arena,
                uint32_t canary)
{
    static struct plan plan;
    struct error error = {0};
    char program[200];
    char text[240];
    console_quote(program, sizeof program, run->program != NULL ? run->program : "memory");
    console_frame("\"e\":\"begin\",\"run\":%u,\"program\":\"%s\"", (unsigned)number, program);
    if (number > 0) {
        forget_earlier_runs(arena, transport);
    }
    if (steps(number, run, transport, arena, canary, &plan, &error) != STATUS_OK) {
        LOG('E', "%s: %s", status_name(error.code), error.text);
    }
    LOG('I', "method_allocator_used: %u / %u", (unsigned)arena->used, (unsigned)arena->size);
    if (inject_is(INJECT_POISON)) {
        poison(arena);
    }
    console_quote(text, sizeof text, error.text);
    console_frame("\"e\":\"end\",\"run\":%u,\"code\":%d,\"status\":\"%s\",\"outputs\":%u,\"pool\":%u,\"text\":\"%s\"",
                  (unsigned)number, error.code, status_name(error.code),
                  error.code == STATUS_OK ? (unsigned)plan.output_count : 0u, (unsigned)arena->used, text);
    return error.code;
}
