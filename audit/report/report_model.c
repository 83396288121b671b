/* SPDX-License-Identifier: Apache-2.0
 * The model: layers with shapes and parameter counts from the recipe, tensors from the weights where there is no
 * recipe, and the programs that were executed. */
#include <stdio.h>
#include <string.h>

#include "audit/report/report.h"
#include "audit/archive/tensor_set.h"
#include "core/program/function.h"
#include "core/recipe/recipe_names.h"
#include "determinism/decimal.h"

enum { TENSORS_MAX = 200, PROGRAMS_MAX = 40 };

static void put_shape(rp_buffer *out, const int64_t *shape, int rank)
{
    for (int i = 0; i < rank; i++)
        rp_buffer_printf(out, "%s%lld", i ? "\xC2\xA0\xC3\x97\xC2\xA0" : "", (long long)shape[i]);
}

static void put_shortest(rp_buffer *out, double x)
{
    char text[RP_DECIMAL_SIZE];

    (void)rp_print_f64(text, x);
    rp_buffer_text(out, text);
}

/* Parameters of a layer, by their names: layerN.weight, layerN.bias, layerN.norm... */
static uint64_t count_layer(const rp_model *m, size_t layer)
{
    char prefix[32];
    uint64_t total = 0;

    (void)snprintf(prefix, sizeof prefix, "layer%zu.", layer);
    for (size_t i = 0; i < m->n_parameters; i++) {
        uint64_t size = 1;

        if (strncmp(m->parameter[i].name, prefix, strlen(prefix)) != 0)
            continue;
        for (int d = 0; d < m->parameter[i].rank; d++)
            size *= m->parameter[i].shape[d];
        total += size;
    }
    return total;
}

static void open_layer(rp_buffer *out, size_t number, const char *kind)
{
    rp_buffer_printf(out, "<tr><th scope=\"row\">%zu</th><td>%s", number, kind);
}

static void close_layer(rp_report_view *r, size_t number, const int64_t *in, int in_rank, const int64_t *result,
                        int rank)
{
    rp_buffer_text(r->out, "</td><td>");
    put_shape(r->out, in, in_rank);
    rp_buffer_text(r->out, "</td><td>");
    put_shape(r->out, result, rank);
    rp_buffer_text(r->out, "</td><td class=\"n\">");
    rp_html_count(r->out, count_layer(r->model, number));
    rp_buffer_text(r->out, "</td></tr>\n");
}

static void put_conv_layer(rp_report_view *r, size_t i)
{
    const rp_conv_layer *layer = &r->recipe->model.conv[i];
    const rp_conv_shape *shape = &r->model->conv[i];
    rp_buffer *out = r->out;

    open_layer(out, i, "Convolution ");
    put_shape(out, layer->kernel, 2);
    rp_buffer_printf(out, ", %lld filters", (long long)layer->filters);
    if (layer->stride[0] != 1 || layer->stride[1] != 1) {
        rp_buffer_text(out, ", stride ");
        put_shape(out, layer->stride, 2);
    }
    if (layer->dilation[0] != 1 || layer->dilation[1] != 1) {
        rp_buffer_text(out, ", dilation ");
        put_shape(out, layer->dilation, 2);
    }
    if (layer->groups != 1)
        rp_buffer_printf(out, ", %lld groups", (long long)layer->groups);
    rp_buffer_printf(out, ", padding %s%s, %s", rp_padding_names[layer->padding],
                     r->recipe->model.layer_norm ? ", layer norm" : "",
                     rp_activation_names[r->recipe->model.activation]);
    if (layer->pool != RP_POOL_NONE) {
        rp_buffer_printf(out, ", %s pool ", rp_pool_names[layer->pool]);
        put_shape(out, layer->pool_size, 2);
    }
    close_layer(r, i, shape->in, 3, shape->out, 3);
}

static const char *last_activation(const rp_model *m)
{
    return m->loss == RP_LOSS_BCE ? ", sigmoid" : m->loss == RP_LOSS_CROSS_ENTROPY ? ", softmax" : "";
}

static void put_dense_layer(rp_report_view *r, size_t i, int64_t width, int64_t next)
{
    size_t number = r->recipe->model.n_conv + i;
    bool last = i == r->recipe->model.n_hidden;
    rp_buffer *out = r->out;

    open_layer(out, number, last ? "Output" : "Dense");
    if (last) {
        rp_buffer_text(out, last_activation(r->model));
    } else {
        rp_buffer_printf(out, "%s, %s", r->recipe->model.layer_norm ? ", layer norm" : "",
                         rp_activation_names[r->recipe->model.activation]);
        if (r->recipe->model.dropout > 0) {
            rp_buffer_text(out, ", dropout ");
            put_shortest(out, r->recipe->model.dropout);
        }
    }
    close_layer(r, number, &width, 1, &next, 1);
}

/* Of a model that is programs: what each is for, and what of that nobody holds against another. */
static void put_saved(rp_report_view *r)
{
    const rp_model_program *of = r->recipe->program.of;
    const rp_function *evaluate = of->function[RP_ROLE_EVALUATE];
    rp_buffer *out = r->out;

    rp_buffer_printf(out,
                     "<p>The model is a saved program of %zu operations for %zu rows at a time: "
                     "<code>model.program</code> of the recipe. Its parameters are the states below.</p>\n",
                     of->function[RP_ROLE_FORWARD]->body->n_instrs, of->x.shape[0]);
    if (evaluate)
        rp_buffer_printf(out,
                         "<p>All figures and predictions are computed by another program, "
                         "<code>model.evaluate</code>, of %zu operations. <strong>That it is the trained one but for "
                         "what is random, nobody checked.</strong></p>\n",
                         evaluate->body->n_instrs);
    rp_buffer_printf(out, "<p>First weights: <code>model.initial</code>, of %zu operations%s.</p>\n",
                     of->function[RP_ROLE_INITIAL]->body->n_instrs, of->initial_random ? "" : ", which reads no seed");
}

static void put_layers(rp_report_view *r)
{
    const rp_recipe *recipe = r->recipe;
    const rp_model *m = r->model;
    int64_t width = (int64_t)m->features;
    uint64_t total = 0;
    size_t layers = recipe->model.n_conv + recipe->model.n_hidden + 1;

    if (recipe->program.named) {
        put_saved(r);
        return;
    }
    rp_html_table(r->out, NULL, "Layers, in order", "Layer|Operation|Input|Output|#Parameters");
    for (size_t i = 0; i < recipe->model.n_conv; i++) {
        const int64_t *shape = m->conv[i].out;

        put_conv_layer(r, i);
        width = shape[0] * shape[1] * shape[2];
    }
    for (size_t i = 0; i <= recipe->model.n_hidden; i++) {
        int64_t next = i == recipe->model.n_hidden ? (int64_t)m->outputs : recipe->model.hidden[i];

        put_dense_layer(r, i, width, next);
        width = next;
    }
    for (size_t i = 0; i < layers; i++)
        total += count_layer(m, i);
    rp_buffer_text(r->out, "</tbody>\n<tfoot><tr><th scope=\"row\" colspan=\"4\">All layers</th><td class=\"n\">");
    rp_html_count(r->out, total);
    rp_buffer_text(r->out, "</td></tr></tfoot>\n</table>\n");
}

static void put_tensors(rp_report_view *r, const rp_tensor_set *set)
{
    rp_buffer *out = r->out;
    const size_t count = rp_tensor_set_count(set);
    uint64_t total = 0;

    rp_html_table(out, NULL, "States after the last step", "Name|Type|Shape|#Elements");
    for (size_t i = 0; i < count; i++) {
        const rp_safetensor *t = rp_tensor_set_at(set, i);
        uint64_t size = t->size / rp_dtype_size(t->dtype);

        total += size;
        if (i >= TENSORS_MAX)
            continue;
        rp_buffer_text(out, "<tr><th scope=\"row\">");
        rp_html_name(out, t->name);
        rp_buffer_printf(out, "</th><td>%s</td><td>%s", rp_dtype_name(t->dtype), t->rank ? "" : "scalar");
        for (int d = 0; d < t->rank; d++)
            rp_buffer_printf(out, "%s%zu", d ? "\xC2\xA0\xC3\x97\xC2\xA0" : "", t->shape[d]);
        rp_buffer_text(out, "</td><td class=\"n\">");
        rp_html_count(out, size);
        rp_buffer_text(out, "</td></tr>\n");
    }
    rp_buffer_printf(out, "</tbody>\n<tfoot><tr><th scope=\"row\" colspan=\"3\">All %zu</th><td class=\"n\">", count);
    rp_html_count(out, total);
    rp_buffer_text(out, "</td></tr></tfoot>\n</table>\n");
    rp_html_note_first(out, TENSORS_MAX, count, "states");
}

/* What a door of Python says it made the program of: the author's text, of which rp_html_long shows 2,000 characters.
 */
static rp_status put_origin(rp_report_view *r, const rp_tensor_set *set, rp_error *err)
{
    const rp_safetensor *t = rp_tensor_set_find(set, "origin.json");
    char text[4 * 2000 + 5];
    size_t size = t && t->size < sizeof text ? t->size : sizeof text - 1;
    rp_status status;

    if (!t || t->dtype != RP_U8 || t->rank != 1)
        return RP_OK;
    status = rp_tensor_set_read(set, t, 0, text, size, err);
    if (status != RP_OK)
        return status;
    text[size] = '\0';
    for (char *nul = text; (nul = memchr(nul, '\0', (size_t)(text + size - nul))) != NULL;)
        *nul = '\xFF'; /* no text either, and what is behind it is shown */
    rp_buffer_text(r->out, "<h3>Where it comes from, by its author's word</h3>\n"
                           "<p>The state <code>origin.json</code>, whose words no replay checks: <code><bdi>");
    rp_html_long(r->out, text);
    rp_buffer_text(r->out, "</bdi></code></p>\n");
    return RP_OK;
}

static rp_status put_weights(rp_report_view *r, rp_error *err)
{
    rp_tensor_set *set = NULL;
    rp_error problem = {0};
    rp_status status;

    if (!rp_tensor_set_present(r->archive, RP_FINAL_MEMBER))
        return RP_OK;
    status = rp_tensor_set_open(&set, r->archive, RP_FINAL_MEMBER, &problem);
    if (status == RP_OK) {
        put_tensors(r, set);
        status = put_origin(r, set, &problem);
    }
    if (status != RP_OK)
        rp_html_problem(r->out, "The weights", &problem);
    rp_tensor_set_free(set);
    if (!rp_report_fatal(status))
        return RP_OK;
    if (err)
        *err = problem;
    return status;
}

static bool is_program(const rp_member *member)
{
    return rp_member_rank_of(member->name) == RP_RANK_PROGRAM;
}

static uint64_t steps_of(const rp_report_view *r, size_t program)
{
    uint64_t n = 0;

    for (size_t i = 0; i < r->steps; i++)
        n += r->program[i] == program;
    return n;
}

static const char *purpose(const rp_report_view *r, size_t program)
{
    size_t first = 0;

    while (first < r->steps && r->program[first] != program)
        first++;
    if (!r->training_steps || first == r->steps)
        return "";
    return first == 0 ? "initialisation" : first <= r->training_steps ? "training" : "evaluation";
}

/* Of the program's text, and of those of the functions that it executes, each once. NULL: it cannot be read. */
static void put_counts(rp_buffer *out, const rp_program *program)
{
    rp_functions known = {0};
    size_t count[5] = {0};

    if (!program || rp_functions_of(&known, program, NULL) != RP_OK) {
        rp_buffer_text(out, "not readable");
        for (size_t i = 1; i < sizeof count / sizeof *count; i++)
            rp_buffer_text(out, "</td><td class=\"n\">\xE2\x80\x93");
        return;
    }
    count[0] = program->n_instrs;
    count[1] = known.n;
    for (size_t i = 0; i < known.n; i++)
        count[2] += known.function[i]->body->n_instrs;
    count[3] = program->n_inputs;
    count[4] = program->n_outputs;
    for (size_t i = 0; i < sizeof count / sizeof *count; i++) {
        rp_buffer_text(out, i ? "</td><td class=\"n\">" : "");
        rp_html_count(out, count[i]);
    }
    rp_functions_free(&known);
}

static rp_status put_program(rp_report_view *r, const rp_member *member, size_t number, rp_error *err)
{
    rp_buffer bytes = {0};
    rp_program *program = NULL;
    rp_error problem = {0};
    rp_buffer *out = r->out;
    rp_status status = rp_archive_read_member(r->archive, member->name, SIZE_MAX / 2, &bytes, &problem);

    if (status == RP_OK)
        status = rp_program_parse(&program, bytes.data, bytes.size, member->name, &problem);
    rp_buffer_text(out, "<tr><th scope=\"row\">");
    rp_html_name(out, member->name + 13);
    rp_buffer_text(out, "</th>");
    if (r->training_steps)
        rp_buffer_printf(out, "<td class=\"w\">%s</td>", purpose(r, number));
    rp_buffer_text(out, "<td class=\"n\">");
    rp_html_count(out, steps_of(r, number));
    rp_buffer_text(out, "</td><td class=\"n\">");
    put_counts(out, program);
    rp_buffer_text(out, "</td></tr>\n");
    rp_program_free(program);
    rp_buffer_free(&bytes);
    if (!rp_report_fatal(status))
        return RP_OK;
    if (err)
        *err = problem;
    return status;
}

static rp_status put_programs(rp_report_view *r, rp_error *err)
{
    size_t n = rp_archive_member_count(r->archive), programs = 0;
    rp_status status = RP_OK;

    for (size_t i = 0; i < n; i++)
        programs += is_program(rp_archive_member(r->archive, i));
    if (!programs)
        return RP_OK;
    rp_buffer_text(r->out, "<h3>Programs executed</h3>\n");
    rp_html_table(r->out, NULL, NULL,
                  r->training_steps ? "Program|For|#Steps|#Operations|#Functions|#Operations in them|#Inputs|#Outputs"
                                    : "Program|#Steps|#Operations|#Functions|#Operations in them|#Inputs|#Outputs");
    for (size_t i = 0, number = 0; i < n && number < PROGRAMS_MAX && status == RP_OK; i++)
        if (is_program(rp_archive_member(r->archive, i)))
            status = put_program(r, rp_archive_member(r->archive, i), number++, err);
    rp_buffer_text(r->out, "</tbody>\n</table>\n");
    rp_html_note_first(r->out, PROGRAMS_MAX, programs, "programs");
    return status;
}

rp_status rp_report_model_section(rp_report_view *r, rp_error *err)
{
    rp_status status = RP_OK;

    rp_html_section(r->out, "model", "Model");
    rp_html_problem(r->out, "The recipe", &r->problem.recipe);
    rp_html_problem(r->out, "The model", &r->problem.model);
    if (r->model)
        put_layers(r);
    if (!r->model || r->recipe->program.named) /* of a saved program there are no layers to tell */
        status = put_weights(r, err);
    return status == RP_OK ? put_programs(r, err) : status;
}
