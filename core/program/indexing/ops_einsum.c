/* SPDX-License-Identifier: Apache-2.0
 * Products over named axes: each pair of operands is brought into the form of a product of matrices, [batch, m, k] and
 * [batch, k, n], by transposing and reshaping, where it is not in it already. */
#include <string.h>

#include "core/program/indexing/calls.h"

/* A tensor and the letter of each of its axes. */
typedef struct lettered {
    rp_tensor x;
    char letter[RP_MAX_RANK + 1];
} lettered;

static int place_of(const char *letters, char c)
{
    const char *at = strchr(letters, c);

    return c != '\0' && at ? (int)(at - letters) : -1;
}

/* x with its axes in the order of `letters`, the same ones. */
static rp_tensor in_order(const lettered *l, const char *letters)
{
    int permutation[RP_MAX_RANK];
    const size_t n = strlen(letters);

    if (strcmp(l->letter, letters) == 0)
        return l->x;
    for (size_t i = 0; i < n; i++)
        permutation[i] = place_of(l->letter, letters[i]);
    return rp_transpose(l->x, permutation);
}

/* x with runs of axes as one each, `count[i]` axes in run i. */
static rp_tensor in_runs(rp_tensor x, const size_t *count, int runs)
{
    size_t shape[3] = {1, 1, 1};
    rp_type type;
    int axis = 0;
    bool same;

    if (!rp_tensor_ok(x))
        return rp_no_tensor();
    type = *rp_tensor_type(x);
    same = type.rank == runs;
    for (int r = 0; r < runs; r++)
        for (size_t i = 0; i < count[r]; i++)
            shape[r] *= type.shape[axis++];
    for (int r = 0; r < runs; r++)
        same = same && count[r] == 1;
    return same ? x : rp_reshape(x, runs, shape);
}

/* The letters of `of` for which their being in `a` and in `b` is as said, behind what is in out. */
static size_t choose(char *out, const char *of, const char *a, bool in_a, const char *b, bool in_b)
{
    size_t n = 0;

    out += strlen(out);
    for (; *of; of++)
        if ((place_of(a, *of) >= 0) == in_a && (place_of(b, *of) >= 0) == in_b)
            out[n++] = *of;
    out[n] = '\0';
    return n;
}

/* Without the axes whose letters are neither in `other` nor wanted. */
static void sum_away(lettered *l, const char *other, const char *wanted)
{
    int axes[RP_MAX_RANK], n = 0;
    char left[RP_MAX_RANK + 1] = "";
    size_t kept = 0;

    for (int i = 0; l->letter[i]; i++)
        if (place_of(other, l->letter[i]) < 0 && place_of(wanted, l->letter[i]) < 0)
            axes[n++] = i;
        else
            left[kept++] = l->letter[i];
    left[kept] = '\0';
    if (n > 0)
        l->x = rp_sum(l->x, axes, n, false);
    memcpy(l->letter, left, sizeof left);
}

/* The product of a and b over the letters that both have and nobody wants. */
static void contract(lettered *a, lettered *b, const char *wanted)
{
    char left[2 * RP_MAX_RANK + 1] = "", right[2 * RP_MAX_RANK + 1] = "", result[2 * RP_MAX_RANK + 1] = "";
    size_t batch, m, k, n, shape[RP_MAX_RANK];
    rp_tensor x, y;
    int rank = 0;

    sum_away(a, b->letter, wanted);
    sum_away(b, a->letter, wanted);
    batch = choose(left, a->letter, b->letter, true, wanted, true);
    memcpy(right, left, sizeof left);
    memcpy(result, left, sizeof left);
    m = choose(left, a->letter, b->letter, false, "", false);
    (void)choose(result, a->letter, b->letter, false, "", false);
    k = choose(left, a->letter, b->letter, true, wanted, false);
    memcpy(right + batch, left + batch + m, k + 1);
    n = choose(right, b->letter, a->letter, false, "", false);
    (void)choose(result, b->letter, a->letter, false, "", false);
    if (strlen(result) > RP_MAX_RANK) {
        rp_graph_fail(a->x.graph, RP_ESHAPE, "einsum: a product has the axes %s, expected at most %d", result,
                      RP_MAX_RANK);
        return;
    }
    x = in_order(a, left);
    y = in_order(b, right);
    if (!rp_tensor_ok(x) || !rp_tensor_ok(y)) {
        a->x = rp_no_tensor();
        return;
    }
    for (size_t i = 0; i < batch + m; i++)
        shape[rank++] = rp_tensor_type(x)->shape[i];
    for (size_t i = 0; i < n; i++)
        shape[rank++] = rp_tensor_type(y)->shape[batch + k + i];
    x = batch ? in_runs(x, (size_t[]){batch, m, k}, 3) : in_runs(x, (size_t[]){m, k}, 2);
    y = batch ? in_runs(y, (size_t[]){batch, k, n}, 3) : in_runs(y, (size_t[]){k, n}, 2);
    x = k ? rp_matmul(x, y) : rp_mul(x, y);
    if (!(rp_tensor_ok(x) && m == 1 && n == 1 && batch < 2))
        x = rp_reshape(x, rank, shape);
    a->x = x;
    memcpy(a->letter, result, sizeof a->letter);
}

/* A letter that comes twice: the diagonal of the two axes takes the place of both, as the last axis. */
static void take_diagonals(lettered *l)
{
    for (size_t i = 0; l->letter[i]; i++) {
        const char *again = strchr(l->letter + i + 1, l->letter[i]);
        const size_t n = strlen(l->letter), j = again ? (size_t)(again - l->letter) : 0;
        const char letter = l->letter[i];
        int permutation[RP_MAX_RANK], at = 0;
        char left[RP_MAX_RANK + 1] = "";

        if (!again)
            continue;
        for (size_t k = 0; k < n; k++)
            if (k != i && k != j) {
                left[at] = l->letter[k];
                permutation[at++] = (int)k;
            }
        permutation[at] = (int)i;
        permutation[at + 1] = (int)j;
        left[at] = letter;
        if (i + 2 != n) /* else they are the last ones */
            l->x = rp_transpose(l->x, permutation);
        l->x = rp_diagonal(l->x, 0);
        memcpy(l->letter, left, sizeof left);
        i = (size_t)-1; /* from the beginning again */
    }
}

/* ---- the text ---- */

static rp_tensor refuse_text(const rp_tensor *x, size_t n, const char *equation, const char *why)
{
    rp_graph *g = rp_graph_of(x, n);

    if (g)
        rp_graph_fail(g, RP_EARG, "einsum: \"%.80s\": %s", equation, why);
    return rp_no_tensor();
}

/* Letters up to what is none, blanks left out; the text behind them, or NULL when there are more than fit. */
static const char *read_letters(const char *text, char *out, size_t most)
{
    size_t n = 0;

    for (;; text++) {
        if (*text == ' ')
            continue;
        if (!((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z')))
            break;
        if (n == most)
            return NULL;
        out[n++] = *text;
    }
    out[n] = '\0';
    return text;
}

/* Every letter has one length, in all operands. */
static const char *check_lengths(const rp_tensor *x, size_t n, const char (*letters)[RP_MAX_RANK + 1])
{
    size_t length[128] = {0};
    bool known[128] = {false};

    for (size_t i = 0; i < n; i++) {
        const rp_type *type = rp_tensor_type(x[i]);

        if (strlen(letters[i]) != (size_t)type->rank)
            return "an operand has another rank than letters";
        for (int d = 0; d < type->rank; d++) {
            const int c = letters[i][d];

            if (known[c] && length[c] != type->shape[d])
                return "axes of one letter have different lengths";
            known[c] = true;
            length[c] = type->shape[d];
        }
    }
    return NULL;
}

/* Those that occur once, in the alphabet's order. */
static const char *implied(char *out, const char (*letters)[RP_MAX_RANK + 1], size_t n)
{
    size_t at = 0;

    for (char c = 'A'; c <= 'z'; c++) {
        size_t count = 0;

        for (size_t i = 0; i < n; i++)
            for (const char *l = letters[i]; *l; l++)
                count += *l == c;
        if (count == 1 && at == RP_MAX_RANK)
            return "the result has more than 8 axes";
        if (count == 1)
            out[at++] = c;
    }
    out[at] = '\0';
    return NULL;
}

enum { OPERANDS = 16 };

/* Letters of each operand and of the result; NULL, or what is wrong. */
static const char *read_equation(const char *text, const rp_tensor *x, size_t n, char (*letters)[RP_MAX_RANK + 1],
                                 char *result)
{
    const char *wrong;

    for (size_t i = 0; i < n; i++) {
        text = read_letters(text, letters[i], RP_MAX_RANK);
        if (!text)
            return "an operand has more than 8 letters";
        if (*text == '.')
            return "there is no ellipsis: expected a letter for each axis";
        if (i + 1 < n && *text++ != ',')
            return "there are fewer lists of letters than operands";
    }
    wrong = check_lengths(x, n, (const char(*)[RP_MAX_RANK + 1]) letters);
    if (wrong)
        return wrong;
    if (*text == '\0')
        return implied(result, (const char(*)[RP_MAX_RANK + 1]) letters, n);
    if (text[0] != '-' || text[1] != '>')
        return "expected letters, a comma or -> in it";
    text = read_letters(text + 2, result, RP_MAX_RANK);
    if (!text || *text != '\0')
        return "the result is more than 8 letters, or something else";
    for (const char *c = result; *c; c++) {
        bool found = false;

        for (size_t i = 0; i < n; i++)
            found = found || place_of(letters[i], *c) >= 0;
        if (!found || strchr(c + 1, *c))
            return "a letter of the result is in no operand, or in the result twice";
    }
    return NULL;
}

rp_tensor rp_einsum(const char *equation, const rp_tensor *x, size_t n)
{
    char letters[OPERANDS][RP_MAX_RANK + 1], result[RP_MAX_RANK + 1], wanted[128];
    const char *wrong;
    lettered all, next;

    if (!x && n > 0)
        return rp_no_tensor();
    if (n < 1 || n > OPERANDS || !equation)
        return refuse_text(x, n, equation ? equation : "", "expected 1 to 16 operands");
    for (size_t i = 0; i < n; i++)
        if (!rp_tensor_ok(x[i]))
            return rp_no_tensor();
    wrong = read_equation(equation, x, n, letters, result);
    if (wrong)
        return refuse_text(x, n, equation, wrong);
    all.x = x[0];
    memcpy(all.letter, letters[0], sizeof all.letter);
    take_diagonals(&all);
    for (size_t i = 1; i < n && rp_tensor_ok(all.x); i++) {
        size_t used = 0;

        next.x = x[i];
        memcpy(next.letter, letters[i], sizeof next.letter);
        take_diagonals(&next);
        memset(wanted, 0, sizeof wanted);
        for (const char *c = result; *c; c++)
            wanted[used++] = *c;
        for (size_t k = i + 1; k < n; k++)
            for (const char *c = letters[k]; *c; c++)
                if (place_of(wanted, *c) < 0)
                    wanted[used++] = *c;
        contract(&all, &next, wanted);
    }
    if (!rp_tensor_ok(all.x))
        return rp_no_tensor();
    sum_away(&all, "", result);
    return in_order(&all, result);
}

rp_tensor rp_tensordot(rp_tensor a, rp_tensor b, const int *axes_a, const int *axes_b, int n)
{
    lettered left = {a, ""}, right = {b, ""};
    char wanted[2 * RP_MAX_RANK + 1] = "";
    size_t used = 0;

    if (!rp_tensor_ok(a) || !rp_tensor_ok(b) || !rp_graph_given(a.graph, "axes_a", axes_a, n > 0 ? (size_t)n : 0) ||
        !rp_graph_given(a.graph, "axes_b", axes_b, n > 0 ? (size_t)n : 0))
        return rp_no_tensor();
    memcpy(left.letter, "abcdefgh", (size_t)rp_tensor_type(a)->rank);
    memcpy(right.letter, "ABCDEFGH", (size_t)rp_tensor_type(b)->rank);
    for (int i = 0; i < n; i++) {
        const int p = axis_in("tensordot", a, axes_a[i]), q = axis_in("tensordot", b, axes_b[i]);

        if (p < 0 || q < 0)
            return rp_no_tensor();
        if (rp_tensor_type(a)->shape[p] != rp_tensor_type(b)->shape[q] || right.letter[q] >= 'a' ||
            strchr(right.letter, left.letter[p])) {
            rp_graph_fail(a.graph, RP_ESHAPE, "tensordot: axes %d and %d are not of one length, or are there twice",
                          axes_a[i], axes_b[i]);
            return rp_no_tensor();
        }
        right.letter[q] = left.letter[p];
    }
    for (const char *c = left.letter; *c; c++)
        if (place_of(right.letter, *c) < 0)
            wanted[used++] = *c;
    for (const char *c = right.letter; *c; c++)
        if (place_of(left.letter, *c) < 0)
            wanted[used++] = *c;
    contract(&left, &right, wanted);
    return left.x;
}
