/* SPDX-License-Identifier: Apache-2.0
 * What tells two runs apart, from the outside in: ids, recipe and members; journals, whose digests find the first
 * differing step without computing anything (diff_journal.c); that step's programs and values (diff_step.c). */
#include <string.h>

#include "audit/archive/withheld.h"
#include "audit/record/job_options.h"
#include "audit/replay/diff_private.h"
#include "base/handle.h"
#include "base/memory.h"

/* Inputs that were left out are bound by salted digests, which two salts make different for the same inputs. Of what
 * was not given back the salt is not known. */
static void compare_salts(side *a, side *b, rp_buffer *out)
{
    const rp_salt *x = rp_archive_salt(a->archive), *y = rp_archive_salt(b->archive);
    bool salted = rp_archive_withheld_count(a->archive) > 0, other = rp_archive_withheld_count(b->archive) > 0;

    if (salted != other)
        rp_buffer_printf(out,
                         "inputs    of %s are bound with a salt, those of %s are not: their digests are not compared\n",
                         salted ? a->label : b->label, salted ? b->label : a->label);
    else if (x && y && memcmp(x->bytes, y->bytes, sizeof x->bytes) != 0)
        rp_buffer_text(out, "inputs    of A and B are bound with different salts: their digests are not compared\n");
    else
        return;
    a->bound_apart = b->bound_apart = true;
}

/* Archives of one id may still be computed in two ways. */
static rp_status compare_equal(side *a, side *b, findings *f, bool *look, rp_error *err)
{
    rp_buffer_text(&f->text, "identical: same archive id\n");
    if (!f->job || (!f->job->other_level && !f->job->other_device))
        return RP_OK;
    return rp_diff_levels(a, b, f, look, err);
}

static rp_status read_journals(side *a, side *b, rp_error *err)
{
    rp_status status = rp_journal_open(&a->journal, a->archive, err);

    return status == RP_OK ? rp_journal_open(&b->journal, b->archive, err) : status;
}

static rp_status compare(side *a, side *b, findings *f, rp_error *err)
{
    const bool equal = strcmp(rp_archive_id(a->archive), rp_archive_id(b->archive)) == 0;
    bool look = false;
    rp_status status = read_journals(a, b, err);

    rp_buffer_printf(&f->text, "A         %s\nB         %s\n", rp_archive_id(a->archive), rp_archive_id(b->archive));
    if (status == RP_OK && equal) {
        status = compare_equal(a, b, f, &look, err);
    } else if (status == RP_OK && rp_archive_manifest(a->archive)->kind != rp_archive_manifest(b->archive)->kind) {
        rp_buffer_text(&f->text, "kind      one run is of a table, the other of a text or of the C API\n");
    } else if (status == RP_OK) {
        status = rp_diff_members(a, b, &f->text, err);
        if (status == RP_OK && rp_archive_manifest(a->archive)->kind == RP_RUN_RECIPE)
            status = rp_diff_tables(a, b, &f->text, err);
        compare_salts(a, b, &f->text);
        if (status == RP_OK)
            status = rp_diff_journals(a, b, f, &look, err);
    }
    return status == RP_OK && look ? rp_diff_step(a, b, f, err) : status;
}

/* ---- the result ---- */

/* An unsigned number of steps is far below JSON's limit. */
static rp_json *difference_json(findings *f)
{
    rp_buffer_u8(&f->program, 0);
    if (f->program.failed)
        return NULL;
    return rp_json_pack("{s:o, s:s?, s:s?, s:O?}", "step",
                        f->stepped ? rp_json_integer((int64_t)f->step) : rp_json_null(), "record", f->record, "program",
                        f->program.size > 1 ? (char *)f->program.data : NULL, "value", f->value);
}

static rp_status put_json(rp_comparison *out, findings *f, rp_error *err)
{
    rp_buffer text = {0};
    rp_json *json = out->same ? rp_json_null() : difference_json(f);
    rp_status status = json ? rp_json_write(json, &text, err) : rp_no_memory(err);

    rp_json_free(json);
    return rp_buffer_finish(&text, status, &out->json, err);
}

static rp_status put_result(rp_comparison *out, const side *a, const side *b, findings *f, rp_error *err)
{
    rp_status status;

    out->same = strcmp(rp_archive_id(a->archive), rp_archive_id(b->archive)) == 0 && !f->stepped;
    out->digests_compared = a->digests_compared;
    out->steps_recomputed = a->steps_recomputed + b->steps_recomputed;
    rp_buffer_u8(&f->text, 0);
    status = rp_buffer_status(&f->text, err);
    if (status == RP_OK)
        status = put_json(out, f, err);
    if (status == RP_OK) {
        out->text = (char *)f->text.data;
        f->text = (rp_buffer){0};
    }
    return status;
}

rp_status rp_compare(const rp_archive *a, const rp_archive *b, const rp_job_options *options, rp_comparison **out,
                     rp_error *err)
{
    *out = NULL;
    if (!a || !b)
        return rp_no_handle(err, __func__, a ? "b" : "a");

    side left = {.label = "A", .archive = a, .options = rp_job_run_options(options)};
    side right = {.label = "B", .archive = b, .options = left.options};
    findings f = {.job = options};
    rp_status status;

    left.options.max_memory /= 2; /* both are held */
    right.options.max_memory /= 2;
    if (options && options->other_level)
        right.options.level = options->other_level;
    if (options && options->other_device)
        right.options.device = options->other_device;
    *out = rp_calloc(1, sizeof **out);
    status = *out ? compare(&left, &right, &f, err) : rp_no_memory(err);
    if (status == RP_OK)
        status = put_result(*out, &left, &right, &f, err);
    rp_diff_side_free(&left);
    rp_diff_side_free(&right);
    rp_buffer_free(&f.text);
    rp_buffer_free(&f.program);
    rp_json_free(f.value);
    if (status != RP_OK) {
        rp_comparison_free(*out);
        *out = NULL;
    }
    return status;
}

void rp_comparison_free(rp_comparison *comparison)
{
    if (!comparison)
        return;
    rp_free(comparison->text);
    rp_free(comparison->json);
    rp_free(comparison);
}

rp_status rp_diff(const rp_archive *a, const rp_archive *b, const rp_job_options *options, bool *same, char **text,
                  rp_error *err)
{
    rp_comparison *found;
    rp_status status;

    *text = NULL;
    if (!a || !b)
        return rp_no_handle(err, __func__, a ? "b" : "a");
    status = rp_compare(a, b, options, &found, err);
    if (status == RP_OK) {
        *same = found->same;
        *text = found->text;
        found->text = NULL;
        rp_comparison_free(found);
    }
    return status;
}
