/* SPDX-License-Identifier: Apache-2.0
 * The identity of a pinned run: made from the device, and held against an archive's. */
#include "audit/pinned/host.h"

#include <stdio.h>
#include <string.h>

#include "audit/archive/manifest.h"
#include "audit/profile/identity.h"
#include "audit/archive/withheld.h"
#include "base/handle.h"
#include "base/memory.h"
#include "kernels/device.h"
#include "rp/audit.h"

static rp_json *products_json(const rp_pinned *p)
{
    rp_json *list = rp_json_array();
    char hex[2 * RP_PINNED_ALGORITHM + 1];

    for (size_t i = 0; list && i < p->products; i++) {
        const rp_pinned_product *s = &p->product[i];

        rp_hex(hex, s->algorithm, RP_PINNED_ALGORITHM);
        if (rp_json_array_append_new(list,
                                     rp_json_pack("{s:s,s:I,s:I,s:I,s:I}", "algorithm", hex, "batch", (int64_t)s->batch,
                                                  "k", (int64_t)s->k, "m", (int64_t)s->m, "n", (int64_t)s->n)) != 0) {
            rp_json_free(list);
            return NULL;
        }
    }
    return list;
}

static rp_status library_json(rp_json **out, const rp_pinned_library *library, rp_error *err)
{
    rp_digest digest;
    uint64_t size;
    char hex[RP_DIGEST_HEX];
    rp_status status = rp_file_digest(library->path, &digest, &size, err);

    if (status != RP_OK)
        return status;
    rp_digest_hex(hex, &digest);
    *out = rp_json_pack("{s:s,s:s,s:I}", "name", library->name, "sha256", hex, "version", (int64_t)library->version);
    return *out ? RP_OK : rp_no_memory(err);
}

rp_status rp_pinned_say_products(rp_json *pinned, const rp_device *device, rp_error *err)
{
    return rp_json_object_set_new(pinned, "products", products_json(rp_device_pinned(device))) ? rp_no_memory(err)
                                                                                               : RP_OK;
}

rp_status rp_pinned_describe(rp_json **out, const rp_device *device, rp_error *err)
{
    const rp_pinned *p = rp_device_pinned(device);
    rp_json *driver = NULL, *library = NULL, *environment, *chip;
    char capability[32];
    rp_status status;

    *out = NULL;
    if (!p)
        return RP_OK;
    status = library_json(&driver, &p->driver, err);
    if (status == RP_OK)
        status = library_json(&library, &p->library, err);
    if (status != RP_OK) {
        rp_json_free(driver);
        return status;
    }
    (void)snprintf(capability, sizeof capability, "%d.%d", p->capability[0], p->capability[1]);
    environment = p->variable[0] ? rp_json_pack("{s:s}", "CUBLAS_WORKSPACE_CONFIG", p->variable) : rp_json_object();
    chip =
        rp_json_pack("{s:s,s:i,s:s}", "capability", capability, "multiprocessors", p->multiprocessors, "name", p->chip);
    *out = rp_json_pack("{s:o,s:s,s:o,s:o,s:o,s:o,s:I}", "chip", chip, "compute", rp_pinned_compute_names()[p->compute],
                        "driver", driver, "environment", environment, "library", library, "products", products_json(p),
                        "workspace", (int64_t)p->workspace);
    return *out ? RP_OK : rp_no_memory(err);
}

static rp_status describe_library(rp_json **out, rp_device *device, rp_error *err)
{
    rp_status status = rp_device_use_pinned(device, RP_PINNED_F32, RP_PINNED_WORKSPACE, err);

    if (status == RP_OK)
        status = library_json(out, &rp_device_pinned(device)->library, err);
    if (status == RP_OK &&
        rp_json_object_set_new(*out, "file", rp_json_string(rp_device_pinned(device)->library.path)) != 0) {
        rp_json_free(*out);
        *out = NULL;
        status = rp_no_memory(err);
    }
    return status;
}

rp_status rp_pinned_library_here(rp_json **out, const char *device, rp_error *err)
{
    rp_error why = {0};
    rp_device *opened = NULL;
    rp_status status = rp_device_open(&opened, device, NULL, 1, &why);

    *out = NULL;
    if (status == RP_OK)
        status = describe_library(out, opened, &why);
    rp_device_free(opened);
    if (status != RP_OK && status != RP_ENOMEM)
        *out = rp_json_string(why.text);
    return *out ? RP_OK : rp_no_memory(err);
}

void rp_pinned_device_words(char *out, size_t size, const rp_device *device)
{
    const rp_pinned *p = rp_device_pinned(device);

    if (size > 0)
        *out = '\0';
    if (p)
        rp_pinned_say(out, size, p->library.name, (int64_t)p->library.version, p->chip, p->multiprocessors);
}

/* ---- an archive's ---- */

static rp_status refuse(const rp_json *recorded, const rp_json *here, rp_error *err)
{
    rp_buffer text = {0};
    rp_host_table table;
    rp_status status = RP_OK;

    rp_pinned_table(&table, recorded, here);
    if (table.count > 0) {
        rp_pinned_table_words(&text, &table);
        rp_buffer_u8(&text, 0);
        status = rp_buffer_status(&text, err);
        if (status == RP_OK)
            status = rp_fail(err, RP_EUNSUPPORTED,
                             "this run is pinned to another host and is not attempted here (it can be verified "
                             "anywhere): %s",
                             (const char *)text.data);
    }
    rp_buffer_free(&text);
    return status;
}

/* Where not even a device in the profile can be had. */
static rp_status not_here(const rp_json *recorded, rp_status status, rp_error *err)
{
    const rp_json *chip = rp_json_object_get(recorded, "chip"), *library = rp_json_object_get(recorded, "library");

    if (status != RP_EUNSUPPORTED)
        return status;
    return rp_fail_at(err, RP_EUNSUPPORTED,
                      "this run is pinned to %.64s (%d multiprocessors) and %.32s %lld, and is not attempted here (it "
                      "can be verified anywhere)",
                      rp_json_string_value(rp_json_object_get(chip, "name")),
                      (int)rp_json_integer_value(rp_json_object_get(chip, "multiprocessors")),
                      rp_json_string_value(rp_json_object_get(library, "name")),
                      (long long)rp_json_integer_value(rp_json_object_get(library, "version")));
}

/* The run's own options, in the profile of the archive's. */
static void set_profile(rp_run_options *own, const rp_json *recorded)
{
    own->pinned = rp_json_string_value(rp_json_object_get(recorded, "compute"));
    own->pinned_workspace = (uint64_t)rp_json_integer_value(rp_json_object_get(recorded, "workspace"));
}

rp_status rp_pinned_admit(rp_run_options *own, const rp_archive *archive, const rp_run_options *options, rp_error *err)
{
    const rp_json *recorded = rp_json_object_get(rp_archive_manifest(archive)->run, "pinned");
    rp_json *here = NULL;
    rp_run *run = NULL;
    rp_status status;

    *own = options ? *options : (rp_run_options){.threads = 0};
    own->pinned = NULL;
    own->pinned_workspace = 0;
    if (!recorded)
        return RP_OK;
    set_profile(own, recorded);
    status = not_here(recorded, rp_run_new(&run, own, err), err);
    if (status == RP_OK)
        status = rp_pinned_describe(&here, rp_run_device(run), err);
    if (status == RP_OK)
        status = refuse(recorded, here, err);
    rp_json_free(here);
    rp_run_free(run);
    return status;
}

/* Of a device that is not one in the profile: why, in the one row that is known. */
static void say_why(rp_host_table *out, const rp_json *recorded, const char *why)
{
    char words[RP_PINNED_WORDS];

    rp_pinned_words(words, sizeof words, recorded);
    out->count = 1;
    (void)snprintf(out->row[0].what, sizeof out->row[0].what, "profile");
    (void)snprintf(out->row[0].recorded, sizeof out->row[0].recorded, "%.71s", words);
    (void)snprintf(out->row[0].here, sizeof out->row[0].here, "%.71s", why);
}

rp_status rp_replay_host(const rp_archive *archive, const char *device, rp_host_table *out, rp_error *err)
{
    const rp_json *recorded;
    rp_run_options own = {.threads = 1, .device = device};
    rp_json *here = NULL;
    rp_run *run = NULL;
    rp_error why = {0};
    rp_status status;

    *out = (rp_host_table){.count = 0};
    if (!archive)
        return rp_no_handle(err, __func__, "archive");
    recorded = rp_json_object_get(rp_archive_manifest(archive)->run, "pinned");
    if (!recorded)
        return RP_OK;
    set_profile(&own, recorded);
    status = rp_run_new(&run, &own, &why);
    if (status == RP_ENOMEM)
        return rp_no_memory(err);
    if (status == RP_OK)
        status = rp_pinned_describe(&here, rp_run_device(run), err);
    else if (!device || !*device || strcmp(device, "cpu") == 0)
        status = RP_OK;
    else {
        say_why(out, recorded, why.text);
        return RP_OK;
    }
    if (status == RP_OK)
        rp_pinned_table(out, recorded, here);
    rp_json_free(here);
    rp_run_free(run);
    return status;
}

rp_status rp_pinned_bind(const rp_run *run, const rp_archive *archive, rp_error *err)
{
    const rp_json *recorded = rp_json_object_get(rp_archive_manifest(archive)->run, "pinned"), *one;
    const rp_json *list = rp_json_object_get(recorded, "products");
    const rp_pinned *p = rp_device_pinned(rp_run_device(run));
    const size_t count = rp_json_array_size(list);
    rp_pinned_product *product;
    rp_status status;
    size_t i;

    if (!recorded)
        return RP_OK;
    if (strcmp(rp_pinned_compute_names()[p->compute], rp_json_string_value(rp_json_object_get(recorded, "compute"))) !=
            0 ||
        p->workspace != (uint64_t)rp_json_integer_value(rp_json_object_get(recorded, "workspace")))
        return rp_fail(err, RP_EFORMAT,
                       RP_MANIFEST_NAME ": run.pinned: compute or workspace is not the recipe's, %s and %llu",
                       rp_pinned_compute_names()[p->compute], (unsigned long long)p->workspace);
    product = rp_calloc(count ? count : 1, sizeof *product);
    if (!product)
        return rp_no_memory(err);
    rp_json_array_foreach (list, i, one) {
        product[i].batch = (uint64_t)rp_json_integer_value(rp_json_object_get(one, "batch"));
        product[i].m = (uint64_t)rp_json_integer_value(rp_json_object_get(one, "m"));
        product[i].n = (uint64_t)rp_json_integer_value(rp_json_object_get(one, "n"));
        product[i].k = (uint64_t)rp_json_integer_value(rp_json_object_get(one, "k"));
        (void)rp_unhex(product[i].algorithm, RP_PINNED_ALGORITHM,
                       rp_json_string_value(rp_json_object_get(one, "algorithm")));
    }
    status = rp_device_expect_products(rp_run_device(run), product, count, err);
    rp_free(product);
    return status;
}
