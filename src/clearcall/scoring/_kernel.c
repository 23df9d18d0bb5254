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
#include "kernel/scan.h"

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
    j->peaks = part(&at, windows / STRIDE + 1, sizeof *j->peaks);
    j->hits = part(&at, n, sizeof *j->hits);
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
    vec *vecs[] = {&j.rects, &j.sides, &j.stretches, &j.ranges, &j.probes, &j.groups};
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
