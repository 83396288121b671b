/* SPDX-License-Identifier: Apache-2.0
 * Somebody's predictions beside the model's: what counts as the same, and where the first difference is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rp/predict.h"

static const char ours[] = "row,id,predicted,p_yes,warnings\n0,a,no,0.25,\n1,b,yes,0.7,outside:x\n2,c,no,0.1,\n";

static rp_status compare(const char *theirs, size_t ids, const char *tolerance, rp_prediction_diff *d, rp_error *err)
{
    static const char *const id[] = {"id"};

    return rp_predictions_compare(ours, strlen(ours), theirs, strlen(theirs), "theirs",
                                  &(rp_compare_options){.id = id, .n_id = ids, .tolerance = tolerance}, d, err);
}

static rp_prediction_diff compared(const char *theirs, size_t ids, const char *tolerance)
{
    rp_prediction_diff d;
    rp_error err = {0};

    if (compare(theirs, ids, tolerance, &d, &err) != RP_OK)
        fail_msg("%s", err.text);
    return d;
}

static void refused(const char *theirs, size_t ids, const char *tolerance, rp_status status, const char *text)
{
    rp_prediction_diff d;
    rp_error err = {0};

    assert_int_equal(compare(theirs, ids, tolerance, &d, &err), status);
    if (!strstr(err.text, text))
        fail_msg("expected \"%s\" in \"%s\"", text, err.text);
}

static void an_id_without_a_name_is_refused(void **state)
{
    static const char *const id[] = {"id", NULL};
    rp_prediction_diff d;
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_predictions_compare(ours, strlen(ours), ours, strlen(ours), NULL,
                                            &(rp_compare_options){.id = id, .n_id = 2}, &d, &err),
                     RP_EARG);
    assert_string_equal(err.text, "predict: id column 1 has no name: NULL");
    assert_int_equal(rp_predictions_compare(ours, strlen(ours), ours, strlen(ours), NULL,
                                            &(rp_compare_options){.n_id = 1}, &d, &err),
                     RP_EARG);
}

/* 0.7 is the binary32 0.699999988079071, which somebody else may write with more digits. */
static void numbers_are_the_same_when_they_round_to_ours(void **state)
{
    rp_prediction_diff d = compared("p_yes,predicted\n2.5e-1,no\n0.69999998807907104,yes\n0.1,no\n", 0, NULL);

    (void)state;
    assert_false(d.any);
    assert_int_equal(d.cells, 6);
    assert_int_equal(d.columns, 2);
    assert_string_equal(d.largest, "");
    assert_true(compared("p_yes\n0.25\n0.7000001\n0.1\n", 0, NULL).any); /* the second binary32 above 0.7 */
}

static void the_first_difference_has_row_line_column_and_both_values(void **state)
{
    rp_prediction_diff d = compared("row,predicted,p_yes\n0,no,0.25\n1,no,0.75\n2,yes,0.1\n", 0, NULL);

    (void)state;
    assert_true(d.any && d.first_is_a_cell);
    assert_int_equal(d.row, 1);
    assert_int_equal(d.line, 3);
    assert_string_equal(d.column, "predicted");
    assert_string_equal(d.expected, "yes");
    assert_string_equal(d.found, "no");
    assert_int_equal(d.differing, 3);
    assert_int_equal(d.rows_differing, 2);
    assert_string_equal(d.largest_column, "p_yes");
    assert_int_equal(d.largest_row, 1);
    assert_string_equal(d.largest, "0.050000011920928955"); /* 0.75 - binary32 0.7, exact in binary64 */
}

static void a_tolerance_is_a_bound_and_does_not_reach_classes(void **state)
{
    (void)state;
    assert_false(compared("p_yes\n0.5\n0.7\n0.1\n", 0, "0.25").any); /* 0.5 - 0.25 is the bound itself */
    assert_true(compared("p_yes\n0.5\n0.7\n0.1\n", 0, "0.2499").any);
    assert_true(compared("predicted\nyes\nyes\nno\n", 0, "10").any);
}

/* More digits than a binary32 has: a tolerance then counts from the number itself. */
static void numbers_of_an_exact_fit_keep_their_digits(void **state)
{
    static const char digits[] = "row,predicted,p_yes\n0,no,0.1234567890123\n";
    static const char theirs[] = "row,predicted,p_yes\n0,no,0.1234567891123\n";
    rp_prediction_diff d;
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_predictions_compare(digits, strlen(digits), theirs, strlen(theirs), "theirs", NULL, &d, &err),
                     RP_OK);
    assert_false(d.any); /* one binary32 */
    assert_int_equal(rp_predictions_compare(digits, strlen(digits), theirs, strlen(theirs), "theirs",
                                            &(rp_compare_options){.tolerance = "1e-11"}, &d, &err),
                     RP_OK);
    assert_true(d.any);
    assert_int_equal(rp_predictions_compare(digits, strlen(digits), theirs, strlen(theirs), "theirs",
                                            &(rp_compare_options){.tolerance = "2e-10"}, &d, &err),
                     RP_OK);
    assert_false(d.any);
}

static void rows_are_matched_by_ids_in_any_order(void **state)
{
    rp_prediction_diff d = compared("id,p_yes\nc,0.1\nz,0.9\na,0.25\nb,0.7\n", 1, NULL);

    (void)state;
    assert_false(d.any);
    assert_int_equal(d.rows_found, 3);
    assert_int_equal(d.rows_passed_over, 1);
    d = compared("id,p_yes\nc,0.2\na,0.25\n", 1, NULL);
    assert_true(d.any);
    assert_int_equal(d.rows_found, 2);
    assert_int_equal(d.rows_passed_over, 0);
    assert_int_equal(d.row, 2);
    assert_int_equal(d.line, 2);
    refused("id,p_yes\nc,0.1\nc,0.1\n", 1, NULL, RP_EDATA, "theirs: lines 2 and 3 have the same ids");
    refused("p_yes\n0.1\n", 1, NULL, RP_EDATA, "theirs:1: expected a column id");
}

static void more_or_fewer_rows_are_a_difference(void **state)
{
    rp_prediction_diff d = compared("p_yes\n0.25\n0.7\n", 0, NULL);

    (void)state;
    assert_true(d.any && !d.first_is_a_cell);
    assert_int_equal(d.rows_found, 2);
    assert_true(compared("p_yes\n0.25\n0.7\n0.1\n0.1\n", 0, NULL).any);
}

static void what_cannot_be_compared_is_told(void **state)
{
    (void)state;
    refused("", 0, NULL, RP_EDATA, "expected a header line");
    refused("score\n0.25\n", 0, NULL, RP_EDATA, "no column to compare");
    refused("p_yes,p_yes\n0.25,0\n", 0, NULL, RP_EDATA, "two columns p_yes");
    refused("p_yes\n0.25,3\n", 0, NULL, RP_EDATA, "theirs:2: expected 1 cells");
    refused("row,p_yes\n1,0.7\n", 0, NULL, RP_EDATA, "theirs:2: expected row 0");
    refused("p_yes\n0.25\n", 0, "-1", RP_EARG, "tolerance");
    refused("p_yes\n0.25\n", 0, "inf", RP_EARG, "tolerance");
}

/* A class may be a number, and is text all the same. */
static void classes_are_texts_and_values_numbers(void **state)
{
    static const char classes[] = "row,predicted,p_1\n0,1,0.5\n", values[] = "row,predicted\n0,1\n";
    rp_prediction_diff d;
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_predictions_compare(classes, strlen(classes), "predicted\n1.0\n", 14, "t", NULL, &d, &err),
                     RP_OK);
    assert_true(d.any);
    assert_int_equal(rp_predictions_compare(values, strlen(values), "predicted\n1.0\n", 14, "t", NULL, &d, &err),
                     RP_OK);
    assert_false(d.any);
}

/* Numbers of points and contributions as numbers, reasons and warnings as texts; what one of both lacks is named. */
static void all_that_is_ours_is_compared(void **state)
{
    static const char made[] = "row,id,predicted,p_a,p_b,warnings,points,reason_1,contribution_1,margin,gap,c_p_a\n"
                               "0,x,a,0.75,0.25,,512,age,-0.5,1.5,0,0.25\n";
    static const char *const wrong[] = {"warnings\nunseen:age\n",
                                        "points\n513\n",
                                        "reason_1\nAge\n",
                                        "contribution_1\n-0.25\n",
                                        "margin\n1\n",
                                        "gap\n1\n",
                                        "c_p_a\n1\n",
                                        "p_b\n0.5\n"};
    static const char right[] = "points,contribution_1,c_p_a,reason_1,extra\n512.0,-5e-1,0.250,age,1\n";
    rp_prediction_diff d;
    rp_error err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(rp_predictions_compare(made, strlen(made), wrong[i], strlen(wrong[i]), "t", NULL, &d, &err),
                         RP_OK);
        assert_int_equal(d.differing, 1);
        assert_int_equal(d.columns, 1);
    }
    assert_int_equal(rp_predictions_compare(made, strlen(made), right, strlen(right), "t", NULL, &d, &err), RP_OK);
    assert_false(d.any);
    assert_int_equal(d.columns, 4);
    assert_int_equal(d.passed_over, 1);
    assert_string_equal(d.passed_over_names, "extra");
    assert_int_equal(d.lacking, 6);
    assert_string_equal(d.lacking_names, "predicted, p_a, p_b, warnings, margin, gap");
}

static void lists_of_names_end(void **state)
{
    char many[4000] = "predicted";
    rp_prediction_diff d;

    (void)state;
    for (int i = 0; i < 150; i++)
        strcat(many, ",some_column_or_other");
    strcat(many, "\nno");
    for (int i = 0; i < 150; i++)
        strcat(many, ",1");
    d = compared(many, 0, NULL);
    assert_int_equal(d.passed_over, 150);
    assert_true(strlen(d.passed_over_names) < sizeof d.passed_over_names);
    assert_string_equal(d.passed_over_names + strlen(d.passed_over_names) - 5, ", ...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_without_a_name_is_refused),
        cmocka_unit_test(numbers_are_the_same_when_they_round_to_ours),
        cmocka_unit_test(the_first_difference_has_row_line_column_and_both_values),
        cmocka_unit_test(a_tolerance_is_a_bound_and_does_not_reach_classes),
        cmocka_unit_test(numbers_of_an_exact_fit_keep_their_digits),
        cmocka_unit_test(rows_are_matched_by_ids_in_any_order),
        cmocka_unit_test(more_or_fewer_rows_are_a_difference),
        cmocka_unit_test(what_cannot_be_compared_is_told),
        cmocka_unit_test(classes_are_texts_and_values_numbers),
        cmocka_unit_test(all_that_is_ours_is_compared),
        cmocka_unit_test(lists_of_names_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
