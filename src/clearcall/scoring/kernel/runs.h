/* The longest runs of equal characters that start or end in each row of a rectangle. */
#pragma once
#include "job.h"

/* Fragments of up to 128 characters, the usual ones, have a row in one register or two. */
typedef unsigned __int128 pair;

INLINE int lowest_word(word v) { return __builtin_ctzll(v); }
INLINE int lowest_pair(pair v) { return (word)v ? __builtin_ctzll((word)v) : 64 + __builtin_ctzll((word)(v >> 64)); }
INLINE int zeros_word(word v) { return __builtin_popcountll(~v); }
INLINE int zeros_pair(pair v) { return zeros_word((word)v) + zeros_word((word)(v >> 64)); }
INLINE word mask_word(const span *p) { return p->head; }
INLINE pair mask_pair(const span *p) { return (pair)p->tail << 64 | p->head; }

INLINE word cut(const word *row, const span *p, size_t k, size_t count) {
    word v = row[p->first + k];
    if (k == 0) v &= p->head;
    if (k == count - 1) v &= p->tail;
    return v;
}

/* The longest run that starts (step 1) or ends (step -1) at a row, within rows up to, but not at, stop. */
#define DEFINE_RUN(T)                                                                                        \
    INLINE block run_##T(const job *j, const span *p, int32_t row, int32_t stop, int step, size_t *steps) {  \
        const word *base = j->masks + p->first;                                                              \
        T mask = mask_##T(p), now, next;                                                                     \
        memcpy(&now, base + (size_t)j->s[row] * j->words, sizeof now);                                       \
        now &= mask;                                                                                         \
        if (!now) return (block){row, 0, 0};                                                                 \
        int32_t size = 1;                                                                                    \
        for (int32_t r = row + step; r != stop; r += step, size++, now = next) {                             \
            memcpy(&next, base + (size_t)j->s[r] * j->words, sizeof next);                                   \
            next &= mask & (step > 0 ? now << 1 : now >> 1);                                                 \
            if (!next) break;                                                                                \
        }                                                                                                    \
        *steps += (size_t)size;                                                                              \
        int32_t col = (int32_t)p->first * 64 + lowest_##T(now);                                              \
        return step > 0 ? (block){row, col - size + 1, size} : (block){row - size + 1, col, size};           \
    }
DEFINE_RUN(word)
DEFINE_RUN(pair)

static block run_many(const job *j, const span *p, int32_t row, int32_t stop, int step, size_t *steps) {
    size_t count = p->count;
    word *now = j->run[0], *next = j->run[1], any = 0;
    const word *mask = j->masks + (size_t)j->s[row] * j->words;
    for (size_t k = 0; k < count; k++) any |= now[k] = cut(mask, p, k, count);
    if (!any) return (block){row, 0, 0};
    int32_t size = 1;
    for (int32_t r = row + step; r != stop; r += step, size++) {
        mask = j->masks + (size_t)j->s[r] * j->words;
        any = 0;
        for (size_t k = 0; k < count; k++) {
            word moved = step > 0 ? now[k] << 1 | (k ? now[k - 1] >> 63 : 0)
                                  : now[k] >> 1 | (k + 1 < count ? now[k + 1] << 63 : 0);
            any |= next[k] = moved & cut(mask, p, k, count);
        }
        if (!any) break;
        word *swap = now;
        now = next;
        next = swap;
    }
    *steps += (size_t)size;
    size_t k = 0;
    while (!now[k]) k++;
    int32_t col = (int32_t)(p->first + k) * 64 + lowest_word(now[k]);
    return step > 0 ? (block){row, col - size + 1, size} : (block){row - size + 1, col, size};
}

/* The longest run of each row by dense rows of lengths: for texts that repeat themselves, where runs are long. */
VARIANTS static void dense_runs(job *j, rect t, int step, block *out) {
    int32_t columns = t.c1 - t.c0, *len = j->lengths;
    const int32_t *f = step > 0 ? j->f + t.c0 : j->reversed + (j->m - t.c1);
    memset(len, 0, sizeof *len * (size_t)(columns + 1));
    for (int32_t row = step > 0 ? t.r1 - 1 : t.r0; row >= t.r0 && row < t.r1; row -= step) {
        int32_t id = j->s[row], longest = 0;
        for (int32_t c = 0; c < columns; c++) {
            int32_t v = (len[c + 1] + 1) & -(int32_t)(f[c] == id);
            len[c] = v;
            longest = v > longest ? v : longest;
        }
        int32_t c = 0;
        if (step > 0) {
            while (longest && len[c] != longest) c++;
            out[row - t.r0] = (block){row, t.c0 + c, longest};
        } else {
            for (c = columns - 1; longest && len[c] != longest;) c--;
            out[row - t.r0] = (block){row - longest + 1, t.c1 - c - longest, longest};
        }
    }
}

/* Rows are taken so that each can lengthen its neighbour's run: where that works no longer run can exist there.
 *
 * rows: runs that start in a row, for every row. best: the block of rows r and below (step 1), or of r and above
 * (step -1). Both give up, returning 0, where dense rows would be no dearer.
 */
#define DEFINE_ROWS(T)                                                                                       \
    INLINE int rows_##T(job *j, rect t, span p, block *out) {                                                \
        size_t steps = 0, dearest = dear(t, &p);                                                             \
        block b = {0, 0, 0};                                                                                 \
        for (int32_t r = t.r1 - 1; r >= t.r0 && steps <= dearest; r--)                                       \
            out[r - t.r0] = b = b.size && b.col > t.c0 && j->f[b.col - 1] == j->s[r]                         \
                                    ? (block){r, b.col - 1, b.size + 1}                                      \
                                    : run_##T(j, &p, r, t.r1, 1, &steps);                                    \
        j->work += steps * p.count;                                                                          \
        return steps <= dearest;                                                                             \
    }                                                                                                        \
    INLINE int best_##T(job *j, rect t, span p, int step, block *out) {                                      \
        const int32_t *most = step > 0 ? j->starts : j->ends;                                                \
        size_t steps = 0, dearest = dear(t, &p);                                                             \
        int32_t first = step > 0 ? t.r1 - 1 : t.r0, stop = step > 0 ? t.r1 : t.r0 - 1;                       \
        block best = {0, 0, 0}, b = best;                                                                    \
        for (int32_t r = first; r >= t.r0 && r < t.r1 && steps <= dearest; r -= step) {                      \
            if (most[r] < best.size + (step < 0)) {                                                          \
                b.size = 0;                                                                                  \
            } else {                                                                                         \
                b = step > 0 && b.size && b.col > t.c0 && j->f[b.col - 1] == j->s[r]                         \
                        ? (block){r, b.col - 1, b.size + 1}                                                  \
                    : step < 0 && b.size && b.col + b.size < t.c1 && j->f[b.col + b.size] == j->s[r]         \
                        ? (block){b.row, b.col, b.size + 1}                                                  \
                        : run_##T(j, &p, r, stop, step, &steps);                                             \
                if (b.size >= best.size + (step < 0)) best = b;                                              \
            }                                                                                                \
            out[r - t.r0] = best;                                                                            \
        }                                                                                                    \
        j->work += steps * p.count;                                                                          \
        return steps <= dearest;                                                                             \
    }

INLINE size_t dear(rect t, const span *p) {
    return ((size_t)(t.r1 - t.r0) * (size_t)(t.c1 - t.c0) / 4 + 256) / p->count;
}

DEFINE_ROWS(word)
DEFINE_ROWS(pair)
DEFINE_ROWS(many)

static void spent(job *j, rect t, int dense) {
    interrupted(j, (size_t)(t.r1 - t.r0) * (dense ? (size_t)(t.c1 - t.c0) / 8 + 1 : 1));
}

VARIANTS static void row_runs(job *j, rect t, block *out) {
    span p = span_of(t.c0, t.c1);
    int done = p.count == 1   ? rows_word(j, t, p, out)
               : p.count == 2 ? rows_pair(j, t, p, out)
                              : rows_many(j, t, p, out);
    if (!done) dense_runs(j, t, 1, out);
    spent(j, t, !done);
}

VARIANTS static void best_runs(job *j, rect t, int step, block *out) {
    span p = span_of(t.c0, t.c1);
    int done = p.count == 1   ? best_word(j, t, p, step, out)
               : p.count == 2 ? best_pair(j, t, p, step, out)
                              : best_many(j, t, p, step, out);
    spent(j, t, !done);
    if (done) return;
    dense_runs(j, t, step, out);
    int32_t last = t.r1 - t.r0 - 1;
    for (int32_t k = step > 0 ? last - 1 : 1; k >= 0 && k <= last; k -= step)
        if (out[k].size < out[k + step].size + (step < 0)) out[k] = out[k + step];
}
