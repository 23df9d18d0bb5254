/* Km: of a rectangle that stands still, and of the sides of neighbouring windows. */
#pragma once
#include "runs.h"

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
