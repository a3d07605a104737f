/* The runner: console, command line, runs, exit. */
#include "board.h"
#include "console.h"
#include "cortexm.h"
#include "ethosu.h"
#include "faults.h"
#include "inject.h"
#include "run.h"
#include "semihosting.h"

enum { COMMAND_LINE = 1024, DEFAULT_CANARY = 0xA5A5A5A5u };

extern uint8_t __pool_start[];
extern uint8_t __pool_end[];

static char command_line[COMMAND_LINE];
static char list_command[COMMAND_LINE];

/* True when the line holds more than argv[0], which some hosts always give. */
static bool has_arguments(const char *line)
{
    while (*line == ' ') {
        line++;
    }
    while (*line != '\0' && *line != ' ') {
        line++;
    }
    while (*line == ' ') {
        line++;
    }
    return *line != '\0';
}

static void choose_console(const struct options *options, bool memory, struct error *error)
{
    enum console_sink sink = memory || !semihosting_available() ? CONSOLE_UART : BOARD_CONSOLE;
    if (options->console != NULL) {
        if (!text_equal(options->console, "uart") && !text_equal(options->console, "semihosting")) {
            (void)error_set(error, STATUS_USAGE, "--console %s: use uart or semihosting", options->console);
        } else {
            sink = text_equal(options->console, "uart") ? CONSOLE_UART : CONSOLE_SEMIHOSTING;
        }
    }
    console_select(inject_is(INJECT_NO_CONSOLE) ? CONSOLE_NONE : sink);
    console_quiet(options->quiet);
}

/* The whole @file, as text. It lies at the end of the pool, which the runs then have less of. */
static char *read_list(const char *name, struct arena *arena, struct error *error)
{
    int32_t handle = semihosting_open(name, SH_READ_BINARY);
    int32_t length = handle > 0 ? semihosting_length(handle) : -1;
    if (length < 0 || (uint32_t)length > arena->size / 2u) {
        (void)error_set(error, STATUS_FILE, "Could not read the list of runs %s (errno: %d)", name, (int)semihosting_errno());
        return NULL;
    }
    uint32_t size = (uint32_t)length;
    arena->size -= (size + 16u) & ~15u;
    char *text = (char *)(void *)(arena->base + arena->size);
    uint32_t got = size > 0 ? semihosting_read(handle, text, size) : 0;
    semihosting_close(handle);
    text[got] = '\0';
    if (got != size) {
        (void)error_set(error, STATUS_FILE, "Failed to read the list of runs %s: %u of %u bytes", name, (unsigned)got,
                        (unsigned)size);
    }
    return text;
}

/* Runs all of the list; the first failure is the boot's code, and the others still run. */
static int run_list(char *text, struct options *options, struct arena *arena)
{
    static struct run_args run;
    int code = STATUS_OK;
    uint32_t number = 0;
    uint32_t good = 0;
    const struct options of_boot = *options;
    args_start_list(text);
    for (char *line = args_next_run(&text); line != NULL; line = args_next_run(&text)) {
        struct error error = {0};
        *options = of_boot; /* what a line says holds for its own run */
        int result = args_parse(line, 0, &run, options, &error);
        if (result == STATUS_OK && !inject_select(options->inject)) {
            result = error_set(&error, STATUS_USAGE, "--inject %s: there is none of that name", options->inject);
        }
        if (result != STATUS_OK) {
            LOG('E', "run %u: %s", (unsigned)number, error.text);
            console_frame("\"e\":\"end\",\"run\":%u,\"code\":%d,\"status\":\"%s\",\"outputs\":0", (unsigned)number, result,
                          status_name(result));
        } else {
            result = run_program(number, &run, &transport_files, arena, options->canary);
        }
        number++;
        good += result == STATUS_OK ? 1u : 0u;
        code = code == STATUS_OK ? result : code;
        stop_count(number, good);
    }
    if (number == 0) {
        LOG('E', "the list of runs is empty");
        return STATUS_USAGE;
    }
    return code;
}

static int run_all(struct run_args *run, struct options *options, bool memory, struct arena *arena, struct error *error)
{
    if (options->list_file != NULL) {
        char *text = read_list(options->list_file, arena, error);
        return error->code == STATUS_OK ? run_list(text, options, arena) : error->code;
    }
    int code = run_program(0, run, memory ? &transport_memory : &transport_files, arena, options->canary);
    stop_count(1, code == STATUS_OK ? 1u : 0u);
    return code;
}

static void show_arguments(void)
{
    LOG('I', "Running executor with parameter:");
    LOG('I', "   %s", list_command);
}

int main(void);
int main(void)
{
    static struct run_args run;
    static struct options options = {.canary = DEFAULT_CANARY};
    struct error error = {0};
    struct arena arena = {__pool_start, (uint32_t)(__pool_end - __pool_start), 0, 0, (uint32_t)ARENA_AS_FOUND};

    bool semihosting = semihosting_probe();
    bool given = semihosting_command_line(command_line, sizeof command_line) > 0 && has_arguments(command_line);
    (void)copy_bytes(list_command, command_line, sizeof command_line);
    (void)args_parse(command_line, 1, &run, &options, &error);
    bool memory = options.memory || !given;
    bool injected = inject_select(options.inject);
    choose_console(&options, memory, &error);
    stop_with_eot(memory);

    LOG('I', "corstone runner on %s, semihosting %s", BOARD_NAME, semihosting ? "on" : "off");
    console_frame("\"e\":\"boot\",\"board\":\"%s\",\"protocol\":1,\"cpuid\":%u,\"semihosting\":%s,\"transport\":\"%s\"", BOARD_NAME,
                  (unsigned)reg_read(SCB_CPUID), semihosting ? "true" : "false", memory ? "memory" : "files");
    if (!injected) {
        (void)error_set(&error, STATUS_USAGE, "--inject %s: there is none of that name", options.inject);
        inject_list();
    }
    if (memory && error.code == STATUS_OK && !transport_memory_present()) {
        (void)error_set(&error, STATUS_USAGE, "no command line (is semihosting on?) and no program at 0x%08x",
                        (unsigned)BOARD_PROGRAM);
    }
    inject_at(STAGE_BOOT);
    if (inject_is(INJECT_SMALL_POOL)) {
        arena.size = 256;
    }
    if (options.npu_timeout_ms != 0) {
        npu_timeout(options.npu_timeout_ms);
    }
    int code = error.code;
    if (code == STATUS_OK) {
        show_arguments();
        code = run_all(&run, &options, memory, &arena, &error);
    }
    if (error.code != STATUS_OK) {
        LOG('E', "%s: %s", status_name(error.code), error.text);
    }
    LOG('I', "Model run: %u", code == STATUS_OK ? 1u : 0u);
    LOG('I', "Program complete, exiting.");
    if (inject_is(INJECT_NEVER_EXIT)) {
        return code;
    }
    if (inject_is(INJECT_NO_VERDICT)) {
        semihosting_exit(0);
    }
    stop_with(code);
}
