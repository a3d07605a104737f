/* ExecuTorch's semihosting protocol: named files in, `<output>-<i>.bin` out. */
#include "console.h"
#include "semihosting.h"
#include "transport.h"

extern uint8_t __program_start[];
extern uint8_t __program_end[];

/* What the last program took. */
static uint32_t program_size;

/* Opens and measures; -1 and an error when it cannot. */
static int32_t open_input(const char *name, uint32_t *size, struct error *error)
{
    int32_t handle = semihosting_open(name, SH_READ_BINARY);
    if (handle <= 0) {
        (void)error_set(error, STATUS_FILE, "Could not open file %s (errno: %d) for reading", name, (int)semihosting_errno());
        return -1;
    }
    int32_t length = semihosting_length(handle);
    if (length < 0) {
        (void)error_set(error, STATUS_FILE, "Could not get the size of file %s (errno: %d)", name, (int)semihosting_errno());
        semihosting_close(handle);
        return -1;
    }
    *size = (uint32_t)length;
    return handle;
}

static int read_whole(const char *name, uint8_t *data, uint32_t room, uint32_t *got, struct error *error)
{
    uint32_t size = 0;
    int32_t handle = open_input(name, &size, error);
    if (handle < 0) {
        return error->code;
    }
    *got = size;
    uint32_t wanted = size < room ? size : room;
    uint32_t read = wanted > 0 ? semihosting_read(handle, data, wanted) : 0;
    semihosting_close(handle);
    if (read != wanted) {
        return error_set(error, STATUS_FILE, "Failed to read file %s: %u of %u bytes", name, (unsigned)read, (unsigned)wanted);
    }
    return STATUS_OK;
}

static int program(const struct run_args *run, struct span *out, struct error *error)
{
    uint32_t room = (uint32_t)(__program_end - __program_start);
    uint32_t size = 0;
    if (run->program == NULL) {
        return error_set(error, STATUS_USAGE, "no program: executor_runner -m program.pte -i i0.bin -o out");
    }
    LOG('I', "Reading pte model from file %s", run->program);
    int code = read_whole(run->program, __program_start, room, &size, error);
    program_size = size < room ? size : room;
    if (code != STATUS_OK) {
        return code;
    }
    if (size > room) {
        return error_set(error, STATUS_POOL, "Memory allocation failed: program of %u bytes, %u available", (unsigned)size,
                         (unsigned)room);
    }
    *out = (struct span){__program_start, size};
    return STATUS_OK;
}

static uint32_t input_count(const struct run_args *run, const struct plan *plan)
{
    (void)plan;
    return run->input_count;
}

static int input(const struct run_args *run, uint32_t given, uint8_t *data, uint32_t size, uint32_t *got, struct error *error)
{
    LOG('I', "Reading input tensor %u from file %s", (unsigned)given, run->inputs[given]);
    return read_whole(run->inputs[given], data, size, got, error);
}

static void output_name(const struct run_args *run, uint32_t index, char *out, uint32_t size)
{
    (void)format_text(out, size, "%s-%u.bin", run->output != NULL ? run->output : "out", (unsigned)index);
}

static int output(const struct run_args *run, uint32_t index, const uint8_t *data, uint32_t size, struct error *error)
{
    char name[256];
    output_name(run, index, name, sizeof name);
    LOG('I', "Writing output to file: %s", name);
    int32_t handle = semihosting_open(name, SH_WRITE_BINARY);
    if (handle <= 0) {
        return error_set(error, STATUS_OUTPUT, "Could not open output file %s (errno: %d)", name, (int)semihosting_errno());
    }
    uint32_t written = size > 0 ? semihosting_write(handle, data, size) : 0;
    semihosting_close(handle);
    if (written != size) {
        return error_set(error, STATUS_OUTPUT, "Failed to write whole output file %s: %u of %u bytes", name, (unsigned)written,
                         (unsigned)size);
    }
    return STATUS_OK;
}

static void finish(const struct run_args *run, const struct plan *plan)
{
    (void)run;
    (void)plan;
}

static void forget(void)
{
    fill_bytes(__program_start, 0, program_size);
    program_size = 0;
}

const struct transport transport_files = {program, input_count, input, output, output_name, finish, forget};
