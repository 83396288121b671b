/* SPDX-License-Identifier: Apache-2.0
 * How columns move the score, as many small plots with one axis: the mean of all rows (partial dependence), single
 * rows' own curves, and the band between the lowest and the highest of these. Numbers are lines, with
 * steps where they are cut into bins, categories are rows. */
#include <stdio.h>
#include <string.h>

#include "audit/report/report_explained.h"
#include "audit/report/report_svg.h"

enum {
    PLOTS_MAX = 12,
    GRID_MAX = 64,
    POINTS_MAX = 3 * GRID_MAX, /* and where the bins between two begin and end */
    CURVES_MAX = 50,
    DRAWN_MAX = 12,
    ROWS_MAX = 12,
    LABEL_MAX = 26
};

/* A column's points, the missing cell apart. */
typedef struct effect {
    const rp_json *column, *grid;
    size_t n, curves;
    double x[POINTS_MAX], mean[POINTS_MAX], low[POINTS_MAX], high[POINTS_MAX];
    double curve[CURVES_MAX][POINTS_MAX];
    size_t place[POINTS_MAX]; /* in the grid */
    bool categorical;
} effect;

static const rp_json *at(const rp_json *object, const char *key)
{
    return rp_json_object_get(object, key);
}

/* False where a number is missing or cannot be drawn. */
static bool read_point(effect *e, size_t k)
{
    const rp_json *curves = at(e->column, "curves");
    const size_t i = e->n;

    if (!rp_report_real(rp_json_array_get(at(e->column, "dependence"), k), &e->mean[i]) || !rp_svg_drawable(e->mean[i]))
        return false;
    e->low[i] = e->high[i] = e->mean[i];
    for (size_t c = 0; c < e->curves; c++) {
        double *v = &e->curve[c][i];

        if (!rp_report_real(rp_json_array_get(rp_json_array_get(curves, c), k), v) || !rp_svg_drawable(*v))
            return false;
        e->low[i] = c && e->low[i] < *v ? e->low[i] : *v;
        e->high[i] = c && e->high[i] > *v ? e->high[i] : *v;
    }
    e->place[i] = k;
    return true;
}

/* Point from becomes point to as well, at x. */
static void copy_point(effect *e, size_t to, size_t from, double x)
{
    e->x[to] = x;
    e->mean[to] = e->mean[from];
    e->low[to] = e->low[from];
    e->high[to] = e->high[from];
    for (size_t c = 0; c < e->curves; c++)
        e->curve[c][to] = e->curve[c][from];
    e->place[to] = e->place[from];
}

/* The score is the same in all of a bin: a point's goes on to its bin's end, the next one's begins where its bin does.
 */
static void step_at(effect *e, const rp_json *edges)
{
    for (size_t i = e->n; i-- > 1;) { /* from the last: those behind have moved up */
        double edge, end = 0, begin = 0;
        bool any = false;

        for (size_t k = 0; k < rp_json_array_size(edges); k++)
            if (rp_report_real(rp_json_array_get(edges, k), &edge) && edge > e->x[i - 1] && edge <= e->x[i]) {
                end = any ? end : edge;
                begin = edge;
                any = true;
            }
        if (!any)
            continue;
        for (size_t k = e->n; k-- > i;)
            copy_point(e, k + 2, k, e->x[k]);
        copy_point(e, i, i - 1, end);
        copy_point(e, i + 1, i + 2, begin);
        e->n += 2;
    }
}

/* The edges of the column's bins, in its own units; null without, and where it is drawn on another scale. */
static const rp_json *edges_of(const rp_report_view *r, const rp_json *column)
{
    const rp_json *schema = r->schema ? at(r->schema->json, "columns") : NULL;
    const rp_json *treated = rp_json_array_get(schema, (size_t)rp_json_integer_value(at(column, "column")));

    return rp_json_is_true(at(treated, "log")) ? NULL : at(treated, "edges");
}

/* A number's missing cell is no point of a line. False: there is nothing to draw. */
static bool read_effect(effect *e, const rp_report_view *r, const rp_json *column)
{
    const char *kind = rp_json_string_value(at(column, "kind"));
    const size_t curves = rp_json_array_size(at(column, "curves"));

    e->column = column;
    e->grid = at(column, "grid");
    e->n = 0;
    e->curves = curves < CURVES_MAX ? curves : CURVES_MAX;
    e->categorical = kind && strcmp(kind, "categorical") == 0;
    for (size_t k = 0; k < rp_json_array_size(e->grid) && e->n < GRID_MAX; k++) {
        const bool number = rp_report_real(rp_json_array_get(e->grid, k), &e->x[e->n]);

        if (!e->categorical && (!number || !rp_svg_drawable(e->x[e->n]) || (e->n && !(e->x[e->n] > e->x[e->n - 1]))))
            continue;
        e->n += read_point(e, k);
    }
    if (!e->categorical)
        step_at(e, edges_of(r, column));
    return e->n > 0;
}

/* ---- words ---- */

/* A text of the archive in a drawing: so many characters of it. */
static void put_short(rp_buffer *out, const char *text)
{
    char cut[4 * LABEL_MAX + 1];
    size_t bytes = 0, characters = 0;

    for (; text && text[bytes] && bytes + 4 < sizeof cut; bytes++) {
        if (((unsigned char)text[bytes] & 0xC0) != 0x80 && ++characters > LABEL_MAX)
            break;
        cut[bytes] = text[bytes];
    }
    cut[bytes] = '\0';
    rp_html_text(out, cut);
    if (text && text[bytes])
        rp_buffer_text(out, "\xE2\x80\xA6");
}

static void put_point_name(rp_buffer *out, const effect *e, size_t i)
{
    const rp_json *cell = rp_json_array_get(e->grid, e->place[i]);

    if (rp_json_is_null(cell))
        rp_buffer_text(out, "(missing)");
    else if (rp_json_is_object(cell))
        rp_buffer_text(out, "(any other)");
    else if (e->categorical)
        put_short(out, rp_json_string_value(cell));
    else
        rp_html_real(out, cell);
}

/* From where to where the mean goes, and the missing cell's. */
static void describe(rp_buffer *out, const effect *e)
{
    const size_t last = rp_json_array_size(e->grid) - 1;
    size_t least = 0, most = 0;

    for (size_t i = 0; i < e->n; i++) {
        least = e->mean[i] < e->mean[least] ? i : least;
        most = e->mean[i] > e->mean[most] ? i : most;
    }
    rp_html_number(out, e->mean[least]);
    rp_buffer_text(out, " at ");
    put_point_name(out, e, least);
    rp_buffer_text(out, " to ");
    rp_html_number(out, e->mean[most]);
    rp_buffer_text(out, " at ");
    put_point_name(out, e, most);
    if (!e->categorical && rp_json_is_null(rp_json_array_get(e->grid, last))) {
        rp_buffer_text(out, "; missing ");
        rp_html_real(out, rp_json_array_get(at(e->column, "dependence"), last));
    }
}

/* ---- drawings ---- */

typedef struct drawn {
    char id[32];
    rp_buffer title, label, desc;
    const double *range;
} drawn;

static void draw_numbers(rp_buffer *out, const effect *e, const drawn *d)
{
    const size_t curves = e->curves < DRAWN_MAX ? e->curves : DRAWN_MAX;
    rp_chart_line line[DRAWN_MAX + 2] = {
        {.x = e->x, .y = e->mean, .n = e->n, .low = e->low, .high = e->high, .band = true, .style = "band"}};
    const rp_chart chart = {.id = d->id,
                            .title = (const char *)d->title.data,
                            .x_label = "",
                            .y_label = (const char *)d->label.data,
                            .line = line,
                            .lines = curves + 2,
                            .small = true,
                            .range = d->range};

    for (size_t c = 0; c < curves; c++)
        line[c + 1] = (rp_chart_line){.x = e->x, .y = e->curve[c], .n = e->n, .style = "one"};
    line[curves + 1] = (rp_chart_line){.x = e->x, .y = e->mean, .n = e->n, .style = "mean", .dots = e->n < 2};
    rp_svg_chart(out, &chart, &d->desc);
}

/* A category a row, its name above its band and its mean. */
static void draw_categories(rp_buffer *out, const effect *e, const drawn *d)
{
    enum { WIDTH = 200, TOP = 22, ROW = 26, FOOT = 22 };
    const size_t shown = e->n < ROWS_MAX ? e->n : ROWS_MAX;
    const int foot = TOP + ROW * (int)shown + 2;
    rp_axis axis = {.low = d->range[0], .high = d->range[1], .from = 4};

    rp_axis_fit(&axis, 3, false);
    axis.from += rp_axis_widest(&axis) / 2;
    axis.to = WIDTH - 4 - rp_axis_widest(&axis) / 2;
    rp_buffer_text(out, "<figure>");
    rp_svg_open(out, d->id, (const char *)d->title.data, &d->desc, WIDTH, foot + FOOT);
    for (int i = 0; i <= 12 && rp_axis_tick(&axis, i) <= axis.high + axis.step * 1e-6; i++) {
        const double x = rp_axis_place(&axis, rp_axis_tick(&axis, i));

        rp_svg_rule(out, "grid", x, TOP, x, foot);
        rp_svg_text(out, x, foot + 14, " class=\"middle\"");
        rp_axis_label(out, &axis, rp_axis_tick(&axis, i));
        rp_buffer_text(out, "</text>\n");
    }
    rp_svg_text(out, 0, 13, " class=\"label\"");
    rp_buffer_printf(out, "%s</text>\n", (const char *)d->label.data);
    for (size_t i = 0; i < shown; i++) {
        const double y = TOP + ROW * (double)i + 19;

        rp_svg_rule(out, "span", rp_axis_place(&axis, e->low[i]) - 1, y, rp_axis_place(&axis, e->high[i]) + 1, y);
        for (size_t c = 0; c < e->curves && c < DRAWN_MAX; c++) {
            const double x = rp_axis_place(&axis, e->curve[c][i]);

            rp_svg_rule(out, "one", x, y - 3.5, x, y + 3.5);
        }
        rp_svg_dot(out, "mean", "3.2", rp_axis_place(&axis, e->mean[i]), y);
        rp_svg_text(out, axis.from, y - 8, "");
        put_point_name(out, e, i);
        rp_buffer_text(out, "</text>\n");
    }
    rp_buffer_printf(out, "</svg><figcaption><strong>%s.</strong> ", (const char *)d->title.data);
    rp_buffer_append(out, d->desc.data, d->desc.size);
    if (shown < e->n)
        rp_buffer_printf(out, "; the first %zu of %zu categories are drawn", shown, e->n);
    rp_buffer_text(out, "</figcaption></figure>\n");
}

static void draw(rp_buffer *out, const effect *e, const double range[2], size_t number, size_t i)
{
    const char *name = rp_json_string_value(at(e->column, "name"));
    drawn d = {.range = range};

    (void)snprintf(d.id, sizeof d.id, "effect-%zu-%zu", number, i);
    rp_explained_name(&d.title, e->column);
    if (name)
        put_short(&d.label, name);
    else
        rp_explained_name(&d.label, e->column);
    describe(&d.desc, e);
    rp_buffer_u8(&d.title, 0);
    rp_buffer_u8(&d.label, 0);
    if (!d.title.failed && !d.label.failed && !d.desc.failed)
        (e->categorical ? draw_categories : draw_numbers)(out, e, &d);
    else
        out->failed = true;
    rp_buffer_free(&d.title);
    rp_buffer_free(&d.label);
    rp_buffer_free(&d.desc);
}

/* ---- all of them ---- */

/* One axis for all, or small effects would look as large as great ones. */
static bool range_of(const rp_report_view *r, const rp_json *columns, const size_t *order, size_t count,
                     double range[2])
{
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        effect e;

        if (!read_effect(&e, r, rp_json_array_get(columns, order[i])))
            continue;
        for (size_t k = 0; k < e.n; k++) {
            const double low = e.low[k] < e.mean[k] ? e.low[k] : e.mean[k];
            const double high = e.high[k] > e.mean[k] ? e.high[k] : e.mean[k];

            range[0] = any && range[0] < low ? range[0] : low;
            range[1] = any && range[1] > high ? range[1] : high;
            any = true;
        }
    }
    return any;
}

static void put_note(rp_buffer *out, const rp_json *predicate)
{
    const size_t curves = rp_json_array_size(at(predicate, "curve_rows"));
    const char *favourable = rp_json_string_value(at(predicate, "favourable"));

    rp_buffer_text(out, "<h4>Effect</h4>\n<p class=\"note\">The mean ");
    rp_buffer_text(out, favourable ? "score of " : "prediction");
    if (favourable)
        rp_html_name(out, favourable);
    rp_buffer_text(out, " when all rows have the same value in a column (the thick line or dot: partial dependence)");
    if (curves) {
        rp_buffer_text(out, ", and of ");
        rp_html_count(out, curves);
        rp_buffer_text(out,
                       " single rows each its own (thin lines, with the band they lie in). Where these cross or run "
                       "apart, the mean hides an interaction");
    }
    rp_buffer_text(out, ". All plots have the same axis of the score; the columns needed most come first.</p>\n");
}

void rp_explained_effects(rp_report_view *r, const rp_json *predicate, const size_t *order, size_t count, size_t number)
{
    const rp_json *columns = at(predicate, "columns");
    const size_t shown = count < PLOTS_MAX ? count : PLOTS_MAX;
    double range[2] = {0, 0};

    if (!range_of(r, columns, order, shown, range))
        return;
    put_note(r->out, predicate);
    rp_buffer_text(r->out, "<div class=\"many\">\n");
    for (size_t i = 0; i < shown; i++) {
        effect e;

        if (read_effect(&e, r, rp_json_array_get(columns, order[i])))
            draw(r->out, &e, range, number, i);
    }
    rp_buffer_text(r->out, "</div>\n");
    rp_html_note_first(r->out, shown, count, "columns; the statement has all");
}
