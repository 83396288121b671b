/* SPDX-License-Identifier: Apache-2.0
 * States to start from, by way of the set that holds them. */
#include "audit/drive/start.h"

#include "audit/archive/spool.h"
#include "base/file.h"
#include "base/memory.h"

struct rp_start {
    rp_tensor_set *set;
    rp_archive *archive; /* kept; NULL: somebody else's, or none */
    rp_spool *spool;     /* of a run's states; NULL: they lie in an archive */
    bool retrain;
    const rp_safetensor **taken; /* what the run starts from, in its order, once given */
    size_t n_taken;
    rp_digest digest; /* of those */
    rp_json *line;    /* for the manifest: the pinned run among those that made them; NULL: none */
};

rp_status rp_start_open(rp_start **out, const rp_archive *archive, const char *set, rp_error *err)
{
    rp_start *s = rp_calloc(1, sizeof *s);
    rp_status status = s ? rp_tensor_set_open(&s->set, archive, set, err) : rp_no_memory(err);

    *out = NULL;
    if (status == RP_OK)
        *out = s;
    else
        rp_start_free(s);
    return status;
}

void rp_start_keep(rp_start *s, rp_archive *archive)
{
    s->archive = archive;
}

/* ---- a run's states ---- */

typedef struct spooling {
    rp_spool *spool;
    rp_sha256_stream *hash;
} spooling;

static rp_status put(void *self, const void *bytes, size_t size, rp_error *err)
{
    spooling *s = self;

    rp_sha256_stream_update(s->hash, bytes, size);
    return rp_spool_append(s->spool, bytes, size, err);
}

static rp_status spool_states(rp_start *s, const rp_run *run, rp_error *err)
{
    spooling to = {NULL, NULL};
    const rp_byte_sink sink = {put, &to};
    rp_digest digest;
    size_t n;
    const rp_device_tensor *state = rp_run_states(run, &n);
    rp_status status = rp_spool_new(&s->spool, NULL, err);

    to.spool = s->spool;
    if (status == RP_OK)
        status = rp_sha256_stream_new(&to.hash, err);
    if (status == RP_OK)
        status = rp_tensors_stream(&sink, state, n, err);
    if (status == RP_OK)
        status = rp_sha256_stream_finish(to.hash, &digest, err);
    rp_sha256_stream_free(to.hash);
    return status == RP_OK ? rp_tensor_set_open_file(&s->set, rp_spool_file(s->spool), 0, rp_spool_size(s->spool),
                                                     &digest, "the parent's last states", err)
                           : status;
}

/* What is read once is what the archive has, whatever becomes of the file meanwhile. */
static rp_status spool_file(rp_start *s, const char *path, rp_digest *digest, rp_error *err)
{
    static const size_t most = (size_t)1 << 40;
    spooling to = {NULL, NULL};
    rp_status status = rp_spool_new(&s->spool, NULL, err);

    to.spool = s->spool;
    if (status == RP_OK)
        status = rp_sha256_stream_new(&to.hash, err);
    if (status == RP_OK)
        status = rp_file_stream(path, most, put, &to, err);
    if (status == RP_OK)
        status = rp_sha256_stream_finish(to.hash, digest, err);
    rp_sha256_stream_free(to.hash);
    return status == RP_OK ? rp_tensor_set_open_file(&s->set, rp_spool_file(s->spool), 0, rp_spool_size(s->spool),
                                                     digest, path, err)
                           : status;
}

rp_status rp_start_of_file(rp_start **out, const char *path, rp_digest *digest, rp_error *err)
{
    rp_start *s = rp_calloc(1, sizeof *s);
    rp_status status = s ? spool_file(s, path, digest, err) : rp_no_memory(err);

    *out = NULL;
    if (status == RP_OK)
        *out = s;
    else
        rp_start_free(s);
    return status;
}

rp_status rp_start_of_run(rp_start **out, const rp_run *run, rp_error *err)
{
    rp_start *s = rp_calloc(1, sizeof *s);
    rp_status status = s ? spool_states(s, run, err) : rp_no_memory(err);

    *out = NULL;
    if (status == RP_OK)
        *out = s;
    else
        rp_start_free(s);
    return status;
}

void rp_start_say_line(rp_start *s, rp_json *line)
{
    rp_json_free(s->line);
    s->line = line;
}

const rp_json *rp_start_line(const rp_start *s)
{
    return s->line;
}

void rp_start_free(rp_start *s)
{
    if (!s)
        return;
    rp_json_free(s->line);
    rp_tensor_set_free(s->set);
    rp_archive_close(s->archive);
    rp_spool_free(s->spool);
    rp_free(s->taken);
    rp_free(s);
}

/* ---- to the run ---- */

/* The tensors of the set that are states of the model. */
static rp_status find_states(rp_start *s, const rp_device_tensor *state, size_t count, rp_error *err)
{
    rp_free(s->taken);
    s->n_taken = 0;
    s->taken = rp_calloc(count, sizeof *s->taken);
    if (!s->taken)
        return rp_no_memory(err);
    for (; s->n_taken < count; s->n_taken++) {
        s->taken[s->n_taken] = rp_tensor_set_find(s->set, state[s->n_taken].name);
        if (!s->taken[s->n_taken])
            return rp_fail(err, RP_EDATA, "%.96s of this recipe's model is not among the states to start from",
                           state[s->n_taken].name);
    }
    return RP_OK;
}

/* Whatever else there is is an error, but for moments that a run that retrains does not take. */
static rp_status check_count(const rp_start *s, rp_error *err)
{
    size_t others = 0;

    for (size_t i = 0; i < rp_tensor_set_count(s->set); i++)
        if (!s->retrain && strncmp(rp_tensor_set_at(s->set, i)->name, "optim.best.", 11) == 0)
            return rp_fail(err, RP_EDATA,
                           "the parent kept the weights of its best epoch, and its moments are of a later "
                           "one: it can be started from, but not continued: parent.mode: retrain");
    for (size_t i = 0; i < rp_tensor_set_count(s->set); i++)
        others += !s->retrain || !rp_is_moment(rp_tensor_set_at(s->set, i)->name);
    return others == s->n_taken ? RP_OK
                                : rp_fail(err, RP_EDATA, "%zu states to start from, but this recipe's model has %zu",
                                          others, s->n_taken);
}

static rp_status check_types(const rp_start *s, const rp_device_tensor *state, rp_error *err)
{
    for (size_t i = 0; i < s->n_taken; i++) {
        const rp_type type = rp_safetensor_type(s->taken[i]);
        char wanted[192];

        if (rp_type_equal(&type, &state[i].type))
            continue;
        rp_type_text(&state[i].type, wanted, sizeof wanted);
        return rp_fail(err, RP_EDATA, "%.96s %s of this recipe's model is not among the states to start from",
                       state[i].name, wanted);
    }
    return RP_OK;
}

/* The run's states that are started from, in its order. */
static rp_status pick(rp_start *s, const rp_trainer *trainer, rp_error *err)
{
    size_t n;
    const rp_device_tensor *state = rp_run_states(rp_trainer_run(trainer), &n);
    rp_status status = find_states(s, state, rp_trainer_start_count(trainer), err);

    if (status == RP_OK)
        status = check_count(s, err);
    return status == RP_OK ? check_types(s, state, err) : status;
}

typedef struct giving {
    const rp_start *start;
    rp_trainer *trainer;
} giving;

static rp_status put_in_trainer(void *self, const rp_safetensor *tensor, size_t first, const void *host, size_t count,
                                rp_error *err)
{
    const giving *g = self;
    const rp_type type = rp_safetensor_type(tensor);

    return g->start->retrain && rp_is_moment(tensor->name)
               ? RP_OK
               : rp_trainer_put(g->trainer, tensor->name, &type, first, host, count, err);
}

static rp_status give(void *self, rp_trainer *trainer, rp_error *err)
{
    giving g = {self, trainer};
    const rp_element_sink to = {put_in_trainer, &g};

    return rp_tensor_set_stream(g.start->set, &to, err);
}

rp_status rp_start_give(rp_start *s, rp_trainer *trainer, bool retrain, rp_error *err)
{
    rp_status status;

    s->retrain = retrain;
    status = pick(s, trainer, err);
    if (status == RP_OK)
        status = rp_tensor_set_digest(&s->digest, s->set, s->taken, s->n_taken, err);
    return status == RP_OK ? rp_trainer_start_from(trainer, &(rp_start_source){give, s}, err) : status;
}

/* ---- to the archive ---- */

static rp_status read_tensor(void *self, const rp_safetensor *tensor, size_t at, void *stored, size_t size,
                             rp_error *err)
{
    const rp_start *s = self;

    return rp_tensor_set_read(s->set, tensor->data, at, stored, size, err); /* data is the set's own tensor here */
}

rp_status rp_start_add(const rp_start *s, rp_archive_writer *writer, rp_digest *digest, rp_error *err)
{
    const rp_tensor_source from = {read_tensor, (void *)s};
    rp_safetensor *tensor = rp_calloc(s->n_taken, sizeof *tensor);
    rp_status status = tensor ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; status == RP_OK && i < s->n_taken; i++) {
        tensor[i] = *s->taken[i];
        tensor[i].data = s->taken[i];
    }
    if (status == RP_OK)
        status = rp_tensor_parts_add(writer, RP_START_MEMBER, &from, tensor, s->n_taken, err);
    rp_free(tensor);
    if (status == RP_OK)
        status = rp_tensor_set_digest(digest, s->set, s->taken, s->n_taken, err);
    if (status == RP_OK && !rp_digest_equal(digest, &s->digest))
        status = rp_fail(err, RP_EHASH, "the states that the run started from have changed since it began");
    return status;
}
