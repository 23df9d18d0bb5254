/* The best window of a source for a fragment: difflib's score and offset, found by bounds.
 *
 * Notation: s is the source, f the fragment of m characters, w = m the width of a window, Km the matching characters of
 * Ratcliff/Obershelp. A rectangle is rows [r0, r1) of s against columns [c0, c1) of f; its block is its longest common
 * substring, the earliest in s and then in f. Km of a rectangle = block + Km above and left of it + Km below and right.
 *
 * 1. Probe the longest common subsequence (LCS >= Km) of a few windows. It changes by at most 1 when the window moves
 *    by 1, so between probes a < b no window exceeds (LCS(a) + LCS(b) + b - a) / 2: most intervals fall at once.
 * 2. In what is left, neighbouring windows share their block, which splits the problem at a corner that stands still
 *    while the window moves. One LCS pass from that corner bounds a side for all windows of the group.
 * 3. Groups that may still win are solved exactly, again for all their windows at once: the side's own block stands
 *    still too (solve_heads, solve_tails), and what lies between two blocks is solved once (solve_inner).
 *
 * Columns are bits: masks[id] has the places of a character in f, backwards[id] the same of f reversed.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t word;

typedef struct { int32_t row, col, size; } block;

/* Columns [c0, c1) as words of a bit set: the first is cut by head, the last by tail. */
typedef struct { size_t first, count; word head, tail; } span;

/* Windows lo..hi whose block lies on one run. The corners are where the sides begin; -1 while no window has that side. */
typedef struct { int32_t lo, hi, head_row, head_col, tail_row, tail_col, bound; } group;

typedef struct { int32_t lo, hi, row, col; } side;
typedef struct { int32_t r0, r1, c0, c1; } rect;
typedef struct { rect key; int32_t value; } memo;
typedef struct { int32_t at, lcs; } probe;

typedef struct { void *items; size_t used, room; } vec;

enum { MOST_CHARACTERS = 1 << 28, MEMO = 1 << 10, DIRECT = 0x300, WORK_PER_CHECK = 1 << 26, GUESSES = 3, SAMPLES = 4, PLACES = 1 << 12, SMALLEST_SPLIT = 6 };
static const size_t MOST_MASK_WORDS = (size_t)1 << 22; /* 32 MiB in each direction */

typedef struct {
    int32_t n, m, windows;
    size_t words;
    int32_t *s, *f, *reversed; /* ids: 0 is "not in the fragment" */
    word *masks, *backwards;
    word *vector;           /* LCS state of a pass */
    word *run[2];           /* a run's places, this row and the next */
    int32_t *lengths;       /* dense rows of run lengths */
    int32_t *starts, *ends; /* per row: no run that starts or ends there is longer */
    block *blocks;          /* per row: of the pass at hand */
    block *inner_blocks;    /* the same for solve_inner */
    int32_t *bound, *got;   /* per window */
    int32_t *head_bound, *tail_bound;
    block *roots;           /* per window: its block */
    int32_t *queue, *votes;
    memo *memos;
    vec rects, sides, ranges, probes, groups;
    int32_t best, best_at;  /* Km to beat, and where it was found: -1 while it is only a demand */
    size_t work;
    PyThreadState *thread;
    int failed;             /* 1: no memory, 2: a signal handler raised, 3: too large an alphabet for masks */
} job;

static void *grow(job *j, vec *v, size_t item) {
    if (v->used == v->room) {
        size_t room = v->room ? v->room * 2 : 64;
        void *items = realloc(v->items, room * item);
        if (!items) {
            j->failed = 1;
            return NULL;
        }
        v->items = items;
        v->room = room;
    }
    return (char *)v->items + item * v->used++;
}

#define PUSH(j, v, type, ...)                            \
    do {                                                 \
        type *pushed_ = grow((j), (v), sizeof(type));    \
        if (pushed_) *pushed_ = (type){__VA_ARGS__};     \
    } while (0)
#define POP(v, type) (((type *)(v)->items)[--(v)->used])

/* Lets Ctrl-C through now and then; true when the job must end. */
static int interrupted(job *j, size_t work) {
    j->work += work;
    if (j->work >= WORK_PER_CHECK) {
        j->work = 0;
        PyEval_RestoreThread(j->thread);
        if (PyErr_CheckSignals() < 0) j->failed = 2;
        j->thread = PyEval_SaveThread();
    }
    return j->failed;
}

static int viable(const job *j, int32_t at, int32_t bound) {
    return bound > j->best || (bound == j->best && at < j->best_at);
}

static void offer(job *j, int32_t at, int32_t matching) {
    if (!viable(j, at, matching)) return;
    j->best = matching;
    j->best_at = at;
}

static span span_of(int32_t c0, int32_t c1) {
    span p;
    p.first = (size_t)c0 >> 6;
    p.count = ((size_t)(c1 - 1) >> 6) - p.first + 1;
    p.head = ~(word)0 << (c0 & 63);
    p.tail = ~(word)0 >> (63 - ((c1 - 1) & 63));
    if (p.count == 1) p.head = p.tail = p.head & p.tail;
    return p;
}

#define INLINE static inline __attribute__((always_inline))

/* Wheels travel, so the machine's own instructions are chosen at load time where the tool chain can do that. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define VARIANTS __attribute__((target_clones("avx2", "default")))
#else
#define VARIANTS
#endif

/* ---- longest runs of each row -------------------------------------------------------------------------------- */

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

/* ---- longest common subsequences ----------------------------------------------------------------------------- */

/* From row `from` on by `step`, `rows` of them; the LCS after each of the last `kept` rows goes to out. */
#define DEFINE_LCS(T)                                                                                        \
    INLINE void lcs_##T(const job *j, const word *masks, const span *p, int32_t from, int step,              \
                        int32_t rows, int32_t kept, int32_t *out) {                                          \
        const word *base = masks + p->first;                                                                 \
        const int32_t *s = j->s + from;                                                                      \
        T v = ~(T)0, mask = mask_##T(p), both;                                                               \
        for (int32_t r = rows; r > 0; r--, s += step) {                                                      \
            memcpy(&both, base + (size_t)*s * j->words, sizeof both);                                        \
            both &= v & mask;                                                                                \
            v = (v + both) | (v - both);                                                                     \
            if (r <= kept) *out++ = zeros_##T(v);                                                            \
        }                                                                                                    \
    }
DEFINE_LCS(word)
DEFINE_LCS(pair)

/* Two whole windows side by side: each alone would wait for its own last addition. */
#define DEFINE_TWO(T)                                                                                        \
    INLINE void two_##T(const job *j, probe *a, probe *b) {                                                  \
        const int32_t *s = j->s + a->at, *t = j->s + b->at;                                                  \
        T v = ~(T)0, w = v, left, right;                                                                     \
        for (int32_t r = 0; r < j->m; r++) {                                                                 \
            memcpy(&left, j->masks + (size_t)s[r] * j->words, sizeof left);                                  \
            memcpy(&right, j->masks + (size_t)t[r] * j->words, sizeof right);                                \
            left &= v;                                                                                       \
            right &= w;                                                                                      \
            v = (v + left) | (v - left);                                                                     \
            w = (w + right) | (w - right);                                                                   \
        }                                                                                                    \
        a->lcs = zeros_##T(v);                                                                               \
        b->lcs = zeros_##T(w);                                                                               \
    }
DEFINE_TWO(word)
DEFINE_TWO(pair)

INLINE void lcs_many(const job *j, const word *masks, const span *p, int32_t from, int step, int32_t rows,
                     int32_t kept, int32_t *out) {
    const int32_t *s = j->s + from;
    word *v = j->vector;
    for (size_t k = 0; k < p->count; k++) v[k] = ~(word)0;
    for (int32_t r = rows; r > 0; r--, s += step) {
        const word *mask = masks + (size_t)*s * j->words;
        word carry = 0;
        for (size_t k = 0; k < p->count; k++) {
            word old = v[k], both = old & cut(mask, p, k, p->count), sum;
            word over = __builtin_add_overflow(old, both, &sum);
            over |= __builtin_add_overflow(sum, carry, &sum);
            v[k] = sum | (old - both);
            carry = over;
        }
        if (r > kept) continue;
        int32_t lcs = 0;
        for (size_t k = 0; k < p->count; k++) lcs += zeros_word(v[k]);
        *out++ = lcs;
    }
}

VARIANTS static void lcs_pass(job *j, const word *masks, int32_t c0, int32_t c1, int32_t from, int step, int32_t rows,
                              int32_t kept, int32_t *out) {
    span p = span_of(c0, c1);
    if (p.count == 1)
        lcs_word(j, masks, &p, from, step, rows, kept, out);
    else if (p.count == 2)
        lcs_pair(j, masks, &p, from, step, rows, kept, out);
    else
        lcs_many(j, masks, &p, from, step, rows, kept, out);
    interrupted(j, (size_t)rows * p.count);
}

static int32_t window_lcs(job *j, int32_t at) {
    int32_t lcs = 0;
    lcs_pass(j, j->masks, 0, j->m, at, 1, j->m, 1, &lcs);
    return lcs;
}

VARIANTS static void two_lcs(job *j, probe *a, probe *b) {
    if (j->words == 1) {
        two_word(j, a, b);
    } else if (j->words == 2) {
        two_pair(j, a, b);
    } else {
        a->lcs = window_lcs(j, a->at);
        b->lcs = window_lcs(j, b->at);
    }
    interrupted(j, (size_t)j->m * 2);
}

/* ---- exact values -------------------------------------------------------------------------------------------- */

static block longest_block(job *j, rect t) {
    best_runs(j, t, 1, j->inner_blocks);
    return j->inner_blocks[0];
}

static int empty(rect t) { return t.r0 >= t.r1 || t.c0 >= t.c1; }

/* Km of a rectangle that stands still. */
static int32_t solve_inner(job *j, rect whole) {
    if (empty(whole)) return 0;
    uint32_t hash = (uint32_t)whole.r0 * 0x9E3779B1u ^ (uint32_t)whole.r1 * 0x85EBCA77u ^
                    (uint32_t)whole.c0 * 0xC2B2AE3Du ^ (uint32_t)whole.c1 * 0x27D4EB2Fu;
    memo *known = &j->memos[(hash >> 15) % MEMO];
    if (!memcmp(&known->key, &whole, sizeof whole)) return known->value;
    int32_t total = 0;
    size_t floor = j->rects.used;
    PUSH(j, &j->rects, rect, whole.r0, whole.r1, whole.c0, whole.c1);
    while (j->rects.used > floor && !j->failed) {
        rect t = POP(&j->rects, rect);
        block b = longest_block(j, t);
        if (!b.size) continue;
        total += b.size;
        rect left = {t.r0, b.row, t.c0, b.col}, right = {b.row + b.size, t.r1, b.col + b.size, t.c1};
        if (!empty(left)) PUSH(j, &j->rects, rect, left.r0, left.r1, left.c0, left.c1);
        if (!empty(right)) PUSH(j, &j->rects, rect, right.r0, right.r1, right.c0, right.c1);
    }
    known->key = whole;
    known->value = total;
    return total;
}

static void add(int32_t *to, int32_t count, int32_t value) {
    for (int32_t k = 0; k < count; k++) to[k] += value;
}

/* Adds to got[i], for each start i of lo..hi, Km of s[i:row] against f[:col]. */
static void solve_heads(job *j, int32_t lo, int32_t hi, int32_t row, int32_t col) {
    PUSH(j, &j->sides, side, lo, hi, row, col);
    while (j->sides.used && !j->failed) {
        side t = POP(&j->sides, side);
        if (t.hi > t.row - 1) t.hi = t.row - 1;
        if (t.lo > t.hi || t.col <= 0) continue;
        best_runs(j, (rect){t.lo, t.row, 0, t.col}, 1, j->blocks);
        const block *found = j->blocks;
        for (int32_t i = t.lo, end; i <= t.hi && !j->failed; i = end) {
            block b = found[i - t.lo];
            for (end = i + 1; end <= t.hi && found[end - t.lo].row == b.row; end++) {}
            if (!b.size) continue;
            int32_t fixed = b.size + solve_inner(j, (rect){b.row + b.size, t.row, b.col + b.size, t.col});
            add(j->got + i, end - i, fixed);
            PUSH(j, &j->sides, side, i, end - 1, b.row, b.col);
        }
    }
}

/* Adds to got[e - m], for each end e of lo..hi, Km of s[row:e] against f[col:]. */
static void solve_tails(job *j, int32_t lo, int32_t hi, int32_t row, int32_t col) {
    PUSH(j, &j->sides, side, lo, hi, row, col);
    while (j->sides.used && !j->failed) {
        side t = POP(&j->sides, side);
        if (t.lo < t.row + 1) t.lo = t.row + 1;
        if (t.lo > t.hi || t.col >= j->m) continue;
        best_runs(j, (rect){t.row, t.hi, t.col, j->m}, -1, j->blocks);
        const block *found = j->blocks;
        for (int32_t e = t.lo, end; e <= t.hi && !j->failed; e = end) {
            block b = found[e - 1 - t.row];
            for (end = e + 1; end <= t.hi; end++) {
                const block *other = &found[end - 1 - t.row];
                if (other->row != b.row || other->col != b.col || other->size != b.size) break;
            }
            if (!b.size) continue;
            int32_t fixed = b.size + solve_inner(j, (rect){t.row, b.row, t.col, b.col});
            add(j->got + (e - j->m), end - e, fixed);
            PUSH(j, &j->sides, side, e, end - 1, b.row + b.size, b.col + b.size);
        }
    }
}

/* ---- groups of windows --------------------------------------------------------------------------------------- */

static block run_any(const job *j, const span *p, int32_t row, int32_t stop, size_t *steps) {
    return p->count == 1   ? run_word(j, p, row, stop, 1, steps)
           : p->count == 2 ? run_pair(j, p, row, stop, 1, steps)
                           : run_many(j, p, row, stop, 1, steps);
}

/* The block of each window of lo..hi. A run that reaches past a window's end counts up to it; only the first such run
 * can win there, since each later one is shorter. */
static void find_roots(job *j, int32_t lo, int32_t hi) {
    block *found = j->blocks, last = {-1, 0, 0};
    int32_t *queue = j->queue, front = 0, back = 0, next = lo, m = j->m;
    row_runs(j, (rect){lo, hi + m, 0, m}, found);
    for (int32_t r = lo, from = lo; r < hi + m; r++) {
        while (from <= r && from + found[from - lo].size <= r) from++;
        j->starts[r] = found[r - lo].size;
        j->ends[r] = r - from + 1;
    }
    span p = span_of(0, m);
    size_t steps = 0;
    for (int32_t i = lo; i <= hi && !interrupted(j, 1); i++) {
        int32_t end = i + m;
        if (next < i) next = i;
        for (; next < end && next + found[next - lo].size <= end; next++) {
            while (back > front && found[queue[back - 1] - lo].size < found[next - lo].size) back--;
            queue[back++] = next;
        }
        while (front < back && queue[front] < i) front++;
        block best = front < back ? found[queue[front] - lo] : (block){i, 0, 0};
        if (next < end && end - next > best.size) {
            int same = last.row == next && last.size == end - next - 1 && j->f[last.col + last.size] == j->s[end - 1];
            best = same ? (block){next, last.col, end - next} : run_any(j, &p, next, end, &steps);
            last = best;
        }
        j->roots[i] = best;
    }
}

/* A group's corners bound its windows' sides, so a window without a side must lie past the corner of that side. */
static int fits(const job *j, const group *g, int32_t i, int head, int tail, block b) {
    int32_t row = b.row + b.size, col = b.col + b.size, end = i + j->m;
    if (head ? g->head_row != b.row || g->head_col != b.col : g->head_row > i) return 0;
    if (g->tail_row < 0) return !tail || end - 1 <= row;
    return tail ? g->tail_row == row && g->tail_col == col : end <= g->tail_row;
}

static void group_windows(job *j, int32_t lo, int32_t hi) {
    group *g = NULL;
    j->groups.used = 0;
    for (int32_t i = lo; i <= hi && !j->failed; i++) {
        block b = j->roots[i];
        int head = b.size && b.row > i, tail = b.size && b.row + b.size < i + j->m;
        if (!g || !fits(j, g, i, head, tail, b)) {
            g = grow(j, &j->groups, sizeof *g);
            if (!g) return;
            *g = (group){i, i, -1, -1, -1, -1, 0};
        }
        g->hi = i;
        if (head) g->head_row = b.row, g->head_col = b.col;
        if (tail) g->tail_row = b.row + b.size, g->tail_col = b.col + b.size;
    }
}

static void bound_group(job *j, group *g) {
    int32_t m = j->m, count = g->hi - g->lo + 1;
    int32_t *head = j->head_bound, *tail = j->tail_bound;
    memset(head + g->lo, 0, sizeof *head * (size_t)count);
    memset(tail + g->lo, 0, sizeof *tail * (size_t)count);
    if (g->head_row > g->lo && g->head_col > 0) {
        int32_t last = g->hi < g->head_row ? g->hi : g->head_row - 1;
        int32_t kept = last - g->lo + 1;
        lcs_pass(j, j->backwards, m - g->head_col, m, g->head_row - 1, -1, g->head_row - g->lo, kept, j->got);
        for (int32_t k = 0; k < kept; k++) head[last - k] = j->got[k];
    }
    int32_t first = g->lo + m > g->tail_row ? g->lo : g->tail_row - m + 1;
    if (g->tail_row >= 0 && first <= g->hi && g->tail_col < m)
        lcs_pass(j, j->masks, g->tail_col, m, g->tail_row, 1, g->hi + m - g->tail_row, g->hi - first + 1, tail + first);
    for (int32_t i = g->lo; i <= g->hi; i++) {
        j->bound[i] = j->roots[i].size + head[i] + tail[i];
        if (j->bound[i] > g->bound) g->bound = j->bound[i];
    }
}

/* Narrows a group to its first and last windows that may win. */
static int narrow(const job *j, group *g) {
    while (g->lo <= g->hi && !viable(j, g->lo, j->bound[g->lo])) g->lo++;
    while (g->lo <= g->hi && !viable(j, g->hi, j->bound[g->hi])) g->hi--;
    return g->lo <= g->hi;
}

static void solve_group(job *j, group g) {
    if (!narrow(j, &g)) return;
    memset(j->got + g.lo, 0, sizeof *j->got * (size_t)(g.hi - g.lo + 1));
    if (g.head_row >= 0) solve_heads(j, g.lo, g.hi, g.head_row, g.head_col);
    for (int32_t i = g.lo; i <= g.hi; i++) {
        j->got[i] += j->roots[i].size;
        j->bound[i] = j->got[i] + j->tail_bound[i];
    }
    if (!narrow(j, &g)) return;
    if (g.tail_row >= 0) solve_tails(j, g.lo + j->m, g.hi + j->m, g.tail_row, g.tail_col);
    if (j->failed) return;
    for (int32_t i = g.lo; i <= g.hi; i++) {
        j->bound[i] = j->got[i];
        offer(j, i, j->got[i]);
    }
}

static int by_bound(const void *a, const void *b) {
    const group *x = a, *y = b;
    return x->bound != y->bound ? (x->bound < y->bound) - (x->bound > y->bound) : (x->lo > y->lo) - (x->lo < y->lo);
}

static void solve_range(job *j, int32_t lo, int32_t hi) {
    find_roots(j, lo, hi);
    if (j->failed) return;
    group_windows(j, lo, hi);
    if (j->failed) return;
    group *groups = j->groups.items;
    size_t count = j->groups.used;
    for (size_t k = 0; k < count && !j->failed; k++) bound_group(j, &groups[k]);
    qsort(groups, count, sizeof *groups, by_bound);
    for (size_t k = 0; k < count && !j->failed && groups[k].bound >= j->best; k++) solve_group(j, groups[k]);
}

/* ---- the scan ------------------------------------------------------------------------------------------------ */

static void keep(job *j, int32_t lo, int32_t hi) {
    if (lo > hi) return;
    if (j->ranges.used) {
        side *last = (side *)j->ranges.items + j->ranges.used - 1;
        if (lo <= last->hi + 1) {
            if (hi > last->hi) last->hi = hi;
            return;
        }
    }
    PUSH(j, &j->ranges, side, lo, hi, 0, 0);
}

static int32_t between(probe a, probe b) { return (a.lcs + b.lcs + b.at - a.at) / 2; }

/* Keeps the windows from a up to, but not at, b that may win; probes in between where that is likely to pay. */
static void refine(job *j, probe a, probe b) {
    if (viable(j, a.at, a.lcs)) keep(j, a.at, a.at);
    int32_t gap = b.at - a.at;
    if (gap < 2 || !viable(j, a.at, between(a, b))) return;
    probe middle = {a.at + gap / 2, (a.lcs + b.lcs) / 2};
    int pays = !viable(j, a.at, between(a, middle)) || !viable(j, a.at, between(middle, b));
    if (gap <= SMALLEST_SPLIT || !pays || j->failed) {
        keep(j, a.at + 1, b.at - 1);
        return;
    }
    middle.lcs = window_lcs(j, middle.at);
    refine(j, a, middle);
    refine(j, middle, b);
}

static int32_t clamp(int32_t at, int32_t last) { return at < 0 ? 0 : at > last ? last : at; }

/* Six characters leave their mark on a rolling hash of twelve bits that moves by two. */
static uint32_t roll(uint32_t hash, int32_t id) { return (hash << 2 ^ (uint32_t)id * 0x9E5u) % PLACES; }

static void unknown_runs(job *j, int32_t r0, int32_t r1) {
    for (int32_t r = r0; r < r1; r++) j->starts[r] = j->m;
}

static int32_t solve_window(job *j, int32_t at) {
    unknown_runs(j, at, at + j->m);
    return solve_inner(j, (rect){at, at + j->m, 0, j->m});
}

/* The window at a diagonal or near it whose block stands at the same place in both texts. */
static int32_t align(job *j, int32_t at) {
    at = clamp(at, j->windows - 1);
    unknown_runs(j, at, at + j->m);
    block b = longest_block(j, (rect){at, at + j->m, 0, j->m});
    return clamp(b.row - b.col, j->windows - 1);
}

/* Votes for the diagonals on which pieces of f recur in s; their most popular windows are good first answers. */
static void guess(job *j) {
    int32_t m = j->m, n = j->n, place_of[PLACES], shift = 3;
    while (m >> shift > 8) shift++;
    memset(place_of, -1, sizeof place_of);
    uint32_t hash = 0;
    for (int32_t c = 0; c < m; c++) place_of[hash = roll(hash, j->f[c])] = c;
    int32_t *votes = j->votes, buckets = ((n + m) >> shift) + 2;
    memset(votes, 0, sizeof *votes * (size_t)buckets);
    hash = 0;
    for (int32_t r = 0; r < n; r++) {
        int32_t c = place_of[hash = roll(hash, j->s[r])];
        if (c >= 0 && j->f[c] == j->s[r]) votes[(r - c + m) >> shift]++;
    }
    interrupted(j, (size_t)n);
    for (int round = 0; round < GUESSES && j->best < m - m / 4 && !j->failed; round++) {
        int32_t pick = 0;
        for (int32_t k = 1; k + 1 < buckets; k++)
            if (votes[k] + votes[k + 1] > votes[pick] + votes[pick + 1]) pick = k;
        if (votes[pick] + votes[pick + 1] < j->best / 8) return;
        int32_t at = align(j, ((pick + 1) << shift) - m);
        int32_t got = solve_window(j, at);
        if (!j->failed) offer(j, at, got);
        votes[pick] = votes[pick + 1] = 0;
    }
}

/* How far apart probes may stand to rule out what lies between them, judged by a few; 0 where they cannot. */
static int32_t spacing(job *j) {
    probe samples[SAMPLES];
    int32_t sum = 0;
    for (int k = 0; k < SAMPLES; k += 2) {
        samples[k].at = (int32_t)((int64_t)(j->windows - 1) * (2 * k + 1) / (2 * SAMPLES));
        samples[k + 1].at = (int32_t)((int64_t)(j->windows - 1) * (2 * k + 3) / (2 * SAMPLES));
        two_lcs(j, &samples[k], &samples[k + 1]);
        sum += samples[k].lcs + samples[k + 1].lcs;
    }
    int32_t gap = 2 * (j->best - sum / SAMPLES - j->m / 64);
    return gap < j->m / 12 || gap < 2 ? 0 : gap;
}

/* The best window, or a good one where none reaches what is asked. */
static int32_t scan(job *j) {
    int32_t last = j->windows - 1, highest = -1, good = 0;
    guess(j);
    int32_t gap = spacing(j);
    if (!gap) {
        keep(j, 0, last);
    } else {
        for (int32_t at = 0; at < last; at += gap) PUSH(j, &j->probes, probe, at, 0);
        PUSH(j, &j->probes, probe, last, 0);
        if (j->failed) return 0;
        probe *probes = j->probes.items;
        size_t count = j->probes.used;
        for (size_t k = 0; k < count && !j->failed; k += 2) two_lcs(j, &probes[k], &probes[k + 1 < count ? k + 1 : k]);
        for (size_t k = 0; k < count && !j->failed; k++) {
            if (probes[k].lcs > highest) highest = probes[k].lcs, good = probes[k].at;
            if (k + 1 < count) refine(j, probes[k], probes[k + 1]);
        }
        if (viable(j, last, probes[count - 1].lcs)) keep(j, last, last);
    }
    for (size_t k = 0; k < j->ranges.used && !j->failed; k++) {
        side range = ((side *)j->ranges.items)[k];
        solve_range(j, range.lo, range.hi);
    }
    return j->best_at >= 0 ? j->best_at : good;
}

/* ---- reading the texts --------------------------------------------------------------------------------------- */

typedef struct { Py_UCS4 *keys; int32_t *ids; size_t mask; int32_t direct[DIRECT], used; } alphabet;

static int32_t *place(alphabet *a, Py_UCS4 c) {
    if (c < DIRECT) return &a->direct[c];
    size_t at = (c * 0x9E3779B1u) & a->mask;
    while (a->ids[at] && a->keys[at] != c) at = (at + 1) & a->mask;
    a->keys[at] = c;
    return &a->ids[at];
}

static int read_texts(job *j, PyObject *fragment, PyObject *source) {
    alphabet a = {0};
    size_t room = 64;
    while (room < (size_t)j->m * 2) room *= 2;
    a.mask = room - 1;
    a.keys = calloc(room, sizeof *a.keys);
    a.ids = calloc(room, sizeof *a.ids);
    int ok = a.keys && a.ids;
    for (int32_t k = 0; ok && k < j->m; k++) {
        int32_t *id = place(&a, PyUnicode_READ_CHAR(fragment, k));
        if (!*id) *id = ++a.used;
        j->f[k] = j->reversed[j->m - 1 - k] = *id;
    }
    int kind = PyUnicode_KIND(source);
    const void *data = PyUnicode_DATA(source);
    if (ok && kind == PyUnicode_1BYTE_KIND)
        for (int32_t k = 0; k < j->n; k++) j->s[k] = a.direct[((const Py_UCS1 *)data)[k]];
    else if (ok)
        for (int32_t k = 0; k < j->n; k++) j->s[k] = *place(&a, PyUnicode_READ(kind, data, k));
    free(a.keys);
    free(a.ids);
    size_t cells = (size_t)(a.used + 1) * j->words;
    if (cells > MOST_MASK_WORDS) j->failed = 3;
    if (!ok || j->failed) return 0;
    j->masks = calloc(cells, sizeof(word));
    j->backwards = calloc(cells, sizeof(word));
    if (!j->masks || !j->backwards) return 0;
    for (int32_t k = 0; k < j->m; k++) {
        j->masks[(size_t)j->f[k] * j->words + ((size_t)k >> 6)] |= (word)1 << (k & 63);
        j->backwards[(size_t)j->reversed[k] * j->words + ((size_t)k >> 6)] |= (word)1 << (k & 63);
    }
    return 1;
}

static void *part(char **from, size_t count, size_t item) {
    void *at = *from;
    if (*from) *from += (count * item + 15) / 16 * 16;
    return at;
}

/* Lays the arrays out in one piece of memory; with base NULL only measures it. */
static size_t lay_out(job *j, char *base) {
    char *at = base ? base : (char *)16;
    char *start = at;
    size_t n = (size_t)j->n, m = (size_t)j->m, rows = (n > m ? n : m) + 1, windows = (size_t)j->windows;
    j->s = part(&at, n, sizeof *j->s);
    j->f = part(&at, m, sizeof *j->f);
    j->reversed = part(&at, m, sizeof *j->reversed);
    j->vector = part(&at, j->words, sizeof(word));
    j->run[0] = part(&at, j->words, sizeof(word));
    j->run[1] = part(&at, j->words, sizeof(word));
    j->lengths = part(&at, m + 1, sizeof *j->lengths);
    j->starts = part(&at, n, sizeof *j->starts);
    j->ends = part(&at, n, sizeof *j->ends);
    j->blocks = part(&at, rows, sizeof(block));
    j->inner_blocks = part(&at, rows, sizeof(block));
    j->bound = part(&at, windows, sizeof *j->bound);
    j->got = part(&at, windows, sizeof *j->got);
    j->head_bound = part(&at, windows, sizeof *j->head_bound);
    j->tail_bound = part(&at, windows, sizeof *j->tail_bound);
    j->roots = part(&at, windows, sizeof(block));
    j->queue = part(&at, rows, sizeof *j->queue);
    j->votes = part(&at, (n + m) / 8 + 3, sizeof *j->votes);
    j->memos = part(&at, MEMO, sizeof(memo));
    return (size_t)(at - start);
}

static int32_t search(job *j, PyObject *fragment, PyObject *source) {
    memset(j->memos, 0, sizeof(memo) * MEMO);
    if (!read_texts(j, fragment, source)) {
        j->failed = j->failed ? j->failed : 1;
        return 0;
    }
    if (j->n > j->m) return scan(j);
    unknown_runs(j, 0, j->n);
    int32_t got = solve_inner(j, (rect){0, j->n, 0, j->m});
    if (!j->failed) offer(j, 0, got);
    return 0;
}

static PyObject *too_large(void) {
    PyErr_SetString(PyExc_OverflowError, "empty, or too long or of too many different characters for the kernel");
    return NULL;
}

static PyObject *best_window(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 3 || !PyUnicode_Check(args[0]) || !PyUnicode_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "best_window takes a fragment, a source and the least matching characters");
        return NULL;
    }
    Py_ssize_t m = PyUnicode_GET_LENGTH(args[0]), n = PyUnicode_GET_LENGTH(args[1]);
    Py_ssize_t least = PyLong_AsSsize_t(args[2]);
    if (least == -1 && PyErr_Occurred()) return NULL;
    if (!m || !n || m > MOST_CHARACTERS || n > MOST_CHARACTERS) return too_large();
    job j = {.n = (int32_t)n, .m = (int32_t)m, .windows = n > m ? (int32_t)(n - m + 1) : 1, .best_at = -1};
    j.words = ((size_t)m + 63) / 64;
    j.best = least < 0 ? -1 : least > m ? j.m : (int32_t)least - 1;
    char *memory = malloc(lay_out(&j, NULL));
    if (!memory) return PyErr_NoMemory();
    lay_out(&j, memory);
    j.thread = PyEval_SaveThread();
    int32_t at = search(&j, args[0], args[1]);
    PyEval_RestoreThread(j.thread);
    free(memory);
    free(j.masks);
    free(j.backwards);
    vec *vecs[] = {&j.rects, &j.sides, &j.ranges, &j.probes, &j.groups};
    for (size_t k = 0; k < sizeof vecs / sizeof *vecs; k++) free(vecs[k]->items);
    if (j.failed == 2) return NULL;
    if (j.failed) return j.failed == 3 ? too_large() : PyErr_NoMemory();
    return Py_BuildValue("(iiO)", (int)j.best, (int)at, j.best_at >= 0 ? Py_True : Py_False);
}

static PyMethodDef methods[] = {
    {"best_window", (PyCFunction)(void (*)(void))best_window, METH_FASTCALL,
     "best_window(fragment, source, least, /) -> (matching, start, found)"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernel", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernel(void) { return PyModule_Create(&definition); }
