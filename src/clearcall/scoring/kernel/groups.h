/* Stretches of windows: their blocks, groups that share one, the bounds of a group and its exact values. */
#pragma once
#include "exact.h"
#include "lcs.h"

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
