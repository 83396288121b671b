/* SPDX-License-Identifier: Apache-2.0
 * The members that only a recipe's run on a table has: what is known before its first step, what was made of its last
 * evaluations, and the states that it started from. */
#include "audit/drive/recipe_members.h"

#include "audit/drive/without_cells.h"
#include "audit/record/recorder.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/node.h"
#include "core/data/profile/profile.h"
#include "core/train/coefficients.h"
#include "core/train/slices/run_slices.h"
#include "determinism/fpenv.h"

/* Step 0 makes the first weights. */
rp_status rp_recipe_add_init(const void *source, rp_archive_writer *writer, rp_error *err)
{
    const recipe_source *s = source;

    return rp_run_steps(rp_trainer_run(s->trainer)) == 1
               ? rp_states_add(writer, RP_INIT_MEMBER, rp_trainer_run(s->trainer), false, err)
               : RP_OK;
}

/* What a recipe without programs may take; with them it has the member's room. */
enum { RECIPE_MOST = 1 << 20 };

/* What the readers of a member take; the others have no readers that parse them. */
static rp_status check_readable(const char *member, const rp_buffer *text, size_t limit, rp_error *err)
{
    static const struct {
        const char *member;
        size_t memory;
    } limits[] = {
        {RP_RECIPE_MEMBER, RP_JSON_MEMORY},          {RP_SCHEMA_MEMBER, RP_JSON_MEMORY},
        {RP_METRICS_MEMBER, RP_JSON_METRICS_MEMORY}, {RP_REFERENCE_MEMBER, RP_JSON_MEMORY},
        {RP_TRIALS_MEMBER, RP_JSON_MEMORY},          {RP_QUALITY_MEMBER, RP_JSON_MEMORY},
    };

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (strcmp(member, limits[i].member) != 0)
            continue;
        if (text->size > limit)
            return rp_fail(err, RP_EARG, "%s: would take %zu bytes, archives have room for %zu", member, text->size,
                           limit);
        if (rp_json_memory(text->data, text->size) > limits[i].memory)
            return rp_fail(err, RP_EARG,
                           "%s: its values would take more than the %zu MiB of memory that readers give them", member,
                           limits[i].memory >> 20);
    }
    return RP_OK;
}

static rp_status add_json_within(rp_archive_writer *writer, const char *member, const rp_json *json, size_t limit,
                                 rp_error *err)
{
    rp_buffer text = {0};
    rp_status status = rp_json_write(json, &text, err);

    if (status == RP_OK)
        status = check_readable(member, &text, limit, err);
    if (status == RP_OK)
        status = rp_archive_writer_add(writer, member, text.data, text.size, err);
    rp_buffer_free(&text);
    return status;
}

static rp_status add_json(rp_archive_writer *writer, const char *member, const rp_json *json, rp_error *err)
{
    return add_json_within(writer, member, json, (size_t)rp_member_kind_of(member)->held, err);
}

/* data/prepared.json: what preparation made of the raw data, as digests: replay prepares again and compares. */
static rp_status add_prepared(const recipe_source *s, rp_archive_writer *writer, rp_error *err)
{
    size_t n;
    const rp_device_tensor *data = rp_run_data(rp_trainer_run(s->trainer), &n);
    rp_json *json = rp_json_object();
    rp_status status = json ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < n && status == RP_OK; i++) {
        char hex[RP_DIGEST_HEX];
        rp_digest digest;
        rp_json *shape = rp_json_array();
        int failed = shape == NULL;

        status = rp_device_tensor_digests(&digest, &data[i], 1,
                                          rp_device_pool(rp_run_device(rp_trainer_run(s->trainer))), err);
        rp_digest_hex(hex, &digest);
        for (int k = 0; k < data[i].type.rank; k++)
            failed |= rp_json_array_append_new(shape, rp_json_integer((int64_t)data[i].type.shape[k]));
        failed |= rp_json_object_set_new(
            json, data[i].name,
            rp_json_pack("{s:s,s:s,s:O}", "digest", hex, "dtype", rp_dtype_name(data[i].type.dtype), "shape", shape));
        rp_json_free(shape);
        if (status == RP_OK && failed)
            status = rp_no_memory(err);
    }
    if (status == RP_OK)
        status = add_json(writer, RP_PREPARED_MEMBER, json, err);
    rp_json_free(json);
    return status;
}

rp_status rp_recipe_add_known(const void *source, rp_archive_writer *writer, bool data, rp_error *err)
{
    const recipe_source *s = source;
    const size_t most = s->recipe->program.named ? (size_t)rp_member_kind_of(RP_RECIPE_MEMBER)->held : RECIPE_MOST;
    rp_status status = add_json_within(writer, RP_RECIPE_MEMBER, s->recipe->json, most, err);

    if (status == RP_OK)
        status = add_json(writer, RP_SCHEMA_MEMBER, rp_trainer_dataset(s->trainer)->schema->json, err);
    if (status == RP_OK)
        status = add_json(writer, RP_QUALITY_MEMBER,
                          rp_json_object_get(rp_trainer_dataset(s->trainer)->profile, "quality"), err);
    if (status == RP_OK && data)
        status = s->kept ? rp_kept_text_add(s->kept, writer, err)
                         : rp_archive_writer_add(writer, RP_TABLE_MEMBER, s->csv.data, s->csv.size, err);
    if (status == RP_OK && data && s->recipe->data.test_csv)
        status = s->kept_test ? rp_kept_text_add(s->kept_test, writer, err)
                              : rp_archive_writer_add(writer, RP_TEST_TABLE_MEMBER, s->test.data, s->test.size, err);
    return status == RP_OK && data ? add_prepared(s, writer, err) : status;
}

rp_status rp_recipe_tell_table(const recipe_source *s, rp_buffer *out, rp_error *err)
{
    const rp_json *profile = rp_trainer_dataset(s->trainer)->profile;
    rp_json *bare = NULL;
    rp_status status = s->withheld ? rp_profile_without_cells(&bare, profile, err) : RP_OK;

    if (status == RP_OK)
        status = rp_profile_tell(out, bare ? bare : profile, err);
    rp_json_free(bare);
    return status;
}

static rp_status put_trials(rp_json *metrics, const recipe_source *s, rp_error *err)
{
    rp_json *summary;
    rp_status status = rp_trials_summary(&summary, s->tried.json, err);

    if (status == RP_OK && rp_json_object_set_new(metrics, "trials", summary) != 0)
        status = rp_no_memory(err);
    return status;
}

static rp_status judge_within(const recipe_source *s, rp_error *err)
{
    const rp_source_text text = rp_recipe_source_text(s);
    judged *j = s->judged;
    rp_status status = j->reference ? RP_OK : rp_trainer_reference(s->trainer, &j->reference, err);

    if (status != RP_OK || j->metrics)
        return status;
    status = rp_trainer_metrics(s->trainer, j->reference, &j->metrics, err);
    if (status == RP_OK)
        status = rp_run_slices_put(j->metrics, s->trainer, j->reference, &text, err);
    if (status == RP_OK && s->tried.json)
        status = put_trials(j->metrics, s, err);
    if (status == RP_OK && s->withheld && rp_metrics_forget_cells(j->metrics) != 0)
        status = rp_no_memory(err);
    if (status != RP_OK) { /* half of it is none */
        rp_json_free(j->metrics);
        j->metrics = NULL;
    }
    return status;
}

rp_status rp_recipe_judge(const recipe_source *s, bool all, rp_error *err)
{
    rp_fpenv saved;
    rp_status status = rp_fpenv_enter(&saved, NULL, err);

    if (status != RP_OK)
        return status;
    status = judge_within(s, err);
    if (status == RP_OK && all && !s->judged->coefficients)
        status = rp_trainer_coefficients(s->trainer, &s->judged->coefficients, err);
    rp_fpenv_leave(&saved);
    return status;
}

rp_status rp_recipe_metrics(const void *source, rp_json **out, rp_error *err)
{
    const recipe_source *s = source;
    rp_status status = rp_recipe_judge(s, false, err);

    *out = status == RP_OK ? rp_json_share(s->judged->metrics) : NULL;
    return status;
}

static rp_status put_text(void *writer, rp_buffer *text, rp_error *err)
{
    rp_status status = rp_archive_writer_put(writer, text->data, text->size, err);

    text->size = 0;
    return status;
}

/* A line a row: as long as a small table, so it goes out in pieces. */
static rp_status add_predictions(const recipe_source *s, rp_archive_writer *writer, rp_error *err)
{
    const rp_text_drain drain = {put_text, writer};
    rp_buffer text = {0};
    rp_fpenv saved;
    rp_status status = rp_fpenv_enter(&saved, NULL, err);

    if (status != RP_OK)
        return status;
    status = rp_archive_writer_begin(writer, RP_PREDICTIONS_MEMBER, err);
    if (status == RP_OK)
        status = rp_trainer_predictions(s->trainer, &text, &drain, err);
    if (status == RP_OK && text.size > 0)
        status = put_text(writer, &text, err);
    if (status == RP_OK)
        status = rp_archive_writer_end(writer, err);
    rp_fpenv_leave(&saved);
    rp_buffer_free(&text);
    return status;
}

static rp_status add_outputs(const recipe_source *s, rp_archive_writer *writer, rp_error *err)
{
    rp_status status = rp_recipe_judge(s, true, err);

    if (status == RP_OK && s->judged->coefficients)
        status = add_json(writer, RP_COEFFICIENTS_MEMBER, s->judged->coefficients, err);
    if (status == RP_OK)
        status = add_json(writer, RP_METRICS_MEMBER, s->judged->metrics, err);
    if (status == RP_OK)
        status = add_predictions(s, writer, err);
    if (status == RP_OK)
        status = add_json(writer, RP_REFERENCE_MEMBER, s->judged->reference, err);
    if (status == RP_OK && s->tried.json)
        status = add_json(writer, RP_TRIALS_MEMBER, s->tried.json, err);
    if (status == RP_OK && s->tried.out_of_fold.size)
        status = rp_archive_writer_add(writer, RP_OUT_OF_FOLD_MEMBER, s->tried.out_of_fold.data,
                                       s->tried.out_of_fold.size, err);
    return status;
}

/* weights/start.safetensors, and in the manifest whose states they are. */
static rp_status add_start(const recipe_source *s, rp_archive_writer *writer, rp_json *run, rp_error *err)
{
    rp_json *line = (rp_json *)rp_start_line(s->start), *parent;
    char hex[RP_DIGEST_HEX];
    rp_digest digest;
    rp_status status = rp_start_add(s->start, writer, &digest, err);

    if (status != RP_OK || s->recipe->weights) /* the recipe says which file, and the id binds the member */
        return status;
    rp_digest_hex(hex, &digest);
    parent = rp_json_pack("{s:s, s:s}", "archive_id", s->recipe->parent.archive, "states", hex);
    if (line && rp_json_object_set(parent, "pinned", line) != 0) {
        rp_json_free(parent);
        return rp_no_memory(err);
    }
    return rp_json_object_set_new(run, "parent", parent) ? rp_no_memory(err) : RP_OK;
}

rp_status rp_recipe_add_members(const void *source, rp_archive_writer *writer, rp_json *run, rp_error *err)
{
    const recipe_source *s = source;
    rp_status status = rp_recipe_add_known(s, writer, true, err);

    if (status == RP_OK)
        status = rp_states_add(writer, RP_FINAL_MEMBER, rp_trainer_run(s->trainer), false, err);
    if (status == RP_OK)
        status = add_outputs(s, writer, err);
    if (status == RP_OK && rp_json_object_set_new(run, "training_steps",
                                                  rp_json_integer((int64_t)rp_trainer_training_steps(s->trainer))) != 0)
        status = rp_no_memory(err);
    if (status == RP_OK && s->recipe->train.patience > 0 &&
        rp_json_object_set_new(run, "epochs", rp_json_integer((int64_t)rp_trainer_epochs(s->trainer))) != 0)
        status = rp_no_memory(err);
    if (status == RP_OK && rp_recipe_tries(s->recipe) &&
        rp_json_object_set_new(run, "trials", rp_json_integer((int64_t)rp_trials_count(s->recipe))) != 0)
        status = rp_no_memory(err);
    return status == RP_OK && rp_recipe_starts(s->recipe) ? add_start(s, writer, run, err) : status;
}
