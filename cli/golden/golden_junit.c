/* SPDX-License-Identifier: Apache-2.0
 * The verdicts of a golden check as JUnit XML, as CI systems read it. */
#include <string.h>

#include "base/text.h"
#include "cli/golden/golden.h"
#include "cli/print.h"

static void put_escaped(rp_buffer *out, const char *text)
{
    rp_json *probe = rp_json_string(text);
    char plain[RP_ERROR_TEXT];

    if (!probe) /* not UTF-8 */
        text = rp_printable(plain, sizeof plain, text, strlen(text));
    rp_json_free(probe);
    for (; *text; text++) {
        if (*text == '&')
            rp_buffer_text(out, "&amp;");
        else if (*text == '<')
            rp_buffer_text(out, "&lt;");
        else if (*text == '>')
            rp_buffer_text(out, "&gt;");
        else if (*text == '"')
            rp_buffer_text(out, "&quot;");
        else if ((unsigned char)*text < 0x20 || *text == 0x7F)
            rp_buffer_u8(out, '?'); /* XML 1.0 has no way to write most of these */
        else if (memcmp(text, "\xEF\xBF", strnlen(text, 2)) == 0 && (unsigned char)text[2] >= 0xBE) {
            rp_buffer_u8(out, '?'); /* U+FFFE and U+FFFF are no characters of XML either */
            text += 2;
        } else
            rp_buffer_u8(out, (uint8_t)*text);
    }
}

/* What differs is a failure; what could not be checked is an error. */
static bool is_failure(rp_status status)
{
    return status == RP_EBITS || status == RP_EHASH;
}

static void put_case(rp_buffer *out, const rp_golden *golden)
{
    const char *element = is_failure(golden->status) ? "failure" : "error";
    char seconds[RP_NUMBER_TEXT];

    rp_buffer_text(out, "    <testcase classname=\"reprise.golden\" name=\"");
    put_escaped(out, golden->name);
    rp_buffer_printf(out, "\" time=\"%s\"", rp_fixed(seconds, golden->seconds, 3));
    if (golden->status == RP_OK) {
        rp_buffer_text(out, "/>\n");
        return;
    }
    rp_buffer_printf(out, ">\n      <%s type=\"%s\" message=\"", element, rp_status_name(golden->status));
    put_escaped(out, golden->message);
    rp_buffer_text(out, "\"/>\n    </testcase>\n");
}

void rp_golden_junit(const rp_golden_set *set, rp_buffer *out)
{
    size_t failures = 0, errors = 0;
    double seconds = 0;
    char time[RP_NUMBER_TEXT];

    for (size_t i = 0; i < set->count; i++) {
        failures += is_failure(set->golden[i].status);
        errors += set->golden[i].status != RP_OK && !is_failure(set->golden[i].status);
        seconds += set->golden[i].seconds;
    }
    rp_fixed(time, seconds, 3);
    rp_buffer_printf(out,
                     "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"%zu\" failures=\"%zu\" "
                     "errors=\"%zu\" time=\"%s\">\n  <testsuite name=\"",
                     set->count, failures, errors, time);
    put_escaped(out, set->folder);
    rp_buffer_printf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"%s\">\n", set->count, failures,
                     errors, time);
    for (size_t i = 0; i < set->count; i++)
        put_case(out, &set->golden[i]);
    rp_buffer_text(out, "  </testsuite>\n</testsuites>\n");
}

void rp_golden_junit_refusal(const char *folder, const rp_error *refusal, rp_buffer *out)
{
    char name[] = "golden check";
    rp_golden whole = {.name = name, .status = refusal->status};
    const rp_golden_set set = {.folder = folder, .golden = &whole, .count = 1};

    memcpy(whole.message, refusal->text, sizeof whole.message);
    rp_golden_junit(&set, out);
}
