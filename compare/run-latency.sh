#!/usr/bin/env bash
# How long single checks take while something else goes on, in process and over HTTP, as Markdown.
#
#   compare/run-latency.sh [upkeep|keys|all]
#
# upkeep  in process: during sweeps of 5M keys, growth to 1M keys, and a flood of new keys at the bound
# keys    over HTTP: keys of 11 bytes, of 1024, and of 64 KiB, which are refused
#
# What is measured here is claimed in tests only where it can be counted: a shared machine makes a
# thread wait for milliseconds by itself, so the columns beside say what no disturbance takes.
# run-service.sh has the rest: `disturbed` (a scrape, a sweep and growth over HTTP), `cores`.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
TIDEGATE=${TIDEGATE:-$root/target/release/tidegate}

upkeep() {
  (cd "$here" && cargo build --release --quiet -p inproc) || exit 1
  "$here/target/release/inproc" upkeep
}

# by_key BYTES: p50 and p99 of requests with a key of so many bytes, one at a time, in microseconds.
by_key() {
  local script="$work/key.lua"
  printf 'wrk.method = "POST"\nwrk.path = "/limit"\nwrk.headers["X-Client-Key"] = string.rep("k", %d)\n' "$1" >"$script"
  # "     50%   45.00us": in us, ms or s.
  wrk -t1 -c1 -d"${SECONDS_EACH}s" --latency -s "$script" "http://127.0.0.1:$BASE_PORT/" | awk '
    function us(text) { return text ~ /us$/ ? text + 0 : text ~ /ms$/ ? text * 1000 : text * 1000000 }
    $1 == "50%" { half = us($2) } $1 == "99%" { most = us($2) } END { printf "%.0f %.0f\n", half, most }'
}

keys() {
  need wrk wrk
  [ "$TIDEGATE" = "$root/target/release/tidegate" ] &&
    { (cd "$root" && cargo build --release --quiet --bin tidegate) || exit 1; }
  cat >"$work/config.yaml" <<YAML
listen: { http: "127.0.0.1:$BASE_PORT", grpc: "127.0.0.1:$((BASE_PORT + 1))" }
metrics: { listen: "127.0.0.1:$((BASE_PORT + 2))" }
store: in_memory
policies: { default: { limits: [{ name: bucket, algorithm: token_bucket, capacity: 1000000, rate: 1000000/s }] } }
YAML
  start tidegate "$BASE_PORT" "$TIDEGATE" --config "$work/config.yaml" || exit 1
  local run bytes
  for run in $(seq "$RUNS"); do
    for bytes in 11 1024 65536; do by_key "$bytes" >>"$work/figures.key.$bytes"; done
  done
  printf '\n### %s\n\n' "Long keys over HTTP, one request at a time: \`compare/run-latency.sh keys\`"
  echo "| key | p50 us | p99 us | p50 to that of 11 bytes | target |"
  echo "|---|---|---|---|---|"
  local short
  short=$(figure key 11 1)
  for bytes in 11 1024 65536; do
    awk -v bytes="$bytes" -v p50="$(figure key "$bytes" 1)" -v p99="$(figure key "$bytes" 2)" -v short="$short" 'BEGIN {
      what = bytes " bytes" (bytes > 1024 ? ", refused" : "")
      printf "| %s | %s | %s | %.2f | %s |\n", what, p50, p99, p50 / short, (bytes > 11) ? "< 2" : "" }'
  done
  echo
  echo "Medians of $RUNS, $SECONDS_EACH s each; load average of the machine $(cut -d' ' -f1 /proc/loadavg)."
  stop tidegate
}

case ${1:-all} in
  upkeep | keys) "$1" ;;
  all) upkeep && keys ;;
  *) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
