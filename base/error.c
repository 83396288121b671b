/* SPDX-License-Identifier: Apache-2.0
 * Status codes, their exit codes, and the one-line error text. */
#include "rp/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* UTF-8, whatever the names in it are: a text that does not fit ends behind a character. */
static void tidy(rp_error *err, int length)
{
    if (length < 0)
        err->text[0] = '\0';
    else if ((size_t)length >= sizeof err->text)
        err->text[rp_fits(err->text, sizeof err->text - 2)] = '\0';
    rp_make_utf8(err->text);
}

rp_status rp_fail(rp_error *err, rp_status status, const char *format, ...)
{
    if (err) {
        va_list args;

        err->status = status;
        err->difference = (rp_difference){.step = -1};
        va_start(args, format);
        tidy(err, vsnprintf(err->text, sizeof err->text, format, args));
        va_end(args);
    }
    return status;
}

static void keep(char *out, size_t size, const char *text)
{
    (void)snprintf(out, size, "%s", text ? text : "");
    if (text && strlen(text) >= size)
        out[rp_fits(out, size - 1)] = '\0';
    rp_make_utf8(out);
}

rp_status rp_differs(rp_error *err, int64_t step, const char *member, const char *value, const char *expected,
                     const char *found)
{
    char where[32];

    (void)snprintf(where, sizeof where, "step %lld: ", (long long)step);
    if (!err)
        return RP_EBITS;
    (void)rp_fail(err, RP_EBITS, "%s%.200s%s%.200s%s%s%.300s%s%.300s", step < 0 ? "" : where, member ? member : "",
                  member ? ": " : "", value ? value : "", value ? ": " : "",
                  expected && found ? "recorded "
                  : expected        ? "in the archive, but not made by the replay"
                                    : "made by the replay, but not in the archive",
                  expected && found ? expected : "", expected && found ? ", recomputed " : "",
                  expected && found ? found : "");
    return rp_note_difference(err, step, member, value, expected, found);
}

rp_status rp_note_difference(rp_error *err, int64_t step, const char *member, const char *value, const char *expected,
                             const char *found)
{
    if (!err)
        return RP_EBITS;
    err->difference = (rp_difference){.known = true, .step = step};
    keep(err->difference.member, sizeof err->difference.member, member);
    keep(err->difference.value, sizeof err->difference.value, value);
    keep(err->difference.expected, sizeof err->difference.expected, expected);
    keep(err->difference.found, sizeof err->difference.found, found);
    return RP_EBITS;
}

rp_status rp_fail_at(rp_error *err, rp_status status, const char *format, ...)
{
    if (err) {
        char inner[RP_ERROR_TEXT];
        va_list args;
        size_t used;

        memcpy(inner, err->text, sizeof inner);
        va_start(args, format);
        tidy(err, vsnprintf(err->text, sizeof err->text, format, args));
        va_end(args);
        used = strlen(err->text);
        if (used + 2 < sizeof err->text) {
            memcpy(err->text + used, ": ", 3);
            used += 2;
            size_t room = sizeof err->text - used - 1;
            size_t length = (size_t)rp_fits(inner, room);

            memcpy(err->text + used, inner, length);
            err->text[used + length] = '\0';
        }
        err->status = status;
    }
    return status;
}

const char *rp_status_name(rp_status status)
{
    static const char *const name[] = {"RP_OK",    "RP_ENOMEM",       "RP_EIO",     "RP_EARG",     "RP_EEXIST",
                                       "RP_EDATA", "RP_ESHAPE",       "RP_EFORMAT", "RP_EHASH",    "RP_ESIGN",
                                       "RP_EBITS", "RP_EUNSUPPORTED", "RP_EFPENV",  "RP_ECANCELED"};

    return (size_t)status < sizeof name / sizeof *name ? name[status] : "RP_E?";
}

int rp_exit_code(rp_status status)
{
    switch (status) {
    case RP_OK:
        return 0;
    case RP_EARG:
    case RP_EEXIST:
        return 2;
    case RP_EBITS:
        return 3;
    case RP_EFORMAT:
    case RP_EHASH:
    case RP_ESIGN:
        return 4;
    case RP_EUNSUPPORTED:
        return 5;
    case RP_ECANCELED:
        return 130;
    default:
        return 1;
    }
}
