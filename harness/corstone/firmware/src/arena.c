/* The pool that only grows. The host build for tests has its own, with guarded blocks. */
#include "base.h"

void *arena_take(struct arena *arena, uint32_t size, uint32_t align)
{
    uintptr_t at = (uintptr_t)arena->base + arena->used;
    uint32_t skip = (uint32_t)((align - (at & (align - 1u))) & (align - 1u));
    uint32_t room = arena->size - arena->used;
    if (skip > room || size > room - skip) {
        return NULL;
    }
    uint8_t *block = arena->base + arena->used + skip;
    uint32_t start = arena->used + skip;
    uint32_t end = start + size;
    if (end > arena->cleared) {
        /* The last run did not have it; an NPU that wrote past its own may have left something. */
        uint32_t from = start > arena->cleared ? start : arena->cleared;
        fill_bytes(arena->base + from, 0, end - from);
    }
    arena->used = end;
    if (arena->used > arena->peak) {
        arena->peak = arena->used;
    }
    return block;
}

void *arena_take_array(struct arena *arena, uint32_t count, uint32_t size, uint32_t align)
{
    uint64_t total = (uint64_t)count * size;
    return total > UINT32_MAX ? NULL : arena_take(arena, (uint32_t)total, align);
}

void arena_restart(struct arena *arena)
{
    /* What runs before the last one had is zero since then. */
    fill_bytes(arena->base, 0, arena->used);
    arena->cleared = arena->used;
    arena->used = 0;
}
