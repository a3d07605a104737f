/* The checking FlatBuffers reader; see flatbuffer.h. */
#include "flatbuffer.h"

uint32_t le16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

uint32_t le32(const uint8_t *p)
{
    return le16(p) | le16(p + 2) << 16;
}

uint64_t le64(const uint8_t *p)
{
    return (uint64_t)le32(p) | (uint64_t)le32(p + 4) << 32;
}

void fb_mark_bad(struct fb *fb, uint32_t at)
{
    if (!fb->bad) {
        fb->bad = true;
        fb->bad_at = at;
    }
}

static bool inside(struct fb *fb, uint32_t at, uint32_t size)
{
    if (!fb->bad && at <= fb->size && size <= fb->size - at) {
        return true;
    }
    fb_mark_bad(fb, at);
    return false;
}

static struct fb_table table_at(struct fb *fb, uint32_t at)
{
    const struct fb_table none = {0, 0, 0};
    if (at == 0 || !inside(fb, at, 4)) {
        fb_mark_bad(fb, at);
        return none;
    }
    /* A signed distance backwards, so a vtable can lie on either side. */
    int64_t vtable = (int64_t)at - (int64_t)(int32_t)le32(fb->data + at);
    if (vtable < 0 || vtable > (int64_t)fb->size || !inside(fb, (uint32_t)vtable, 4)) {
        fb_mark_bad(fb, at);
        return none;
    }
    uint32_t vtable_size = le16(fb->data + vtable);
    if (vtable_size < 4 || (vtable_size & 1u) != 0 || !inside(fb, (uint32_t)vtable, vtable_size)) {
        fb_mark_bad(fb, at);
        return none;
    }
    struct fb_table table = {at, (uint32_t)vtable, vtable_size};
    return table;
}

/* Where the field's bytes are; 0 when the field is absent or something is bad. */
static uint32_t field_at(struct fb *fb, const struct fb_table *table, uint32_t field, uint32_t width)
{
    uint32_t entry = 4u + 2u * field;
    if (fb->bad || table->position == 0 || entry + 2u > table->vtable_size) {
        return 0;
    }
    uint32_t offset = le16(fb->data + table->vtable + entry);
    if (offset == 0) {
        return 0;
    }
    /* The table size of the vtable is no bound: flatbuffers' Python writer shares one vtable between tables of
     * different sizes (it compares the field offsets only). */
    if (offset < 4 || !inside(fb, table->position + offset, width)) {
        fb_mark_bad(fb, table->position);
        return 0;
    }
    return table->position + offset;
}

/* Follows an unsigned forward offset; 0 when bad. */
static uint32_t follow(struct fb *fb, uint32_t at)
{
    uint32_t distance = le32(fb->data + at);
    if (distance == 0 || distance > fb->size - at) {
        fb_mark_bad(fb, at);
        return 0;
    }
    return at + distance;
}

struct fb_table fb_root(struct fb *fb)
{
    const struct fb_table none = {0, 0, 0};
    if (!inside(fb, 0, 8)) {
        return none;
    }
    uint32_t at = follow(fb, 0);
    return at == 0 ? none : table_at(fb, at);
}

uint8_t fb_u8(struct fb *fb, const struct fb_table *table, uint32_t field, uint8_t otherwise)
{
    uint32_t at = field_at(fb, table, field, 1);
    return at == 0 ? otherwise : fb->data[at];
}

uint32_t fb_u32(struct fb *fb, const struct fb_table *table, uint32_t field, uint32_t otherwise)
{
    uint32_t at = field_at(fb, table, field, 4);
    return at == 0 ? otherwise : le32(fb->data + at);
}

int32_t fb_i32(struct fb *fb, const struct fb_table *table, uint32_t field, int32_t otherwise)
{
    return (int32_t)fb_u32(fb, table, field, (uint32_t)otherwise);
}

uint64_t fb_u64(struct fb *fb, const struct fb_table *table, uint32_t field, uint64_t otherwise)
{
    uint32_t at = field_at(fb, table, field, 8);
    return at == 0 ? otherwise : le64(fb->data + at);
}

int64_t fb_i64(struct fb *fb, const struct fb_table *table, uint32_t field, int64_t otherwise)
{
    return (int64_t)fb_u64(fb, table, field, (uint64_t)otherwise);
}

double fb_f64(struct fb *fb, const struct fb_table *table, uint32_t field, double otherwise)
{
    uint64_t bits;
    double value;
    __builtin_memcpy(&bits, &otherwise, sizeof bits);
    bits = fb_u64(fb, table, field, bits);
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

struct fb_table fb_child(struct fb *fb, const struct fb_table *table, uint32_t field)
{
    const struct fb_table none = {0, 0, 0};
    uint32_t at = field_at(fb, table, field, 4);
    at = at == 0 ? 0 : follow(fb, at);
    return at == 0 ? none : table_at(fb, at);
}

struct fb_vector fb_vector(struct fb *fb, const struct fb_table *table, uint32_t field, uint32_t element_size)
{
    struct fb_vector vector = {0, 0};
    uint32_t at = field_at(fb, table, field, 4);
    at = at == 0 ? 0 : follow(fb, at);
    if (at == 0 || !inside(fb, at, 4)) {
        return vector;
    }
    uint32_t count = le32(fb->data + at);
    if ((uint64_t)count * element_size > fb->size - at - 4u) {
        fb_mark_bad(fb, at);
        return vector;
    }
    vector.position = at + 4u;
    vector.count = count;
    return vector;
}

struct fb_table fb_element(struct fb *fb, const struct fb_vector *vector, uint32_t index)
{
    const struct fb_table none = {0, 0, 0};
    if (fb->bad || index >= vector->count) {
        fb_mark_bad(fb, vector->position);
        return none;
    }
    uint32_t at = follow(fb, vector->position + 4u * index);
    return at == 0 ? none : table_at(fb, at);
}

struct fb_vector fb_string(struct fb *fb, const struct fb_table *table, uint32_t field)
{
    return fb_vector(fb, table, field, 1);
}

const char *fb_text_prefix(const struct fb *fb, const struct fb_vector *text, const char *other)
{
    if (text->position == 0) {
        return NULL;
    }
    for (uint32_t i = 0; i < text->count; i++) {
        if (other[i] == '\0' || fb->data[text->position + i] != (uint8_t)other[i]) {
            return NULL;
        }
    }
    return other + text->count;
}

bool fb_text_equal(const struct fb *fb, const struct fb_vector *text, const char *other)
{
    const char *rest = fb_text_prefix(fb, text, other);
    return rest != NULL && *rest == '\0';
}
