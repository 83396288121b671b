#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Reports in a real browser: the page is not blank in light, dark and on paper, fits a narrow and a wide window, asks
# the network for nothing, and no row is lost on A4. Usage: report_render.sh REPRISE SOURCE_DIR. Exit 77 (skipped) where
# there is no chromium.
set -euo pipefail
reprise=$1
source=$2
browser=
for name in chromium chromium-browser google-chrome; do
    [ -n "$browser" ] || browser=$(command -v $name || true)
done
if [ -z "$browser" ]; then
    echo "skipped: no chromium here"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

render() { # file, options...: what the browser writes to stderr goes to said
    local file=$1
    shift
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" \
        --disable-background-networking --disable-component-update --disable-sync --no-first-run \
        "$@" "file://$work/$file.html" >said 2>&1
}

bad() {
    echo "FAIL: $*"
    tail -5 said
    exit 1
}

requests() { # what the last page asked of the network; the browser's own calls home are not the page's
    grep -oE '"url":"https?:[^"]*"' net.json | grep -vE '//[a-z0-9.-]*(google|googleapis|gvt1)\.com' | sort -u || true
}

for name in small image branch; do
    "$reprise" report "$source/golden/$name.reprise" -o $name.html
    render $name --window-size=900,1400 --screenshot="$work/$name.light.png" || bad "$name: no picture"
    render $name --window-size=900,1400 --blink-settings=preferredColorScheme=0 --screenshot="$work/$name.dark.png" ||
        bad "$name: no dark picture"
    # a page of one colour compresses to almost nothing
    for kind in light dark; do
        [ "$(stat -c %s $name.$kind.png)" -gt 20000 ] || bad "$name.$kind.png is blank"
    done
    ! cmp -s $name.light.png $name.dark.png || bad "$name: a dark screen looks like a light one"
    render $name --no-pdf-header-footer --print-to-pdf="$work/$name.pdf" || bad "$name: cannot be printed"
    [ "$(stat -c %s $name.pdf)" -gt 20000 ] || bad "$name.pdf is blank"
    if command -v pdftotext >/dev/null; then
        pdftotext -layout $name.pdf $name.txt
        for heading in Verdict Data Model Training Metrics Environment 'Appendix: digests' 'How to verify'; do
            grep -q "^[[:space:]]*$heading" $name.txt || bad "$name.pdf: no $heading"
        done
        id=$(tar -xOf "$source/golden/$name.reprise" manifest.json | sha256sum | head -c 64)
        tr -d ' \n' <$name.txt | grep -q "$id" || bad "$name.pdf: the archive id is cut"
        pages=$(pdfinfo $name.pdf | sed -n 's/^Pages: *//p')
        [ "$(grep -c "Archive $id.*Page [0-9]* of $pages" $name.txt)" = "$pages" ] ||
            bad "$name.pdf: a page without its number or the archive id"
        pdfinfo $name.pdf | grep -q 'Page size:.*A4' || bad "$name.pdf is not A4"
    fi
    # what the page asked for: the browser's own log of requests names the file alone
    render $name --log-net-log="$work/net.json" --window-size=900,1400 --screenshot="$work/again.png" ||
        bad "$name: no picture"
    [ -z "$(requests)" ] || bad "$name: something was requested: $(requests | head -3)"
    ! grep -qE "(src|href)=\"[^#]|url\\(|@import" $name.html || bad "$name.html refers to something outside"
done

# The log would notice: the same page with a picture from elsewhere, and without the policy against that.
sed -e '/Content-Security-Policy/d' -e 's#<main>#<main><img src="http://127.0.0.1:9/planted.png" alt=""/>#' \
    small.html >planted.html
render planted --log-net-log="$work/net.json" --window-size=900,1400 --screenshot="$work/again.png" ||
    bad "planted: no picture"
requests | grep -q planted.png || bad "a request that was planted is not seen"
echo "reports render"
