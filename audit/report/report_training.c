/* SPDX-License-Identifier: Apache-2.0
 * Training: settings, loss by step from the journal, learning rate by the recipe's schedule. */
#include "audit/report/report.h"
#include "base/memory.h"
#include "core/recipe/recipe_names.h"
#include "core/train/schedule.h"
#include "determinism/decimal.h"

static void put_shortest(rp_buffer *out, const char *before, double x)
{
    char text[RP_DECIMAL_SIZE];

    (void)rp_print_f64(text, x);
    rp_buffer_printf(out, "%s%s", before, text);
}

static void put_optimizer(rp_report_view *r)
{
    const rp_recipe *recipe = r->recipe;
    rp_optimizer_kind kind = recipe->train.optimizer.kind;

    rp_html_row_open(r->out, "Optimizer");
    rp_buffer_text(r->out, rp_optimizer_names[kind]);
    put_shortest(r->out, ", learning rate ", recipe->train.optimizer.lr);
    put_shortest(r->out, ", weight decay ", recipe->train.optimizer.weight_decay);
    if (kind == RP_OPT_ADAM || kind == RP_OPT_ADAMW || kind == RP_OPT_LION) {
        put_shortest(r->out, ", \xCE\xB2\xE2\x82\x81 ", recipe->train.optimizer.beta1);
        put_shortest(r->out, ", \xCE\xB2\xE2\x82\x82 ", recipe->train.optimizer.beta2);
    }
    if (recipe->train.optimizer.momentum > 0)
        put_shortest(r->out, recipe->train.optimizer.nesterov ? ", Nesterov momentum " : ", momentum ",
                     recipe->train.optimizer.momentum);
    rp_html_row_close(r->out);
}

/* What is fitted exactly has no rate and no epochs. */
static void put_exact(rp_report_view *r)
{
    const rp_recipe *recipe = r->recipe;
    rp_buffer *out = r->out;

    rp_buffer_text(out, "<table class=\"facts\">\n<tbody>\n");
    rp_html_row(out, "Solver", "exact: Newton's method, one step of the journal");
    rp_html_row(out, "Loss", rp_loss_names[r->model ? r->model->loss : recipe->train.loss]);
    rp_html_row_open(out, "Penalty");
    put_shortest(out, "l2 ", recipe->train.l2);
    put_shortest(out, ", l1 ", recipe->train.l1);
    rp_html_row_close(out);
    rp_html_row_open(out, "Seed");
    rp_buffer_printf(out, "%llu", (unsigned long long)recipe->seed);
    rp_html_row_close(out);
    rp_buffer_text(out, "</tbody>\n</table>\n");
}

static void put_settings(rp_report_view *r)
{
    const rp_recipe *recipe = r->recipe;
    rp_buffer *out = r->out;

    if (recipe->train.exact) {
        put_exact(r);
        return;
    }
    rp_buffer_text(out, "<table class=\"facts\">\n<tbody>\n");
    rp_html_row_open(out, "Steps");
    rp_html_count(out, r->training_steps);
    if (r->epochs)
        rp_buffer_printf(out, " in %lld epochs", (long long)r->epochs);
    rp_buffer_printf(out, ", batches of %lld %s%s", (long long)recipe->train.batch,
                     recipe->text.path ? "windows" : "rows", recipe->train.shuffle ? ", shuffled" : "");
    rp_html_row_close(out);
    rp_html_row_open(out, "Seed");
    rp_buffer_printf(out, "%llu", (unsigned long long)recipe->seed);
    rp_html_row_close(out);
    rp_html_row(out, "Loss", rp_loss_names[r->model ? r->model->loss : recipe->train.loss]);
    put_optimizer(r);
    rp_html_row_open(out, "Schedule");
    rp_buffer_text(out, rp_schedule_names[recipe->train.schedule.kind]);
    if (recipe->train.schedule.warmup_steps)
        rp_buffer_printf(out, ", %lld steps of warm-up", (long long)recipe->train.schedule.warmup_steps);
    rp_html_row_close(out);
    if (recipe->train.clip_norm > 0) {
        rp_html_row_open(out, "Gradients");
        put_shortest(out, "clipped to norm ", recipe->train.clip_norm);
        rp_html_row_close(out);
    }
    if (recipe->train.mixed)
        rp_html_row(out, "Precision", "mixed: what waits for the gradients waits as bf16");
    if (recipe->train.shards > 1 || recipe->train.accumulate > 1) {
        rp_html_row_open(out, "Each batch");
        rp_buffer_printf(out, "in %lld %s", (long long)recipe->train.shards,
                         recipe->train.shards == 1 ? "shard" : "shards");
        if (recipe->train.accumulate > 1)
            rp_buffer_printf(out, " of %lld micro-batches", (long long)recipe->train.accumulate);
        rp_html_row_close(out);
    }
    rp_buffer_text(out, "</tbody>\n</table>\n");
}

/* ---- curves ---- */

typedef struct curve {
    double *x, *y, *mean_x, *mean_y, *rate;
    size_t n, means;
    double first, last; /* of the means */
} curve;

static bool finite(double v)
{
    return v - v == 0;
}

/* Means of consecutive groups of steps, over the losses that are finite; drawn in the middle of each group. */
static void take_means(curve *c, size_t group)
{
    for (size_t at = 0; at < c->n; at += group) {
        size_t end = at + group < c->n ? at + group : c->n, counted = 0;
        double sum = 0;

        for (size_t i = at; i < end; i++) {
            if (!finite(c->y[i]))
                continue;
            sum += c->y[i];
            counted++;
        }
        if (!counted)
            continue;
        c->mean_x[c->means] = (c->x[at] + c->x[end - 1]) / 2;
        c->mean_y[c->means] = sum / (double)counted;
        if (!c->means)
            c->first = c->mean_y[0];
        c->last = c->mean_y[c->means++];
    }
}

static rp_status allocate(curve *c, size_t n, rp_error *err)
{
    c->n = n;
    c->x = rp_reallocarray(NULL, n, sizeof *c->x);
    c->y = rp_reallocarray(NULL, n, sizeof *c->y);
    c->mean_x = rp_reallocarray(NULL, n, sizeof *c->mean_x);
    c->mean_y = rp_reallocarray(NULL, n, sizeof *c->mean_y);
    c->rate = rp_reallocarray(NULL, n, sizeof *c->rate);
    return c->x && c->y && c->mean_x && c->mean_y && c->rate ? RP_OK : rp_no_memory(err);
}

static void release(curve *c)
{
    rp_free(c->x);
    rp_free(c->y);
    rp_free(c->mean_x);
    rp_free(c->mean_y);
    rp_free(c->rate);
}

static void draw_loss(rp_report_view *r, const curve *c, bool epochs, size_t group)
{
    rp_chart_line line[] = {
        {.x = c->x, .y = c->y, .n = c->n, .style = "raw", .label = "each step"},
        {.x = c->mean_x,
         .y = c->mean_y,
         .n = c->means,
         .style = "mean",
         .label = epochs ? "mean of an epoch" : "mean of steps",
         .dots = true},
    };
    rp_chart chart = {"loss", "Loss by step", "step", "loss", line, group > 1 ? 2 : 1, .whole_x = true};
    rp_buffer desc = {0};

    if (group <= 1)
        line[0].style = "mean";
    if (epochs || group <= 1)
        rp_buffer_text(&desc, epochs ? "The mean loss of an epoch goes from " : "It goes from ");
    else
        rp_buffer_printf(&desc, "The mean loss of %zu steps goes from ", group);
    rp_html_number(&desc, c->first);
    rp_buffer_text(&desc, " to ");
    rp_html_number(&desc, c->last);
    rp_buffer_text(&desc, r->recipe && r->recipe->model.dropout > 0 ? ", with dropout on; as the journal records it."
                                                                    : ", as the journal records it.");
    rp_svg_chart(r->out, &chart, &desc);
    rp_buffer_free(&desc);
}

static void draw_rate(rp_report_view *r, curve *c)
{
    const rp_chart_line line = {.x = c->x, .y = c->rate, .n = c->n, .style = "mean"};
    const int64_t longest =
        r->epochs ? (int64_t)(c->n / r->epochs) * r->recipe->train.epochs : (int64_t)c->n; /* without early stopping */
    const rp_chart chart = {"rate", "Learning rate by step", "step", "learning rate", &line, 1, .whole_x = true};
    rp_buffer desc = {0};

    for (size_t i = 0; i < c->n; i++)
        c->rate[i] = rp_learning_rate(r->recipe, (int64_t)i + 1, longest);
    rp_buffer_text(&desc, "From ");
    rp_html_number(&desc, c->rate[0]);
    rp_buffer_text(&desc, " in the first step to ");
    rp_html_number(&desc, c->rate[c->n - 1]);
    rp_buffer_text(&desc, " in the last, as the recipe&#39;s schedule gives it.");
    rp_svg_chart(r->out, &chart, &desc);
    rp_buffer_free(&desc);
}

static size_t group_size(const rp_report_view *r, size_t n)
{
    int64_t epochs = r->training_steps ? (int64_t)r->epochs : 0;

    if (epochs > 0 && n % (uint64_t)epochs == 0)
        return n / (size_t)epochs;
    return n < 40 ? 1 : (n + 24) / 25;
}

static void put_curves(rp_report_view *r)
{
    curve c = {0};
    size_t begin = r->training_steps ? 1 : 0, n = r->training_steps ? r->training_steps : r->steps, seen = 0;
    size_t group = group_size(r, n);

    if (n == 0 || (r->recipe && r->recipe->train.exact))
        return; /* one step draws no curve */
    if (allocate(&c, n, NULL) != RP_OK) {
        r->out->failed = true;
        release(&c);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        c.x[i] = (double)(begin + i);
        c.y[i] = r->loss[begin + i];
        seen += finite(c.y[i]);
    }
    take_means(&c, group);
    rp_buffer_text(r->out, "<div class=\"pair\">\n");
    if (seen)
        draw_loss(r, &c, r->training_steps && r->epochs && n % r->epochs == 0, group);
    else
        rp_buffer_text(r->out, "<p>No step of the journal has a loss.</p>\n");
    if (r->training_steps)
        draw_rate(r, &c);
    rp_buffer_text(r->out, "</div>\n");
    if (seen && seen < n) {
        rp_buffer_text(r->out, "<p class=\"note\">");
        rp_html_count(r->out, n - seen);
        rp_buffer_text(r->out, n - seen == 1 ? " step has" : " steps have");
        rp_buffer_text(r->out, " no finite loss.</p>\n");
    }
    release(&c);
}

void rp_report_training_section(rp_report_view *r)
{
    rp_html_section(r->out, "training", "Training");
    rp_html_problem(r->out, "The journal", &r->problem.journal);
    if (r->recipe)
        put_settings(r);
    if (r->loss && r->steps)
        put_curves(r);
    else if (r->problem.journal.status == RP_OK)
        rp_buffer_text(r->out, "<p>The archive has no journal.</p>\n");
}
