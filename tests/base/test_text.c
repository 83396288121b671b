/* SPDX-License-Identifier: Apache-2.0
 * Suggestions: a slip of the hand is recognised, another word is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "rp/error.h"

static const char *const words[] = {"run",    "csv",     "mean",   "hidden", "verify",
                                    "replay", "threads", "target", "epochs", "regression"};
enum { WORDS = sizeof words / sizeof *words };

static void expect(const char *word, const char *near)
{
    const char *found = rp_nearest(word, words, WORDS);

    if (found != near && (!found || !near || strcmp(found, near) != 0))
        fail_msg("%s: found %s, expected %s", word, found ? found : "nothing", near ? near : "nothing");
}

static void slips_are_recognised(void **state)
{
    (void)state;
    expect("rum", "run");          /* another letter */
    expect("cvs", "csv");          /* two that changed places */
    expect("hiden", "hidden");     /* one missing */
    expect("thrreads", "threads"); /* one too many */
    expect("veryfi", "verify");
    expect("regresion", "regression");
    expect("target", "target");
    expect("relpay", "replay");
}

static void other_words_are_not(void **state)
{
    static const char *const other[] = {"",     "x",     "lr",     "ab",   "men's",    "max",
                                        "seed", "model", "layers", "vary", "optimizer"};

    (void)state;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        expect(other[i], NULL);
}

static void quoted_texts_keep_their_letters_and_end_behind_one(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        const char *quoted;
    } of[] = {
        {"gr\xC3\xB6\xC3\x9F"
         "e",
         20,
         "gr\xC3\xB6\xC3\x9F"
         "e"},
        {"gr\xC3\xB6\xC3\x9F"
         "e",
         8,
         "gr\xC3\xB6\xC3\x9F"
         "e"}, /* fits to the byte */
        {"gr\xC3\xB6\xC3\x9F"
         "e",
         7, "gr..."}, /* no half of a letter before the dots */
        {"\xE5\x90\x8D\xE5\x89\x8D", 6, "..."},
        {"\xE5\x90\x8D\xE5\x89\x8D", 3, ""},
        {"caf\xE9.csv", 20, "caf?.csv"},
        {"a\xE2\x80\xAE"
         "b\xE2\x80\x8B"
         "c\x1B[d\xF3\xA0\x81\x81",
         20, "a?b?c?[d?"}, /* bidi, width 0, escape, tag */
        {"abcdef", 6, "ab..."},
        {"abcde", 6, "abcde"},
        {"\xC3", 6, "?"},
    };
    char out[32];

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        assert_string_equal(rp_printable(out, of[i].size, of[i].text, strlen(of[i].text)), of[i].quoted);
    assert_int_equal(rp_fits("\xC3\xB6\xC3\x9F", 3), 2);
    assert_int_equal(rp_fits("\xC3\xB6\xC3\x9F", 4), 4);
    assert_int_equal(rp_fits("abc", 2), 2);
}

/* Of every length: an error that does not fit ends behind a character, in front of another one too. */
static void errors_are_utf8_however_long(void **state)
{
    static const char letters[] = "\xE5\x90\x8D";
    char name[2000];
    rp_error err;

    (void)state;
    for (size_t n = RP_ERROR_TEXT - 10; n < RP_ERROR_TEXT + 10; n++) {
        for (size_t i = 0; i < n; i++)
            name[i] = letters[i % 3];
        name[n - n % 3] = '\0';
        (void)rp_fail(&err, RP_EIO, "%s: cannot open", name);
        assert_true(rp_is_utf8(err.text, strlen(err.text)));
        assert_null(strchr(err.text, '?'));
        (void)rp_fail_at(&err, RP_EIO, "%zu", n);
        assert_true(rp_is_utf8(err.text, strlen(err.text)));
        assert_null(strchr(err.text, '?'));
    }
    (void)rp_fail(&err, RP_EIO, "caf\xE9.csv: cannot open");
    assert_string_equal(err.text, "caf?.csv: cannot open");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slips_are_recognised),
        cmocka_unit_test(other_words_are_not),
        cmocka_unit_test(quoted_texts_keep_their_letters_and_end_behind_one),
        cmocka_unit_test(errors_are_utf8_however_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
