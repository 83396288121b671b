/* SPDX-License-Identifier: Apache-2.0
 * The option parser and the help text made from the same table. */
#include "cli/options.h"

#include <string.h>

#include "base/text.h"

enum { THREADS_MAX = 1024, OPTIONS_MAX = 32, QUOTED = 80 };

const rp_option rp_options_common[] = {
    {0, "json", RP_OPTION_FLAG, NULL, "results (and errors) as one JSON object on stdout", NULL, false},
    {'h', "help", RP_OPTION_FLAG, NULL, "show this help", NULL, false},
};
const size_t rp_options_common_count = RP_COUNT(rp_options_common);

/* One pass over argv. */
typedef struct parser {
    const rp_usage *usage;
    const char *command;
    int argc, at;
    char **argv;
    bool seen[OPTIONS_MAX];
    bool help, json;
    size_t operands;
    rp_error *err;
} parser;

static rp_status wrong(const parser *p, const rp_option *option, const char *what)
{
    return rp_fail(p->err, RP_EARG, "%s: --%s %s; see reprise %s --help", p->command, option->name, what, p->command);
}

static rp_status unknown(const parser *p, const char *name, size_t length)
{
    const char *known[OPTIONS_MAX + 2], *near;
    char word[QUOTED], hint[QUOTED] = "";
    size_t n = 0;

    rp_printable(word, sizeof word, name, length);
    for (size_t i = 0; i < p->usage->options; i++)
        known[n++] = p->usage->option[i].name;
    for (size_t i = 0; i < RP_COUNT(rp_options_common); i++)
        known[n++] = rp_options_common[i].name;
    near = length > 1 ? rp_nearest(word, known, n) : NULL;
    if (near) {
        strcpy(hint, ": did you mean --");
        strncat(hint, near, sizeof hint - strlen(hint) - 2);
        strcat(hint, "?");
    }
    return rp_fail(p->err, RP_EARG, "%s: unknown option %s%s%s; see reprise %s --help", p->command,
                   length > 1 ? "--" : "-", word, hint, p->command);
}

static bool parse_count(unsigned *out, const char *text)
{
    unsigned long value = 0;

    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || c - text > 5)
            return false;
        value = value * 10 + (unsigned long)(*c - '0');
    }
    *out = (unsigned)value;
    return value >= 1 && value <= THREADS_MAX;
}

static rp_status store(parser *p, size_t index, const char *value)
{
    const rp_option *option = &p->usage->option[index];

    if (p->seen[index] && option->kind != RP_OPTION_LIST)
        return wrong(p, option, "is given twice");
    p->seen[index] = true;
    if (option->kind == RP_OPTION_FLAG) {
        *(bool *)option->to = true;
    } else if (option->kind == RP_OPTION_TEXT) {
        *(const char **)option->to = value;
    } else if (option->kind == RP_OPTION_COUNT) {
        if (!parse_count(option->to, value))
            return rp_fail(p->err, RP_EARG, "%s: --%s: expected a whole number from 1 to %d, found %.40s", p->command,
                           option->name, THREADS_MAX, *value ? value : "nothing");
    } else {
        rp_text_list *list = option->to;

        if (list->count == RP_TEXT_LIST_MAX)
            return wrong(p, option, "is given too often");
        list->item[list->count++] = value;
    }
    return RP_OK;
}

/* inline_value: what stood behind '=' or a letter; NULL when nothing did. */
static rp_status take(parser *p, const char *name, size_t length, char letter, const char *inline_value)
{
    const rp_usage *u = p->usage;

    for (size_t i = 0; i < u->options + RP_COUNT(rp_options_common); i++) {
        const rp_option *option = i < u->options ? &u->option[i] : &rp_options_common[i - u->options];
        bool hit = letter ? option->letter == letter
                          : strlen(option->name) == length && memcmp(option->name, name, length) == 0;

        if (!hit)
            continue;
        if (option->kind == RP_OPTION_FLAG && inline_value)
            return wrong(p, option, "takes no value");
        if (option->kind != RP_OPTION_FLAG && !inline_value) {
            if (p->at + 1 >= p->argc)
                return wrong(p, option, "needs a value");
            inline_value = p->argv[++p->at];
        }
        if (i >= u->options) {
            *(option->letter == 'h' ? &p->help : &p->json) = true;
            return RP_OK;
        }
        return store(p, i, inline_value);
    }
    return unknown(p, name, length);
}

static rp_status take_argument(parser *p, bool only_operands, const char **operand)
{
    const char *arg = p->argv[p->at];

    if (only_operands || arg[0] != '-' || arg[1] == '\0') {
        char word[QUOTED];

        if (p->operands == p->usage->operands)
            return rp_fail(p->err, RP_EARG, "%s: unexpected operand %s; see reprise %s --help", p->command,
                           rp_printable(word, sizeof word, arg, strlen(arg)), p->command);
        operand[p->operands++] = arg;
        return RP_OK;
    }
    if (arg[1] == '-') {
        size_t length = strcspn(arg + 2, "=");

        return take(p, arg + 2, length, 0, arg[2 + length] ? arg + 3 + length : NULL);
    }
    return take(p, arg + 1, 1, arg[1], arg[2] ? arg + 2 : NULL);
}

static void help_row(rp_buffer *out, const rp_option *o)
{
    size_t start = out->size;

    rp_buffer_printf(out, o->letter ? "  -%c, --%s" : "  %c   --%s", o->letter ? o->letter : ' ', o->name);
    if (o->argument)
        rp_buffer_printf(out, " %s", o->argument);
    do
        rp_buffer_u8(out, ' ');
    while (!out->failed && out->size < start + 30);
    rp_buffer_printf(out, "%s%s\n", o->help, o->kind == RP_OPTION_LIST ? " (repeatable)" : "");
}

static void help(rp_buffer *out, const rp_usage *u)
{
    rp_buffer_printf(out, "usage: reprise %s\n\n%s\n\noptions:\n", u->synopsis, u->about);
    for (size_t i = 0; i < u->options; i++)
        help_row(out, &u->option[i]);
    for (size_t i = 0; i < RP_COUNT(rp_options_common); i++)
        help_row(out, &rp_options_common[i]);
    rp_buffer_printf(out, "\nexample:\n%s\n", u->example);
}

static rp_status check_complete(const parser *p)
{
    for (size_t i = 0; i < p->usage->options; i++)
        if (p->usage->option[i].required && !p->seen[i])
            return rp_fail(p->err, RP_EARG, "%s: --%s %s is missing; usage: reprise %s", p->command,
                           p->usage->option[i].name, p->usage->option[i].argument, p->usage->synopsis);
    if (p->operands < p->usage->operands)
        return rp_fail(p->err, RP_EARG, "%s: %s is missing; usage: reprise %s", p->command,
                       p->usage->operand[p->operands], p->usage->synopsis);
    return RP_OK;
}

rp_status rp_options_parse(rp_session *session, const rp_usage *usage, int argc, char **argv, const char **operand,
                           rp_error *err)
{
    parser p = {.usage = usage, .command = argv[0], .argc = argc, .at = 1, .argv = argv, .err = err};
    bool only_operands = false;
    rp_status status = RP_OK;

    if (session->reader) {
        session->reader->read(session->reader, usage);
        session->helped = true;
        return RP_OK;
    }
    for (; p.at < argc && status == RP_OK && !p.help; p.at++) {
        if (!only_operands && strcmp(argv[p.at], "--") == 0)
            only_operands = true;
        else
            status = take_argument(&p, only_operands, operand);
    }
    if (status != RP_OK)
        return status;
    if (p.help) {
        help(&session->out, usage);
        session->helped = true;
        return RP_OK;
    }
    session->json = p.json;
    return check_complete(&p);
}

void rp_options_actions(rp_session *session, const char *const *names, size_t count)
{
    if (!session->reader)
        return;
    session->reader->actions = count < RP_ACTIONS_MAX ? count : RP_ACTIONS_MAX;
    for (size_t i = 0; i < session->reader->actions; i++)
        session->reader->action[i] = names[i];
}

rp_status rp_memory_option(uint64_t *out, const char *text, const char *command, rp_error *err)
{
    return !text || rp_parse_bytes(out, text)
               ? RP_OK
               : rp_fail(err, RP_EARG, "%s: --memory: expected " RP_BYTES_WORDS ", found %.40s", command, text);
}

rp_status rp_number_option(size_t *out, const char *text, const char *command, const char *option, size_t least,
                           size_t most, rp_error *err)
{
    int64_t value = 0;

    if (!text)
        return RP_OK;
    if (!rp_parse_i64(&value, text, strlen(text)) || value < (int64_t)least || (uint64_t)value > most)
        return rp_fail(err, RP_EARG, "%s: %s: expected a whole number from %zu to %zu, found %.40s", command, option,
                       least, most, text);
    *out = (size_t)value;
    return RP_OK;
}
