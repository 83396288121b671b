/* SPDX-License-Identifier: Apache-2.0
 * Host description, doctor, and the SLSA v1 predicate (https://slsa.dev/spec/v1.0/provenance). Reals are strings. */
#include "audit/record/provenance.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/file.h"
#include "base/memory.h"
#include "audit/archive/member.h"
#include "audit/pinned/host.h"
#include "audit/statements/statement.h"
#include "base/handle.h"
#include "determinism/decimal.h"
#include "determinism/fpenv.h"
#include "determinism/pins.h"
#include "kernels/conformance/conformance.h"
#include "kernels/device.h"
#include "rp/audit.h"

#ifndef RP_VERSION
#define RP_VERSION "unknown"
#endif

/* Sets a key and remembers failure, so that building a tree is checked once. */
static void set(rp_json *object, const char *key, rp_json *value, int *failed)
{
    *failed |= rp_json_object_set_new(object, key, value);
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

static rp_json *describe_pins(bool *healthy, int *failed)
{
    size_t count;
    const rp_pin *pin = rp_pins(&count);
    rp_json *list = rp_json_object();

    for (size_t i = 0; i < count; i++) {
        rp_json *row = rp_json_object();

        set(row, "built", rp_json_string(pin[i].built), failed);
        set(row, "loaded", rp_json_string(pin[i].loaded), failed);
        set(row, "match", rp_json_boolean(pin[i].match), failed);
        set(list, pin[i].name, row, failed);
        *healthy = *healthy && pin[i].match;
    }
    return list;
}

/* How many vectors of a level this process has found right, 0 before: code and processor stay what they are, so what
 * was proven before a run is not proven again to sign it. Doctor asks anew. */
static atomic_size_t *proven(const char *level)
{
    static atomic_size_t vectors[RP_CONFORMANCE_LEVELS + 1]; /* the last: of levels beyond, never set */
    const char *const *name;
    size_t count = rp_kernel_levels(&name), i = 0;

    while (i < count && i < RP_CONFORMANCE_LEVELS && strcmp(name[i], level) != 0)
        i++;
    return &vectors[i < count ? i : RP_CONFORMANCE_LEVELS];
}

/* One level, by what is known or by its vectors. */
static rp_status prove(rp_conformance *result, rp_error *err)
{
    atomic_size_t *known = proven(result->level);
    rp_status status = RP_OK;

    result->checked = atomic_load(known);
    result->status = RP_OK;
    if (result->checked == 0)
        status = rp_conformance_run_many(result, 1, rp_processors(8), err);
    if (status == RP_OK && result->status == RP_OK)
        atomic_store(known, result->checked);
    return status;
}

/* conformance: NULL checks no level, "all" every one, over all processors; else the one named. */
static rp_status describe_levels(rp_json **out, const char *conformance, bool *healthy, int *failed, rp_error *err)
{
    const char *const *name;
    size_t count = rp_kernel_levels(&name), n = 0;
    bool all = conformance && strcmp(conformance, "all") == 0;
    rp_conformance result[RP_CONFORMANCE_LEVELS] = {0};
    rp_status status;

    for (size_t i = 0; i < count && n < RP_CONFORMANCE_LEVELS; i++)
        if (all || (conformance && strcmp(conformance, name[i]) == 0))
            result[n++].level = name[i];
    status = n == 0 ? RP_OK : all ? rp_conformance_run_many(result, n, rp_processors(8), err) : prove(result, err);
    if (status != RP_OK)
        return status;
    *out = rp_json_object();
    for (size_t i = 0, k = 0; i < count; i++) {
        char text[64];

        if (k == n || strcmp(result[k].level, name[i]) != 0) {
            set(*out, name[i], rp_json_string("not checked"), failed);
            continue;
        }
        if (result[k].status == RP_OK)
            (void)snprintf(text, sizeof text, "conforms (%zu vectors)", result[k].checked);
        set(*out, name[i], rp_json_string(result[k].status == RP_OK ? text : result[k].error.text), failed);
        *healthy = *healthy && result[k].status == RP_OK;
        k++;
    }
    return RP_OK;
}

rp_status rp_host_describe(rp_json **out, const char *conformance, bool *healthy, rp_error *err)
{
    rp_json *host = rp_json_object(), *levels = NULL;
    struct utsname system;
    char kernel[sizeof system.sysname + sizeof system.release];
    const rp_kernel_table *table;
    char cpu[128], environment[128];
    bool fine = true, repaired = false;
    int failed = host == NULL;
    rp_fpenv saved;
    rp_status status = rp_fpenv_enter(&saved, &repaired, err);

    *out = NULL;
    if (status != RP_OK) {
        rp_json_free(host);
        return status;
    }
    rp_fpenv_describe(environment, sizeof environment);
    cpu_name(cpu, sizeof cpu);
    set(host, "library", rp_json_string(RP_VERSION), &failed);
    set(host, "contract", rp_json_integer(RP_CONTRACT_VERSION), &failed);
    set(host, "format", rp_json_integer(RP_ARCHIVE_FORMAT), &failed);
    set(host, "cpu", rp_json_string(cpu), &failed);
    if (uname(&system) == 0) {
        (void)snprintf(kernel, sizeof kernel, "%s %s", system.sysname, system.release);
        set(host, "system", rp_json_string(kernel), &failed);
        set(host, "machine", rp_json_string(system.machine), &failed);
    }
    set(host, "floating_point", rp_json_string(environment), &failed);
    set(host, "floating_point_repaired", rp_json_boolean(repaired), &failed);
    set(host, "libraries", describe_pins(&fine, &failed), &failed);
    status = describe_levels(&levels, conformance, &fine, &failed, err);
    rp_fpenv_leave(&saved);
    if (status == RP_OK) {
        set(host, "levels", levels, &failed);
        status = rp_kernel_table_get(&table, NULL, err);
    }
    if (status == RP_OK)
        set(host, "level", rp_json_string(table->level), &failed);
    if (status == RP_OK && failed)
        status = rp_no_memory(err);
    if (status != RP_OK)
        rp_json_free(host);
    else
        *out = host;
    if (healthy)
        *healthy = status == RP_OK && fine;
    return status;
}

rp_status rp_host_conforms(const char *level, rp_error *err)
{
    const rp_kernel_table *table;
    rp_conformance result = {0};
    rp_fpenv saved;
    bool repaired;
    rp_status status = rp_kernel_table_get(&table, level, err);

    if (status == RP_OK)
        status = rp_fpenv_enter(&saved, &repaired, err);
    if (status != RP_OK)
        return status;
    result.level = table->level;
    status = prove(&result, err);
    rp_fpenv_leave(&saved);
    if (status == RP_OK && result.status == RP_ENOMEM)
        return rp_no_memory(err);
    if (status == RP_OK && result.status != RP_OK)
        return rp_fail(err, RP_EUNSUPPORTED, "this build's kernels do not conform on this host: %s: %s", table->level,
                       result.error.text);
    return status;
}

/* By what is known of the device, or by some of the vectors' specimens: as levels are proven once, so are devices. */
static rp_status prove_device(rp_device *device, size_t *vectors, rp_error *err)
{
    *vectors = rp_device_conforming(device);
    if (*vectors > 0)
        return rp_device_synchronize(device, NULL, err); /* one that broke since says so */
    return rp_conformance_device(device, false, vectors, err);
}

static rp_status check_device(rp_device *device, bool all, size_t *vectors, rp_error *err)
{
    rp_error why = {0};
    const rp_status status =
        all ? rp_conformance_device(device, true, vectors, &why) : prove_device(device, vectors, &why);

    if (status == RP_EBITS)
        return rp_fail(err, RP_EUNSUPPORTED, "this build's kernels do not conform on this device: %s", why.text);
    return status == RP_OK ? RP_OK : rp_fail(err, status, "%s", why.text);
}

rp_status rp_device_conforms(const char *device, bool all, char identity[RP_DEVICE_TEXT], size_t *vectors,
                             rp_error *err)
{
    rp_device *opened = NULL;
    rp_fpenv saved;
    bool repaired;
    size_t checked = 0;
    rp_status status = rp_fpenv_enter(&saved, &repaired, err);

    if (status != RP_OK)
        return status;
    if (device != NULL && strcmp(device, "cpu") != 0)
        status = rp_device_open(&opened, device, NULL, 1, err);
    if (opened != NULL && (status = check_device(opened, all, &checked, err)) != RP_OK && status != RP_EUNSUPPORTED)
        status = rp_fail_at(err, status, "the test of device %s before anything is computed there", device);
    if (identity != NULL)
        (void)snprintf(identity, RP_DEVICE_TEXT, "%s", opened != NULL ? rp_device_identity(opened) : "");
    if (vectors != NULL)
        *vectors = checked;
    rp_device_free(opened);
    rp_fpenv_leave(&saved);
    return status;
}

/* Kernels ran elsewhere: on what, under which driver, and what became of their vectors there. */
static rp_json *describe_device(rp_device *device)
{
    rp_error why = {0};
    char text[64];
    size_t checked;
    const rp_status status = prove_device(device, &checked, &why);

    if (status == RP_ENOMEM) /* nothing is known of the device then: the caller's set() takes it as it is */
        return NULL;
    (void)snprintf(text, sizeof text, "conforms (%zu vectors)", checked);
    return rp_json_pack("{s:s,s:s}", "conformance", status == RP_OK ? text : why.text, "identity",
                        rp_device_identity(device));
}

static void utc(char *out, size_t size, time_t at)
{
    struct tm parts;

    if (!gmtime_r(&at, &parts) || strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        (void)snprintf(out, size, "unknown");
}

rp_status rp_provenance_make(rp_json **out, const rp_run *run, double took, uint64_t resumes, rp_error *err)
{
    rp_json *host, *predicate = rp_json_object(), *build = rp_json_object(), *details = rp_json_object();
    rp_json *builder = rp_json_object(), *metadata = rp_json_object(), *parameters = rp_json_object(), *internal;
    char started[32], finished[32];
    time_t now = time(NULL);
    int failed = !predicate || !build || !details || !builder || !metadata || !parameters;
    bool healthy;
    rp_status status = rp_host_describe(&host, rp_run_level(run), &healthy, err);

    if (status == RP_OK)
        set(host, "healthy", rp_json_boolean(healthy), &failed);
    utc(started, sizeof started, now - (time_t)took);
    utc(finished, sizeof finished, now);
    set(parameters, "recipe", rp_json_string(RP_RECIPE_MEMBER), &failed);
    set(build, "buildType", rp_json_string("https://reprise.invalid/run/v1"), &failed);
    set(build, "externalParameters", parameters, &failed);
    internal = rp_json_pack("{s:s,s:i,s:b}", "level", rp_run_level(run), "threads", (int)rp_run_threads(run),
                            "floating_point_repaired", (int)rp_run_fpenv_repaired(run));
    if (!rp_device_shares_memory(rp_run_device(run)))
        set(internal, "device", describe_device(rp_run_device(run)), &failed);
    if (resumes)
        set(internal, "resumes", rp_json_integer((int64_t)resumes), &failed);
    set(build, "internalParameters", internal, &failed);
    set(builder, "id", rp_json_string("https://reprise.invalid/builder/local"), &failed);
    set(builder, "version", rp_json_pack("{s:s}", "reprise", RP_VERSION), &failed);
    set(metadata, "startedOn", rp_json_string(started), &failed);
    set(metadata, "finishedOn", rp_json_string(finished), &failed);
    set(details, "builder", builder, &failed);
    set(details, "metadata", metadata, &failed);
    if (status == RP_OK)
        set(details, "byproducts", rp_json_pack("[{s:s,s:o}]", "name", "host", "annotations", host), &failed);
    set(predicate, "buildDefinition", build, &failed);
    set(predicate, "runDetails", details, &failed);
    if (status == RP_OK && failed)
        status = rp_no_memory(err);
    if (status != RP_OK)
        rp_json_free(predicate);
    *out = status == RP_OK ? predicate : NULL;
    return status;
}

/* By name what each computes with, or why it does not. */
static rp_json *describe_devices(int *failed)
{
    rp_json *list = rp_json_object();
    const char *name;

    for (size_t i = 0; (name = rp_device_name(i)) != NULL; i++) {
        rp_device *device;
        rp_error why = {0};
        rp_status status = rp_device_open(&device, name, NULL, 1, &why);

        set(list, name, rp_json_string(status == RP_OK ? rp_device_identity(device) : why.text), failed);
        *failed |= status == RP_ENOMEM;
        rp_device_free(device);
    }
    return list;
}

/* The device asked for, with all of the vectors' specimens. */
static rp_status examine_device(rp_json *host, const char *device, bool *healthy, int *failed, rp_error *err)
{
    char identity[RP_DEVICE_TEXT] = "", text[64];
    size_t checked;
    rp_error why = {0};
    rp_json *library;
    rp_status status = rp_device_conforms(device, true, identity, &checked, &why);

    if (status != RP_OK && identity[0] == '\0')
        return rp_fail(err, status, "%s", why.text);
    (void)snprintf(text, sizeof text, "conforms (%zu vectors)", checked);
    set(host, "device",
        rp_json_pack("{s:s,s:s,s:s}", "conformance", status == RP_OK ? text : why.text, "identity", identity, "name",
                     device),
        failed);
    *healthy = *healthy && status == RP_OK;
    status = rp_pinned_library_here(&library, device, err); /* a host without it keeps the contract all the same */
    if (status == RP_OK)
        set(rp_json_object_get(host, "device"), "pinned", library, failed);
    return status;
}

rp_status rp_doctor(const char *device, char **json, bool *healthy, rp_error *err)
{
    rp_json *host;
    rp_buffer text = {0};
    rp_device *present = NULL;
    int failed = 0;
    rp_status status = RP_OK;

    *json = NULL;
    if (device != NULL) /* one that is not here is told before the seconds that the vectors take */
        status = rp_device_open(&present, device, NULL, 1, err);
    rp_device_free(present);
    if (status == RP_OK)
        status = rp_host_describe(&host, "all", healthy, err);
    if (status != RP_OK)
        return status;
    set(host, "devices", describe_devices(&failed), &failed);
    if (device != NULL && strcmp(device, "cpu") != 0)
        status = examine_device(host, device, healthy, &failed, err);
    if (status != RP_OK) {
        rp_json_free(host);
        return status;
    }
    status = failed ? rp_no_memory(err) : rp_json_write(host, &text, err);
    rp_json_free(host);
    return rp_buffer_finish(&text, status, json, err);
}

rp_status rp_archive_attest(const char *path, const char *archive_id, const rp_replay_outcome *outcome,
                            const rp_key *key, char member[RP_MEMBER_NAME], rp_error *err)
{
    if (!key)
        return rp_no_handle(err, __func__, "key");

    rp_json *host, *predicate = NULL;
    bool healthy;
    rp_status status = rp_host_describe(&host, outcome->begun.level, &healthy, err);

    if (status == RP_OK)
        status = rp_verdict_write(&predicate, outcome, host, healthy, err);
    if (status == RP_OK)
        status = rp_statement_add(path, RP_STATEMENT_VERDICT, archive_id, key, predicate, member, err);
    rp_json_free(predicate);
    rp_json_free(host);
    return status;
}
