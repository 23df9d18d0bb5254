/* Longest common subsequences, 64 columns at a time: their length is the zeros of a word after all rows. */
#pragma once
#include "runs.h"

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
