/* SPDX-License-Identifier: Apache-2.0
 * Suggestions: a slip of the hand is recognised, another word is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slips_are_recognised),
        cmocka_unit_test(other_words_are_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
