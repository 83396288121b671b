/* SPDX-License-Identifier: Apache-2.0
 * Reading and writing canonical JSON: a manifest of 16 MiB and a program of 20,000 instructions, in user seconds of the
 * best of some turns, beside jansson. Usage: json. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/json.h"

static double user_seconds(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6;
}

static void manifest(rp_buffer *out)
{
    rp_buffer_text(out, "{\"contract\":1,\"format\":1,\"kind\":\"api\",\"members\":[");
    for (unsigned i = 0; out->size < (size_t)16 << 20; i++)
        rp_buffer_printf(out,
                         "%s{\"path\":\"checkpoints/%08u.safetensors\",\"sha256\":"
                         "\"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f0%04x\",\"size\":%u}",
                         i ? "," : "", i, i & 0xFFFF, i * 7919);
    rp_buffer_text(out, "],\"profile\":\"strict\",\"run\":{\"steps\":12}}");
}

static void program(rp_buffer *out)
{
    rp_buffer_text(out, "{\"instructions\":[");
    for (unsigned i = 0; i < 20000; i++)
        rp_buffer_printf(
            out,
            "%s{\"attributes\":{\"axis\":-1,\"value\":\"0.001\"},\"in\":[%u,%u],\"op\":\"matmul\",\"out\":[[\"f32\","
            "[128,512]]]}",
            i ? "," : "", i, i + 1);
    rp_buffer_text(out, "],\"values\":20001}");
}

typedef struct times {
    double read, write;
} times;

static times ours(const rp_buffer *text)
{
    times t;
    rp_buffer out = {0};
    rp_json *value;
    double begin = user_seconds();

    if (rp_json_parse_within(&value, text->data, text->size, (size_t)1 << 30, true, "text", NULL) != RP_OK)
        exit(1);
    t.read = user_seconds() - begin;
    begin = user_seconds();
    if (rp_json_write(value, &out, NULL) != RP_OK || out.size != text->size)
        exit(1);
    t.write = user_seconds() - begin;
    rp_buffer_free(&out);
    rp_json_free(value);
    return t;
}

/* As strict as it gets there: no duplicate keys, but any spelling. */
static times theirs(const rp_buffer *text)
{
    times t;
    double begin = user_seconds();
    json_t *value = json_loadb((const char *)text->data, text->size, JSON_REJECT_DUPLICATES, NULL);
    char *out;

    t.read = user_seconds() - begin;
    begin = user_seconds();
    out = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
    if (out == NULL || strlen(out) != text->size)
        exit(1);
    t.write = user_seconds() - begin;
    free(out);
    json_decref(value);
    return t;
}

static void least(times *best, times t, int turn)
{
    best->read = turn == 0 || t.read < best->read ? t.read : best->read;
    best->write = turn == 0 || t.write < best->write ? t.write : best->write;
}

static void compare(const char *name, void (*make)(rp_buffer *))
{
    rp_buffer text = {0};
    times a = {0}, b = {0};

    make(&text);
    for (int turn = 0; turn < 9; turn++) {
        least(&a, ours(&text), turn);
        least(&b, theirs(&text), turn);
    }
    printf("%-22s %5.1f MB  read %6.1f ms, jansson %6.1f (%.2f x)  write %6.1f ms, jansson %6.1f (%.2f x)\n", name,
           (double)text.size * 1e-6, a.read * 1e3, b.read * 1e3, a.read / b.read, a.write * 1e3, b.write * 1e3,
           a.write / b.write);
    rp_buffer_free(&text);
}

int main(void)
{
    compare("manifest of 16 MiB", manifest);
    compare("20,000 instructions", program);
    return 0;
}
