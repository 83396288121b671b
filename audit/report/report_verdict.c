/* SPDX-License-Identifier: Apache-2.0
 * The first page: what was checked and who vouches for it, then every statement in signatures/, whatever its kind. */
#include <string.h>

#include "audit/sign/certificate.h"
#include "audit/log/log_note.h"
#include "audit/report/report.h"
#include "audit/statements/statement.h"
#include "rp/policy.h"
#include "audit/trust/timestamp.h"

bool rp_report_is_statement(const rp_member *member)
{
    return rp_statement_name_valid(member->name);
}

static const rp_verified_statement *find_checked(const rp_report_view *r, const rp_member *member)
{
    for (size_t i = 0; r->verified && i < r->verified->statements; i++)
        if (strcmp(r->verified->statement[i].member, member->name) == 0)
            return &r->verified->statement[i];
    return NULL;
}

rp_status rp_report_statement_read(const rp_report_view *r, const rp_member *member, rp_report_statement *out,
                                   rp_error *err)
{
    const rp_verified_statement *checked = find_checked(r, member);
    rp_buffer text = {0};
    rp_status status = rp_archive_read_member(r->archive, member->name, RP_STATEMENT_LIMIT, &text, err);

    *out = (rp_report_statement){.checked = checked != NULL};
    if (status == RP_OK)
        status = rp_statement_claims(&out->payload, out->key_id, text.data, text.size, member->name, err);
    if (checked) {
        memcpy(out->key_id, checked->key_id, RP_DIGEST_HEX);
        out->key_type = checked->key_type;
    }
    rp_buffer_free(&text);
    return rp_report_fatal(status) ? status : RP_OK;
}

/* Kinds of statements this version knows by name; others are shown by their type alone. */
static const char *kind_of(const char *member, const char *type)
{
    static const char *const later[][2] = {
        {RP_VERDICT_TYPE, "A replay&#39;s verdict"},
        {RP_APPROVAL_TYPE, "A person&#39;s decision"},
        {RP_FINDING_TYPE, "A finding"},
        {RP_VALIDATION_TYPE, "A validation"},
        {RP_MONITORING_TYPE, "A monitoring"},
        {RP_EXPLANATION_TYPE, "An explanation"},
        {RP_RETRAINING_TYPE, "A retraining"},
        {RP_ENDORSEMENT_TYPE, "Endorsement: a key vouches for this archive as it is"}};

    if (type && strcmp(member, RP_RUN_STATEMENT) == 0 && strcmp(type, RP_PROVENANCE_TYPE) == 0)
        return "Provenance: this run was made as described under Environment";
    for (size_t i = 0; type && i < sizeof later / sizeof *later; i++)
        if (strcmp(type, later[i][0]) == 0)
            return later[i][1];
    return "Another statement about this archive";
}

static const char *state_of(const rp_report_view *r, const rp_report_statement *statement)
{
    if (statement->checked)
        return "Valid, by a trusted key";
    return r->verified ? "Not counted: by a key that is not among the trusted" : "Not checked; it names the key";
}

/* What a trusted key has signed is told in words; of the rest only what kind it claims to be. */
static void put_content(rp_report_view *r, const rp_member *member, const rp_report_statement *statement,
                        const char *type)
{
    const rp_verified_statement *checked = find_checked(r, member);

    if (checked && checked->verdict)
        rp_report_verdict_words(r->out, checked->verdict);
    else if (checked && checked->approval)
        rp_report_approval_words(r->out, checked->approval);
    else if (checked && checked->finding)
        rp_report_finding_words(r->out, checked->finding);
    else if (checked && checked->kind == RP_STATEMENT_EXPLANATION)
        rp_report_explanation_words(r->out, checked->figures);
    else if (checked && checked->figures)
        rp_report_figures_words(r->out, checked->figures);
    else
        rp_buffer_text(r->out, statement->payload ? kind_of(member->name, type) : "Not a statement that can be read");
}

static void put_statement(rp_report_view *r, const rp_member *member, const rp_report_statement *statement)
{
    const char *type = rp_json_string_value(rp_json_object_get(statement->payload, "predicateType"));
    rp_buffer *out = r->out;

    rp_buffer_text(out, "<tr><td>");
    put_content(r, member, statement, type);
    rp_buffer_text(out, "<br/><span class=\"soft\">");
    rp_html_name(out, type ? type : "no type");
    rp_buffer_printf(out, "</span></td><td>%s%s%s<br/><span class=\"hash\">", state_of(r, statement),
                     statement->key_type ? ", " : "", statement->key_type ? statement->key_type : "");
    rp_html_text(out, *statement->key_id ? statement->key_id : "no key id");
    rp_buffer_text(out, "</span><br/><span class=\"soft\">");
    rp_html_name(out, member->name);
    rp_buffer_text(out, "</span></td></tr>\n");
}

static const rp_verified_proof *find_proof(const rp_report_view *r, const rp_member *member)
{
    for (size_t i = 0; r->verified && i < r->verified->proofs; i++)
        if (strcmp(r->verified->proof[i].member, member->name) == 0)
            return &r->verified->proof[i];
    return NULL;
}

/* Members of signatures/ that state nothing themselves: the bundle for public verifiers, proofs of logs. */
static void put_other(rp_report_view *r, const rp_member *member)
{
    const rp_verified_statement *bundle = find_checked(r, member);
    const rp_verified_proof *proof = find_proof(r, member);
    rp_buffer *out = r->out;

    rp_buffer_text(out, "<tr><td>");
    rp_buffer_text(out, rp_log_member_valid(member->name)         ? "Proof of being in a log of runs"
                        : rp_timestamp_member_valid(member->name) ? "Timestamp by an authority"
                        : rp_certificate_member_valid(member->name)
                            ? "Certificates of a signer"
                            : "Bundle for the public OpenSSF Model Signing verifier");
    rp_buffer_text(out, "<br/><span class=\"soft\">");
    rp_html_name(out, proof ? proof->origin : member->name);
    rp_buffer_text(out, "</span></td><td>");
    if (proof && *proof->key_id)
        rp_buffer_printf(out, "Valid, entry %llu of %llu, signed by a given log key", (unsigned long long)proof->index,
                         (unsigned long long)proof->log_size);
    else
        rp_buffer_text(out, bundle  ? "Valid, by a trusted key"
                            : proof ? "Its path is right; no key of the log was given"
                                    : "Not checked");
    rp_buffer_text(out, "<br/><span class=\"hash\">");
    rp_html_text(out, bundle ? bundle->key_id : proof ? proof->key_id : "");
    rp_buffer_text(out, "</span><br/><span class=\"soft\">");
    rp_html_name(out, member->name);
    rp_buffer_text(out, "</span></td></tr>\n");
}

/* What this report's maker trusts comes first, so that nobody can push it off the list by adding more. */
static bool is_counted(const rp_report_view *r, const rp_member *member)
{
    const rp_verified_proof *proof = find_proof(r, member);

    return find_checked(r, member) != NULL || (proof && *proof->key_id);
}

static rp_status put_signature_member(rp_report_view *r, const rp_member *member, rp_error *err)
{
    rp_report_statement statement;
    rp_status status;

    if (!rp_report_is_statement(member)) {
        put_other(r, member);
        return RP_OK;
    }
    status = rp_report_statement_read(r, member, &statement, err);
    if (status == RP_OK)
        put_statement(r, member, &statement);
    rp_json_free(statement.payload);
    return status;
}

rp_status rp_report_statements(rp_report_view *r, rp_error *err)
{
    enum { COUNTED_MAX = 1024, OTHERS_MAX = 64 };
    const size_t n = rp_archive_member_count(r->archive);
    size_t shown[2] = {0, 0}, all[2] = {0, 0}; /* those that count, the others */
    rp_status status = RP_OK;

    rp_html_section(r->out, "statements", "Policy and signed statements");
    rp_report_policy(r);
    rp_buffer_text(r->out, "<h3>Signed statements</h3>\n");
    for (int others = 0; others < 2; others++)
        for (size_t i = 0; i < n && status == RP_OK; i++) {
            const rp_member *member = rp_archive_member(r->archive, i);

            if (rp_member_rank_of(member->name) != RP_RANK_SIGNATURE || is_counted(r, member) == (others != 0) ||
                all[others]++ >= (others ? OTHERS_MAX : COUNTED_MAX))
                continue;
            if (shown[0] + shown[1] == 0)
                rp_html_table(r->out, "statements", NULL, "What it states|Signature");
            shown[others]++;
            status = put_signature_member(r, member, err);
        }
    rp_buffer_text(r->out, shown[0] + shown[1] ? "</tbody>\n</table>\n" : "<p>None: the archive is not signed.</p>\n");
    rp_html_note_first(r->out, shown[0], all[0], "that count");
    rp_html_note_first(r->out, shown[1], all[1], "others");
    rp_buffer_text(
        r->out, "<p class=\"note\">A signature is a key&#39;s, not a person&#39;s: whose key it is must be known from "
                "elsewhere. Statements can be added to an archive later, for instance on a replay or an "
                "approval; times in them are the signer&#39;s word.</p>\n");
    return status;
}

static size_t count_statements(const rp_report_view *r)
{
    size_t n = 0;

    for (size_t i = 0; i < rp_archive_member_count(r->archive); i++)
        n += rp_report_is_statement(rp_archive_member(r->archive, i));
    return n;
}

/* Whether a trusted key has signed the run, or the archive as it is; a verdict or an approval alone does not. */
static bool is_vouched(const rp_report_view *r)
{
    for (size_t i = 0; r->verified && i < r->verified->statements; i++)
        if (r->verified->statement[i].kind == RP_STATEMENT_PROVENANCE ||
            r->verified->statement[i].kind == RP_STATEMENT_ENDORSEMENT)
            return true;
    return false;
}

static void put_verdict(rp_report_view *r, size_t statements)
{
    rp_buffer *out = r->out;

    const rp_policy_result *policy = r->verified ? r->verified->policy : NULL;

    if (policy && policy->unmet)
        rp_buffer_printf(
            out,
            "<div class=\"verdict open\"><strong>The policy is not met: %zu of %zu clauses are open.</strong>\n"
            "<p>They are under Policy below. ",
            policy->unmet, policy->clauses);
    else if (policy)
        rp_buffer_printf(
            out,
            "<div class=\"verdict good\"><strong>Verified, and the policy is met: all of %zu clauses.</strong>\n"
            "<p>",
            policy->clauses);
    else if (is_vouched(r))
        rp_buffer_text(out,
                       "<div class=\"verdict good\"><strong>Verified: signed by a trusted key, and every byte is as it "
                       "was signed.</strong>\n<p>");
    else if (statements)
        rp_buffer_text(out,
                       "<div class=\"verdict open\"><strong>Signature not checked.</strong>\n<p>This report was made "
                       "without a trusted key, so nothing below says who made the run. ");
    else
        rp_buffer_text(
            out, "<div class=\"verdict open\"><strong>Not signed: nobody vouches for this archive.</strong>\n<p>");
    rp_buffer_text(
        out, "All members have the sizes and SHA-256 digests that the manifest gives. The computation was not repeated "
             "for this report.</p></div>\n");
}

static void put_signer(rp_report_view *r, size_t statements)
{
    rp_buffer *out = r->out;
    size_t shown = 0;

    rp_html_row_open(out, "Signature");
    for (size_t i = 0; r->verified && i < r->verified->statements; i++) {
        const rp_verified_statement *s = &r->verified->statement[i];

        if (s->kind != RP_STATEMENT_PROVENANCE && s->kind != RP_STATEMENT_ENDORSEMENT)
            continue;
        rp_buffer_printf(out,
                         "%sValid, %s%s, by a key that the maker of this report named as trusted:<br/>"
                         "<span class=\"hash\">%s</span>",
                         shown++ ? "<br/>" : "", s->kind == RP_STATEMENT_ENDORSEMENT ? "an endorsement, " : "",
                         s->key_type, s->key_id);
    }
    if (shown == 0 && r->verified)
        rp_buffer_text(out, "None that counts");
    else if (shown == 0)
        rp_buffer_text(out, statements ? "Present, not checked: no trusted key was given" : "None");
    rp_html_row_close(out);
}

/* A portable run may have started from a pinned one's states. */
static void put_line_profile(rp_report_view *r)
{
    rp_pinned_to to;

    rp_archive_pinned_to(r->archive, &to);
    if (*to.line) {
        rp_buffer_text(r->out, " Those states are <strong>pinned</strong>: made again by ");
        rp_html_text(r->out, to.line);
        rp_buffer_text(r->out, " alone.");
    } else {
        rp_buffer_text(r->out, r->parent ? " That run is portable, and names none pinned before it."
                                         : " Its profile is unknown from this archive alone, which names none pinned.");
    }
}

/* Of a run without a recipe. The door's texts have letters and digits alone (rp_archive_door). */
static void put_author(rp_report_view *r)
{
    const rp_door *door = &r->door;

    rp_buffer_text(r->out, "<div class=\"verdict open\"><strong>A run of the ");
    if (*door->name)
        rp_buffer_printf(r->out, "%s door", door->name);
    else
        rp_buffer_text(r->out, "C API");
    rp_buffer_text(r->out, ".</strong>\n<p>");
    if (*door->name)
        rp_buffer_printf(r->out, "Its programs came of a model of %s%s%s, by its own word. ", door->name,
                         *door->version ? " " : "", door->version);
    rp_buffer_text(r->out,
                   "Its first states, data and feeds are as given, and what its programs compute, and what they call a "
                   "loss, is what their author wrote: a replay shows that they give these bits, not that a model was "
                   "trained.</p></div>\n");
}

/* What a replay of this archive alone cannot show, told before anything else. */
static void put_caveats(rp_report_view *r)
{
    const char *parent = rp_parent_id(r->archive);
    rp_buffer *out = r->out;

    if (parent) {
        rp_buffer_text(out,
                       "<div class=\"verdict open\"><strong>Its weights started from another run.</strong>\n<p>What "
                       "that run was trained on is in these weights too, and a replay of this archive alone does "
                       "not show it: archive <span class=\"hash\">");
        rp_html_text(out, parent);
        rp_buffer_text(out, "</span>. Whether it was replayed too, the verdicts below say.");
        put_line_profile(r);
        rp_buffer_text(out, "</p></div>\n");
    }
    if (strcmp(rp_archive_kind(r->archive), "api") == 0)
        put_author(r);
    if (r->recipe && r->recipe->program.named)
        rp_buffer_text(out, "<div class=\"verdict open\"><strong>A model of saved programs.</strong>\n<p>Its first "
                            "states, and what its figures are computed by, are what their author wrote: a replay shows "
                            "that they give these bits.</p></div>\n");
}

static void put_checks(rp_report_view *r, size_t statements)
{
    uint64_t bytes = 0;
    size_t n = rp_archive_member_count(r->archive);
    rp_buffer *out = r->out;

    for (size_t i = 0; i < n; i++)
        bytes += rp_archive_member(r->archive, i)->size;
    rp_buffer_text(out, "<table class=\"facts\">\n<tbody>\n");
    rp_report_questions(r);
    put_signer(r, statements);
    rp_html_row_open(out, "Hashes");
    rp_buffer_text(out, "Every member hashed: ");
    rp_html_count(out, n);
    rp_buffer_text(out, " members, ");
    rp_html_count(out, bytes);
    rp_buffer_printf(out, " bytes, as the manifest lists them; besides them %s",
                     statements ? "only the statements below" : "nothing");
    rp_html_row_close(out);
    rp_report_replay_row(r);
    rp_report_decision_row(r);
    rp_report_finding_row(r);
    rp_report_figures_rows(r);
    rp_buffer_text(out, "</tbody>\n</table>\n");
}

/* One figure of the row below the verdict. */
static void open_figure(rp_buffer *out, const char *label)
{
    rp_buffer_printf(out, "<div><dt>%s</dt><dd>", label);
}

static void put_main_metric(rp_report_view *r)
{
    const rp_json *part = rp_json_object_get(r->metrics, "validation");
    const rp_json *value;
    const char *where = rp_json_is_object(part) ? "validation rows" : "training rows";
    const char *label = "Accuracy";
    const rp_json *mean, *deviation;

    if (!rp_json_is_object(part) && rp_report_folds(r->metrics, &mean, &deviation)) {
        part = mean;
        where = "mean of the folds";
    } else if (!rp_json_is_object(part)) {
        part = rp_json_object_get(r->metrics, "training");
    }
    value = rp_json_object_get(part, "bits_per_byte");
    if (value) {
        label = "Bits per byte";
        where = where[0] == 'v' ? "validation text" : "training text";
    } else {
        value = rp_json_object_get(part, "accuracy");
    }
    if (!value) {
        value = rp_json_object_get(part, "r2");
        label = "R\xC2\xB2";
    }
    if (!value)
        return;
    open_figure(r->out, label);
    rp_html_real(r->out, value);
    rp_buffer_printf(r->out, "<small>%s</small></dd></div>\n", where);
}

static void put_glance(rp_report_view *r)
{
    rp_buffer *out = r->out;
    const rp_json *run = rp_archive_manifest(r->archive)->run;
    int64_t steps = rp_json_integer_value(rp_json_object_get(run, "steps"));
    uint64_t parameters = 0;

    rp_buffer_text(out, "<dl>\n");
    put_main_metric(r);
    if (r->data.table) {
        open_figure(out, "Rows");
        rp_html_count(out, r->data.table->rows);
        rp_buffer_printf(out, "<small>%zu columns", r->data.table->cols);
        if (r->data.table->dropped[0] + r->data.table->dropped[1] > 0) {
            rp_buffer_text(out, "; ");
            rp_html_count(out, r->data.table->dropped[0] + r->data.table->dropped[1]);
            rp_buffer_text(out, " rows left out");
        }
        rp_buffer_text(out, "</small></dd></div>\n");
    }
    for (size_t i = 0; r->model && i < r->model->n_parameters; i++) {
        uint64_t size = 1;

        for (int d = 0; d < r->model->parameter[i].rank; d++)
            size *= r->model->parameter[i].shape[d];
        parameters += size;
    }
    if (r->model) {
        open_figure(out, "Parameters");
        rp_html_count(out, parameters);
        if (r->recipe->program.named)
            rp_buffer_text(out, "<small>a saved program</small></dd></div>\n");
        else
            rp_buffer_printf(out, "<small>%zu %s</small></dd></div>\n",
                             r->recipe->model.n_conv + r->recipe->model.n_hidden + 1,
                             r->recipe->model.n_conv + r->recipe->model.n_hidden ? "layers" : "layer");
    }
    open_figure(out, r->training_steps ? "Training steps" : "Steps");
    rp_html_count(out, r->training_steps ? r->training_steps : steps > 0 ? (uint64_t)steps : 0);
    rp_buffer_text(out, "<small>");
    if (r->training_steps && r->recipe->train.exact)
        rp_buffer_text(out, "an exact fit");
    else if (r->training_steps && r->epochs == 0)
        rp_buffer_printf(out, "%lld windows each", (long long)r->recipe->train.batch);
    else if (r->training_steps)
        rp_buffer_printf(out, "%zu epochs", r->epochs);
    else
        rp_buffer_text(out, "in the journal");
    rp_buffer_text(out, "</small></dd></div>\n</dl>\n");
}

void rp_report_verdict(rp_report_view *r)
{
    size_t statements = count_statements(r);

    rp_html_section(r->out, "verdict", "Verdict");
    rp_report_objections(r);
    put_verdict(r, statements);
    put_caveats(r);
    rp_report_unknown(r);
    put_glance(r);
    put_checks(r, statements);
}
