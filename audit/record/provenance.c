/* SPDX-License-Identifier: Apache-2.0
 * Host description, doctor, and the SLSA v1 predicate (https://slsa.dev/spec/v1.0/provenance). Reals are strings. */
#include "audit/record/provenance.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/file.h"
#include "base/memory.h"
#include "audit/archive/member.h"
#include "determinism/decimal.h"
#include "determinism/fpenv.h"
#include "determinism/pins.h"
#include "kernels/conformance/conformance.h"
#include "rp/audit.h"

#ifndef RP_VERSION
#define RP_VERSION "unknown"
#endif

/* Sets a key and remembers failure, so that building a tree is checked once. */
static void set(json_t *object, const char *key, json_t *value, int *failed)
{
    *failed |= json_object_set_new(object, key, value);
}

/* The processor's name on Linux x86; other kernels do not say. */
static void cpu_name(char *out, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256];

    (void)snprintf(out, size, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');

        if (strncmp(line, "model name", 10) == 0 && colon) {
            line[strcspn(line, "\n")] = '\0';
            (void)snprintf(out, size, "%s", colon + 2);
            break;
        }
    }
    if (file)
        (void)fclose(file);
    for (; *out; out++)
        if (*out < 0x20 || *out > 0x7E)
            *out = '?';
}

static json_t *describe_pins(bool *healthy, int *failed)
{
    size_t count;
    const rp_pin *pin = rp_pins(&count);
    json_t *list = json_object();

    for (size_t i = 0; i < count; i++) {
        json_t *row = json_object();

        set(row, "built", json_string(pin[i].built), failed);
        set(row, "loaded", json_string(pin[i].loaded), failed);
        set(row, "match", json_boolean(pin[i].match), failed);
        set(list, pin[i].name, row, failed);
        *healthy = *healthy && pin[i].match;
    }
    return list;
}

/* conformance: NULL checks no level, "all" every one, over all processors; else the one named. */
static rp_status describe_levels(json_t **out, const char *conformance, bool *healthy, int *failed, rp_error *err)
{
    const char *const *name;
    size_t count = rp_kernel_levels(&name), n = 0;
    bool all = conformance && strcmp(conformance, "all") == 0;
    rp_conformance result[RP_CONFORMANCE_LEVELS] = {0};
    rp_status status;

    for (size_t i = 0; i < count && n < RP_CONFORMANCE_LEVELS; i++)
        if (all || (conformance && strcmp(conformance, name[i]) == 0))
            result[n++].level = name[i];
    status = n ? rp_conformance_run_many(result, n, all ? rp_processors(8) : 1, err) : RP_OK;
    if (status != RP_OK)
        return status;
    *out = json_object();
    for (size_t i = 0, k = 0; i < count; i++) {
        char text[64];

        if (k == n || strcmp(result[k].level, name[i]) != 0) {
            set(*out, name[i], json_string("not checked"), failed);
            continue;
        }
        if (result[k].status == RP_OK)
            (void)snprintf(text, sizeof text, "conforms (%zu vectors)", result[k].checked);
        set(*out, name[i], json_string(result[k].status == RP_OK ? text : result[k].error.text), failed);
        *healthy = *healthy && result[k].status == RP_OK;
        k++;
    }
    return RP_OK;
}

rp_status rp_host_describe(json_t **out, const char *conformance, bool *healthy, rp_error *err)
{
    json_t *host = json_object(), *levels = NULL;
    struct utsname system;
    const rp_kernel_table *table;
    char cpu[128], environment[128];
    bool fine = true, repaired = false;
    int failed = host == NULL;
    rp_fpenv saved;
    rp_status status = rp_fpenv_enter(&saved, &repaired, err);

    *out = NULL;
    if (status != RP_OK) {
        json_decref(host);
        return status;
    }
    rp_fpenv_describe(environment, sizeof environment);
    cpu_name(cpu, sizeof cpu);
    set(host, "library", json_string(RP_VERSION), &failed);
    set(host, "contract", json_integer(RP_CONTRACT_VERSION), &failed);
    set(host, "format", json_integer(RP_ARCHIVE_FORMAT), &failed);
    set(host, "cpu", json_string(cpu), &failed);
    if (uname(&system) == 0) {
        set(host, "system", json_sprintf("%s %s", system.sysname, system.release), &failed);
        set(host, "machine", json_string(system.machine), &failed);
    }
    set(host, "floating_point", json_string(environment), &failed);
    set(host, "floating_point_repaired", json_boolean(repaired), &failed);
    set(host, "libraries", describe_pins(&fine, &failed), &failed);
    status = describe_levels(&levels, conformance, &fine, &failed, err);
    rp_fpenv_leave(&saved);
    if (status == RP_OK) {
        set(host, "levels", levels, &failed);
        status = rp_kernel_table_get(&table, NULL, err);
    }
    if (status == RP_OK)
        set(host, "level", json_string(table->level), &failed);
    if (status == RP_OK && failed)
        status = rp_no_memory(err);
    if (status != RP_OK)
        json_decref(host);
    else
        *out = host;
    if (healthy)
        *healthy = status == RP_OK && fine;
    return status;
}

static void utc(char *out, size_t size, time_t at)
{
    struct tm parts;

    if (!gmtime_r(&at, &parts) || strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        (void)snprintf(out, size, "unknown");
}

rp_status rp_provenance_make(json_t **out, const rp_run *run, double took, uint64_t resumes, rp_error *err)
{
    json_t *host, *predicate = json_object(), *build = json_object(), *details = json_object();
    json_t *builder = json_object(), *metadata = json_object(), *parameters = json_object(), *internal;
    char started[32], finished[32];
    time_t now = time(NULL);
    int failed = !predicate || !build || !details || !builder || !metadata || !parameters;
    bool healthy;
    rp_status status = rp_host_describe(&host, rp_run_level(run), &healthy, err);

    if (status == RP_OK)
        set(host, "healthy", json_boolean(healthy), &failed);
    utc(started, sizeof started, now - (time_t)took);
    utc(finished, sizeof finished, now);
    set(parameters, "recipe", json_string(RP_RECIPE_MEMBER), &failed);
    set(build, "buildType", json_string("https://reprise.invalid/run/v1"), &failed);
    set(build, "externalParameters", parameters, &failed);
    internal = json_pack("{s:s,s:i,s:b}", "level", rp_run_level(run), "threads", (int)rp_run_threads(run),
                         "floating_point_repaired", (int)rp_run_fpenv_repaired(run));
    if (resumes)
        set(internal, "resumes", json_integer((json_int_t)resumes), &failed);
    set(build, "internalParameters", internal, &failed);
    set(builder, "id", json_string("https://reprise.invalid/builder/local"), &failed);
    set(builder, "version", json_pack("{s:s}", "reprise", RP_VERSION), &failed);
    set(metadata, "startedOn", json_string(started), &failed);
    set(metadata, "finishedOn", json_string(finished), &failed);
    set(details, "builder", builder, &failed);
    set(details, "metadata", metadata, &failed);
    if (status == RP_OK)
        set(details, "byproducts", json_pack("[{s:s,s:o}]", "name", "host", "annotations", host), &failed);
    set(predicate, "buildDefinition", build, &failed);
    set(predicate, "runDetails", details, &failed);
    if (status == RP_OK && failed)
        status = rp_no_memory(err);
    if (status != RP_OK)
        json_decref(predicate);
    *out = status == RP_OK ? predicate : NULL;
    return status;
}

rp_status rp_doctor(char **json, bool *healthy, rp_error *err)
{
    json_t *host;
    rp_buffer text = {0};
    rp_status status = rp_host_describe(&host, "all", healthy, err);

    *json = NULL;
    if (status != RP_OK)
        return status;
    status = rp_json_write(host, &text, err);
    json_decref(host);
    rp_buffer_u8(&text, 0);
    if (status == RP_OK)
        status = rp_buffer_status(&text, err);
    if (status != RP_OK)
        rp_buffer_free(&text);
    else
        *json = (char *)text.data;
    return status;
}
