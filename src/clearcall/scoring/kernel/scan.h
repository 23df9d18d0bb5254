/* From all windows to the few stretches that may win. */
#pragma once
#include "groups.h"

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

static int32_t between(const job *j, probe a, probe b) {
    int32_t bound = (a.lcs + b.lcs + b.at - a.at) / 2;
    return bound < j->most ? bound : j->most;
}

/* Keeps the windows from a up to, but not at, b that may win; probes in between where that is likely to pay. */
static void refine(job *j, probe a, probe b) {
    if (viable(j, a.at, a.lcs)) keep(j, a.at, a.at);
    int32_t gap = b.at - a.at;
    if (gap < 2 || !viable(j, a.at, between(j, a, b))) return;
    probe middle = {a.at + gap / 2, (a.lcs + b.lcs) / 2};
    int pays = !viable(j, a.at, between(j, a, middle)) || !viable(j, a.at, between(j, middle, b));
    if (gap <= SMALLEST_SPLIT || !pays || j->failed) {
        keep(j, a.at + 1, b.at - 1);
        return;
    }
    middle.lcs = window_lcs(j, middle.at);
    refine(j, a, middle);
    refine(j, middle, b);
}

static int32_t clamp(int32_t at, int32_t last) { return at < 0 ? 0 : at > last ? last : at; }

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

/* The place of the last three characters in a table; that some share a place only weakens what is told from it. */
INLINE uint32_t roll(uint32_t place, int32_t id) { return (place << 4 ^ (uint32_t)id) % PLACES; }

/* Trigrams of window i that f has too. */
INLINE int32_t shared(const job *j, int32_t i) { return j->hits[i + j->m - 1] - j->hits[i + 1]; }

static int32_t stride_end(const job *j, int32_t k) {
    return (k + 1) * STRIDE < j->windows ? (k + 1) * STRIDE : j->windows;
}

/* Counts the trigrams of s that f has, and finds the most that a window of each stride has. */
VARIANTS static void count_trigrams(job *j) {
    uint8_t known[PLACES] = {0};
    int32_t seen = 0, *hits = j->hits;
    const int32_t *s = j->s;
    uint32_t place = 0;
    for (int32_t c = 0; c < j->m; c++) {
        place = roll(place, j->f[c]);
        if (c >= 2) known[place] = 1;
    }
    for (int32_t r = 0; r < j->n; r++) {
        place = roll(place, s[r]);
        hits[r] = seen += known[place];
    }
    for (int32_t k = 0; k * STRIDE < j->windows; k++) {
        int32_t most = 0;
        for (int32_t i = k * STRIDE; i < stride_end(j, k); i++) most = shared(j, i) > most ? shared(j, i) : most;
        j->peaks[k] = most;
    }
    interrupted(j, (size_t)j->n);
}

/* Windows that share many trigrams, moved so that their block stands at the same place in both texts, are good first
 * answers. */
static void guess(job *j) {
    int32_t strides = (j->windows + STRIDE - 1) / STRIDE, tried[GUESSES];
    for (int round = 0; round < GUESSES && !j->failed; round++) {
        int32_t pick = -1;
        for (int32_t k = 0; k < strides; k++) {
            int used = 0;
            for (int r = 0; r < round; r++) used |= k >= tried[r] - 1 && k <= tried[r] + 1;
            if (!used && (pick < 0 || j->peaks[k] > j->peaks[pick])) pick = k;
        }
        if (pick < 0 || j->peaks[pick] < j->best / 2) return;
        tried[round] = pick;
        int32_t at = pick * STRIDE;
        while (shared(j, at) < j->peaks[pick]) at++;
        at = align(j, at);
        int32_t got = solve_window(j, at);
        if (!j->failed) offer(j, at, got);
        if (j->best_at < 0 || j->best > j->m - j->m / 4) return;
    }
}

/* Of k characters each that do not match, every one ends at most one block: 2 k + 1 blocks, and a block of n characters
 * has n - 2 trigrams. Where the best is high that is more trigrams than an unrelated window has. */
static void stretches(job *j) {
    int32_t needed = j->best - 2 * (2 * (j->m - j->best) + 1), lo = -1;
    if (needed < j->m * 0.3) {
        PUSH(j, &j->stretches, side, 0, j->windows - 1, 0, 0);
        return;
    }
    for (int32_t k = 0; k * STRIDE < j->windows && !j->failed; k++) {
        if (j->peaks[k] < needed) continue;
        if (lo < 0) lo = k * STRIDE;
        if (stride_end(j, k) < j->windows && j->peaks[k + 1] >= needed) continue;
        PUSH(j, &j->stretches, side, lo, stride_end(j, k) - 1, 0, 0);
        lo = -1;
    }
}

/* How far apart probes may stand to rule out what lies between them, judged by a few; 0 where they cannot. */
static int32_t spacing(job *j, side t) {
    probe samples[SAMPLES];
    int32_t sum = 0;
    for (int k = 0; k < SAMPLES; k++)
        samples[k].at = t.lo + (int32_t)((int64_t)(t.hi - t.lo) * (2 * k + 1) / (2 * SAMPLES));
    for (int k = 0; k < SAMPLES; k += 2) {
        two_lcs(j, &samples[k], &samples[k + 1]);
        sum += samples[k].lcs + samples[k + 1].lcs;
    }
    int32_t gap = 2 * (j->best - sum / SAMPLES - j->m / 32);
    return gap < j->m / 12 || gap < 2 ? 0 : gap;
}

/* Keeps what may win in a stretch; returns the likeliest window that it looked at, or a guess. */
static probe scan_stretch(job *j, side t) {
    probe highest = {t.lo, -1};
    int32_t gap = t.hi - t.lo <= j->m ? j->m / 2 + 1 : spacing(j, t);
    if (!gap) {
        keep(j, t.lo, t.hi);
        return highest;
    }
    j->probes.used = 0;
    for (int32_t at = t.lo; at < t.hi; at += gap) PUSH(j, &j->probes, probe, at, 0);
    PUSH(j, &j->probes, probe, t.hi, 0);
    if (j->failed) return highest;
    probe *probes = j->probes.items;
    size_t count = j->probes.used;
    for (size_t k = 0; k < count && !j->failed; k += 2) two_lcs(j, &probes[k], &probes[k + 1 < count ? k + 1 : k]);
    for (size_t k = 0; k < count && !j->failed; k++) {
        if (probes[k].lcs > highest.lcs) highest = probes[k];
        if (k + 1 < count) refine(j, probes[k], probes[k + 1]);
    }
    if (viable(j, t.hi, probes[count - 1].lcs)) keep(j, t.hi, t.hi);
    return highest;
}

/* No window matches more than the characters that both texts have, whatever their order. */
static int32_t common_characters(job *j) {
    int32_t *count = j->queue, ids = 0, common = 0;
    for (int32_t c = 0; c < j->m; c++) ids = j->f[c] > ids ? j->f[c] : ids;
    memset(count, 0, sizeof *count * (size_t)(ids + 1));
    for (int32_t c = 0; c < j->m; c++) count[j->f[c]]++;
    for (int32_t r = 0; r < j->n; r++)
        if (j->s[r] && count[j->s[r]]-- > 0) common++;
    return common;
}

/* The best window, or a good one where none reaches what is asked. */
static int32_t scan(job *j) {
    probe good = {0, -1};
    j->most = j->m;
    if (j->m >= LONG) { /* texts that repeat themselves score alike everywhere: then the first window is the best */
        j->most = common_characters(j);
        int32_t got = solve_window(j, 0);
        if (!j->failed) offer(j, 0, got);
    }
    if (j->m > 2) count_trigrams(j);
    if (j->m > 2) guess(j);
    stretches(j);
    for (size_t k = 0; k < j->stretches.used && !j->failed; k++) {
        probe found = scan_stretch(j, ((side *)j->stretches.items)[k]);
        if (found.lcs > good.lcs) good = found;
    }
    for (size_t k = 0; k < j->ranges.used && !j->failed; k++) {
        side range = ((side *)j->ranges.items)[k];
        solve_range(j, range.lo, range.hi);
    }
    return j->best_at >= 0 ? j->best_at : good.at;
}
