/* SPDX-License-Identifier: Apache-2.0
 * Project Wycheproof's vectors for ECDSA on P-256: each gets its published verdict from the function that checks every
 * signature of an archive. Exit 77 (skipped) where the vectors are absent. */
#include "tests/audit/archive/archive_sample.h"

#include <unistd.h>

static const char vectors[] = RP_SOURCE_DIR "/../shared/vectors/wycheproof_ecdsa_p256_sha256.json";

static void unhex(rp_buffer *out, const char *hex)
{
    out->size = 0;
    for (size_t i = 0; hex[i] != '\0'; i += 2) {
        unsigned char byte;
        char two[3] = {hex[i], hex[i + 1], '\0'};
        assert_true(rp_unhex(&byte, 1, two));
        rp_buffer_u8(out, byte);
    }
}

static void wycheproof_vectors_get_their_verdicts(void **state)
{
    rp_buffer text = {0}, message = {0}, signature = {0};
    rp_json *file, *group, *test;
    size_t i, j, valid = 0, invalid = 0, acceptable = 0, accepted = 0;
    rp_error err;

    (void)state;
    assert_ok(rp_file_read(vectors, 1 << 24, &text, &err));
    assert_ok(rp_json_parse(&file, text.data, text.size, false, "wycheproof", &err));
    rp_json_array_foreach (rp_json_object_get(file, "testGroups"), i, group) {
        const char *pem = rp_json_string_value(rp_json_object_get(group, "publicKeyPem"));
        rp_key *public_key;
        assert_ok(rp_key_public_from_pem(&public_key, pem, strlen(pem), "vector", &err));
        rp_json_array_foreach (rp_json_object_get(group, "tests"), j, test) {
            const char *verdict = rp_json_string_value(rp_json_object_get(test, "result"));
            unhex(&message, rp_json_string_value(rp_json_object_get(test, "msg")));
            unhex(&signature, rp_json_string_value(rp_json_object_get(test, "sig")));
            bool good =
                rp_key_check(public_key, message.data, message.size, signature.data, signature.size, &err) == RP_OK;
            if (strcmp(verdict, "acceptable") == 0) {
                print_message("acceptable %d: %s\n", (int)rp_json_integer_value(rp_json_object_get(test, "tcId")),
                              good ? "accepted" : "refused");
                acceptable++;
                accepted += good;
            } else if (good != (strcmp(verdict, "valid") == 0)) {
                fail_msg(
                    "vector %d (%s): %s, expected %s", (int)rp_json_integer_value(rp_json_object_get(test, "tcId")),
                    rp_json_string_value(rp_json_object_get(test, "comment")), good ? "accepted" : "refused", verdict);
            }
            valid += strcmp(verdict, "valid") == 0;
            invalid += strcmp(verdict, "invalid") == 0;
        }
        rp_key_free(public_key);
    }
    print_message("Wycheproof: %zu valid accepted, %zu invalid refused, %zu acceptable (%zu accepted)\n", valid,
                  invalid, acceptable, accepted);
    assert_int_equal(valid + invalid + acceptable, rp_json_integer_value(rp_json_object_get(file, "numberOfTests")));
    rp_json_free(file);
    rp_buffer_free(&text);
    rp_buffer_free(&message);
    rp_buffer_free(&signature);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wycheproof_vectors_get_their_verdicts)};

    if (access(vectors, R_OK) != 0) {
        print_message("skipped: %s is not here\n", vectors);
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
