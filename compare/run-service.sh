#!/usr/bin/env bash
# The service's benches: one command per table, printed as Markdown.
#
#   compare/run-service.sh rest|json|grpc|batch|open|disturbed|cores|memory|redis|all
#
# Product and bare servers take turns; every figure is the median of RUNS (3) runs of SECONDS_EACH (5).
# PEERS=1 also installs the published throttlecrab-server into compare/.cache and measures it.
# TIDEGATE names another binary of the product; CEILINGS_ONLY=1 measures the bare servers alone.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
TIDEGATE=${TIDEGATE:-$root/target/release/tidegate}
http_port=$BASE_PORT grpc_port=$((BASE_PORT + 1)) metrics_port=$((BASE_PORT + 2))
axum_port=$((BASE_PORT + 3)) hyper_port=$((BASE_PORT + 4)) tonic_port=$((BASE_PORT + 5))
h2_port=$((BASE_PORT + 10))
crab_http=$((BASE_PORT + 6)) crab_grpc=$((BASE_PORT + 7)) crab_redis=$((BASE_PORT + 8))
redis_port=$((BASE_PORT + 9))

build() {
  need wrk wrk
  need h2load nghttp2-client
  need redis-benchmark redis-tools
  need curl curl
  (cd "$here" && cargo build --release --quiet -p servers) || exit 1
  if [ -z "${CEILINGS_ONLY:-}" ] && [ "$TIDEGATE" = "$root/target/release/tidegate" ]; then
    (cd "$root" && cargo build --release --quiet --bin tidegate) || exit 1
  fi
  if [ -n "${PEERS:-}" ] && [ ! -x "$here/.cache/bin/throttlecrab-server" ]; then
    # Without protoc it builds everything but the module that its gRPC face needs, and fails there.
    need protoc protobuf-compiler
    cargo install --quiet --root "$here/.cache" throttlecrab-server || exit 1
  fi
}

start_tidegate() {
  [ -z "${CEILINGS_ONLY:-}" ] || return 0
  # All requests are allowed, and no key is back to full meanwhile.
  cat >"$work/config.yaml" <<YAML
listen: { http: "127.0.0.1:$http_port", grpc: "127.0.0.1:$grpc_port" }
metrics: { listen: "127.0.0.1:$metrics_port" }
store: in_memory
policies:
  default:
    limits:
      - { name: bucket, algorithm: token_bucket, capacity: 1000000, rate: "1/10m" }
  # Its keys are back to full at once, and swept.
  brief:
    limits:
      - { name: bucket, algorithm: token_bucket, capacity: 1000000, rate: "1000000/s" }
YAML
  start tidegate "$http_port" "$TIDEGATE" --config "$work/config.yaml"
}

start_crab() {
  [ -n "${PEERS:-}" ] || return 0
  start throttlecrab "$crab_http" "$here/.cache/bin/throttlecrab-server" --http --http-host 127.0.0.1 \
    --http-port "$crab_http" --grpc --grpc-host 127.0.0.1 --grpc-port "$crab_grpc" \
    --redis --redis-host 127.0.0.1 --redis-port "$crab_redis" --log-level error
}

bare() { PORT=$2 start "$1" "$2" "$here/target/release/$1"; }

# The port of a server's HTTP or gRPC face.
port_of() {
  case $1.$2 in
    tidegate.http) echo "$http_port" ;; tidegate.grpc) echo "$grpc_port" ;;
    bare-axum.http) echo "$axum_port" ;; bare-hyper.http) echo "$hyper_port" ;;
    bare-tonic.grpc) echo "$tonic_port" ;; bare-h2.grpc) echo "$h2_port" ;;
    throttlecrab.http) echo "$crab_http" ;; throttlecrab.grpc) echo "$crab_grpc" ;;
  esac
}

# by_wrk ROW NAME: 64 connections, one thread; the row names the script.
by_wrk() {
  local before output
  before=$(ticks "$2")
  output=$(wrk -t1 -c64 -d"${SECONDS_EACH}s" -s "$here/lua/${scripts[$1.$2]:-${scripts[$1]}}" \
    "http://127.0.0.1:$(port_of "$2" http)/")
  # "481931 requests in 5.00s, 40.4MB read", and "Non-2xx or 3xx responses: N" when there were any.
  local count took
  count=$(awk '/requests in/ { print $1 }' <<<"$output")
  took=$(awk '/requests in/ { sub("s,", "", $4); print $4 }' <<<"$output")
  if grep -q "Non-2xx" <<<"$output"; then echo "$2: $(grep Non-2xx <<<"$output")" >&2; fi
  note "$1" "$2" "${count:-0}" "${took:-0}" "$(($(ticks "$2") - before))"
}
declare -A scripts=([rest]=limit.lua [json]=check.lua [json.throttlecrab]=throttle.lua)

# body FILE: one framed AllowRequest for the key user:00002a, as gRPC sends it.
body() { printf '\0\0\0\0\x0d\x0a\x0buser:00002a' >"$1"; }

# by_h2load ROW NAME: 8 connections of 8 calls at once, one thread.
by_h2load() {
  local before output path=/ratelimiter.v1.RateLimiter/Allow
  [ "$2" = throttlecrab ] && path=/throttlecrab.RateLimiter/Throttle
  before=$(ticks "$2")
  output=$(h2load -t1 -c8 -m8 -D "$SECONDS_EACH" -d "$work/body.$2" -H 'content-type: application/grpc' \
    -H 'te: trailers' "http://127.0.0.1:$(port_of "$2" grpc)$path")
  local count
  count=$(awk '/^requests:/ { print $8 }' <<<"$output")
  note "$1" "$2" "${count:-0}" "$SECONDS_EACH" "$(($(ticks "$2") - before))"
}

# by_drive ROW NAME: what h2load cannot send; the row names the call.
by_drive() {
  local before output
  before=$(ticks "$2")
  output=$("$here/target/release/drive" "http://127.0.0.1:$(port_of "$2" grpc)" "$1" \
    --seconds "$SECONDS_EACH" 2>>"$work/drive.log") || output="0 0"
  # shellcheck disable=SC2086 # two words: decisions and seconds
  note "$1" "$2" $output "$(($(ticks "$2") - before))"
}

rest() {
  bare bare-axum "$axum_port" && bare bare-hyper "$hyper_port"
  start_tidegate
  in_turn rest by_wrk tidegate bare-axum bare-hyper
  head_of_table "REST \`POST /limit\`, 100k keys, wrk -t1 -c64: \`compare/run-service.sh rest\`"
  line rest bare-axum bare-axum "bare axum, POST answering nothing (the ceiling)" ""
  line rest bare-hyper bare-axum "bare hyper, the same" ""
  line rest tidegate bare-axum "tidegate, RateLimit headers and metrics on" "req/s >= 1.0, CPU <= 1.0"
  stop tidegate; stop bare-axum; stop bare-hyper
}

json() {
  bare bare-axum "$axum_port"
  start_tidegate
  start_crab
  in_turn json by_wrk tidegate bare-axum throttlecrab
  head_of_table "\`POST /v1/check\`, JSON, 100k keys, wrk -t1 -c64: \`compare/run-service.sh json\`"
  line json bare-axum bare-axum "bare axum, reading and answering JSON (the ceiling)" ""
  [ -n "${PEERS:-}" ] && line json throttlecrab bare-axum "throttlecrab-server, HTTP" ""
  line json tidegate bare-axum "tidegate" "req/s >= 1.0, CPU <= 0.9"
  stop tidegate; stop bare-axum; stop throttlecrab
}

grpc() {
  bare bare-tonic "$tonic_port" && bare bare-h2 "$h2_port"
  start_tidegate
  start_crab
  body "$work/body.tidegate"; body "$work/body.bare-tonic"; body "$work/body.bare-h2"
  # ThrottleRequest { key, max_burst: 1000000, count_per_period: 1, period: 600, quantity: 1 }
  printf '\0\0\0\0\x18\x0a\x0buser:00002a\x10\xc0\x84\x3d\x18\x01\x20\xd8\x04\x28\x01' >"$work/body.throttlecrab"
  in_turn grpc by_h2load tidegate bare-tonic bare-h2 throttlecrab
  in_turn unary by_drive tidegate bare-tonic
  head_of_table "gRPC unary, h2load -t1 -c8 -m8: \`compare/run-service.sh grpc\`"
  line grpc bare-tonic bare-tonic "bare tonic, one key (the ceiling)" ""
  line grpc bare-h2 bare-tonic "bare h2, the same: what HTTP/2 costs" ""
  [ -n "${PEERS:-}" ] && line grpc throttlecrab bare-tonic "throttlecrab-server, one key" ""
  line grpc tidegate bare-tonic "tidegate, \`Allow\`, one key" "req/s >= 1.15, CPU <= 0.9"
  line unary bare-tonic bare-tonic "bare tonic, 100k keys, by \`drive\`" ""
  line unary tidegate bare-tonic "tidegate, \`Allow\`, 100k keys, by \`drive\`" "CPU <= 0.9"
  stop tidegate; stop bare-tonic; stop bare-h2; stop throttlecrab
}

batch() {
  start_tidegate || return
  local call
  for call in unary stream check; do in_turn "$call.b" by_drive_b tidegate; done
  head_of_table "Many decisions at once over gRPC, 100k keys, by \`drive\`; figures per decision: \`compare/run-service.sh batch\`"
  line unary.b tidegate tidegate "tidegate, \`Allow\`" ""
  ln -sf "$work/figures.unary.b.tidegate" "$work/figures.stream.b.unary"
  ln -sf "$work/figures.unary.b.tidegate" "$work/figures.check.b.unary"
  line stream.b tidegate unary "tidegate, \`Stream\`, 100 on the way (to \`Allow\`)" "decisions/s >= 8"
  line check.b tidegate unary "tidegate, \`Check\` of 100 (to \`Allow\`)" "decisions/s >= 20"
  stop tidegate
}
by_drive_b() {
  by_drive "${1%.b}" "$2"
  mv "$work/figures.${1%.b}.$2" "$work/one" && cat "$work/one" >>"$work/figures.$1.$2"
}

# paced NAME FACE RATE: an open loop at RATE a second; notes CPU and latencies in microseconds.
paced() {
  local name=$1 face=$2 rate=$3 before url options clients=8
  url=http://127.0.0.1:$(port_of "$name" "$face")
  if [ "$face" = http ]; then
    clients=64
    printf x >"$work/byte" # h2load posts only when it has a body; the service ignores it
    options=(--h1 -m1 -d "$work/byte" -H 'x-client-key: user:00002a' "$url/limit")
  else
    options=(-m32 -d "$work/body" -H 'content-type: application/grpc' -H 'te: trailers'
      "$url/ratelimiter.v1.RateLimiter/Allow")
  fi
  rm -f "$work/times"
  before=$(ticks "$name")
  h2load -t1 -c"$clients" --rps $((rate / clients)) -D "$SECONDS_EACH" --log-file "$work/times" \
    "${options[@]}" >"$work/h2load.log" 2>&1
  local spent=$(($(ticks "$name") - before))
  # Lines of the log: start, status, microseconds.
  awk '{ print $3 }' "$work/times" | sort -g | awk -v spent="$spent" -v seconds="$SECONDS_EACH" '
    { v[NR] = $1 }
    function at(q) { i = int(NR * q) + 1; return v[i > NR ? NR : i] }
    END { if (NR) printf "%.0f %.3f %d %d %d\n", NR / seconds, spent * 10000 / NR, at(0.5), at(0.99), at(0.999) }' \
    >>"$work/figures.open.$face.$rate.$name"
}

open_line() {
  local row=open.$2.$3 ceiling=$4 column cells=""
  for column in 1 2 3 4 5; do cells+=" $(figure "$row" "$1" $column) |"; done
  local ratio
  ratio=$(awk -v a="$(figure "$row" "$1" 2)" -v b="$(figure "$row" "$ceiling" 2)" \
    'BEGIN { print (a + 0 > 0 && b + 0 > 0) ? sprintf("%.2f", a / b) : "-" }')
  echo "| $1, $2, $3/s |$cells $ratio | $5 |"
}

open() {
  bare bare-axum "$axum_port" && bare bare-tonic "$tonic_port"
  start_tidegate
  body "$work/body"
  local face rate ceiling name run
  for rate in 20000 60000; do
    for run in $(seq "$RUNS"); do
      for name in tidegate bare-axum; do [ -n "${pids[$name]:-}" ] && paced "$name" http "$rate"; done
      for name in tidegate bare-tonic; do [ -n "${pids[$name]:-}" ] && paced "$name" grpc "$rate"; done
    done
  done
  printf '\n### %s\n\n' "Open loop, h2load --rps, one key: \`compare/run-service.sh open\`"
  echo "| server, face, offered | answered per second | server CPU us per request | p50 us | p99 us | p99.9 us | CPU to the ceiling | target |"
  echo "|---|---|---|---|---|---|---|---|"
  for rate in 20000 60000; do
    for face in http grpc; do
      ceiling=bare-axum
      [ "$face" = grpc ] && ceiling=bare-tonic
      open_line "$ceiling" "$face" "$rate" "$ceiling" ""
      open_line tidegate "$face" "$rate" "$ceiling" "each <= 1.1 x the ceiling's"
    done
  done
  stop tidegate; stop bare-axum; stop bare-tonic
}

# What p99.9 of paced requests becomes while something else goes on. "Busy" is the load of growth and
# of the sweep on keys that are known already: what is the load's, and what is theirs.
disturbed() {
  start_tidegate || return
  local run what
  for run in $(seq "$RUNS"); do
    for what in quiet scraped busy growing swept; do
      disturb "$what" "$run" &
      local disturber=$!
      paced tidegate http 20000
      mv "$work/figures.open.http.20000.tidegate" "$work/one" && cat "$work/one" >>"$work/figures.disturbed.$what"
      kill "$disturber" 2>/dev/null
      wait "$disturber" 2>/dev/null
    done
  done
  printf '\n### %s\n\n' "20k/s of \`POST /limit\` while something else goes on: \`compare/run-service.sh disturbed\`"
  echo "| what | p50 us | p99 us | p99.9 us | target |"
  echo "|---|---|---|---|---|"
  for what in quiet scraped busy growing swept; do
    echo "| $what | $(figure disturbed "$what" 3) | $(figure disturbed "$what" 4) | $(figure disturbed "$what" 5) | $(
      [ "$what" = quiet ] || echo "p99.9 <= 2 x quiet"
    ) |"
  done
  stop tidegate
}
disturb() {
  local drive=("$here/target/release/drive" "http://127.0.0.1:$grpc_port" check --connections 1 --at-once 1)
  case $1 in
    quiet) sleep "$SECONDS_EACH" ;;
    scraped) while sleep 0.1; do curl -s -o "$work/scrape" "http://127.0.0.1:$metrics_port/metrics"; done ;;
    busy) exec "${drive[@]}" --keys 10000 --seconds "$SECONDS_EACH" >"$work/drive.out" 2>&1 ;;
    # Each run asks for more keys than the one before: the new ones grow the table.
    growing) exec "${drive[@]}" --keys $((1000000 * $2)) --seconds "$SECONDS_EACH" >"$work/drive.out" 2>&1 ;;
    # A million keys that come, are back to full, and are swept, over and over.
    swept) exec "${drive[@]}" --keys 1000000 --policy brief --seconds "$SECONDS_EACH" >"$work/drive.out" 2>&1 ;;
  esac
}

# cores_used ROW NAME: processors that a server kept busy under h2load, and how much the second busiest
# of its threads did of what the busiest did; the row is the connections.
cores_used() {
  local before output connections=${1#c}
  before=$(ticks "$2")
  thread_ticks "$2" >"$work/threads.before"
  output=$(h2load -t1 -c"$connections" -m64 -D "$SECONDS_EACH" -d "$work/body" \
    -H 'content-type: application/grpc' -H 'te: trailers' \
    "http://127.0.0.1:$(port_of "$2" grpc)/ratelimiter.v1.RateLimiter/Allow")
  local spent=$(($(ticks "$2") - before)) evenness
  evenness=$(thread_ticks "$2" | sort | join - <(sort "$work/threads.before") | awk '{ print $2 - $3 }' |
    sort -rn | awk 'NR == 1 { most = $1 } NR == 2 { print (most > 0) ? $1 / most : 0 }')
  awk -v spent="$spent" -v seconds="$SECONDS_EACH" -v even="${evenness:-0}" \
    -v n="$(awk '/^requests:/ { print $8 }' <<<"$output")" \
    'BEGIN { printf "%.0f %.2f %.2f\n", n / seconds, spent / 100 / seconds, even }' >>"$work/figures.$1.$2"
}
# thread_ticks NAME: each thread of a server and its time so far, in hundredths of a second.
thread_ticks() { awk '{ print $1, $14 + $15 }' /proc/"${pids[$1]}"/task/*/stat; }
cores() {
  bare bare-tonic "$tonic_port"
  start_tidegate
  body "$work/body"
  local connections name
  for connections in c1 c2 c3 c4 c8; do in_turn $connections cores_used tidegate bare-tonic; done
  printf '\n### %s\n\n' "HTTP/2 connections, 64 calls at once on each, $(nproc) processors: \`compare/run-service.sh cores\`"
  echo "| server | connections | requests per second | processors kept busy | second busiest thread to the busiest | target |"
  echo "|---|---|---|---|---|---|"
  for name in bare-tonic tidegate; do
    for connections in c1 c2 c3 c4 c8; do
      echo "| $name | ${connections#c} | $(figure $connections $name 1) | $(figure $connections $name 2) | $(figure $connections $name 3) | $(
        [ $name.$connections = tidegate.c1 ] || [ $name = bare-tonic ] || echo ">= 0.8"
      ) |"
    done
  done
  stop tidegate; stop bare-tonic
}

memory_table() {
  printf '\n### %s\n\n' "Resident memory: \`compare/run-service.sh memory\`"
  echo "| server | idle MB | with 1M keys MB | at most (VmHWM) MB | target |"
  echo "|---|---|---|---|---|"
  start_tidegate || { echo "| tidegate | not measured | | | |"; return; }
  local idle
  idle=$(memory tidegate VmRSS)
  "$here/target/release/drive" "http://127.0.0.1:$grpc_port" check --keys 1000000 --seconds 0 >/dev/null
  echo "| tidegate | $idle | $(memory tidegate VmRSS) | $(memory tidegate VmHWM) | <= 15; <= 70 |"
  stop tidegate
}

# by_redis ROW NAME: redis-benchmark with 50 connections; the row is the depth of the pipeline.
by_redis() {
  local before output count=$((${1#p} == 1 ? 300000 : 3000000)) seconds
  before=$(ticks "$2")
  local port=$redis_port command=(INCR key:__rand_int__)
  if [ "$2" = throttlecrab ]; then
    # Pipelining does not make it faster: fewer requests take as long.
    port=$crab_redis count=300000 command=(THROTTLE key:__rand_int__ 1000000 1 600)
  fi
  output=$(redis-benchmark -p "$port" -c 50 -P "${1#p}" -n "$count" -r 100000 --csv "${command[@]}" 2>/dev/null)
  # The last line: "name","requests per second",...
  seconds=$(tail -1 <<<"$output" | awk -F'","' -v n="$count" '{ print ($2 > 0) ? n / $2 : 0 }')
  note "$1" "$2" "$count" "$seconds" "$(($(ticks "$2") - before))"
}

redis() {
  need redis-server redis-server
  start redis "$redis_port" redis-server --port "$redis_port" --save '' --appendonly no
  start_crab
  local depth
  for depth in p1 p32; do in_turn $depth by_redis redis throttlecrab; done
  head_of_table "Redis protocol, redis-benchmark -c50, 100k keys: \`compare/run-service.sh redis\`"
  for depth in p1 p32; do
    line $depth redis redis "redis-server INCR, -P${depth#p} (the ceiling)" ""
    [ -n "${PEERS:-}" ] && line $depth throttlecrab redis "throttlecrab-server THROTTLE, -P${depth#p}" ""
  done
  stop redis; stop throttlecrab
}

case ${1:-} in
  rest | json | grpc | batch | open | disturbed | cores | redis) build && "$1" ;;
  memory) build && memory_table ;;
  all) build && for table in rest json grpc batch open disturbed cores memory_table redis; do $table; done ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
