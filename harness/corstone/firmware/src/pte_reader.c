/* Opens a .pte and finds constants, initial states and delegates in it; see pte.h. */
#include "pte.h"

enum { IDENTIFIER_AT = 4, HEADER_AT = 8, HEADER_MIN = 24, HEADER_WITH_TOTAL = 32 };

static bool magic_is(const uint8_t *at, const char *magic)
{
    return at[0] == (uint8_t)magic[0] && at[1] == (uint8_t)magic[1] && at[2] == (uint8_t)magic[2] &&
           at[3] == (uint8_t)magic[3];
}

static bool has_header(const uint8_t *file, uint32_t size)
{
    return size >= HEADER_AT + HEADER_MIN && magic_is(file + HEADER_AT, "eh00") && le32(file + HEADER_AT + 4) >= HEADER_MIN;
}

uint32_t pte_total_size(const uint8_t *file, uint32_t size)
{
    if (!has_header(file, size)) {
        return 0;
    }
    uint64_t program = le64(file + HEADER_AT + 8);
    uint64_t base = le64(file + HEADER_AT + 16);
    uint64_t total = program;
    if (base != 0 && le32(file + HEADER_AT + 4) >= HEADER_WITH_TOTAL && size >= HEADER_AT + HEADER_WITH_TOTAL) {
        uint64_t end = base + le64(file + HEADER_AT + 24);
        total = end > total && end >= base ? end : total;
    }
    return total > size ? size : (uint32_t)total;
}

int pte_check(struct pte *pte, const char *where, struct error *error)
{
    if (!pte->fb.bad) {
        return STATUS_OK;
    }
    return error_set(error, STATUS_PROGRAM, "program is corrupt: %s, at byte %u of %u", where, (unsigned)pte->fb.bad_at,
                     (unsigned)pte->fb.size);
}

int pte_open(struct pte *pte, const uint8_t *file, uint32_t size, struct error *error)
{
    pte->file = file;
    pte->file_size = size;
    pte->segment_base = 0;
    if (size < HEADER_AT) {
        return error_set(error, STATUS_PROGRAM, "program of %u bytes is too short", (unsigned)size);
    }
    if (!magic_is(file + IDENTIFIER_AT, "ET12")) {
        const char *hint = file[IDENTIFIER_AT] == 'B' && file[IDENTIFIER_AT + 1] == 'P'
                               ? " (a bundled program: this runner reads plain ones)"
                               : "";
        return error_set(error, STATUS_PROGRAM, "program identifier is %02x%02x%02x%02x, expected ET12%s", file[4], file[5],
                         file[6], file[7], hint);
    }
    uint32_t program_size = size;
    if (has_header(file, size)) {
        uint64_t stated = le64(file + HEADER_AT + 8);
        uint64_t base = le64(file + HEADER_AT + 16);
        if (stated > size || base > size || (base != 0 && base < stated)) {
            return error_set(error, STATUS_PROGRAM, "program header states %llu bytes and segments at %llu, file has %u",
                             (unsigned long long)stated, (unsigned long long)base, (unsigned)size);
        }
        program_size = (uint32_t)stated;
        pte->segment_base = (uint32_t)base;
    }
    pte->fb = (struct fb){file, program_size, false, 0};
    pte->program = fb_root(&pte->fb);
    struct fb_vector plans = fb_vector(&pte->fb, &pte->program, PROGRAM_PLANS, 4);
    if (!pte->fb.bad && plans.count == 0) {
        return error_set(error, STATUS_PROGRAM, "program has no method");
    }
    pte->method = fb_element(&pte->fb, &plans, 0);
    return pte_check(pte, "root table", error);
}

static int segment_at(struct pte *pte, uint32_t index, struct span *out, struct error *error)
{
    struct fb_vector segments = fb_vector(&pte->fb, &pte->program, PROGRAM_SEGMENTS, 4);
    struct fb_table segment = fb_element(&pte->fb, &segments, index);
    uint64_t offset = fb_u64(&pte->fb, &segment, 0, 0);
    uint64_t size = fb_u64(&pte->fb, &segment, 1, 0);
    if (pte_check(pte, "segment table", error) != STATUS_OK) {
        return error->code;
    }
    uint64_t room = pte->file_size - pte->segment_base;
    if (pte->segment_base == 0 || offset > room || size > room - offset) {
        return error_set(error, STATUS_PROGRAM, "segment %u (offset %llu, %llu bytes) lies outside the file of %u bytes",
                         (unsigned)index, (unsigned long long)offset, (unsigned long long)size, (unsigned)pte->file_size);
    }
    out->data = pte->file + pte->segment_base + (uint32_t)offset;
    out->size = (uint32_t)size;
    return STATUS_OK;
}

/* Entry `index` of a SubsegmentOffsets table. */
static int subsegment(struct pte *pte, const struct fb_table *table, uint32_t index, uint32_t size, struct span *out,
                      struct error *error)
{
    struct span segment;
    struct fb_vector offsets = fb_vector(&pte->fb, table, 1, 8);
    uint32_t number = fb_u32(&pte->fb, table, 0, 0);
    if (pte_check(pte, "subsegment offsets", error) != STATUS_OK || segment_at(pte, number, &segment, error) != STATUS_OK) {
        return error->code;
    }
    if (index >= offsets.count) {
        return error_set(error, STATUS_PROGRAM, "data index %u of %u", (unsigned)index, (unsigned)offsets.count);
    }
    uint64_t offset = le64(pte->fb.data + offsets.position + 8u * index);
    if (offset > segment.size || size > segment.size - offset) {
        return error_set(error, STATUS_PROGRAM, "data %u (%u bytes at %llu) lies outside its segment of %u bytes",
                         (unsigned)index, (unsigned)size, (unsigned long long)offset, (unsigned)segment.size);
    }
    out->data = segment.data + (uint32_t)offset;
    out->size = size;
    return STATUS_OK;
}

int pte_constant(struct pte *pte, uint32_t index, uint32_t size, struct span *out, struct error *error)
{
    struct fb_table segment = fb_child(&pte->fb, &pte->program, PROGRAM_CONSTANT_SEGMENT);
    struct fb_vector offsets = fb_vector(&pte->fb, &segment, 1, 8);
    if (offsets.count > 0) {
        return subsegment(pte, &segment, index, size, out, error);
    }
    struct fb_vector buffers = fb_vector(&pte->fb, &pte->program, PROGRAM_CONSTANTS, 4);
    struct fb_table buffer = fb_element(&pte->fb, &buffers, index);
    struct fb_vector storage = fb_vector(&pte->fb, &buffer, 0, 1);
    if (pte_check(pte, "constant buffer", error) != STATUS_OK) {
        return error->code;
    }
    if (storage.count < size) {
        return error_set(error, STATUS_PROGRAM, "constant %u has %u bytes, its tensor needs %u", (unsigned)index,
                         (unsigned)storage.count, (unsigned)size);
    }
    out->data = pte->fb.data + storage.position;
    out->size = storage.count;
    return STATUS_OK;
}

int pte_initial(struct pte *pte, uint64_t segments, uint32_t index, uint32_t size, struct span *out, struct error *error)
{
    struct fb_vector tables = fb_vector(&pte->fb, &pte->program, PROGRAM_MUTABLE_SEGMENTS, 4);
    if (segments >= tables.count) {
        return error_set(error, STATUS_PROGRAM, "mutable segment %llu of %u", (unsigned long long)segments,
                         (unsigned)tables.count);
    }
    struct fb_table table = fb_element(&pte->fb, &tables, (uint32_t)segments);
    return subsegment(pte, &table, index, size, out, error);
}

int pte_delegate(struct pte *pte, const struct fb_table *delegate, struct span *out, struct error *error)
{
    struct fb_table reference = fb_child(&pte->fb, delegate, 1);
    uint32_t location = fb_u8(&pte->fb, &reference, 0, 0);
    uint32_t index = fb_u32(&pte->fb, &reference, 1, 0);
    if (pte_check(pte, "delegate reference", error) != STATUS_OK) {
        return error->code;
    }
    if (location == 1) {
        return segment_at(pte, index, out, error);
    }
    struct fb_vector blobs = fb_vector(&pte->fb, &pte->program, PROGRAM_DELEGATE_DATA, 4);
    struct fb_table blob = fb_element(&pte->fb, &blobs, index);
    struct fb_vector data = fb_vector(&pte->fb, &blob, 0, 1);
    if (pte_check(pte, "delegate data", error) != STATUS_OK) {
        return error->code;
    }
    out->data = pte->fb.data + data.position;
    out->size = data.count;
    return STATUS_OK;
}
