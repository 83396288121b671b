/* SPDX-License-Identifier: Apache-2.0
 * reprise inventory: archives, and what a log has, as a register: a row each. An archive that is damaged or hostile is
 * a row with its error, so that one file cannot hide the others. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/archive_files.h"
#include "cli/print.h"
#include "cli/signing/defaults.h"

enum { CELL = 2100, PATHS_MAX = 100000 };

/* A row, as text; "" where nothing is known. */
typedef enum rp_column {
    FILE_NAME,
    ARCHIVE_ID,
    NAME,
    KIND,
    TASK,
    OWNER,
    TIER,
    VERSION,
    USE,
    VALID_UNTIL,
    METRIC,
    VALUE,
    VERIFIED,
    REPLAYED,
    DECISION,
    OPEN_FINDINGS,
    VALIDATED,
    VALIDATED_BY,
    VALIDATED_ROWS,
    VALIDATED_VALUE,
    MONITORED,
    MONITORED_BY,
    MONITORED_PERIOD,
    MONITORED_PSI,
    MONITORED_VALUE,
    PINNED_TO,
    PARENT_PINNED_TO,
    PARENT,
    PREDECESSOR,
    LOG_ENTRY,
    ERROR_TEXT,
    COLUMNS
} rp_column;

static const char *const column_name[COLUMNS] = {"file",
                                                 "archive_id",
                                                 "name",
                                                 "kind",
                                                 "task",
                                                 "owner",
                                                 "tier",
                                                 "version",
                                                 "use",
                                                 "valid_until",
                                                 "metric",
                                                 "value",
                                                 "verified",
                                                 "replayed",
                                                 "decision",
                                                 "open_findings",
                                                 "validated",
                                                 "validated_by",
                                                 "validated_rows",
                                                 "validated_value",
                                                 "monitored",
                                                 "monitored_by",
                                                 "monitored_period",
                                                 "monitored_psi",
                                                 "monitored_value",
                                                 "pinned_to",
                                                 "parent_pinned_to",
                                                 "parent",
                                                 "predecessor",
                                                 "log_entry",
                                                 "error"};

typedef struct row {
    char *cell[COLUMNS]; /* NULL: nothing */
} row;

typedef struct request {
    const char *log, *log_key;
    rp_text_list trust;
    bool csv;
    char **path;
    size_t paths;
} request;

typedef struct register_of {
    const request *r;
    rp_run_log *log;
    bool *listed; /* [entries of the log]: an archive of that id was given */
    size_t rows, wrong;
} register_of;

/* ---- paths ---- */

static rp_status add_path(request *r, const char *folder, const char *name, rp_error *err)
{
    size_t size = (folder ? strlen(folder) + 1 : 0) + strlen(name) + 1;
    char **grown = r->paths < PATHS_MAX ? rp_reallocarray(r->path, r->paths + 1, sizeof *grown) : NULL;
    char *text = rp_malloc(size);

    if (grown)
        r->path = grown;
    if (!grown || !text) {
        rp_free(text);
        return rp_no_memory(err);
    }
    text[0] = '\0';
    if (folder) {
        strcpy(text, folder);
        strcat(text, "/");
    }
    strcat(text, name);
    r->path[r->paths++] = text;
    return RP_OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The *.reprise of a folder by name; what is no folder is taken as an archive. */
static rp_status add_operand(request *r, const char *path, rp_error *err)
{
    static const char ending[] = ".reprise";
    DIR *folder = opendir(path);
    struct dirent *entry;
    size_t first = r->paths;
    rp_status status = RP_OK;

    if (!folder)
        return add_path(r, NULL, path, err);
    while (status == RP_OK && (entry = readdir(folder)) != NULL) {
        size_t n = strlen(entry->d_name);

        if (n > sizeof ending - 1 && strcmp(entry->d_name + n - (sizeof ending - 1), ending) == 0)
            status = add_path(r, path, entry->d_name, err);
    }
    closedir(folder);
    if (r->paths > first)
        qsort(r->path + first, r->paths - first, sizeof *r->path, by_text);
    return status;
}

/* ---- a row ---- */

static void set(row *out, rp_column column, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    char *cell;

    if (!n)
        return;
    n = n < CELL ? n : CELL;
    cell = rp_malloc(n + 1);
    if (!cell)
        return;
    memcpy(cell, text, n);
    cell[n] = '\0';
    rp_free(out->cell[column]);
    out->cell[column] = cell;
}

static void row_clear(row *one)
{
    for (size_t i = 0; i < COLUMNS; i++)
        rp_free(one->cell[i]);
    memset(one, 0, sizeof *one);
}

static const char *text_at(const rp_json *object, const char *key)
{
    return rp_json_string_value(rp_json_object_get(object, key));
}

static void take_recipe(row *out, const rp_json *recipe)
{
    static const struct {
        rp_column column;
        const char *key[2];
    } card[] = {{OWNER, {"owner"}},
                {TIER, {"tier"}},
                {VERSION, {"version"}},
                {USE, {"purpose", "intended_use"}},
                {VALID_UNTIL, {"valid_until"}}};
    const rp_json *from = rp_json_object_get(recipe, "card");

    set(out, NAME, text_at(recipe, "name"));
    set(out, PREDECESSOR, text_at(recipe, "predecessor"));
    set(out, TASK, text_at(rp_json_object_get(recipe, "train"), "task"));
    for (size_t i = 0; i < RP_COUNT(card); i++)
        for (size_t k = 0; k < RP_COUNT(card[i].key) && card[i].key[k]; k++)
            if (!out->cell[card[i].column])
                set(out, card[i].column, text_at(from, card[i].key[k]));
}

/* Means over all folds of the variant that is the run (FORMAT 9.8); NULL: there are none. */
static const rp_json *folds_of(const rp_json *metrics)
{
    const rp_json *trials = rp_json_object_get(metrics, "trials"), *chosen = rp_json_object_get(trials, "chosen");
    const int64_t at = chosen ? rp_json_integer_value(chosen) : 0;
    const rp_json *variant = rp_json_array_get(rp_json_object_get(trials, "variants"), at < 0 ? SIZE_MAX : (size_t)at);

    return rp_json_object_get(trials, "folds") ? rp_json_object_get(variant, "mean") : NULL;
}

static void take_metrics(row *out, const rp_json *metrics)
{
    static const char *const keys[] = {"auc", "accuracy", "r2"};
    const rp_json *part = rp_json_object_get(metrics, "validation");
    bool held = rp_json_is_object(part), folds;
    char name[40];

    part = held ? part : folds_of(metrics);
    folds = part != NULL && !held;
    part = part ? part : rp_json_object_get(metrics, "training");
    for (size_t i = 0; i < RP_COUNT(keys); i++) {
        const char *value = text_at(part, keys[i]);

        if (!value)
            continue;
        set(out, METRIC, keys[i]);
        if (!held) {
            (void)snprintf(name, sizeof name, "%s (%s)", keys[i], folds ? "mean of folds" : "training rows");
            set(out, METRIC, name);
        }
        set(out, VALUE, value);
        return;
    }
}

static void take_statements(row *out, const rp_verification *v)
{
    bool vouched = false, replayed = false, differs = false, rejected = false, approved = false, partly = false;
    size_t open = 0;
    char number[32];

    if (!v) {
        set(out, VERIFIED, "not checked");
        set(out, REPLAYED, "not checked");
        set(out, DECISION, "not checked");
        set(out, OPEN_FINDINGS, "not checked");
        return;
    }
    for (size_t i = 0; i < v->statements; i++) {
        const rp_verified_statement *one = &v->statement[i];

        vouched |= one->kind == RP_STATEMENT_PROVENANCE || one->kind == RP_STATEMENT_ENDORSEMENT;
        if (one->verdict) {
            differs |= !one->verdict->identical;
            replayed |= one->verdict->identical && one->verdict->scope.mode == RP_REPLAY_FULL;
            partly |= one->verdict->identical && one->verdict->scope.mode != RP_REPLAY_FULL;
        }
        if (one->approval) {
            rejected |= one->approval->decision == RP_REJECT;
            approved |= one->approval->decision == RP_APPROVE;
        }
        open += one->finding && !rp_finding_settled(v, i);
    }
    (void)snprintf(number, sizeof number, "%zu", open);
    set(out, VERIFIED, vouched ? "yes" : "hashes only");
    set(out, REPLAYED, differs ? "bits differ" : replayed ? "yes" : partly ? "in part" : "no");
    set(out, DECISION, rejected ? "rejected" : approved ? "approved" : "none");
    set(out, OPEN_FINDINGS, number);
}

/* The figure that the run's own `value` is: AUC of two classes, accuracy of more, R2. */
static const char *main_figure(const rp_json *figures)
{
    const rp_json *two = rp_json_object_get(figures, "discrimination");

    return two ? text_at(two, "auc") : text_at(figures, rp_json_object_get(figures, "rmse") ? "r2" : "accuracy");
}

/* The greatest of its scores' stability indices, of several classes. */
static const char *greatest_psi(const rp_json *scores)
{
    const char *found = NULL;

    for (size_t i = 0; i < rp_json_array_size(scores); i++) {
        const char *psi = text_at(rp_json_array_get(scores, i), "psi");

        if (psi && (!found || strtod(psi, NULL) > strtod(found, NULL)))
            found = psi;
    }
    return found;
}

/* The last of a kind: by its signer's clock, of equal times by its number in the chain, then by its name. */
static const rp_verified_statement *last_of(const rp_verification *v, rp_statement_kind kind)
{
    const rp_verified_statement *found = NULL;

    for (size_t i = 0; v && i < v->statements; i++) {
        const rp_verified_statement *one = &v->statement[i];
        const int order = found ? strcmp(one->time, found->time) : 1;

        if (one->kind == kind && one->figures &&
            (order > 0 || (order == 0 && one->figures->number >= found->figures->number)))
            found = one;
    }
    return found;
}

static void take_figures(row *out, const rp_verification *v)
{
    const rp_verified_statement *validation = last_of(v, RP_STATEMENT_VALIDATION);
    const rp_verified_statement *monitoring = last_of(v, RP_STATEMENT_MONITORING);
    char rows[64];

    if (validation) {
        (void)snprintf(rows, sizeof rows, "%llu%s", (unsigned long long)validation->figures->rows,
                       validation->figures->test ? " of the test part" : "");
        set(out, VALIDATED, validation->time);
        set(out, VALIDATED_BY, validation->key_id);
        set(out, VALIDATED_ROWS, rows);
        set(out, VALIDATED_VALUE, main_figure(rp_json_object_get(validation->figures->predicate, "figures")));
    }
    if (monitoring) {
        set(out, MONITORED, monitoring->time);
        set(out, MONITORED_BY, monitoring->key_id);
        set(out, MONITORED_PERIOD, monitoring->figures->period);
        set(out, MONITORED_PSI, greatest_psi(rp_json_object_get(monitoring->figures->predicate, "scores")));
        set(out, MONITORED_VALUE, main_figure(rp_json_object_get(monitoring->figures->predicate, "figures")));
    }
}

static void take_log(register_of *reg, row *out)
{
    uint64_t index;
    char number[32];

    if (!reg->log || !rp_log_find(reg->log, out->cell[ARCHIVE_ID], &index))
        return;
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)index);
    set(out, LOG_ENTRY, number);
    reg->listed[index] = true;
}

static rp_status take_members(row *out, const rp_archive *archive, rp_error *err)
{
    rp_json *json = NULL;
    rp_status status = rp_member_load_json(archive, RP_RECIPE_MEMBER, &json, err);

    if (status == RP_OK)
        take_recipe(out, json);
    rp_json_free(json);
    json = NULL;
    if (status == RP_OK)
        status = rp_member_load_json(archive, RP_METRICS_MEMBER, &json, err);
    if (status == RP_OK)
        take_metrics(out, json);
    rp_json_free(json);
    return status;
}

/* What cannot be read is the row's error, and nothing else of the file is believed. */
static rp_status read_row(register_of *reg, const char *path, row *out, rp_error *err)
{
    rp_archive *archive = NULL;
    rp_verification *verified = NULL;
    rp_pinned_to to;
    rp_error problem = {0};
    rp_status status = rp_archive_open_trusted(&archive, &verified, path, &reg->r->trust, &problem);

    if (status == RP_OK)
        status = take_members(out, archive, &problem);
    if (status == RP_OK) {
        set(out, ARCHIVE_ID, rp_archive_id(archive));
        set(out, KIND, rp_archive_kind(archive));
        set(out, PARENT, rp_parent_id(archive));
        rp_archive_pinned_to(archive, &to);
        set(out, PINNED_TO, *to.run ? to.run : NULL);
        set(out, PARENT_PINNED_TO, *to.line ? to.line : NULL);
        take_statements(out, verified);
        take_figures(out, verified);
        take_log(reg, out);
    } else {
        row_clear(out);
        set(out, ERROR_TEXT, problem.text);
        reg->wrong++;
    }
    set(out, FILE_NAME, path);
    rp_verification_free(verified);
    rp_archive_close(archive);
    if (status == RP_ENOMEM && err)
        *err = problem;
    return status == RP_ENOMEM ? status : RP_OK;
}

/* ---- writing ---- */

/* A cell that a spreadsheet would take for a formula gets an apostrophe in front (docs/inventory.md). */
static void put_csv_cell(rp_buffer *out, const char *text)
{
    rp_buffer plain = {0};

    rp_put_plain_line(&plain, text ? text : "");
    rp_buffer_u8(&plain, 0);
    text = plain.failed ? "" : (const char *)plain.data;
    rp_buffer_u8(out, '"');
    if (*text && strchr("=+-@", *text))
        rp_buffer_u8(out, '\'');
    for (; *text; text++) {
        if (*text == '"')
            rp_buffer_u8(out, '"');
        rp_buffer_u8(out, (uint8_t)*text);
    }
    rp_buffer_u8(out, '"');
    out->failed |= plain.failed;
    rp_buffer_free(&plain);
}

static void put_row(rp_session *session, const request *r, const row *one)
{
    rp_buffer *out = &session->out;

    if (session->json)
        rp_put_open(out, NULL, '{');
    for (size_t i = 0; i < COLUMNS; i++) {
        const char *text = one->cell[i];

        if (session->json) {
            rp_put_text(out, column_name[i], text);
        } else if (r->csv) {
            rp_buffer_text(out, i ? "," : "");
            put_csv_cell(out, text);
        } else if (text) {
            rp_buffer line = {0};

            rp_put_plain_line(&line, text);
            rp_buffer_u8(&line, 0);
            rp_buffer_printf(out, "%-18s%s\n", column_name[i], line.failed ? "" : (const char *)line.data);
            rp_buffer_free(&line);
        }
    }
    if (session->json)
        rp_put_close(out, '}');
    else
        rp_buffer_text(out, "\n");
}

static rp_status put_archives(rp_session *session, register_of *reg, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < reg->r->paths && status == RP_OK; i++) {
        row one = {{NULL}};

        status = read_row(reg, reg->r->path[i], &one, err);
        if (status == RP_OK)
            put_row(session, reg->r, &one);
        row_clear(&one);
    }
    return status;
}

/* Entries of the log whose archive was not given. */
static void put_missing(rp_session *session, const register_of *reg)
{
    uint64_t n = reg->log ? rp_log_state(reg->log)->size : 0;

    for (uint64_t i = 0; i < n; i++) {
        row one = {{NULL}};
        char hex[RP_DIGEST_HEX], number[32];

        if (reg->listed[i])
            continue;
        rp_hex(hex, rp_log_entry(reg->log, i), RP_DIGEST_SIZE);
        (void)snprintf(number, sizeof number, "%llu", (unsigned long long)i);
        set(&one, ARCHIVE_ID, hex);
        set(&one, LOG_ENTRY, number);
        set(&one, ERROR_TEXT, "in the log; its archive was not given");
        put_row(session, reg->r, &one);
        row_clear(&one);
    }
}

static rp_status open_log(register_of *reg, rp_error *err)
{
    rp_key *key = NULL;
    rp_status status = reg->r->log_key ? rp_key_load_public(&key, reg->r->log_key, err) : RP_OK;

    if (status == RP_OK && reg->r->log)
        status = rp_log_open(&reg->log, reg->r->log, (const rp_key *const *)&key, key ? 1 : 0, err);
    rp_key_free(key);

    if (!reg->log)
        return status;
    if (status != RP_OK)
        return status;
    reg->listed = rp_calloc((size_t)rp_log_state(reg->log)->size + 1, sizeof *reg->listed);
    return reg->listed ? RP_OK : rp_no_memory(err);
}

static rp_status list(rp_session *session, const request *r, rp_error *err)
{
    register_of reg = {.r = r};
    rp_status status = open_log(&reg, err);

    if (session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_open(&session->out, "archives", '[');
    } else if (r->csv) {
        for (size_t i = 0; i < COLUMNS; i++)
            rp_buffer_printf(&session->out, "%s%s", i ? "," : "", column_name[i]);
        rp_buffer_text(&session->out, "\n");
    }
    if (status == RP_OK)
        status = put_archives(session, &reg, err);
    if (status == RP_OK)
        put_missing(session, &reg);
    if (session->json) {
        rp_put_close(&session->out, ']');
        rp_put_close(&session->out, '}');
    }
    if (status == RP_OK && reg.wrong) {
        session->exit = 4;
        rp_buffer_printf(&session->remark, "inventory: %zu of %zu archives cannot be listed; their rows say why",
                         reg.wrong, r->paths);
    }
    rp_free(reg.listed);
    rp_log_close(reg.log);
    return status;
}

/* ---- the command line: operands as many as there are, in front of the options ---- */

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    const rp_option options[] = {
        {0, "log", RP_OPTION_TEXT, "LOG", "the folder of a log of runs: also list what it has and was not given",
         &r->log, false},
        {0, "log-key", RP_OPTION_TEXT, "PUB.pem", "the log must be signed by this key", &r->log_key, false},
        {0, "trust", RP_OPTION_LIST, "PUB.pem", "verify signatures with this public key (default: REPRISE_TRUST)",
         &r->trust, false},
        {0, "csv", RP_OPTION_FLAG, NULL, "a table for spreadsheets", &r->csv, false},
    };
    const rp_usage usage = {
        "inventory PATH... [--trust PUB.pem ...] [--log LOG [--log-key PUB.pem]] [--csv]",
        "Lists archives, and the *.reprise of folders, as a register: id, name, what the recipe's card says, main "
        "metric,\n"
        "verified, replayed, decision, open findings, last validation and monitoring, parent, predecessor.\n"
        "Without --trust statements count for nothing.\n"
        "An archive that cannot be read is a row with its error, and the exit code is 4.",
        "  reprise inventory archives/ --trust me.pub.pem --csv > register.csv",
        NULL,
        0,
        options,
        RP_COUNT(options)};
    int first = 1;
    rp_status status = RP_OK;

    while (first < argc && argv[first][0] != '-' && status == RP_OK)
        status = add_operand(r, argv[first++], err);
    argv[first - 1] = argv[0];
    if (status == RP_OK)
        status = rp_options_parse(session, &usage, argc - first + 1, argv + first - 1, NULL, err);
    if (status == RP_OK && !session->helped)
        status = rp_default_trust(session, &r->trust, true, err);
    if (status == RP_OK && !session->helped && r->paths == 0 && !r->log)
        status = rp_fail(err, RP_EARG,
                         "inventory: expected archives or folders, in front of options, found none; see "
                         "reprise inventory --help");
    return status;
}

rp_status rp_command_inventory(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {0};
    rp_status status = parse(session, argc, argv, &r, err);

    if (status == RP_OK && !session->helped)
        status = list(session, &r, err);
    while (r.paths)
        rp_free(r.path[--r.paths]);
    rp_free(r.path);
    return status;
}
