/* SPDX-License-Identifier: Apache-2.0
 * The questions whoever approves a model asks first, each answered in a sentence from the archive; a dossier answers
 * with the same. What is not known is said as plainly as what is. */
#include <string.h>

#include "audit/report/report.h"

static const rp_json *held_out(const rp_report_view *r)
{
    const rp_json *part = rp_json_object_get(r->metrics, "validation");

    return rp_json_is_object(part) ? part : NULL;
}

const rp_json *rp_report_main_part(const rp_json *metrics)
{
    const rp_json *part = rp_json_object_get(metrics, "validation");

    return rp_json_is_object(part) ? part : rp_json_object_get(metrics, "training");
}

size_t rp_report_folds(const rp_json *metrics, const rp_json **mean, const rp_json **deviation)
{
    const rp_json *trials = rp_json_object_get(metrics, "trials"), *chosen = rp_json_object_get(trials, "chosen");
    const int64_t folds = rp_json_integer_value(rp_json_object_get(trials, "folds"));
    const int64_t at = chosen ? rp_json_integer_value(chosen) : 0;
    const rp_json *variant = rp_json_array_get(rp_json_object_get(trials, "variants"), at < 0 ? SIZE_MAX : (size_t)at);

    *mean = rp_json_object_get(variant, "mean");
    *deviation = rp_json_object_get(variant, "deviation");
    return folds > 0 && rp_json_is_object(*mean) && rp_json_object_size(*mean) ? (size_t)folds : 0;
}

const char *rp_report_card(const rp_report_view *r, const char *key)
{
    return r->recipe ? rp_json_string_value(rp_json_object_get(rp_json_object_get(r->recipe->json, "card"), key))
                     : NULL;
}

/* ---- model and use ---- */

static uint64_t parameters_of(const rp_model *m)
{
    uint64_t all = 0;

    for (size_t i = 0; i < m->n_parameters; i++) {
        uint64_t size = 1;

        for (int d = 0; d < m->parameter[i].rank; d++)
            size *= m->parameter[i].shape[d];
        all += size;
    }
    return all;
}

static const char *form_of(const rp_report_view *r)
{
    const rp_recipe *recipe = r->recipe;

    if (recipe->program.named)
        return "A saved program";
    if (recipe->model.n_conv)
        return "A convolutional network";
    if (recipe->model.n_hidden)
        return "A neural network";
    if (recipe->train.regression && recipe->train.exact && recipe->train.family != RP_FAMILY_GAUSSIAN)
        return recipe->train.family == RP_FAMILY_POISSON ? "A Poisson regression"
               : recipe->train.family == RP_FAMILY_GAMMA ? "A gamma regression"
                                                         : "A logistic regression of counts";
    return recipe->train.regression ? "A linear regression" : "A logistic regression";
}

/* Which rows count for more: whoever chooses that chooses the model. */
static void answer_weights(rp_report_view *r)
{
    const rp_recipe *recipe = r->recipe;

    if (recipe->data.weight.given) {
        rp_buffer_text(r->out, "; its rows count by the column ");
        if (recipe->data.weight.name)
            rp_html_name(r->out, recipe->data.weight.name);
        else
            rp_buffer_printf(r->out, "%lld", (long long)recipe->data.weight.index);
    }
    if (recipe->train.balanced)
        rp_buffer_text(r->out, "; its classes count the same in all");
    for (size_t i = 0; i < recipe->train.n_class_weights; i++) {
        rp_buffer_text(r->out, i ? ", " : "; its rows count by class: ");
        rp_html_name(r->out, recipe->train.class_weight[i].name);
        rp_buffer_text(r->out, " ");
        rp_html_number(r->out, recipe->train.class_weight[i].weight);
    }
}

static void answer_model(rp_report_view *r)
{
    rp_buffer *out = r->out;

    if (r->recipe && r->recipe->text.path && r->recipe->program.named) {
        rp_buffer_text(out, "A saved program, whose text is in the recipe: of each place in a text it gives the "
                            "probability of every token that may come next. <strong>That it does not look at those "
                            "tokens, nobody checked</strong>: its figures mean something only if it does not");
        return;
    }
    if (r->recipe && r->recipe->text.path) {
        rp_buffer_printf(out,
                         "A transformer of %lld %s, %lld wide, over at most %lld tokens; of each place in a text it "
                         "gives the probability of every token that may come next",
                         (long long)r->recipe->gpt.layers, r->recipe->gpt.layers == 1 ? "block" : "blocks",
                         (long long)r->recipe->gpt.width, (long long)r->recipe->text.tokens);
        return;
    }
    if (!r->model && r->recipe && rp_report_withheld(r, RP_SCHEMA_MEMBER)) {
        rp_buffer_printf(out, "%s; what its features are was left out of the archive with the data", form_of(r));
        return;
    }
    if (!r->model) {
        if (strcmp(rp_archive_kind(r->archive), "api") != 0)
            rp_buffer_text(out, "Not known: the recipe or the schema cannot be read");
        else
            rp_buffer_printf(out, "Whatever the programs of its author compute: a run of the %s%s has no recipe",
                             *r->door.name ? r->door.name : "C API",
                             *r->door.name ? " door, which it says it is," : "");
        return;
    }
    if (r->recipe->program.named)
        rp_buffer_text(out, "A saved program, whose text is in the recipe, of ");
    else
        rp_buffer_printf(out, "%s of %zu %s and ", form_of(r), r->recipe->model.n_conv + r->recipe->model.n_hidden + 1,
                         r->recipe->model.n_conv + r->recipe->model.n_hidden ? "layers" : "layer");
    rp_html_count(out, parameters_of(r->model));
    rp_buffer_printf(out, " parameters on %zu features; it gives %s of ", r->schema->features,
                     r->recipe->data.denominator.given ? "the share"
                     : r->recipe->train.regression     ? "the value"
                     : r->schema->classes == 2         ? "the probability"
                                                       : "a class");
    rp_report_target_name(r);
    rp_report_trials_name(r);
    if (r->schema->classes == 2 && r->data.class_name) {
        rp_buffer_text(out, " = ");
        rp_html_name(out, r->data.class_name[1]);
    }
    answer_weights(r);
}

static void answer_use(rp_report_view *r)
{
    static const char *const keys[] = {"purpose", "intended_use"};
    bool any = false;

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *text = rp_report_card(r, keys[i]);

        if (!text)
            continue;
        rp_buffer_text(r->out, any ? "<br/>" : "");
        rp_html_long(r->out, text);
        any = true;
    }
    if (!any)
        rp_buffer_text(r->out, "<strong>Not stated</strong>: the archive has no card with its purpose");
}

/* ---- how good ---- */

static void put_figure(rp_buffer *out, const char *label, const rp_json *value)
{
    rp_buffer_printf(out, "%s ", label);
    rp_html_real(out, value);
}

static void answer_two(rp_buffer *out, const rp_json *figures)
{
    const rp_json *found = rp_json_object_get(figures, "discrimination");

    put_figure(out, "Area under the ROC curve", rp_json_object_get(found, "auc"));
    rp_buffer_text(out, " (95\xC2\xA0%: ");
    rp_html_real(out, rp_json_object_get(found, "auc_low"));
    rp_buffer_text(out, " to ");
    rp_html_real(out, rp_json_object_get(found, "auc_high"));
    put_figure(out, "), Gini", rp_json_object_get(found, "gini"));
    put_figure(out, ", KS", rp_json_object_get(found, "ks"));
    put_figure(out, ", Brier score", rp_json_object_get(rp_json_object_get(figures, "calibration"), "brier"));
}

/* What decides: each fold by a model that did not see it. Then what is known of the final model. */
static void answer_folds(rp_report_view *r, size_t folds, const rp_json *mean, const rp_json *deviation)
{
    static const char *const figure[][2] = {{"auc", "area under the ROC curve"},
                                            {"accuracy", "accuracy"},
                                            {"r2", "R\xC2\xB2"},
                                            {"mae", "mean absolute error"}};
    rp_buffer *out = r->out;
    bool any = false;

    rp_buffer_printf(out, "Mean and deviation of %zu folds, each by a model that was not trained on it: ", folds);
    for (size_t i = 0; i < sizeof figure / sizeof *figure; i++) {
        const rp_json *value = rp_json_object_get(mean, figure[i][0]);

        if (!value)
            continue;
        rp_buffer_text(out, any ? ", " : "");
        put_figure(out, figure[i][1], value);
        rp_buffer_text(out, " \xC2\xB1 ");
        rp_html_real(out, rp_json_object_get(deviation, figure[i][0]));
        any = true;
    }
    if (r->recipe && r->recipe->search.n_over > 0)
        rp_buffer_text(out, ". <strong>These means chose its settings</strong> (What was tried): figures of such rows "
                            "flatter");
    rp_buffer_text(out, "<br/>The final model was trained on all of them. Its figures there: ");
}

/* Rows that no step was trained on may have decided something all the same. */
static void put_held_out(rp_report_view *r)
{
    const bool epoch = r->recipe && r->recipe->train.patience > 0, search = r->recipe && r->recipe->search.n_over > 0;

    rp_buffer_text(r->out, " rows that it was not trained on");
    if (!epoch && !search)
        return;
    rp_buffer_printf(r->out, ", <strong>but that chose %s%s%s</strong>%s: figures of such rows flatter",
                     search ? "its settings" : "", search && epoch ? " and " : "",
                     epoch ? "the epoch whose weights it has" : "", search ? " (What was tried)" : "");
}

/* Of a language model. */
static void answer_language(rp_report_view *r, const rp_json *part)
{
    const int64_t tokens = rp_json_integer_value(rp_json_object_get(part, "tokens"));

    put_figure(r->out, "Bits per byte", rp_json_object_get(part, "bits_per_byte"));
    put_figure(r->out, ", perplexity of a token", rp_json_object_get(part, "perplexity"));
    put_figure(r->out, ", the likeliest token right in a share of", rp_json_object_get(part, "accuracy"));
    rp_buffer_text(r->out, ", on ");
    rp_html_count(r->out, tokens > 0 ? (uint64_t)tokens : 0);
    rp_buffer_text(r->out, held_out(r) ? " tokens of the text&#39;s end, behind what it was trained on; "
                                         "<strong>whether they repeat it was not examined</strong>"
                                       : " tokens that it <strong>was trained on</strong>: no others were kept");
}

static void answer_good(rp_report_view *r)
{
    const rp_json *mean, *deviation;
    const size_t folds = held_out(r) ? 0 : rp_report_folds(r->metrics, &mean, &deviation);
    const rp_json *part = rp_report_main_part(r->metrics), *figures = rp_json_object_get(part, "figures");
    int64_t rows = rp_json_integer_value(rp_json_object_get(part, "rows"));
    rp_buffer *out = r->out;

    if (!rp_json_is_object(part)) {
        rp_buffer_text(out, "Not known: the archive records no metrics");
        return;
    }
    if (rp_json_object_get(part, "bits_per_byte")) {
        answer_language(r, part);
        return;
    }
    if (folds)
        answer_folds(r, folds, mean, deviation);
    if (rp_json_object_get(figures, "discrimination")) {
        answer_two(out, figures);
    } else if (rp_json_object_get(part, "r2")) {
        put_figure(out, "R\xC2\xB2", rp_json_object_get(part, "r2"));
        put_figure(out, ", mean absolute error", rp_json_object_get(part, "mae"));
    }
    if (rp_json_object_get(part, "accuracy"))
        put_figure(out, rp_json_object_get(figures, "discrimination") ? ", accuracy" : "Accuracy",
                   rp_json_object_get(part, "accuracy"));
    if (rp_json_object_get(figures, "macro_auc"))
        put_figure(out, ", area under the ROC curve, mean over classes,", rp_json_object_get(figures, "macro_auc"));
    rp_buffer_text(out, ", on ");
    rp_html_count(out, rows > 0 ? (uint64_t)rows : 0);
    if (folds)
        rp_buffer_text(out, " rows");
    else if (!held_out(r))
        rp_buffer_text(out, " rows that it <strong>was trained on</strong>: no others were kept");
    else if (rp_parent_id(r->archive))
        rp_buffer_text(out, " rows kept out of this run; <strong>the run that it started from may have been trained on "
                            "them</strong>");
    else
        put_held_out(r);
}

/* By the first figure that both have; of accuracy more is better, of the others less. */
static void answer_trivial(rp_report_view *r)
{
    const rp_json *part = rp_report_main_part(r->metrics), *figures = rp_json_object_get(part, "figures");
    const rp_json *trivial = rp_json_object_get(figures, "trivial"), *model = part;
    static const char *const words[][2] = {
        {"brier", "Brier score"}, {"accuracy", "accuracy"}, {"rmse", "root mean squared error"}};
    size_t k = rp_json_object_get(trivial, "brier") ? 0 : rp_json_object_get(trivial, "accuracy") ? 1 : 2;
    double ours, theirs;

    if (k == 0)
        model = rp_json_object_get(figures, "calibration");
    else if (k == 2)
        model = figures;
    if (!rp_report_real(rp_json_object_get(model, words[k][0]), &ours) ||
        !rp_report_real(rp_json_object_get(trivial, words[k][0]), &theirs)) {
        rp_buffer_text(r->out, "Not known: no trivial model was measured beside it");
        return;
    }
    rp_buffer_text(r->out, (k == 1 ? ours > theirs : ours < theirs)
                               ? "Better: "
                               : "<strong>No better than a model without inputs</strong>: ");
    rp_buffer_printf(r->out, "%s ", words[k][1]);
    rp_html_number(r->out, ours);
    rp_buffer_text(r->out, ", the trivial model&#39;s ");
    rp_html_number(r->out, theirs);
    if (!held_out(r))
        rp_buffer_text(r->out, ", on the rows that <strong>it was trained on</strong>");
    if (k == 1 && rp_report_real(rp_json_object_get(figures, "log_loss"), &ours) &&
        rp_report_real(rp_json_object_get(trivial, "log_loss"), &theirs) && ours > theirs) {
        rp_buffer_text(r->out, "; <strong>but its probabilities are worse</strong>: log loss ");
        rp_html_number(r->out, ours);
        rp_buffer_text(r->out, ", the trivial model&#39;s ");
        rp_html_number(r->out, theirs);
    }
}

/* Of a run that takes another's place, by its recipe's word: what trusted keys say of both. */
static void answer_predecessor(rp_report_view *r, const char *predecessor)
{
    size_t shown = 0;

    for (size_t i = 0; r->verified && i < r->verified->statements; i++) {
        const rp_verified_statement *one = &r->verified->statement[i];

        if (one->kind != RP_STATEMENT_RETRAINING || !one->figures->predicate || shown == 4 ||
            strcmp(one->figures->predecessor, predecessor) != 0)
            continue;
        rp_buffer_text(r->out, shown++ ? "<br/>" : "");
        rp_report_figures_words(r->out, one->figures);
    }
    if (shown == 0)
        rp_buffer_printf(r->out,
                         "<strong>Not known</strong>: its recipe names archive <span class=\"hash\">%s</span> as its "
                         "predecessor, and no trusted key has held it against that one (<code>reprise retrain PARENT "
                         "--child ARCHIVE --attach</code>)",
                         predecessor);
}

static void answer_parent(rp_report_view *r)
{
    static const char *const keys[] = {"auc", "accuracy", "r2"};
    const char *parent = rp_parent_id(r->archive);
    const rp_json *ours = rp_report_main_part(r->metrics), *theirs = rp_report_main_part(r->parent_metrics);
    size_t k = 0;

    if (!parent && r->recipe && r->recipe->predecessor) {
        answer_predecessor(r, r->recipe->predecessor);
        return;
    }
    if (!parent) {
        rp_buffer_text(r->out, !r->recipe                 ? "None is recorded"
                               : r->recipe->weights       ? "None is recorded: its first weights are those of a file, "
                                                            "<code>weights</code> of the recipe, which may have been "
                                                            "trained elsewhere, on rows that are not here"
                               : r->recipe->program.named ? "None is recorded: its first weights are what "
                                                            "<code>model.initial</code> of the recipe makes, which can "
                                                            "hold weights that were trained elsewhere"
                               : r->recipe->train.exact   ? "There is none: an exact fit, which starts at 0"
                                                          : "There is none: its weights were drawn by the recipe&#39;s "
                                                            "seed");
        return;
    }
    if (!r->parent) {
        rp_buffer_text(r->out, "<strong>Not known</strong>: the parent was not given for this report (<code>--parent"
                               "</code>)");
        return;
    }
    while (k < 3 && !(rp_json_object_get(ours, keys[k]) && rp_json_object_get(theirs, keys[k])))
        k++;
    if (k == 3) {
        rp_buffer_text(r->out, "Its states are the parent&#39;s; the two have no metric in common");
        return;
    }
    rp_buffer_printf(r->out, "%s ", k == 0 ? "Area under the ROC curve" : k == 1 ? "Accuracy" : "R\xC2\xB2");
    rp_html_real(r->out, rp_json_object_get(ours, keys[k]));
    rp_buffer_text(r->out, ", the parent&#39;s ");
    rp_html_real(r->out, rp_json_object_get(theirs, keys[k]));
    rp_buffer_text(r->out, ": <strong>each on its own rows</strong>, which need not be the same");
}

/* ---- stable, fair ---- */

static bool any_of(const rp_report_view *r, rp_statement_kind kind)
{
    for (size_t i = 0; r->verified && i < r->verified->statements; i++)
        if (r->verified->statement[i].kind == kind)
            return true;
    return false;
}

static void answer_stable(rp_report_view *r)
{
    static const char *const keys[] = {"auc", "bits_per_byte", "accuracy", "r2"};
    static const char *const names[] = {"Area under the ROC curve", "Bits per byte", "Accuracy", "R\xC2\xB2"};
    const rp_json *training = rp_json_object_get(r->metrics, "training"), *validation = held_out(r);
    rp_report_drift drift;
    double a, b;
    bool any = false, tried;

    for (size_t k = 0; k < sizeof keys / sizeof *keys && !any; k++) {
        if (!rp_report_real(rp_json_object_get(training, keys[k]), &a) ||
            !rp_report_real(rp_json_object_get(validation, keys[k]), &b))
            continue;
        rp_buffer_printf(r->out, "%s %s ", names[k],
                         a > b ? "falls from training to validation by" : "rises from training to validation by");
        rp_html_number(r->out, a > b ? a - b : b - a);
        any = true;
    }
    if (rp_report_score_drift(r, &drift)) {
        rp_buffer_text(r->out,
                       any ? "; stability index of its scores between them " : "Stability index of its scores ");
        rp_html_number(r->out, drift.psi);
        any = true;
    }
    rp_buffer_text(r->out, any ? ". " : "");
    if (any_of(r, RP_STATEMENT_MONITORING))
        rp_buffer_text(r->out, "Later periods: see Monitored. ");
    tried = rp_json_object_get(r->metrics, "trials") != NULL;
    rp_buffer_text(r->out, tried ? "Other seeds and folds: see What was tried"
                                 : "<strong>Not known</strong> from this archive: "
                                   "other seeds, other folds");
    if (!any_of(r, RP_STATEMENT_MONITORING))
        rp_buffer_text(r->out, tried ? "; <strong>not known</strong>: later periods" : ", later periods");
}

static size_t put_lowest(rp_report_view *r, const rp_json *groups)
{
    size_t shown = 0;

    for (size_t i = 0; i < rp_json_array_size(groups); i++) {
        const rp_json *cut = rp_json_array_get(groups, i);

        if (!rp_json_object_get(cut, "summary"))
            continue;
        rp_buffer_text(r->out, shown++ ? "; by " : "By ");
        rp_html_name(r->out, rp_json_string_value(rp_json_object_get(cut, "by")));
        if (rp_json_is_string(rp_json_object_get(rp_json_object_get(cut, "summary"), "ratio"))) {
            rp_buffer_text(r->out, " lowest to highest rate of selection ");
            rp_html_real(r->out, rp_json_object_get(rp_json_object_get(cut, "summary"), "ratio"));
        } else {
            rp_buffer_text(r->out, " nothing was compared: fewer than two groups of 30 rows have rates");
        }
    }
    return shown;
}

static bool put_groups(rp_report_view *r)
{
    const rp_json *groups = rp_json_object_get(rp_report_main_part(r->metrics), "groups");

    for (size_t i = 0; rp_json_array_size(groups) == 0 && r->verified && i < r->verified->statements; i++)
        if (r->verified->statement[i].kind == RP_STATEMENT_VALIDATION && r->verified->statement[i].figures->predicate)
            groups = rp_json_object_get(r->verified->statement[i].figures->predicate, "groups");
    if (rp_json_array_size(groups) == 0)
        return false;
    rp_buffer_text(r->out, put_lowest(r, groups)
                               ? ". A screening of the columns named; counts and intervals are under Metrics"
                               : "A quantity selects nobody; figures by group are under Metrics");
    return true;
}

static void answer_fair(rp_report_view *r)
{
    if (!put_groups(r))
        rp_buffer_text(r->out,
                       "<strong>Not examined</strong>: no group of people was named, so there are no figures by "
                       "group. That a column is absent from the table does not make a model blind to it");
}

/* ---- by whom ---- */

static void answer_replay(rp_report_view *r)
{
    rp_buffer_text(r->out,
                   any_of(r, RP_STATEMENT_VERDICT)
                       ? "Yes, as signed by trusted keys: see the Verdict"
                       : "<strong>Not known</strong>: no verdict of a replay by a trusted key is in the archive");
}

static void answer_decision(rp_report_view *r)
{
    rp_buffer_text(r->out, any_of(r, RP_STATEMENT_APPROVAL) ? "See the Verdict"
                                                            : "<strong>Nobody</strong> whose key is trusted here");
}

void rp_report_answer(rp_report_view *r, rp_report_question question)
{
    static void (*const answer[])(rp_report_view *) = {
        [RP_ASK_MODEL] = answer_model,     [RP_ASK_USE] = answer_use,         [RP_ASK_GOOD] = answer_good,
        [RP_ASK_TRIVIAL] = answer_trivial, [RP_ASK_PARENT] = answer_parent,   [RP_ASK_STABLE] = answer_stable,
        [RP_ASK_FAIR] = answer_fair,       [RP_ASK_REPLAYED] = answer_replay, [RP_ASK_DECIDED] = answer_decision,
    };

    answer[question](r);
}

/* ---- the first page ---- */

static void put_unknown(rp_buffer *out, bool unknown, size_t *shown, const char *text)
{
    if (!unknown)
        return;
    rp_buffer_text(out, (*shown)++ ? ""
                                   : "<div class=\"verdict open\"><strong>What this archive does not say</strong>"
                                     "\n<ul>\n");
    rp_buffer_printf(out, "<li>%s</li>\n", text);
}

void rp_report_unknown(rp_report_view *r)
{
    const rp_json *mean, *deviation;
    size_t shown = 0;
    rp_buffer *out = r->out;
    bool card = r->recipe && rp_json_is_object(rp_json_object_get(r->recipe->json, "card"));

    put_unknown(out, !card, &shown,
                "What the model is for, who owns it and until when it may be used: it has no card.");
    put_unknown(
        out, r->metrics && !held_out(r) && !any_of(r, RP_STATEMENT_VALIDATION), &shown,
        rp_report_folds(r->metrics, &mean, &deviation)
            ? "How the final model does on rows it was not trained on: none were kept; the folds&#39; figures are "
              "of models like it."
            : "How it does on rows it was not trained on: none were kept.");
    put_unknown(out, !any_of(r, RP_STATEMENT_VERDICT), &shown,
                "Whether the run was repeated: no verdict of a replay by a trusted key is in it.");
    put_unknown(out, !any_of(r, RP_STATEMENT_APPROVAL), &shown,
                "Whether anybody decided on it: no decision by a trusted key is in it.");
    put_unknown(out, rp_parent_id(r->archive) && held_out(r), &shown,
                "How it does on rows that are new to it: those kept out of this run may have been in its parent&#39;s "
                "training, and its metrics are then too good.");
    put_unknown(out, rp_parent_id(r->archive) && !r->parent, &shown,
                "How the run was made that its weights started from: that archive was not given.");
    put_unknown(out, !any_of(r, RP_STATEMENT_VALIDATION), &shown,
                "How it does on other rows: it holds no validation by a trusted key.");
    put_unknown(out, !any_of(r, RP_STATEMENT_MONITORING), &shown,
                "How it does in later periods: it holds no monitoring by a trusted key.");
    put_unknown(out,
                r->recipe && rp_json_array_size(rp_json_object_get(rp_report_main_part(r->metrics), "groups")) == 0,
                &shown, "How it treats groups of people: its recipe names none.");
    rp_buffer_text(out, shown ? "</ul></div>\n" : "");
}

void rp_report_questions(rp_report_view *r)
{
    static const struct {
        const char *label;
        rp_report_question question;
    } asked[] = {{"What model", RP_ASK_MODEL},
                 {"For what use", RP_ASK_USE},
                 {"How good", RP_ASK_GOOD},
                 {"Against the trivial model", RP_ASK_TRIVIAL},
                 {"Against its parent", RP_ASK_PARENT},
                 {"Stable", RP_ASK_STABLE},
                 {"Fair", RP_ASK_FAIR}};

    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        rp_html_row_open(r->out, asked[i].label);
        rp_report_answer(r, asked[i].question);
        rp_html_row_close(r->out);
    }
}
