/* Command line parsing, in place; see args.h. */
#include "args.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Cuts the next word off; NULL when there is none. Quotes are removed. */
static char *next_word(char **cursor)
{
    char *in = *cursor;
    while (is_blank(*in)) {
        in++;
    }
    if (*in == '\0') {
        return NULL;
    }
    char *word = in;
    char *out = in;
    bool quoted = false;
    while (*in != '\0' && (quoted || !is_blank(*in))) {
        if (*in == '"') {
            quoted = !quoted;
        } else {
            *out++ = *in;
        }
        in++;
    }
    *cursor = *in == '\0' ? in : in + 1;
    *out = '\0';
    return word;
}

static bool number(const char *text, uint32_t *out)
{
    uint32_t value = 0;
    bool hex = text[0] == '0' && text[1] == 'x';
    text += hex ? 2 : 0;
    if (*text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        uint32_t digit;
        if (*text >= '0' && *text <= '9') {
            digit = (uint32_t)(*text - '0');
        } else if (hex && *text >= 'a' && *text <= 'f') {
            digit = (uint32_t)(*text - 'a') + 10u;
        } else {
            return false;
        }
        value = value * (hex ? 16u : 10u) + digit;
    }
    *out = value;
    return true;
}

static int take_option(const char *option, const char *value, struct run_args *run, struct options *options,
                       struct error *error)
{
    if (text_equal(option, "-m")) {
        run->program = value;
    } else if (text_equal(option, "-o")) {
        run->output = value;
    } else if (text_equal(option, "-i")) {
        if (run->input_count == ARGS_INPUTS) {
            return error_set(error, STATUS_USAGE, "more than %u inputs", (unsigned)ARGS_INPUTS);
        }
        run->inputs[run->input_count++] = value;
    } else if (text_equal(option, "--inject")) {
        options->inject = value;
    } else if (text_equal(option, "--console")) {
        options->console = value;
    } else if (text_equal(option, "--canary")) {
        if (!number(value, &options->canary)) {
            return error_set(error, STATUS_USAGE, "--canary %s is no number", value);
        }
    } else if (text_equal(option, "--npu-timeout-ms")) {
        if (!number(value, &options->npu_timeout_ms)) {
            return error_set(error, STATUS_USAGE, "--npu-timeout-ms %s is no number", value);
        }
    } else {
        return error_set(error, STATUS_USAGE, "there is no option %s", option);
    }
    return STATUS_OK;
}

int args_parse(char *text, uint32_t first, struct run_args *run, struct options *options, struct error *error)
{
    *run = (struct run_args){0};
    char *cursor = text;
    char *word;
    uint32_t words = 0;
    while (error->code == STATUS_OK && (word = next_word(&cursor)) != NULL) {
        if (words++ < first) {
            continue;
        }
        if (word[0] == '@') {
            options->list_file = word + 1;
        } else if (text_equal(word, "-q")) {
            options->quiet = true;
        } else if (text_equal(word, "--memory")) {
            options->memory = true;
        } else {
            const char *value = next_word(&cursor);
            if (value == NULL) {
                return error_set(error, STATUS_USAGE, "option %s needs a value", word);
            }
            (void)take_option(word, value, run, options, error);
        }
    }
    return error->code;
}

/* Blanks out lines that begin with '#'. */
static void drop_comments(char *text)
{
    bool start = true;
    bool comment = false;
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            start = true;
            comment = false;
            continue;
        }
        comment = comment || (start && *text == '#');
        start = start && is_blank(*text);
        if (comment) {
            *text = ' ';
        }
    }
}

void args_start_list(char *text)
{
    drop_comments(text);
}

char *args_next_run(char **cursor)
{
    char *at = *cursor;
    while (is_blank(*at)) {
        at++;
    }
    if (*at == '\0') {
        return NULL;
    }
    char *start = at;
    bool quoted = false;
    for (; *at != '\0'; at++) {
        quoted = *at == '"' ? !quoted : quoted;
        bool word = at > start && is_blank(at[-1]) && at[0] == '-' && at[1] == 'm' && (is_blank(at[2]) || at[2] == '\0');
        if (word && !quoted) {
            at[-1] = '\0';
            break;
        }
    }
    *cursor = at;
    return start;
}
