#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is installed works on its own: a program finds it through pkg-config, another through find_package, both train a
# step and save an archive, and the installed command replays it. The shared library exports nothing but rp_ names.
# Usage: test_install.sh BUILD_DIR C_COMPILER
set -euo pipefail
export LC_ALL=C
build=$(cd "$1" && pwd)
compiler=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" >"$work/log" || { cat "$work/log"; exit 1; }
library=$(find "$prefix" -name 'libreprise.so' | head -1)
folder=$(dirname "$library")

echo "== exported names"
nm -D --defined-only "$library" | awk '{ print $3 }' | sed 's/@.*//' >"$work/names"
[ "$(wc -l <"$work/names")" -gt 100 ] || { echo "only $(wc -l <"$work/names") names are exported"; exit 1; }
if grep -v '^rp_' "$work/names"; then
    echo "the names above are exported and do not start with rp_"
    exit 1
fi
readelf -d "$library" | grep -q 'SONAME.*libreprise\.so\.[0-9]' || { echo "no SONAME"; exit 1; }

echo "== public headers stand alone"
for header in "$prefix"/include/rp/*.h; do
    echo "#include \"rp/$(basename "$header")\"" >"$work/header.c"
    "$compiler" -std=c11 -Wall -Wextra -Werror -pedantic -I"$prefix/include" -fsyntax-only "$work/header.c"
done

mkdir "$work/program"
cat >"$work/program/program.c" <<'END'
#include <stdio.h>

#include "rp/rp.h"

int main(int argc, char **argv)
{
    size_t shape[] = {3};
    float initial[] = {1, 2, 3};
    char id[RP_DIGEST_HEX];
    rp_error err;
    rp_run *run;
    rp_recorder *recorder;
    rp_tensor w, loss, grad;

    if (argc != 2 || rp_run_new(&run, NULL, &err) != RP_OK ||
        rp_run_add_state(run, "w", RP_F32, 1, shape, initial, &err) != RP_OK ||
        rp_recorder_new(&recorder, run, &err) != RP_OK || rp_step_begin(run, &err) != RP_OK)
        return 1;
    w = rp_state(run, "w");
    loss = rp_mean(rp_mul(w, w), NULL, 0, false);
    rp_gradients(loss, &w, 1, &grad);
    rp_set_state(run, "w", rp_sub(w, grad));
    rp_result(run, "loss", loss);
    if (rp_step_end(run, &err) != RP_OK || rp_recorder_save(recorder, argv[1], NULL, false, id, &err) != RP_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    puts(id);
    rp_recorder_free(recorder);
    rp_run_free(run);
    return 0;
}
END
cat >"$work/program/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(program LANGUAGES C)
find_package(reprise 0.1 REQUIRED)
add_executable(program program.c)
target_link_libraries(program PRIVATE reprise::reprise)
add_executable(whole program.c)
target_link_libraries(whole PRIVATE reprise::static)
END

echo "== pkg-config"
export PKG_CONFIG_PATH=$folder/pkgconfig
# shellcheck disable=SC2046
"$compiler" -std=c11 -Wall -Wextra -Werror "$work/program/program.c" $(pkg-config --cflags --libs reprise) -o \
    "$work/one"
LD_LIBRARY_PATH=$folder "$work/one" "$work/one.reprise" >"$work/one.id"

echo "== find_package"
cmake -S "$work/program" -B "$work/program/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$compiler" \
    >"$work/log" 2>&1 && cmake --build "$work/program/build" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
LD_LIBRARY_PATH=$folder "$work/program/build/program" "$work/two.reprise" >"$work/two.id"

"$work/program/build/whole" "$work/three.reprise" >"$work/three.id"
! readelf -d "$work/program/build/whole" | grep 'NEEDED.*libreprise' ||
    { echo "reprise::static is not static"; exit 1; }
cmp "$work/two.reprise" "$work/three.reprise"
# shellcheck disable=SC2046
"$compiler" -std=c11 "$work/program/program.c" $(pkg-config --cflags reprise) "$folder/libreprise.a" \
    $(pkg-config --libs libcrypto libarchive yaml-0.1) -lm -lpthread -o "$work/four"
"$work/four" "$work/four.reprise" | cmp "$work/one.id" -

echo "== licence, manual pages, completion"
cmp "$(dirname "$0")/../../LICENSE" "$prefix/share/doc/reprise/LICENSE"
cmp "$(dirname "$0")/../../docs/output.schema.json" "$prefix/share/reprise/schema/output.schema.json"
for file in man/man1/reprise.1 man/man1/reprise-run.1 bash-completion/completions/reprise zsh/site-functions/_reprise \
    bash-completion/completions/reprise-verify fish/vendor_completions.d/reprise.fish; do
    [ -s "$prefix/share/$file" ] || { echo "share/$file is not installed"; exit 1; }
done

echo "== the installed command replays what they made"
cmp "$work/one.reprise" "$work/two.reprise"
cmp "$work/one.id" "$work/two.id"
"$prefix/bin/reprise" replay "$work/one.reprise"

echo "== libreprise-verify"
# by itself: no symbol that only libreprise has, nothing loaded but OpenSSL, libyaml and libc's own
verifier=$(find "$prefix" -name 'libreprise-verify.so' | head -1)
cat >"$work/verify.c" <<'END'
#include <stdio.h>
#include <stdlib.h>

#include "rp/verify.h"

/* An archive that came some other way than as a file. */
int main(int argc, char **argv)
{
    static unsigned char bytes[1 << 20];
    const rp_verify_options options = {.allow_unsigned = true};
    rp_verification *result;
    rp_reader reader;
    rp_error err;
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;

    reader = rp_reader_memory(bytes, size);
    if (rp_verify_reader(&reader, "memory", NULL, 0, &options, &result, NULL, &err) != RP_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    puts(result->archive_id);
    rp_verification_free(result);
    return 0;
}
END
# shellcheck disable=SC2046
"$compiler" -std=c11 -Wall -Wextra -Werror "$work/verify.c" -Wl,--no-undefined $(pkg-config --cflags --libs \
    reprise-verify) -o "$work/verify"
LD_LIBRARY_PATH=$folder "$work/verify" "$work/one.reprise" >"$work/verified.id"
cmp "$work/one.id" "$work/verified.id"
# shellcheck disable=SC2046
"$compiler" -std=c11 "$work/verify.c" $(pkg-config --cflags reprise-verify) -Wl,-Bstatic -L"$folder" -lreprise-verify \
    -Wl,-Bdynamic -lcrypto -lyaml -lm -lpthread -o "$work/verify_static"
"$work/verify_static" "$work/one.reprise" | cmp "$work/one.id" -
head -c 2000 "$work/one.reprise" >"$work/cut.reprise"
! LD_LIBRARY_PATH=$folder "$work/verify" "$work/cut.reprise" 2>/dev/null ||
    { echo "a cut archive is verified"; exit 1; }
nm -D --defined-only "$verifier" | awk '{ print $3 }' | sed 's/@.*//' >"$work/names"
! grep -v '^rp_' "$work/names" || { echo "the names above are exported and do not start with rp_"; exit 1; }
! grep -E 'rp_(run|matmul|train|replay|kernel|archive_add|key_generate)' "$work/names" ||
    { echo "libreprise-verify exports the names above, which it has no business with"; exit 1; }
readelf -d "$verifier" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
    grep -vE '^(libcrypto|libyaml|libc|libm|libpthread|ld-linux[^.]*)[-.]' &&
    { echo "libreprise-verify loads the libraries above"; exit 1; }

echo "== reprise-verify"
"$prefix/bin/reprise-verify" verify "$work/one.reprise" --allow-unsigned | grep -q "$(cat "$work/one.id")"
cp "$prefix/bin/reprise-verify" "$work/stripped"
strip "$work/stripped"
size=$(stat -c %s "$work/stripped")
[ "$size" -le 8388608 ] || { echo "reprise-verify has $size bytes, at most 8 MiB"; exit 1; }
if [ -f "$(dirname "$("$compiler" -print-file-name=libcrypto.so)")/libcrypto.a" ]; then
    ! ldd "$work/stripped" | grep -vE 'linux-vdso|libc\.so|ld-linux' || { echo "it loads the libraries above"; exit 1; }
fi
echo "reprise-verify: $size bytes stripped; $(wc -l <"$work/names") names in libreprise-verify"

if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null && command -v cpack >/dev/null; then
    echo "== a .deb"
    (cd "$build" && cpack -G DEB -B "$work/deb") >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    deb=$(find "$work/deb" -maxdepth 1 -name 'reprise_*.deb')
    dpkg-deb --field "$deb" Depends | grep -q 'libarchive.*libc6.*libssl3.*libyaml' ||
        { echo "it lacks dependencies"; exit 1; }
    dpkg-deb --extract "$deb" "$work/root"
    LD_LIBRARY_PATH=$work/root/usr/lib "$work/root/usr/bin/reprise" replay "$work/one.reprise"
    [ -s "$work/root/usr/share/man/man1/reprise-run.1" ] || { echo "the .deb has no manual"; exit 1; }
    if command -v lintian >/dev/null; then
        # what CPack does not make: a Debian changelog, compressed pages; reprise-verify is one file on purpose
        lintian --allow-root --fail-on error --suppress-tags \
            no-changelog,no-manual-page,uncompressed-manual-page,embedded-library "$deb" >"$work/log" 2>&1 ||
            { cat "$work/log"; exit 1; }
    fi
fi
