#!/usr/bin/env bash
# Counts the instructions of the hot paths under valgrind and compares them with the list in
# scripts/instructions.txt: a path that takes more than TOLERANCE percent over its count fails.
# `scripts/instructions.sh --write` writes the list anew, on purpose.
set -euo pipefail
cd "$(dirname "$0")/.."
TOLERANCE=${TOLERANCE:-5}
list=scripts/instructions.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The processor that the counts are for: another has other instructions.
machine=$(uname -m)
if [ "$machine" != x86_64 ]; then
  echo "instructions are listed for x86_64, this is $machine: not compared"
  exit 0
fi

# A profile of its own: without optimisation across crates it builds soon, and with one unit for each
# crate it builds the same everywhere.
cargo build --quiet --profile instructions -p tidegate-instructions
target=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
walk=$target/instructions/tidegate-instructions

# count PATH: the instructions of one walk of it. Counted is what runs below `measured`. The C library
# is told to use its plainest routines, so that they do not depend on the processor.
count() {
  local walks
  walks=$(GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX512F,-ERMS,-FSRM \
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*::measured' \
    "$walk" "$1" 2>"$work/valgrind") || { cat "$work/valgrind" >&2; return 1; }
  awk -v path="$1" -v walks="$walks" '/ Collected :/ { n = $NF }
    END { if (!n) exit 1; printf "%s %.0f\n", path, n / walks }' "$work/valgrind"
}

for path in $("$walk"); do count "$path" >>"$work/counts"; done

if [ "${1:-}" = --write ]; then
  {
    echo "# Instructions per check of each hot path, counted by valgrind on x86_64 in the profile"
    echo "# \`instructions\`. Written by scripts/instructions.sh --write; see CONTRIBUTING.md."
    cat "$work/counts"
  } >"$list"
  cat "$list"
  exit 0
fi

awk -v tolerance="$TOLERANCE" '
  /^#/ { next }
  FNR == NR { listed[$1] = $2; next }
  { seen[$1] = 1
    if (!($1 in listed)) { printf "%-28s %6d  is not in the list\n", $1, $2; bad = 1; next }
    change = 100 * ($2 / listed[$1] - 1)
    verdict = change > tolerance ? "TOO MANY" : change < -tolerance ? "fewer: write the list anew" : "ok"
    if (change > tolerance) bad = 1
    printf "%-28s %6d  listed %6d  %+5.1f %%  %s\n", $1, $2, listed[$1], change, verdict }
  END {
    for (path in listed) if (!(path in seen)) { printf "%-28s is listed, but was not walked\n", path; bad = 1 }
    exit bad }' "$list" "$work/counts" || {
  cat >&2 <<END

A hot path takes over $TOLERANCE % more instructions than $list says.
If that is not meant: find what makes it so (valgrind --tool=callgrind --toggle-collect='*::measured' $walk PATH).
If it is meant: scripts/instructions.sh --write, commit the list, and say in the message what it buys.
END
  exit 1
}
