/* SPDX-License-Identifier: Apache-2.0
 * Models of rp/nn.h and files: one archive of eager and compiled steps, going on from an archive, and weights from and
 * to safetensors: by name, by an index, as PyTorch has them, and what is wrong with them in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/file.h"
#include "tests/core/nn/models.h"

/* What it does shows only when the power goes, and it would take most of the time here. */
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    (void)fd;
    return 0;
}

static bool mixed; /* models are in mixed precision */

static rp_nn *model_new(rp_nn_forward *model, bool eager, uint64_t seed)
{
    rp_nn *nn = NULL;

    OK(rp_nn_new(&nn,
                 &(rp_nn_options){.model = model,
                                  .batches = {.batch = MODEL_BATCH},
                                  .seed = seed,
                                  .eager = eager,
                                  .mixed = mixed,
                                  .run = {.threads = 1}},
                 ERR));
    OK(model_rows(nn, ERR));
    return nn;
}

static void train(rp_nn *nn, uint64_t steps)
{
    while (rp_nn_steps(nn) < steps)
        OK(rp_nn_train_step(nn, NULL, ERR));
}

static void one_archive_eager_compiled_and_resumed(void **state)
{
    rp_nn_forward *const model[] = {model_of_times, model_of_images};

    (void)state;
    for (size_t m = 0; m < 2; m++) {
        char id[3][RP_DIGEST_HEX];

        (void)remove("nn-part.reprise");
        for (int way = 0; way < 3; way++) { /* compiled; eager; both, in two processes' lives */
            rp_nn *nn = model_new(model[m], way > 0, 3);

            OK(rp_nn_record(nn, &(rp_nn_recording){.resume = "nn-part.reprise"},
                            ERR)); /* of no file: from the beginning */
            train(nn, way == 2 ? 4 : 7);
            if (way == 2) {
                OK(rp_nn_archive(nn, "nn-part.reprise", NULL, NULL, ERR));
                rp_nn_free(nn);
                nn = model_new(model[m], false, 3);
                OK(rp_nn_record(nn, &(rp_nn_recording){.resume = "nn-part.reprise"}, ERR));
                assert_int_equal(rp_nn_steps(nn), 4);
                train(nn, 7);
            }
            OK(rp_nn_archive(nn, "nn.reprise", NULL, id[way], ERR));
            rp_nn_free(nn);
        }
        assert_string_equal(id[0], id[1]);
        assert_string_equal(id[0], id[2]);
    }
}

/* The same archives from eager and compiled steps and over a resumption; replayed by another level and other threads.
 */
static void mixed_precision_is_recorded_and_replayed(void **state)
{
    char plain[RP_DIGEST_HEX], id[RP_DIGEST_HEX];
    rp_nn *nn = model_new(model_of_images, false, 3);
    rp_archive *archive = NULL;
    rp_job *job = NULL;

    OK(rp_nn_record(nn, NULL, ERR));
    train(nn, 7);
    OK(rp_nn_archive(nn, "nn.reprise", NULL, plain, ERR));
    rp_nn_free(nn);
    mixed = true;
    one_archive_eager_compiled_and_resumed(state);
    OK(rp_archive_open(&archive, "nn.reprise", ERR));
    OK(rp_replay(archive, &(rp_job_options){.threads = 3, .level = "ref"}, &job, ERR));
    (void)snprintf(id, sizeof id, "%s", job->archive_id);
    mixed = false;
    assert_string_not_equal(id, plain);
    rp_job_free(job);
    rp_archive_close(archive);
}

static void an_archive_of_another_training_is_refused(void **state)
{
    rp_nn *nn = model_new(model_of_images, false, 4);
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_nn_record(nn, &(rp_nn_recording){.resume = "nn.reprise"}, &err), RP_EARG);
    assert_non_null(strstr(err.text, "not an archive of this run"));
    rp_nn_free(nn);
    (void)remove("nn.reprise");
    (void)remove("nn-part.reprise");
}

static void assert_same(rp_nn *a, rp_nn *b)
{
    rp_nn_parameter_info info;

    for (size_t i = 0; rp_nn_parameter_at(a, i, &info); i++) {
        size_t bytes = sizeof(float);
        float *x, *y;

        for (int k = 0; k < info.rank; k++)
            bytes *= info.shape[k];
        x = malloc(bytes);
        y = malloc(bytes);
        OK(rp_nn_read(a, info.name, x, bytes, ERR));
        OK(rp_nn_read(b, info.name, y, bytes, ERR));
        if (memcmp(x, y, bytes) != 0)
            fail_msg("%s differs", info.name);
        free(x);
        free(y);
    }
}

/* Periods come before the resumption, which asks for the same ones; a child takes over its parent's final weights. */
static void checkpoints_parents_and_parts(void **state)
{
    const rp_nn_recording whole = {.checkpoint_every = 2, .state_period = 3};
    const rp_nn_recording rest = {.checkpoint_every = 2, .state_period = 3, .resume = "nn.reprise"};
    const rp_replay_choice part = {.mode = RP_REPLAY_RANGE, .first = 3, .last = 4};
    rp_nn *nn = model_new(model_of_images, false, 3), *child = model_new(model_of_images, false, 5);
    char parent[RP_DIGEST_HEX], again[RP_DIGEST_HEX];
    rp_archive *archive = NULL, *of_child = NULL;
    rp_job *job = NULL;

    (void)state;
    OK(rp_nn_record(nn, &whole, ERR));
    train(nn, 3);
    OK(rp_nn_archive(nn, "nn.reprise", NULL, NULL, ERR));
    train(nn, 5);
    OK(rp_nn_archive(nn, "nn-part.reprise", NULL, parent, ERR));
    rp_nn_free(nn);
    nn = model_new(model_of_images, true, 3);
    OK(rp_nn_record(nn, &rest, ERR));
    train(nn, 5);
    OK(rp_nn_archive(nn, "nn.reprise", NULL, again, ERR));
    assert_string_equal(parent, again);
    OK(rp_archive_open(&archive, "nn.reprise", ERR));
    OK(rp_replay(archive, &(rp_job_options){.choice = &part, .threads = 1}, &job, ERR));
    assert_true(job->steps >= 2 && job->steps <= 3);
    OK(rp_nn_load(child, "nn.reprise", NULL, ERR));
    assert_same(nn, child);
    rp_nn_free(child);
    child = model_new(model_of_images, false, 5);
    OK(rp_nn_load(child, "nn.reprise", NULL, ERR));
    OK(rp_nn_record(child, &(rp_nn_recording){.parent = "nn.reprise"}, ERR));
    train(child, 2);
    OK(rp_nn_archive(child, "nn-part.reprise", NULL, NULL, ERR));
    OK(rp_archive_open(&of_child, "nn-part.reprise", ERR));
    OK(rp_check_parent(of_child, archive, ERR));
    rp_job_free(job);
    rp_archive_close(archive);
    rp_archive_close(of_child);
    rp_nn_free(child);
    rp_nn_free(nn);
}

/* ---- weights ---- */

static void weights_go_to_a_file_and_come_back(void **state)
{
    rp_nn *trained = model_new(model_of_images, false, 3), *loaded = model_new(model_of_images, false, 8);
    rp_error err = {0};

    (void)state;
    train(trained, 3);
    OK(rp_nn_save(trained, "nn.safetensors", &(rp_nn_save_options){.force = true}, ERR));
    OK(rp_nn_load(loaded, "nn.safetensors", NULL, ERR));
    assert_same(trained, loaded);
    assert_int_equal(rp_run_steps(rp_nn_run(loaded)), 0); /* nothing was left to initialise */
    OK(rp_nn_train_step(loaded, NULL, ERR));
    assert_int_equal(rp_nn_save(trained, "nn.safetensors", NULL, &err), RP_EEXIST);
    rp_nn_free(trained);
    rp_nn_free(loaded);
}

static size_t files_of_index(const char *base, size_t files)
{
    char path[128];
    size_t there = 0;

    for (size_t i = 0; i < files; i++) {
        (void)snprintf(path, sizeof path, "%s-%05zu-of-%05zu.safetensors", base, i + 1, files);
        there += remove(path) == 0;
    }
    return there;
}

/* mlp.0's weight, 16 x 5, is 320 bytes; with 400 a file there are four files. */
static void weights_go_to_several_files_and_come_back(void **state)
{
    const rp_nn_save_options several = {.torch = true, .file_bytes = 400};
    rp_nn *trained = model_new(model_of_images, false, 3), *loaded = model_new(model_of_images, false, 8);
    rp_buffer text = {0};
    rp_error err = {0};

    (void)state;
    (void)remove("nn.safetensors.index.json"); /* of a run that was stopped */
    (void)files_of_index("nn", 4);
    train(trained, 3);
    OK(rp_nn_save(trained, "nn.safetensors.index.json", &several, ERR));
    OK(rp_nn_load(loaded, "nn.safetensors.index.json", &(rp_nn_load_options){.torch = true}, ERR));
    assert_same(trained, loaded);
    OK(rp_file_read("nn.safetensors.index.json", 1 << 20, &text, ERR));
    rp_buffer_append(&text, "", 1);
    assert_non_null(strstr((char *)text.data, "\"weight_map\":{\"conv1.weight\":\"nn-00001-of-00004.safetensors\""));
    rp_buffer_free(&text);
    rp_nn_free(loaded);
    assert_int_equal(rp_nn_save(trained, "nn.safetensors.index.json", &several, &err), RP_EEXIST);
    rp_nn_free(trained);
    trained = model_new(model_of_images, false, 3);
    (void)remove("nn.safetensors.index.json");
    (void)remove("nn-00001-of-00004.safetensors"); /* the second is in the way: the first goes again */
    assert_int_equal(rp_nn_save(trained, "nn.safetensors.index.json", &several, &err), RP_EEXIST);
    rp_nn_free(trained);
    assert_int_equal(files_of_index("nn", 4), 3);
    trained = model_new(model_of_images, false, 3);
    assert_int_equal(rp_nn_save(trained, "nn.safetensors", &several, &err), RP_EARG);
    rp_nn_free(trained);
}

/* Turned and turned back; without being told, a file of turned weights does not fit. */
static void weights_for_torch_come_back_too(void **state)
{
    const rp_nn_save_options torch = {.force = true, .torch = true};
    rp_nn *trained = model_new(model_of_times, false, 3), *loaded = model_new(model_of_times, false, 8);
    rp_error err = {0};

    (void)state;
    train(trained, 2);
    OK(rp_nn_save(trained, "nn.safetensors", &torch, ERR));
    OK(rp_nn_load(loaded, "nn.safetensors", &(rp_nn_load_options){.torch = true}, ERR));
    assert_same(trained, loaded);
    rp_nn_free(loaded);
    loaded = model_new(model_of_times, false, 8);
    assert_int_equal(rp_nn_load(loaded, "nn.safetensors", NULL, &err), RP_EDATA);
    assert_non_null(strstr(err.text, "in.weight: expected f32[5,6], found f32[6,5]"));
    rp_nn_free(trained);
    rp_nn_free(loaded);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    OK(rp_file_save(path, bytes, size, true, 0644, ERR));
}

static void write_text(const char *path, const char *text)
{
    write_file(path, text, strlen(text));
}

/* A file of one f32 or bf16 tensor with elements 0, 1, 2, .. */
static void write_tensor(const char *path, const char *name, const char *dtype, const char *shape, size_t count)
{
    unsigned char file[4096];
    const size_t element = strcmp(dtype, "BF16") == 0 ? 2 : 4;
    int length = snprintf((char *)file + 8, sizeof file - 8,
                          "{\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[0,%zu]}}", name, dtype, shape,
                          count * element);

    while ((8 + length) % 8)
        file[8 + length++] = ' ';
    rp_store_u64(file, (uint64_t)length);
    for (size_t i = 0; i < count; i++) {
        const float value = (float)i;
        unsigned char bytes[4];

        memcpy(bytes, &value, 4); /* the tests run on little-endian hosts, or are emulated ones */
        memcpy(file + 8 + (size_t)length + i * element, bytes + 4 - element, element);
    }
    write_file(path, file, 8 + (size_t)length + count * element);
}

static void an_index_names_the_files_and_torch_weights_are_turned(void **state)
{
    static const char index[] =
        "{\"metadata\":{\"total_size\":120},\"weight_map\":{\"m.mlp.1.weight\":\"nn-a.safetensors\","
        "\"m.conv2.weight\":\"nn-b.safetensors\"}}";
    rp_nn *nn = model_new(model_of_images, false, 3);
    float mlp[5][3], conv[3][3][4];

    (void)state;
    write_tensor("nn-a.safetensors", "m.mlp.1.weight", "BF16", "3,5", 15);
    write_tensor("nn-b.safetensors", "m.conv2.weight", "F32", "4,1,3,3", 36);
    write_file("nn.safetensors.index.json", index, strlen(index));
    OK(rp_nn_load(nn, "nn.safetensors.index.json",
                  &(rp_nn_load_options){.torch = true, .partial = true, .prefix = "m."}, ERR));
    OK(rp_nn_read(nn, "mlp.1.weight", mlp, sizeof mlp, ERR));
    OK(rp_nn_read(nn, "conv2.weight", conv, sizeof conv, ERR));
    for (int i = 0; i < 15; i++)
        assert_true(mlp[i % 5][i / 5] == (float)i);
    for (int i = 0; i < 36; i++) /* [out, in, r, s] to [r, s, in, out] */
        assert_true(conv[i % 9 / 3][i % 3][i / 9] == (float)i);
    rp_nn_free(nn);
}

static void assert_refused(const char *path, const rp_nn_load_options *options, const char *text)
{
    rp_nn *nn = model_new(model_of_images, false, 3);
    rp_error err = {0};

    if (rp_nn_load(nn, path, options, &err) == RP_OK || !strstr(err.text, text))
        fail_msg("%s: expected \"%s\", found \"%s\"", path, text, err.text);
    rp_nn_free(nn);
}

static void files_that_do_not_fit_are_told(void **state)
{
    const rp_nn_load_options partial = {.partial = true};

    (void)state;
    write_tensor("nn-a.safetensors", "mlp.1.weight", "F32", "3,5", 15);
    assert_refused("nn-a.safetensors", NULL, "there is no tensor conv1.weight");
    assert_refused("nn-a.safetensors", &partial,
                   "mlp.1.weight: expected f32[5,3], found f32[3,5]; are its weights PyTorch's?");
    assert_refused("no-such.safetensors", NULL, "no-such.safetensors");
    write_text("nn-a.safetensors", "12345678901234567890");
    assert_refused("nn-a.safetensors", &partial, "nn-a.safetensors");
    write_text("nn.json", "{\"weight_map\":{\"x\":\"../../etc/passwd\"}}");
    assert_refused("nn.json", &partial, "expected names of files beside it");
    write_text("nn.json", "{\"weights\":{}}");
    assert_refused("nn.json", &partial, "no weight_map");
    (void)remove("nn.json");
    (void)remove("nn-a.safetensors");
    (void)remove("nn-b.safetensors");
    (void)remove("nn.safetensors");
    (void)remove("nn.safetensors.index.json");
}

/* ---- memory that runs out ---- */

static long blocks;
static size_t calls, failing;

static void *allocate(void *self, size_t bytes)
{
    void *block = ++calls == failing ? NULL : malloc(bytes);

    (void)self;
    blocks += block != NULL;
    return block;
}

static void *resize(void *self, void *old, size_t bytes)
{
    void *block = ++calls == failing ? NULL : realloc(old, bytes);

    (void)self;
    blocks += block != NULL && old == NULL;
    return block;
}

static void release(void *self, void *block)
{
    (void)self;
    blocks--;
    free(block);
}

/* A life of a model: weights from a file, groups, one step, an evaluation, archive and weights. */
static rp_status life(bool eager, rp_error *err)
{
    rp_nn_options options = {.model = model_of_images, .batches = {.batch = MODEL_BATCH}, .eager = eager};
    rp_nn *nn;
    rp_status status;

    options.run.threads = 1;
    status = rp_nn_new(&nn, &options, err);
    if (status != RP_OK)
        return status;
    (void)rp_nn_initialise(nn, "mlp.*", rp_nn_constant(0.25), err);
    (void)rp_nn_add_group(nn, "*.bias", 0.5, 0, err);
    (void)model_rows(nn, err);
    (void)rp_nn_load(nn, "nn.json", &(rp_nn_load_options){.torch = true, .partial = true}, err);
    (void)rp_nn_record(nn, NULL, err);
    (void)rp_nn_train_step(nn, NULL, err);
    (void)rp_nn_evaluate(nn, NULL, NULL, 0, 9, NULL, err);
    (void)rp_nn_archive(nn, "nn.reprise", NULL, NULL, err);
    (void)rp_nn_save(nn, "nn.index.json", &(rp_nn_save_options){.force = true, .file_bytes = 400}, err);
    status = rp_nn_save(nn, "nn.safetensors", &(rp_nn_save_options){.force = true, .torch = true}, err);
    rp_nn_free(nn);
    return status;
}

static void memory_that_runs_out_is_told_and_nothing_leaks(void **state)
{
    const rp_allocator counting = {allocate, resize, release, NULL};
    enum { POINTS = 150 };

    (void)state;
    write_tensor("nn-a.safetensors", "mlp.1.weight", "F32", "3,5", 15);
    write_text("nn.json", "{\"weight_map\":{\"mlp.1.weight\":\"nn-a.safetensors\"}}");
    rp_set_allocator(&counting);
    for (int eager = 0; eager < 2; eager++) {
        size_t all, told = 0;

        failing = 0;
        OK(life(eager, ERR)); /* what is made once in a process is made here */
        calls = 0;
        OK(life(eager, ERR));
        all = calls;
        for (size_t n = 1; n <= all; n += n < POINTS ? 1 : all / POINTS + 1) {
            const long before = blocks;
            rp_error err = {0};
            rp_status status;

            calls = 0;
            failing = n;
            status = life(eager, &err);
            failing = 0;
            if ((status != RP_OK && (status != RP_ENOMEM || !*err.text)) || blocks != before)
                fail_msg("call %zu of %zu failing: %s \"%s\", %ld blocks left", n, all, rp_status_name(status),
                         err.text, blocks - before);
            told += status != RP_OK;
        }
        assert_true(told > POINTS);
    }
    rp_set_allocator(NULL);
    (void)remove("nn.json");
    (void)remove("nn-a.safetensors");
    (void)remove("nn.safetensors");
    (void)remove("nn.reprise");
}

static void what_is_not_recorded_has_no_archive(void **state)
{
    rp_nn *nn = model_new(model_of_images, false, 3);
    rp_error err = {0};

    (void)state;
    assert_null(rp_nn_recorder(nn));
    assert_int_equal(rp_nn_archive(nn, "nn.reprise", NULL, NULL, &err), RP_EARG);
    assert_non_null(strstr(err.text, "nothing is recorded"));
    rp_nn_free(nn);
}

/* What the library holds, and the most it held since the last reset; a block's size lies before it. */
typedef struct held {
    size_t now, most;
} held;

enum { BEFORE = 64, WORDS = 4096, WIDE = 64 };

static void *held_allocate(void *self, size_t bytes)
{
    held *h = self;
    char *block = aligned_alloc(BEFORE, (bytes + 2 * BEFORE - 1) / BEFORE * BEFORE);

    if (!block)
        return NULL;
    *(size_t *)(void *)block = bytes;
    h->now += bytes;
    h->most = h->now > h->most ? h->now : h->most;
    return block + BEFORE;
}

static void held_release(void *self, void *block)
{
    held *h = self;
    char *start = (char *)block - BEFORE;

    h->now -= *(size_t *)(void *)start;
    free(start);
}

static void *held_resize(void *self, void *block, size_t bytes)
{
    void *other = held_allocate(self, bytes);

    if (!other || !block)
        return other;
    const size_t had = *(size_t *)(void *)((char *)block - BEFORE);

    memcpy(other, block, had < bytes ? had : bytes);
    held_release(self, block);
    return other;
}

static rp_tensor model_of_words(rp_nn *nn, const rp_tensor *batch, void *self)
{
    const rp_tensor words = rp_nn_embedding(nn, "words", batch[0], WORDS, WIDE);
    const rp_tensor too = rp_nn_embedding(nn, "words_too", batch[0], WORDS, WIDE);

    (void)self;
    return rp_cross_entropy(rp_nn_linear(nn, "out", rp_add(words, too), 2), batch[0]);
}

/* Of two tensors of 1 MiB that are written one after the other, and whose axes PyTorch has in the same order, one is
 * held, once. */
static void saving_holds_one_tensor(void **state)
{
    held h = {0};
    const rp_allocator counted = {held_allocate, held_resize, held_release, &h};
    const int32_t row[4] = {0, 1, 1, 0};
    rp_nn *nn = NULL;
    size_t before;

    (void)state;
    rp_set_allocator(&counted);
    OK(rp_nn_new(&nn, &(rp_nn_options){.model = model_of_words, .batches = {.batch = 4}, .run = {.threads = 1}}, ERR));
    OK(rp_nn_array(nn, "x", RP_I32, 1, (size_t[]){4}, row, ERR));
    train(nn, 1);
    before = h.most = h.now;
    OK(rp_nn_save(nn, "nn.safetensors", &(rp_nn_save_options){.torch = true, .force = true}, ERR));
    assert_true(h.most - before >= WORDS * WIDE * sizeof(float));
    assert_true(h.most - before < WORDS * WIDE * sizeof(float) * 3 / 2);
    rp_nn_free(nn);
    assert_int_equal(h.now, 0);
    rp_set_allocator(NULL);
    (void)remove("nn.safetensors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_archive_eager_compiled_and_resumed),
        cmocka_unit_test(mixed_precision_is_recorded_and_replayed),
        cmocka_unit_test(checkpoints_parents_and_parts),
        cmocka_unit_test(an_archive_of_another_training_is_refused),
        cmocka_unit_test(weights_go_to_a_file_and_come_back),
        cmocka_unit_test(weights_go_to_several_files_and_come_back),
        cmocka_unit_test(weights_for_torch_come_back_too),
        cmocka_unit_test(an_index_names_the_files_and_torch_weights_are_turned),
        cmocka_unit_test(files_that_do_not_fit_are_told),
        cmocka_unit_test(memory_that_runs_out_is_told_and_nothing_leaks),
        cmocka_unit_test(what_is_not_recorded_has_no_archive),
        cmocka_unit_test(saving_holds_one_tensor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
