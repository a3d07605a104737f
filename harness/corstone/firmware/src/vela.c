/* Reads vela_bin_stream; see vela.h. */
#include "vela.h"

enum { BLOCK_HEADER = 32, BLOCK_NAME = 16, IO_WORDS = 9, IO_SIZE = 36 };
enum { ACTION_CONFIG = 1, ACTION_STREAM = 2, ACTION_NOP = 5 };

static bool name_is(const uint8_t *at, const char *name)
{
    for (uint32_t i = 0; i < BLOCK_NAME; i++) {
        if (at[i] != (uint8_t)name[i]) {
            return false;
        }
        if (name[i] == '\0') {
            return true;
        }
    }
    return true;
}

/* The walk over the payload's actions. */
static int read_payload(struct vela *vela, struct error *error)
{
    const uint8_t *data = vela->command.data;
    uint32_t words = vela->command.size / 4u;
    if (vela->command.size % 4u != 0 || words < 2 || le32(data) != 0x31504F43u) {
        return error_set(error, STATUS_PROGRAM, "Custom Operator Payload: %08x is not correct, expected 31504f43 (COP1)",
                         (unsigned)(words > 0 ? le32(data) : 0));
    }
    bool configured = false;
    uint32_t at = 1;
    while (at < words) {
        uint32_t word = le32(data + 4u * at);
        uint32_t action = word & 0xFFu;
        if (action == ACTION_NOP) {
            at += 1;
        } else if (action == ACTION_CONFIG) {
            if (words - at < 3) {
                return error_set(error, STATUS_PROGRAM, "driver payload ends inside OPTIMIZER_CONFIG");
            }
            vela->config = le32(data + 4u * at + 4u);
            vela->id = le32(data + 4u * at + 8u);
            configured = true;
            at += 3;
        } else if (action == ACTION_STREAM) {
            uint32_t length = ((word >> 8 & 0xFFu) << 16) | word >> 16;
            if (vela->stream.data != NULL) {
                return error_set(error, STATUS_UNSUPPORTED, "driver payload has more than one command stream");
            }
            if (length == 0 || length > words - at - 1u) {
                return error_set(error, STATUS_PROGRAM, "command stream of %u words in a payload of %u", (unsigned)length,
                                 (unsigned)words);
            }
            vela->stream.data = data + 4u * (at + 1u);
            vela->stream.size = 4u * length;
            at += 1u + length;
        } else {
            return error_set(error, STATUS_PROGRAM, "driver payload has the unknown action %u at word %u", (unsigned)action,
                             (unsigned)at);
        }
    }
    if (!configured || vela->stream.data == NULL) {
        return error_set(error, STATUS_PROGRAM, "driver payload lacks its configuration or its command stream");
    }
    return STATUS_OK;
}

static int read_io(const uint8_t *data, uint32_t size, const uint8_t **table, uint32_t *count, struct error *error)
{
    uint32_t entries = size >= 4 ? le32(data) : UINT32_MAX;
    if (entries > 1024 || size < 4u + entries * IO_SIZE) {
        return error_set(error, STATUS_PROGRAM, "Malformed vela_bin_stream found: I/O block of %u bytes", (unsigned)size);
    }
    *table = data + 4;
    *count = entries;
    return STATUS_OK;
}

static int take_block(struct vela *vela, const uint8_t *name, const uint8_t *data, uint32_t size, struct error *error)
{
    if (name_is(name, "cmd_data")) {
        vela->command = (struct span){data, size};
    } else if (name_is(name, "weight_data")) {
        vela->weights = (struct span){data, size};
    } else if (name_is(name, "scratch_size")) {
        if (size < 4) {
            return error_set(error, STATUS_PROGRAM, "Malformed vela_bin_stream found: scratch_size of %u bytes",
                             (unsigned)size);
        }
        vela->scratch_size = le32(data);
    } else if (name_is(name, "inputs")) {
        return read_io(data, size, &vela->inputs, &vela->input_count, error);
    } else if (name_is(name, "outputs")) {
        return read_io(data, size, &vela->outputs, &vela->output_count, error);
    }
    /* Blocks of a later writer are passed over, as ExecuTorch does. */
    return STATUS_OK;
}

int vela_read(struct vela *vela, struct span blob, struct error *error)
{
    *vela = (struct vela){0};
    uint32_t at = 0;
    bool started = false;
    while (blob.size - at >= BLOCK_HEADER) {
        const uint8_t *block = blob.data + at;
        uint32_t size = le32(block + BLOCK_NAME);
        if (!started && !name_is(block, "vela_bin_stream")) {
            break;
        }
        started = true;
        if (name_is(block, "vela_end_stream")) {
            if (vela->command.data == NULL || vela->weights.data == NULL || vela->inputs == NULL || vela->outputs == NULL) {
                return error_set(error, STATUS_PROGRAM, "Malformed vela_bin_stream found: a block is missing");
            }
            return read_payload(vela, error);
        }
        if (block[BLOCK_NAME + 4] != 0) {
            return error_set(error, STATUS_UNSUPPORTED, "vela_bin_stream keeps its data outside the program");
        }
        uint32_t room = blob.size - at - BLOCK_HEADER;
        uint32_t padded = size <= UINT32_MAX - 15u ? (size + 15u) & ~15u : UINT32_MAX;
        if (padded > room) {
            break;
        }
        if (size > 0 && take_block(vela, block, block + BLOCK_HEADER, size, error) != STATUS_OK) {
            return error->code;
        }
        at += BLOCK_HEADER + padded;
    }
    return error_set(error, STATUS_PROGRAM, "Malformed vela_bin_stream found: byte %u of %u", (unsigned)at,
                     (unsigned)blob.size);
}

int vela_io_at(const struct vela *vela, const uint8_t *table, uint32_t index, struct vela_io *io, struct error *error)
{
    const uint8_t *entry = table + IO_SIZE * index;
    uint64_t elements = 1;
    bool sane = true;
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t size = le32(entry + 4u * i);
        elements *= size;
        sane = sane && size <= INT32_MAX && elements <= INT32_MAX;
        elements = sane ? elements : 0;
    }
    io->elements = (uint32_t)elements;
    io->element_size = le32(entry + 24);
    io->offset = le32(entry + 28);
    io->region = le32(entry + 32);
    uint64_t bytes = (uint64_t)io->elements * io->element_size;
    if (!sane || io->element_size == 0 || io->element_size > 8 || io->offset > vela->scratch_size ||
        bytes > vela->scratch_size - io->offset) {
        return error_set(error, STATUS_PROGRAM, "delegate tensor %u (%u elements of %u bytes at %u) lies outside scratch of %u",
                         (unsigned)index, (unsigned)io->elements, (unsigned)io->element_size, (unsigned)io->offset,
                         (unsigned)vela->scratch_size);
    }
    if (io->region != 1) {
        return error_set(error, STATUS_UNSUPPORTED, "delegate tensor %u is in region %u, expected scratch (1)",
                         (unsigned)index, (unsigned)io->region);
    }
    return STATUS_OK;
}
