/* SPDX-License-Identifier: Apache-2.0
 * Vocabularies of byte pairs against a plain form of their rule (CONTRACT 17.2), and windows of a text (17.3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "core/text/corpus.h"
#include "core/text/pieces.h"

enum { PLAIN = 4096 };

/* ---- the rule, written as plainly as it reads ---- */

typedef struct plain {
    int token[PLAIN];
    int piece[PLAIN]; /* of each token */
    size_t n;
    int pair[256][2];
    int pairs;
} plain;

static size_t pair_count(const plain *p, int a, int b)
{
    size_t count = 0;

    for (size_t i = 0; i + 1 < p->n; i++)
        count += p->piece[i] == p->piece[i + 1] && p->token[i] == a && p->token[i + 1] == b;
    return count;
}

static void join(plain *p, int a, int b, int joined)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->n; i++) {
        const bool both = i + 1 < p->n && p->piece[i] == p->piece[i + 1] && p->token[i] == a && p->token[i + 1] == b;

        p->piece[kept] = p->piece[i];
        p->token[kept++] = both ? joined : p->token[i];
        i += both;
    }
    p->n = kept;
}

static void cut(plain *p, const unsigned char *text, size_t size)
{
    int number = 0;

    p->n = size;
    for (size_t at = 0, length; at < size; at += length, number++) {
        length = rp_piece_length(text + at, size - at);
        for (size_t i = 0; i < length; i++) {
            p->token[at + i] = text[at + i];
            p->piece[at + i] = number;
        }
    }
}

static void learn(plain *p, int wanted)
{
    while (256 + p->pairs < wanted) {
        size_t most = 1;
        int best[2] = {0, 0};

        for (size_t i = 0; i + 1 < p->n; i++) {
            const int a = p->token[i], b = p->token[i + 1];
            const size_t count = p->piece[i] == p->piece[i + 1] ? pair_count(p, a, b) : 0;

            if (count > most || (count == most && most > 1 && (a < best[0] || (a == best[0] && b < best[1])))) {
                most = count;
                best[0] = a;
                best[1] = b;
            }
        }
        if (most < 2)
            return;
        memcpy(p->pair[p->pairs], best, sizeof best);
        join(p, best[0], best[1], 256 + p->pairs++);
    }
}

/* ---- vocabularies ---- */

/* A list that grows beyond its text ends here, and not with the memory of the host. */
static void *small_resize(void *self, void *block, size_t bytes)
{
    (void)self;
    return bytes > (size_t)1 << 20 ? NULL : realloc(block, bytes);
}

static void *small_allocate(void *self, size_t bytes)
{
    return small_resize(self, NULL, bytes);
}

static void small_release(void *self, void *block)
{
    (void)self;
    free(block);
}

static const rp_allocator small = {small_allocate, small_resize, small_release, NULL};

static rp_vocabulary *learnt(const void *text, size_t size, size_t wanted)
{
    rp_vocabulary *v;
    rp_error err = {0};

    assert_int_equal(rp_vocabulary_learn(&v, text, size, wanted, &err), RP_OK);
    return v;
}

static void the_contracts_example_has_its_tokens(void **state)
{
    static const char text[] = "low lower lowest";
    static const uint16_t expected[] = {257, 258, 101, 114, 258, 101, 115, 116};
    rp_vocabulary *v = learnt(text, strlen(text), 259);
    uint16_t *token;
    size_t n;

    (void)state;
    assert_int_equal(v->merges, 3);
    assert_int_equal(rp_vocabulary_encode(v, (const unsigned char *)text, strlen(text), &token, &n, NULL), RP_OK);
    assert_int_equal(n, sizeof expected / sizeof *expected);
    assert_memory_equal(token, expected, sizeof expected);
    rp_free(token);
    rp_vocabulary_free(v);
}

static void pieces_end_where_classes_of_bytes_change(void **state)
{
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {{"abc de", 3}, {" abc", 4},   {"  abc", 1},   {"   ", 3},   {" \n a", 2},
                 {"a1", 1},     {"12.5", 2},   {"...a", 3},    {" 1a", 2},   {"\xc3\xa9t\xc3\xa9 x", 5},
                 {" ", 1},      {"\n\nab", 2}, {"\n\n ab", 2}, {" 'tis", 2}, {"z", 1}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(rp_piece_length((const unsigned char *)cases[i].text, strlen(cases[i].text)), cases[i].length);
}

static void no_piece_is_longer_than_its_limit(void **state)
{
    unsigned char text[1000];

    (void)state;
    memset(text, 'a', sizeof text);
    assert_int_equal(rp_piece_length(text, sizeof text), RP_PIECE_BYTES);
    text[0] = ' ';
    assert_int_equal(rp_piece_length(text, sizeof text), RP_PIECE_BYTES);
    memset(text, ' ', sizeof text);
    assert_int_equal(rp_piece_length(text, sizeof text), RP_PIECE_BYTES);
}

/* Few letters, so that pairs tie, overlap and grow. */
static size_t random_text(unsigned char *text, unsigned seed, unsigned letters)
{
    const size_t size = 200 + seed * 37 % 900;
    uint32_t r = seed * 2654435761u + 1;

    for (size_t i = 0; i < size; i++) {
        r = r * 1664525u + 1013904223u;
        text[i] = (r >> 24) % 5 == 0 ? ' ' : (unsigned char)('a' + (r >> 16) % letters);
    }
    return size;
}

static void learnt_pairs_are_those_of_the_plain_rule(void **state)
{
    static plain p;
    unsigned char text[PLAIN];

    (void)state;
    for (unsigned seed = 0; seed < 32; seed++) {
        const size_t size = random_text(text, seed, 1 + seed % 4), wanted = 256 + seed * 5;
        rp_vocabulary *v;
        uint16_t *token;
        size_t n;

        for (size_t i = 0; i < size && seed >= 24; i++) /* pieces as long as they may be */
            text[i] = text[i] == ' ' ? 0xc3 : text[i];
        v = learnt(text, size, wanted);

        p = (plain){.n = 0};
        cut(&p, text, size);
        learn(&p, (int)wanted);
        assert_int_equal(v->merges, p.pairs);
        for (int i = 0; i < p.pairs; i++) {
            assert_int_equal(v->merge[i].left, p.pair[i][0]);
            assert_int_equal(v->merge[i].right, p.pair[i][1]);
        }
        assert_int_equal(rp_vocabulary_encode(v, text, size, &token, &n, NULL), RP_OK);
        assert_int_equal(n, p.n);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(token[i], p.token[i]);
        rp_free(token);
        rp_vocabulary_free(v);
    }
}

/* Two pieces that have all pairs but the last in common: a chain that were walked twice in a merge would double in
 * each, and be 2^111 long at the end. */
static void learning_takes_memory_in_proportion_to_the_text(void **state)
{
    unsigned char text[227];
    rp_vocabulary *v;

    (void)state;
    for (int i = 0; i < 112; i++)
        text[i] = text[114 + i] = (unsigned char)(128 + i);
    text[112] = 'a';
    text[113] = '\n';
    text[226] = 'b';
    v = learnt(text, sizeof text, 400);
    assert_int_equal(v->merges, 111);
    rp_vocabulary_free(v);
}

static void tokens_give_their_bytes_back_whatever_they_are(void **state)
{
    unsigned char text[PLAIN];
    rp_vocabulary *v;
    uint32_t r = 9;

    (void)state;
    for (size_t i = 0; i < sizeof text; i++) {
        r = r * 1664525u + 1013904223u;
        text[i] = (unsigned char)(r >> 24);
    }
    v = learnt(text, sizeof text / 2, 400);
    for (size_t size = 0; size <= sizeof text; size += 511) {
        rp_buffer back = {0};
        uint16_t *token;
        size_t n;

        assert_int_equal(rp_vocabulary_encode(v, text, size, &token, &n, NULL), RP_OK);
        for (size_t i = 0; i < n; i++)
            rp_vocabulary_decode(v, token[i], &back);
        assert_int_equal(back.size, size);
        assert_true(size == 0 || memcmp(back.data, text, size) == 0);
        rp_buffer_free(&back);
        rp_free(token);
    }
    rp_vocabulary_free(v);
}

static void a_vocabulary_is_read_as_it_was_written(void **state)
{
    unsigned char text[PLAIN];
    const size_t size = random_text(text, 3, 4);
    rp_vocabulary *v = learnt(text, size, 300), *again;
    rp_json *json;
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_vocabulary_write(&json, v, &err), RP_OK);
    assert_int_equal(rp_vocabulary_read(&again, json, &err), RP_OK);
    assert_int_equal(again->size, v->size);
    assert_memory_equal(again->merge, v->merge, v->merges * sizeof *v->merge);
    assert_memory_equal(again->length, v->length, v->size * sizeof *v->length);
    rp_json_free(json);
    rp_vocabulary_free(again);
    rp_vocabulary_free(v);
}

static void a_vocabulary_that_no_rule_gives_is_refused(void **state)
{
    static const char *const wrong[] = {
        "{\"merges\":[[97,256]],\"tokens\":257}",        /* itself */
        "{\"merges\":[[97,98],[97,98]],\"tokens\":258}", /* twice */
        "{\"merges\":[[97,98]],\"tokens\":258}",         /* another number */
        "{\"merges\":[[97]],\"tokens\":257}",
        "{\"merges\":[[97,-1]],\"tokens\":257}",
        "{\"merges\":[[97,65536]],\"tokens\":257}",
        "{\"merges\":{},\"tokens\":256}",
        "{\"tokens\":256}",
        "{\"merges\":[[\"x\",101]],\"tokens\":257}", /* which is no number */
        "{\"merges\":[[null,{}]],\"tokens\":257}",
        "{\"merges\":[],\"tokens\":\"256\"}",
        "[]",
        /* 512 bytes */
        ("{\"merges\":[[97,97],[256,256],[257,257],[258,258],[259,259],[260,260],[261,261],[262,262],[263,263]],"
         "\"tokens\":265}"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rp_vocabulary *v;
        rp_json *json;
        rp_error err = {0};

        assert_int_equal(rp_json_parse(&json, wrong[i], strlen(wrong[i]), true, "v", &err), RP_OK);
        assert_int_equal(rp_vocabulary_read(&v, json, &err), RP_EFORMAT);
        assert_null(v);
        rp_json_free(json);
    }
}

/* ---- windows ---- */

static rp_corpus *corpus_of(size_t size, int64_t length, double validation, bool shuffle)
{
    rp_recipe recipe = {.seed = 7};
    unsigned char text[PLAIN];
    rp_corpus *c;
    rp_error err = {0};

    for (size_t i = 0; i < size; i++)
        text[i] = (unsigned char)(i % 251);
    recipe.text.tokens = 256;
    recipe.text.length = length;
    recipe.text.validation = validation;
    recipe.train.shuffle = shuffle;
    assert_int_equal(rp_corpus_prepare(&c, &recipe, text, size, "t", &err), RP_OK);
    return c;
}

static void an_epoch_tells_each_token_at_most_once_and_nearly_all(void **state)
{
    (void)state;
    for (size_t size = 9; size < 400; size += 13) {
        rp_corpus *c = corpus_of(size, 8, 0, true);
        const size_t n = rp_corpus_per_epoch(c);
        int64_t *order = malloc(n * sizeof *order), window[9];

        for (uint64_t epoch = 0; epoch < 5; epoch++) {
            unsigned char told[PLAIN] = {0};
            size_t count = 0;

            rp_corpus_order(c, epoch, order);
            for (size_t i = 0; i < n; i++) {
                assert_in_range(order[i], 0, (int64_t)size - 9);
                rp_corpus_window(c, &c->train, (size_t)order[i], window);
                for (size_t k = 0; k < 9; k++)
                    assert_int_equal(window[k], ((size_t)order[i] + k) % 251);
                for (size_t k = 1; k < 9; k++) {
                    assert_int_equal(told[(size_t)order[i] + k], 0);
                    told[(size_t)order[i] + k] = 1;
                    count++;
                }
            }
            assert_true(count + 2 * 8 > size - 1);
        }
        free(order);
        rp_corpus_free(c);
    }
}

static void an_order_is_a_pure_function_of_seed_and_epoch(void **state)
{
    rp_corpus *a = corpus_of(500, 8, 0.1, true), *b = corpus_of(500, 8, 0.1, true);
    const size_t n = rp_corpus_per_epoch(a);
    int64_t *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);

    (void)state;
    rp_corpus_order(a, 0, x);
    rp_corpus_order(a, 3, x);
    rp_corpus_order(b, 3, y);
    assert_memory_equal(x, y, n * sizeof *x);
    rp_corpus_order(b, 4, y);
    assert_memory_not_equal(x, y, n * sizeof *x);
    free(x);
    free(y);
    rp_corpus_free(a);
    rp_corpus_free(b);
}

static void without_shuffle_windows_follow_one_another(void **state)
{
    rp_corpus *c = corpus_of(33, 8, 0, false);
    int64_t order[4];

    (void)state;
    assert_int_equal(rp_corpus_per_epoch(c), 4);
    rp_corpus_order(c, 5, order);
    for (int64_t i = 0; i < 4; i++)
        assert_int_equal(order[i], 8 * i);
    rp_corpus_free(c);
}

static void a_text_too_short_for_a_window_is_refused_with_what_to_do(void **state)
{
    rp_recipe recipe = {.seed = 7};
    rp_corpus *c;
    rp_error err = {0};

    (void)state;
    recipe.text.tokens = 256;
    recipe.text.length = 8;
    recipe.text.validation = 0.1;
    assert_int_equal(rp_corpus_prepare(&c, &recipe, "12345678", 8, "t", &err), RP_EDATA);
    assert_non_null(strstr(err.text, "the training part has 8 tokens"));
    assert_int_equal(rp_corpus_prepare(&c, &recipe, "123456789012", 12, "t", &err), RP_EDATA);
    assert_non_null(strstr(err.text, "the validation part has 1 tokens"));
    assert_non_null(strstr(err.text, "data.validation: 0"));
    assert_int_equal(rp_corpus_prepare(&c, &recipe, "", 0, "t", &err), RP_EDATA);
    assert_null(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_contracts_example_has_its_tokens),
        cmocka_unit_test(pieces_end_where_classes_of_bytes_change),
        cmocka_unit_test(no_piece_is_longer_than_its_limit),
        cmocka_unit_test(learnt_pairs_are_those_of_the_plain_rule),
        cmocka_unit_test(learning_takes_memory_in_proportion_to_the_text),
        cmocka_unit_test(tokens_give_their_bytes_back_whatever_they_are),
        cmocka_unit_test(a_vocabulary_is_read_as_it_was_written),
        cmocka_unit_test(a_vocabulary_that_no_rule_gives_is_refused),
        cmocka_unit_test(an_epoch_tells_each_token_at_most_once_and_nearly_all),
        cmocka_unit_test(an_order_is_a_pure_function_of_seed_and_epoch),
        cmocka_unit_test(without_shuffle_windows_follow_one_another),
        cmocka_unit_test(a_text_too_short_for_a_window_is_refused_with_what_to_do),
    };

    rp_set_allocator(&small);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
