#!/bin/sh
# Three legs in three processes, with the files judgments.json and angles.json in place of a host. Prints the brief.
#   sh run.sh SAVE_DIR
set -eu
mkdir -p "${1:?give a folder for the round}"
dir=$(cd "$1" && pwd)
cd "$(dirname "$0")"

# Leg 1: the engine sweeps; legbook stores the pool and prints what the host reads.
python3 engine.py nominate sweep.json > "$dir/pool.json"
legbook handoff nominate --save-dir "$dir" < "$dir/pool.json" > "$dir/digest.txt"
bundle_id=$(sed -n 's/^bundle_id: //p' "$dir/digest.txt")

# The host judges. Its file names the bundle.
sed "s/BUNDLE_ID/$bundle_id/" judgments.json > "$dir/judgments.json"

# Leg 2: legbook merges the judgments; the engine ranks; legbook keeps the report until it has its angles.
legbook handoff judge "$dir/judgments.json" --save-dir "$dir" --json > "$dir/judged.json"
python3 engine.py research < "$dir/judged.json" > "$dir/report.json"
legbook handoff report "$dir/report.json" --save-dir "$dir" > "$dir/angle-inputs.txt"

# The host writes angles.
sed "s/BUNDLE_ID/$bundle_id/" angles.json > "$dir/angles.json"

# Leg 3: legbook finalizes; the engine renders.
legbook handoff finalize --angles "$dir/angles.json" --save-dir "$dir" --json > "$dir/final.json"
python3 engine.py render < "$dir/final.json"
