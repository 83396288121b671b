/* SPDX-License-Identifier: Apache-2.0
 * A list of warnings that owns its texts. */
#include "core/data/warnings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

const char *const rp_warning_names[RP_WARNINGS] = {
    "leading_zeros", "dressed_number", "unit",      "missing_word", "bare_number", "dropped_rows", "hidden_rows",
    "split_share",   "mean_weight",    "set_aside", "flat",         "faint",       "time_cut",     "pooled"};

static rp_status grow(rp_warnings *list, rp_error *err)
{
    size_t capacity = list->capacity == 0 ? 16 : 2 * list->capacity;
    rp_warning *item;

    if (list->count < list->capacity)
        return RP_OK;
    item = rp_reallocarray(list->item, capacity, sizeof *item);
    if (item == NULL)
        return rp_no_memory(err);
    list->item = item;
    list->capacity = capacity;
    return RP_OK;
}

rp_status rp_warnings_add(rp_warnings *list, const rp_warning *like, rp_error *err, const char *format, ...)
{
    char text[RP_ERROR_TEXT];
    rp_status status = grow(list, err);
    rp_warning *to;
    va_list args;

    if (status != RP_OK)
        return status;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    to = &list->item[list->count];
    *to = *like;
    to->text = rp_strdup(text);
    to->cell = rp_strdup(like->cell != NULL ? like->cell : "");
    list->count++;
    return to->text != NULL && to->cell != NULL ? RP_OK : rp_no_memory(err);
}

void rp_warnings_clear(rp_warnings *list)
{
    for (size_t i = 0; i < list->count; i++) {
        rp_free(list->item[i].text);
        rp_free(list->item[i].cell);
    }
    rp_free(list->item);
    memset(list, 0, sizeof *list);
}
