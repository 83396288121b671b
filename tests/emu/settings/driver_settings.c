/* SPDX-License-Identifier: Apache-2.0
 * What the environment asks of the emulated driver. What is no setting is told, and the driver is not there: whoever
 * rehearses a failure that never comes would believe that all is well. */
#include "tests/emu/settings/driver_settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emu/driver_private.h"

static bool refuse(const char *name, const char *expected)
{
    (void)fprintf(stderr, "emulated device: %s=%s: expected %s\n", name, getenv(name), expected);
    return false;
}

/* A number in decimal, all of the text. */
static bool number(const char *text, unsigned long long low, unsigned long long high, unsigned long long *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *out >= low && *out <= high;
}

bool emu_setting(const char *name, size_t low, size_t high, size_t *out)
{
    const char *text = getenv(name);
    char expected[64];
    unsigned long long found;

    if (text == NULL || *text == '\0')
        return true;
    if (!number(text, low, high, &found)) {
        (void)snprintf(expected, sizeof expected, "a number from %zu to %zu", low, high);
        return refuse(name, expected);
    }
    *out = (size_t)found;
    return true;
}

/* As the driver exports it; a call also as the documentation names it, without _v2. NULL: there is none. */
static const char *call_of(const char *text)
{
#define CALL(name, parameters) #name,
    static const char *const calls[] = {RP_DRIVER_CALLS(CALL) "any", "kernel", "copy"};
#undef CALL
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const size_t length = strcspn(calls[i], "_");

        if (strcmp(text, calls[i]) == 0 || (strlen(text) == length && strncmp(text, calls[i], length) == 0))
            return calls[i];
    }
    return strncmp(text, "rp_gpu_", 7) == 0 ? text : NULL;
}

bool emu_setting_fail(const char *name)
{
    static const char expected[] =
        "CALL:N:RESULT: a call of the driver (such as cuMemAlloc), any, kernel, copy or a kernel's name; 1 or more; "
        "the number or the name of an error, such as 2 or CUDA_ERROR_OUT_OF_MEMORY";
    const char *text = getenv(name), *call;
    char word[64], times[16], result_name[64];
    unsigned long long nth, result;
    int end = -1;

    if (text == NULL || *text == '\0')
        return true;
    if (sscanf(text, "%63[^:]:%15[^:]:%63s%n", word, times, result_name, &end) != 3 || text[end] != '\0')
        return refuse(name, expected);
    call = call_of(word);
    if (call == NULL || !number(times, 1, UINT32_MAX, &nth))
        return refuse(name, expected);
    if (!number(result_name, 1, INT32_MAX, &result))
        result = (unsigned long long)emu_error_of(result_name);
    if (result == 0)
        return refuse(name, expected);
    rp_emulated_fail(call, (unsigned)nth, (int)result);
    return true;
}
