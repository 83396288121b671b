/* SPDX-License-Identifier: Apache-2.0
 * Products by the stand-in library on the emulated device: bits of each kind, whatever the operands' layout; the C
 * API's runs; what is refused. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "core/run/run.h"
#include "kernels/conformance/conformance.h"
#include "kernels/device.h"
#include "kernels/gpu/pinned/cublaslt.h"
#include "rp/rp.h"

static rp_error err;
#define OK(call) \
    do { \
        if ((call) != RP_OK) \
            fail_msg("%s", err.text); \
    } while (0)

enum { B = 3, M = 5, K = 7, N = 6 };

static float number(unsigned i)
{
    return (float)((int)(i * 2654435761u >> 20) - 2048) / 512.0F + 1.0F / 3.0F;
}

/* The stand-in's first order: from the last k down. */
static float sum_f32(const float *a, size_t a_step, const float *b, size_t b_step)
{
    float sum = 0;

    for (int i = K - 1; i >= 0; i--)
        sum = __builtin_fmaf(a[(size_t)i * a_step], b[(size_t)i * b_step], sum);
    return sum;
}

static rp_run *new_run(const char *pinned)
{
    const rp_run_options options = {.threads = 1, .device = "emulated", .pinned = pinned};
    rp_run *run;

    OK(rp_run_new(&run, &options, &err));
    return run;
}

static float a[B * M * K], b[B * K * N], y[B * M * N], turned[K * M];

static void fill(void)
{
    for (unsigned i = 0; i < B * M * K; i++)
        a[i] = number(i);
    for (unsigned i = 0; i < B * K * N; i++)
        b[i] = number(i + 1000);
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++)
            turned[k * M + i] = a[i * K + k];
}

static void multiply(rp_run *run, rp_tensor x, rp_tensor w, void *out, size_t size)
{
    OK(rp_read(run, rp_matmul(x, w), out, size, &err));
}

static void expect(const float *found, const float *x, const float *w, size_t n)
{
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < n; j++) {
            const float expected = sum_f32(&x[i * K], 1, &w[j], n);

            assert_memory_equal(&found[i * n + j], &expected, sizeof expected);
        }
}

static void products_have_the_librarys_bits_whatever_their_layout(void **state)
{
    rp_run *run = new_run("f32");
    const rp_pinned *pinned;

    (void)state;
    fill();
    OK(rp_step_begin(run, &err));
    rp_tensor x = rp_feed(run, "x", RP_F32, 2, (size_t[]){M, K}, a),
              w = rp_feed(run, "w", RP_F32, 2, (size_t[]){K, N}, b);
    rp_tensor xt = rp_feed(run, "xt", RP_F32, 2, (size_t[]){K, M}, turned);
    multiply(run, x, w, y, sizeof(float) * M * N);
    expect(y, a, b, N);
    memset(y, 0, sizeof y);
    multiply(run, rp_transpose(xt, NULL), w, y, sizeof(float) * M * N);
    expect(y, a, b, N);
    /* a batch, and a batch whose second operand is one for all */
    rp_tensor xs = rp_feed(run, "xs", RP_F32, 3, (size_t[]){B, M, K}, a);
    rp_tensor ws = rp_feed(run, "ws", RP_F32, 3, (size_t[]){B, K, N}, b);
    multiply(run, xs, ws, y, sizeof y);
    for (size_t i = 0; i < B; i++)
        expect(y + i * M * N, a + i * M * K, b + i * K * N, N);
    multiply(run, xs, w, y, sizeof y);
    for (size_t i = 0; i < B; i++)
        expect(y + i * M * N, a + i * M * K, b, N);
    OK(rp_step_end(run, &err));
    pinned = rp_device_pinned(rp_run_device(run));
    assert_int_equal(pinned->products, 2); /* layouts are none of a shape */
    assert_int_equal(pinned->product[0].batch, 1);
    assert_int_equal(pinned->product[1].batch, B);
    rp_run_free(run);
}

/* A product that is only read turned is made turned by other plans (core/run/rewrites/turned.c). */
static void plans_multiply_the_shapes_of_the_program(void **state)
{
    const rp_type left = {.dtype = RP_F32, .rank = 2, .shape = {K, M}}, right = {RP_F32, 2, {K, N}};
    rp_run *run = new_run("f32");
    rp_program *program;
    rp_compiled *compiled;
    rp_tensor x, w;
    rp_graph *g;

    (void)state;
    fill();
    OK(rp_graph_symbolic(&g, &err));
    x = rp_graph_declare(g, RP_INPUT_FEED, "x", &left);
    w = rp_graph_declare(g, RP_INPUT_FEED, "w", &right);
    rp_graph_result(g, "y", rp_neg(rp_transpose(rp_matmul(rp_transpose(x, NULL), w), NULL)));
    OK(rp_graph_finish(g, &program, &err));
    OK(rp_compile(&compiled, run, program, &err));
    OK(rp_compiled_write(compiled, "x", turned, sizeof turned, &err));
    OK(rp_compiled_write(compiled, "w", b, sizeof(float) * K * N, &err));
    OK(rp_compiled_step(compiled, &err));
    OK(rp_compiled_read(compiled, "y", y, sizeof(float) * M * N, &err));
    assert_int_equal(rp_device_pinned(rp_run_device(run))->products, 1);
    assert_int_equal(rp_device_pinned(rp_run_device(run))->product[0].m, M);
    assert_int_equal(rp_device_pinned(rp_run_device(run))->product[0].n, N);
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            const float expected = -sum_f32(&a[i * K], 1, &b[j], N);

            assert_memory_equal(&y[j * M + i], &expected, sizeof expected);
        }
    rp_compiled_free(compiled);
    rp_program_free(program);
    rp_run_free(run);
}

static void only_the_named_kind_is_the_librarys(void **state)
{
    static const char *const kinds[] = {"f32", "f64", "tf32", "bf16"};

    (void)state;
    fill();
    for (size_t i = 0; i < 4; i++) {
        rp_run *run = new_run(kinds[i]);
        double wide[M * N];

        OK(rp_step_begin(run, &err));
        rp_tensor x = rp_feed(run, "x", RP_F32, 2, (size_t[]){M, K}, a);
        rp_tensor w = rp_feed(run, "w", RP_F32, 2, (size_t[]){K, N}, b);
        multiply(run, x, w, y, sizeof(float) * M * N);
        assert_int_equal(rp_device_pinned(rp_run_device(run))->products, i == 0 || i == 2);
        multiply(run, rp_cast(x, RP_F64), rp_cast(w, RP_F64), wide, sizeof wide);
        assert_int_equal(rp_device_pinned(rp_run_device(run))->products, i != 3);
        multiply(run, rp_cast(x, RP_BF16), rp_cast(w, RP_BF16), y, sizeof(float) * M * N);
        assert_int_equal(rp_device_pinned(rp_run_device(run))->products, 1);
        OK(rp_step_end(run, &err));
        rp_run_free(run);
    }
}

/* Three steps of a model of one matrix; its archive. What it has come to is in b. */
static void record_from(const char *path, const char *pinned, const char *parent, char id[RP_DIGEST_HEX])
{
    rp_run *run = new_run(pinned);
    rp_recorder *recorder;

    OK(rp_run_add_state(run, "w", RP_F32, 2, (size_t[]){K, N}, b, &err));
    OK(rp_recorder_new(&recorder, run, &err));
    if (parent)
        OK(rp_recorder_set_parent(recorder, parent, 0, &err));
    for (int step = 0; step < 3; step++) {
        OK(rp_step_begin(run, &err));
        rp_tensor x = rp_feed(run, "x", RP_F32, 2, (size_t[]){M, K}, a + step), w = rp_state(run, "w");
        rp_tensor loss = rp_mean(rp_matmul(x, w), NULL, 0, false);

        rp_result(run, "loss", loss);
        rp_set_state(run, "w", rp_sub(w, rp_mul(w, loss)));
        OK(rp_step_end(run, &err));
    }
    OK(rp_run_get_state(run, "w", b, sizeof(float) * K * N, &err));
    OK(rp_recorder_save(recorder, path, NULL, true, id, &err));
    rp_recorder_free(recorder);
    rp_run_free(run);
}

static void record(const char *path, const char *pinned, char id[RP_DIGEST_HEX])
{
    fill();
    record_from(path, pinned, NULL, id);
}

static void a_run_of_the_api_is_pinned_and_replayed(void **state)
{
    char folder[] = "/tmp/rp-pinned-XXXXXX", path[64], id[RP_DIGEST_HEX], other[RP_DIGEST_HEX];
    rp_archive *archive;
    rp_job *job = NULL;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/a.reprise", folder);
    record(path, NULL, other);
    record(path, "f32", id);
    assert_string_not_equal(id, other);
    OK(rp_archive_open(&archive, path, &err));
    OK(rp_replay(archive, &(rp_job_options){.threads = 1, .device = "emulated"}, &job, &err)); /* compiled, not eager */
    rp_job_free(job);
    assert_int_equal(rp_replay(archive, &(rp_job_options){.threads = 1}, &job, &err), RP_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "is not attempted here"));
    rp_archive_close(archive);
    (void)unlink(path);
    (void)rmdir(folder);
}

static void a_portable_run_of_the_api_says_what_line_it_is_of(void **state)
{
    char folder[] = "/tmp/rp-pinned-XXXXXX", path[3][64], id[3][RP_DIGEST_HEX];
    rp_archive *archive[3];
    rp_job *job = NULL;
    rp_pinned_to to;

    (void)state;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path[i], sizeof path[i], "%s/%zu.reprise", folder, i);
        if (i == 0)
            record(path[i], "f32", id[i]);
        else
            record_from(path[i], NULL, path[i - 1], id[i]);
        OK(rp_archive_open(&archive[i], path[i], &err));
        rp_archive_pinned_to(archive[i], &to);
        assert_string_equal(to.run, i == 0 ? "stand-in 130000 on Emulated (4 multiprocessors)" : "");
        assert_string_equal(to.line, i == 0 ? "" : "stand-in 130000 on Emulated (4 multiprocessors)");
        assert_string_equal(to.line_id, i == 0 ? "" : id[0]);
        if (i == 0)
            continue;
        OK(rp_check_parent(archive[i], archive[i - 1], &err));
        OK(rp_replay(archive[i], &(rp_job_options){.threads = 1}, &job, &err)); /* anywhere */
        rp_job_free(job);
    }
    for (size_t i = 0; i < 3; i++) {
        rp_archive_close(archive[i]);
        (void)unlink(path[i]);
    }
    (void)rmdir(folder);
}

static void wrong_options_are_told(void **state)
{
    static const struct {
        rp_run_options options;
        rp_status status;
        const char *text;
    } cases[] = {
        {{.pinned = "f32"}, RP_EUNSUPPORTED, "device cpu has no library"},
        {{.device = "emulated", .pinned_workspace = 1024}, RP_EARG, "belongs to a run that is pinned"},
        {{.device = "emulated", .pinned = "f16"}, RP_EARG, "expected f32, f64, tf32 or bf16, found f16"},
        {{.device = "emulated", .pinned = "f32", .pinned_workspace = 1u << 31}, RP_EARG, "at most 1073741824"},
    };
    rp_run *run;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(rp_run_new(&run, &cases[i].options, &err), cases[i].status);
        assert_null(run);
        assert_non_null(strstr(err.text, cases[i].text));
    }
}

/* Nothing that follows a wrong index reaches a state, the library's products not either. */
static void a_product_behind_a_wrong_index_reaches_no_state(void **state)
{
    const int32_t index[M] = {0, 1, 99, 2, 3};
    float now[M * N], before[M * N];
    rp_run *run = new_run("f32");

    (void)state;
    fill();
    memcpy(before, b, sizeof before);
    OK(rp_run_add_state(run, "s", RP_F32, 2, (size_t[]){M, N}, before, &err));
    OK(rp_step_begin(run, &err));
    rp_tensor table = rp_feed(run, "x", RP_F32, 2, (size_t[]){M, K}, a);
    rp_tensor rows = rp_gather(table, rp_feed(run, "i", RP_I32, 1, (size_t[]){M}, index), 0);
    rp_set_state(run, "s", rp_matmul(rows, rp_feed(run, "w", RP_F32, 2, (size_t[]){K, N}, b)));
    assert_int_not_equal(rp_step_end(run, &err), RP_OK);
    OK(rp_run_get_state(run, "s", now, sizeof now, &err));
    assert_memory_equal(now, before, sizeof now);
    rp_run_free(run);
}

/* Nor any other memory: nothing that was launched behind it is executed. */
static void nor_any_memory(void **state)
{
    const int32_t index[M] = {0, 1, 99, 2, 3};
    const float before[M * N] = {1, 2, 3};
    float now[M * N];
    rp_device *device;
    void *memory[4];
    const void *const from[] = {a, b, before, index};
    const size_t size[] = {sizeof(float) * M * K, sizeof(float) * K * N, sizeof before, sizeof index};
    rp_index_fault fault;

    (void)state;
    fill();
    OK(rp_device_open(&device, "emulated", NULL, 1, &err));
    OK(rp_device_use_pinned(device, RP_PINNED_F32, 1 << 20, &err));
    for (size_t i = 0; i < 4; i++) {
        OK(rp_device_allocate(device, &memory[i], size[i], &err));
        OK(rp_device_upload(device, memory[i], from[i], size[i], NULL, &err));
    }
    const rp_view in[] = {{memory[0], RP_F32, 2, {M, K}, {K, 1}}, {memory[1], RP_F32, 2, {K, N}, {N, 1}}};
    const rp_view out = {memory[2], RP_F32, 2, {M, N}, {N, 1}}, rows = {memory[3], RP_I32, 1, {M}, {1}};
    OK(rp_device_check(device, &(rp_index_check){.index = rows, .bound = M}, NULL, &err));
    OK(rp_device_launch(device, RP_K_matmul, &(rp_kernel_args){in, 2, &out, 1, NULL}, NULL, &err));
    OK(rp_device_synchronize(device, NULL, &err));
    OK(rp_device_read(device, now, memory[2], sizeof now, NULL, &err));
    assert_true(rp_device_fault(device, &fault));
    assert_memory_equal(now, before, sizeof now);
    for (size_t i = 0; i < 4; i++)
        rp_device_release(device, memory[i]);
    rp_device_free(device);
}

/* The vectors are about the contract's kernels, and leave no product behind that the run did not compute. */
static void a_pinned_device_is_held_to_the_contract_without_its_library(void **state)
{
    rp_device *device;
    size_t checked = 0;

    (void)state;
    OK(rp_device_open(&device, "emulated", NULL, 1, &err));
    OK(rp_device_use_pinned(device, RP_PINNED_F32, 1 << 20, &err));
    OK(rp_conformance_device(device, false, &checked, &err));
    assert_true(checked > 0);
    assert_non_null(rp_device_pinned(device));
    assert_int_equal(rp_device_pinned(device)->products, 0);
    rp_device_free(device);
}

/* What a product left behind that the library failed at is unknown: nothing more is computed there. */
static void a_product_that_fails_breaks_its_device(void **state)
{
    rp_device *device;
    void *memory;

    (void)state;
    fill();
    OK(rp_device_open(&device, "emulated", NULL, 1, &err));
    OK(rp_device_use_pinned(device, RP_PINNED_F32, 1 << 20, &err));
    OK(rp_device_allocate(device, &memory, sizeof a, &err));
    OK(rp_device_upload(device, memory, a, sizeof a, NULL, &err));
    const rp_view in[] = {{memory, RP_F32, 2, {1, 1}, {1, 1}}, {memory, RP_F32, 2, {1, 1}, {1, 1}}};
    const rp_view out = {(char *)memory + 64, RP_F32, 2, {1, 1}, {1, 1}};
    assert_int_equal(setenv("RP_STANDIN_FAIL", "cublasLtMatmul:1:13", 1), 0);
    assert_int_equal(rp_device_launch(device, RP_K_matmul, &(rp_kernel_args){in, 2, &out, 1, NULL}, NULL, &err),
                     RP_EIO);
    assert_int_equal(unsetenv("RP_STANDIN_FAIL"), 0);
    assert_non_null(strstr(err.text, "product of 1 times m 1, n 1, k 1: cublasLtMatmul"));
    assert_int_equal(rp_device_launch(device, RP_K_matmul, &(rp_kernel_args){in, 2, &out, 1, NULL}, NULL, &err),
                     RP_EIO);
    assert_non_null(strstr(err.text, "cublasLtMatmul"));
    rp_device_release(device, memory);
    rp_device_free(device);
}

static void put_copy(const char *to, const char *from)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    char part[4096];
    size_t n;

    assert_non_null(in);
    assert_non_null(out);
    while ((n = fread(part, 1, sizeof part, in)) > 0)
        assert_int_equal(fwrite(part, 1, n, out), n);
    assert_int_equal(fclose(in), 0);
    assert_int_equal(fclose(out), 0);
}

/* Its digest would be another file's than the one that computes. */
static void a_library_that_was_replaced_is_told(void **state)
{
    char folder[] = "/tmp/rp-pinned-XXXXXX", path[64], found[4096];
    rp_pinned_library identity, copy;
    rp_cublaslt *beside, *library;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/library.so", folder);
    OK(rp_cublaslt_load(&beside, &identity, "emulated", getenv("RP_EMULATED_LIBRARY"), &err));
    put_copy(path, identity.path);
    assert_int_equal(setenv("RP_CUBLASLT_LIBRARY", path, 1), 0);
    OK(rp_cublaslt_load(&library, &copy, "emulated", "", &err));
    assert_int_equal(unsetenv("RP_CUBLASLT_LIBRARY"), 0);
    OK(rp_loaded_file(found, *(void **)&library->cublasLtMatmul, "it", &err));
    assert_string_equal(found, path);
    assert_int_equal(unlink(path), 0);
    put_copy(path, identity.path);
    assert_int_equal(rp_loaded_file(found, *(void **)&library->cublasLtMatmul, "it", &err), RP_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "was it replaced meanwhile?"));
    rp_cublaslt_close(library);
    rp_cublaslt_close(beside);
    (void)unlink(path);
    (void)rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_have_the_librarys_bits_whatever_their_layout),
        cmocka_unit_test(plans_multiply_the_shapes_of_the_program),
        cmocka_unit_test(only_the_named_kind_is_the_librarys),
        cmocka_unit_test(a_run_of_the_api_is_pinned_and_replayed),
        cmocka_unit_test(a_portable_run_of_the_api_says_what_line_it_is_of),
        cmocka_unit_test(wrong_options_are_told),
        cmocka_unit_test(a_product_behind_a_wrong_index_reaches_no_state),
        cmocka_unit_test(nor_any_memory),
        cmocka_unit_test(a_pinned_device_is_held_to_the_contract_without_its_library),
        cmocka_unit_test(a_product_that_fails_breaks_its_device),
        cmocka_unit_test(a_library_that_was_replaced_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
