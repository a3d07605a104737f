/* A FlatBuffers reader that trusts nothing: every offset, vtable and length is checked against the buffer.
 *
 * The first contradiction sets `bad` and its offset; from then on every read gives zero or an empty table, so callers
 * may read a whole step and look at `bad` once. Reads are byte by byte: nothing needs to be aligned.
 * Source: FlatBuffers "Internals" (vtables, offsets, vectors).
 */
#ifndef CORSTONE_FLATBUFFER_H
#define CORSTONE_FLATBUFFER_H

#include "base.h"

struct fb {
    const uint8_t *data;
    uint32_t size;
    bool bad;
    uint32_t bad_at;
};

/* position 0 means: absent. */
struct fb_table {
    uint32_t position;
    uint32_t vtable;
    uint32_t vtable_size;
};

struct fb_vector {
    uint32_t position; /* of the first element */
    uint32_t count;
};

uint32_t le16(const uint8_t *p);
uint32_t le32(const uint8_t *p);
uint64_t le64(const uint8_t *p);

void fb_mark_bad(struct fb *fb, uint32_t at);
struct fb_table fb_root(struct fb *fb);

uint8_t fb_u8(struct fb *fb, const struct fb_table *table, uint32_t field, uint8_t otherwise);
uint32_t fb_u32(struct fb *fb, const struct fb_table *table, uint32_t field, uint32_t otherwise);
int32_t fb_i32(struct fb *fb, const struct fb_table *table, uint32_t field, int32_t otherwise);
uint64_t fb_u64(struct fb *fb, const struct fb_table *table, uint32_t field, uint64_t otherwise);
int64_t fb_i64(struct fb *fb, const struct fb_table *table, uint32_t field, int64_t otherwise);
double fb_f64(struct fb *fb, const struct fb_table *table, uint32_t field, double otherwise);

/* Absent tables and vectors come back with position 0 and count 0. */
struct fb_table fb_child(struct fb *fb, const struct fb_table *table, uint32_t field);
struct fb_vector fb_vector(struct fb *fb, const struct fb_table *table, uint32_t field, uint32_t element_size);
struct fb_table fb_element(struct fb *fb, const struct fb_vector *vector, uint32_t index);
/* A string is a vector of bytes; the terminator is not relied on. */
struct fb_vector fb_string(struct fb *fb, const struct fb_table *table, uint32_t field);

/* Where `other` goes on behind the text; NULL when it does not begin with it. */
const char *fb_text_prefix(const struct fb *fb, const struct fb_vector *text, const char *other);
bool fb_text_equal(const struct fb *fb, const struct fb_vector *text, const char *other);

#endif
