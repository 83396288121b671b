#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Recipes on images: a folder and a list train the run of the table that the pixels are, and a replay needs neither
# images nor decoder; damaged, odd and foreign files are refused. Usage: images.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/../cli_lib.sh"

holds "the images are made" python3 "$source_dir/tests/cli/data/make_images.py" .
image_recipe() { # name, data
    printf '%s\n' 'reprise: 1' 'seed: 2' "data: {$2}" \
        'model: {image: [6, 6, 3], conv: [{filters: 4, pool: max}], hidden: [6]}' \
        'train: {epochs: 6, batch: 9, optimizer: {lr: 0.01}}' >"$1.yaml"
}
image_recipe i 'images: pictures, labels: labels.csv'
image_recipe t 'csv: all.csv, target: y'
attempt "$reprise" run i.yaml -o i.reprise
if [ "$code" -ne 0 ] && grep -q 'this build decodes no' "$log/err"; then
    echo "skipped: $(cat "$log/err")"
    exit 77
fi
works '^validation +accuracy' "$reprise" run i.yaml -o i.reprise --force
works '^validation +accuracy' "$reprise" run t.yaml -o t.reprise
for k in i t; do
    "$reprise" inspect $k.reprise --member weights/final.safetensors -o $k.weights >/dev/null
    "$reprise" inspect $k.reprise --member data/raw.csv -o $k.csv >/dev/null
done
holds "the table is that of the pixels" cmp i.csv all.csv
holds "and the model is that of the table" cmp i.weights t.weights
works '"images":\{"channels":3,"count":90,"height":6,"labels":"[0-9a-f]{64}","sha256":"[0-9a-f]{64}","width":6\}' \
    "$reprise" inspect i.reprise --member run/recipe.json
works '^x.0.0.0 +numeric' "$reprise" data i.yaml
works '^left out' "$reprise" run i.yaml -o w.reprise --withhold kept
works '"labels":null' "$reprise" inspect w.reprise --member run/recipe.json
mv pictures elsewhere
works '^identical' "$reprise" replay i.reprise --isa ref --threads 1
works '^identical' "$reprise" replay w.reprise --withheld kept
mv elsewhere pictures
works '^written' "$reprise" predict i.reprise --csv all.csv -o p.csv
works '^written' "$reprise" report i.reprise -o i.html

# What is refused, with the file and why.
corpus=$source_dir/tests/fuzz/corpus/image
cp "$corpus"/* pictures
refuse() { # pattern, second line of the list, header
    printf '%s\n' "${3:-file,label}" '0.png,a' "$2" >some.csv
    image_recipe bad 'images: pictures, labels: some.csv'
    fails '[12]' "$1" "$reprise" run bad.yaml -o n.reprise
}
refuse 'grey.png: 8 x 8 with 1 channels, but .*0.png is 6 x 6 with 3' 'grey.png,b'
refuse 'bad-alpha.png: has transparency' 'bad-alpha.png,b'
refuse 'bad-16.png: has 16 bits' 'bad-16.png,b'
refuse 'bad-cmyk.jpg: has 4 components' 'bad-cmyk.jpg,b'
refuse 'bad-cut.png: no whole PNG image' 'bad-cut.png,b'
refuse 'bad-cut.jpg: no whole JPEG image' 'bad-cut.jpg,b'
refuse 'bad-large.png: 60000 x 60000 with 3 channels, expected at most 1048576 bytes' 'bad-large.png,b'
refuse 'colours.jpg: 8 x 8 with 3 channels' 'colours.jpg,b'
refuse 'interlaced.png: 2 x 2 with 1 channels' 'interlaced.png,b'
cp all.csv pictures/table.png
refuse 'table.png: expected a PNG or a JPEG image' 'table.png,b'
refuse 'some.csv:3: expected the name of a file in the folder' '../all.csv,b'
refuse 'some.csv:3: expected the name of a file in the folder' "$PWD/pictures/1.png,b"
refuse 'none.png: cannot open' 'none.png,b'
refuse 'expected a header of the columns file and label' '1.png,b' 'path,label'
refuse 'some.csv:3: expected the columns file and label, found 1 cells' '1.png'
image_recipe bad 'images: pictures'
fails 2 'key data.labels: required' "$reprise" run bad.yaml -o n.reprise
image_recipe bad 'images: pictures, labels: labels.csv, target: y'
fails 2 'key data.target' "$reprise" run bad.yaml -o n.reprise
image_recipe bad 'csv: all.csv, target: y, labels: labels.csv'
fails 2 'key data.labels' "$reprise" run bad.yaml -o n.reprise
finish
