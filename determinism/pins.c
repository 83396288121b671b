/* SPDX-License-Identifier: Apache-2.0
 * Version pins: the built side from the headers' macros (libyaml has none: the build gives RP_YAML_BUILT), the loaded
 * side asked of the libraries themselves. */
#include "determinism/pins.h"

#include <archive.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <string.h>
#include <yaml.h>

#ifndef RP_YAML_BUILT
#define RP_YAML_BUILT "unknown"
#endif

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

enum { PINS = 4 };

static rp_pin pins[PINS];
static pthread_once_t pins_once = PTHREAD_ONCE_INIT;

static void set_pin(rp_pin *pin, const char *name, const char *built, const char *loaded)
{
    *pin = (rp_pin){name, built, loaded, strcmp(built, loaded) == 0};
}

static void fill_pins(void)
{
    set_pin(&pins[0], "OpenSSL", OPENSSL_VERSION_TEXT, OpenSSL_version(OPENSSL_VERSION));
    set_pin(&pins[1], "libarchive", ARCHIVE_VERSION_STRING, archive_version_string());
    set_pin(&pins[2], "libyaml", RP_YAML_BUILT, yaml_get_version_string());
    set_pin(&pins[3], "compiler", COMPILER, COMPILER);
}

const rp_pin *rp_pins(size_t *count)
{
    pthread_once(&pins_once, fill_pins);
    *count = PINS;
    return pins;
}
