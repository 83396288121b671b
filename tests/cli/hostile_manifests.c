/* SPDX-License-Identifier: Apache-2.0
 * Hostile archives, manifests: deep, wide, long, or listing what cannot be. */
#include <string.h>

#include "tests/cli/hostile_make.h"

/* ---- manifests ---- */

/* An archive whose manifest is this text, followed by the honest members without signatures. */
static void with_manifest(FILE *out, const void *text, size_t size)
{
    unsigned char header[BLOCK];

    must(rp_ustar_header(header, RP_MANIFEST_NAME, size), "a header");
    put(out, header, BLOCK);
    put(out, text, size);
    pad(out, size);
    put_members(out, 1, listed_end());
    put_end(out);
}

static void repeated(FILE *out, const char *before, const char *unit, size_t count, const char *after)
{
    rp_buffer text = {0};

    rp_buffer_text(&text, before);
    for (size_t i = 0; i < count; i++)
        rp_buffer_text(&text, unit);
    rp_buffer_text(&text, after);
    must(!text.failed, "memory");
    with_manifest(out, text.data, text.size);
    rp_buffer_free(&text);
}

#define MANIFEST_START "{\"contract\":1,\"format\":1,\"kind\":\"recipe\",\"members\":["
#define MANIFEST_END "],\"profile\":\"portable\",\"run\":{}}"
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

static void deep_manifest(FILE *out)
{
    repeated(out, "", "[", 100000, "");
}
static void deep_run(FILE *out)
{
    repeated(out, MANIFEST_START "],\"profile\":\"portable\",\"run\":{\"a\":", "[", 100000, "");
}
static void many_values(FILE *out)
{
    repeated(out, MANIFEST_START "],\"profile\":\"portable\",\"run\":{\"a\":[0", ",0", 8000000, "]}}");
}
static void many_objects(FILE *out)
{
    repeated(out, MANIFEST_START "{}", ",{}", 5000000, MANIFEST_END);
}
static void long_string(FILE *out)
{
    repeated(out, "{\"contract\":\"", "xxxxxxxxxxxxxxxx", 1000000, "\"}");
}
static void manifest_too_large(FILE *out)
{
    repeated(out, "{\"contract\":\"", "xxxxxxxxxxxxxxxx", 1100000, "\"}");
}

static void one_listed(FILE *out, const char *path, const char *size)
{
    char text[400];

    (void)snprintf(text, sizeof text,
                   MANIFEST_START "{\"path\":\"%s\",\"sha256\":\"" ZEROS "\",\"size\":%s}" MANIFEST_END, path, size);
    with_manifest(out, text, strlen(text));
}

static void listed_escape(FILE *out)
{
    one_listed(out, "../escaped", "1");
}
static void listed_absolute(FILE *out)
{
    one_listed(out, "/etc/passwd", "1");
}
static void listed_8_eib(FILE *out)
{
    one_listed(out, "run/recipe.json", "9223372036854775807");
}
static void listed_over_8_eib(FILE *out)
{
    one_listed(out, "run/recipe.json", "9223372036854775808");
}
static void listed_2_to_53(FILE *out)
{
    one_listed(out, "run/recipe.json", "9007199254740991");
}
static void listed_negative(FILE *out)
{
    one_listed(out, "run/recipe.json", "-1");
}
static void listed_nul(FILE *out)
{
    one_listed(out, "run/recipe.json\\u0000x", "1");
}

#define R HOSTILE_REFUSED
/* where no member can be named: the first is expected */
#define M "manifest.json"

static const hostile_case cases[] = {
    {"deep-manifest", R, M, false, deep_manifest},
    {"deep-run", R, M, false, deep_run},
    {"many-values", R, M, false, many_values},
    {"many-objects", R, M, false, many_objects},
    {"long-string", R, M, false, long_string},
    {"manifest-too-large", R, M, false, manifest_too_large},
    {"listed-escape", R, "../escaped", false, listed_escape},
    {"listed-absolute", R, "/etc/passwd", false, listed_absolute},
    {"listed-8-eib", R, M, false, listed_8_eib},
    {"listed-over-8-eib", R, M, false, listed_over_8_eib},
    {"listed-2-to-53", R, "run/recipe.json", false, listed_2_to_53},
    {"listed-negative", R, "run/recipe.json", false, listed_negative},
    {"listed-nul", R, M, false, listed_nul},
};
const hostile_group hostile_manifests = {cases, sizeof cases / sizeof *cases};
