#!/usr/bin/env bash
# How much memory a replay of a large log takes: writes 5 million lines, about 1 GB, of a million
# addresses, plays them with the release build, prints the peak of the process's memory as the
# kernel counts it, and fails from 300 MB on. The log goes to TMPDIR and is removed.
# LINES_WANTED and MOST_MB change the size and the bound.
set -euo pipefail
cd "$(dirname "$0")/.."
lines=${LINES_WANTED:-5000000}
most_mb=${MOST_MB:-300}

cargo build --release --quiet -p tidegate-server
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
log=$folder/access.log

awk -v lines="$lines" 'BEGIN {
  agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/100.0.0.0 Safari/537.36"
  for (i = 0; i < lines; i++) {
    # 7919 has no factor in common with a million: every address comes up, in no order.
    who = (i * 7919) % 1000000
    printf "10.%d.%d.%d - - [17/May/2015:%02d:%02d:%02d +0000] \"GET /items/%d?page=%d HTTP/1.1\" 200 %d \"http://example.com/\" \"%s\"\n",
      who / 65536, int(who / 256) % 256, who % 256, int(i / 250000) % 24, int(i / 4000) % 60, int(i / 70) % 60, i % 99991, i % 7, 200 + i % 5000, agent
  }
}' >"$log"

start=$SECONDS
target/release/tidegate replay "$log" --limit '3/day' --limit 'fixed_window 4/day' --json >"$folder/report" 2>"$folder/errors" &
pid=$!
peak_kb=0
# The kernel keeps the highest value itself, so that only the last look before the end counts.
while kb=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [ -n "$kb" ]; do
  peak_kb=$kb
  sleep 0.05
done
wait "$pid" || { cat "$folder/errors" >&2; exit 1; }
played=$(awk -F '[:,]' '/"played"/ { print $2 + 0 }' "$folder/report")
keys=$(awk -F '[:,]' '/"keys"/ { print $2 + 0 }' "$folder/report")
size_mb=$(($(stat -c %s "$log") / 1000000))
peak_mb=$((peak_kb / 1000))
echo "$played lines, $keys keys, $size_mb MB played in $((SECONDS - start)) s; peak memory $peak_mb MB, allowed below $most_mb MB"
[ "$played" -eq "$lines" ] && [ "$peak_kb" -gt 0 ] && [ "$peak_mb" -lt "$most_mb" ]
