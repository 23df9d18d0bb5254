/* What one search works on, and what every part of it uses. */
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t word;

typedef struct { int32_t row, col, size; } block;

/* Columns [c0, c1) as words of a bit set: the first is cut by head, the last by tail. */
typedef struct { size_t first, count; word head, tail; } span;

/* Windows lo..hi whose block lies on one run. The corners are where the sides begin, -1 while no window has the side. */
typedef struct { int32_t lo, hi, head_row, head_col, tail_row, tail_col, bound; } group;

typedef struct { int32_t lo, hi, row, col; } side;
typedef struct { int32_t r0, r1, c0, c1; } rect;
typedef struct { rect key; int32_t value; } memo;
typedef struct { int32_t at, lcs; } probe;

typedef struct { void *items; size_t used, room; } vec;

enum {
    MOST_CHARACTERS = 1 << 28, /* so that sums of two lengths fit 32 bits */
    DIRECT = 0x300,            /* characters below it have a direct place in the alphabet */
    MEMO = 1 << 10,            /* inner rectangles that are remembered */
    WORK_PER_CHECK = 1 << 26,  /* word operations between two looks for Ctrl-C: some tens of milliseconds */
    STRIDE = 64,               /* windows whose shared trigrams are looked at together */
    PLACES = 1 << 12,          /* of trigrams in their table */
    LONG = 1024,               /* characters of a fragment from which a second look at it is cheap beside the rest */
    GUESSES = 3,
    SAMPLES = 4,
    SMALLEST_SPLIT = 6, /* windows: fewer are solved at once sooner than probed */
};
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
    int32_t *queue, *hits, *peaks;
    memo *memos;
    vec rects, sides, stretches, ranges, probes, groups;
    int32_t most;           /* no window has more matching characters */
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
