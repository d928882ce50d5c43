# What the scripts of the benches share: tools, servers as processes, CPU time, medians, rows.
# Sourced, not run.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/.." && pwd)
work=$(mktemp -d)
RUNS=${RUNS:-3}                 # how many times each figure is measured; the median is reported
SECONDS_EACH=${SECONDS_EACH:-5} # how long each measurement takes
BASE_PORT=${BASE_PORT:-21700}   # servers listen on 127.0.0.1 from this port on
declare -A pids

stop_all() {
  local pid
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
  rm -rf "$work"
}
trap stop_all EXIT

# need COMMAND PACKAGE: the package, from Debian, when the command is missing.
need() {
  command -v "$1" >/dev/null 2>&1 && return 0
  local as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -q >&2 &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$2" >&2 ||
    { echo "cannot install $2" >&2; exit 1; }
}

# start NAME PORT COMMAND...: a server, once it accepts connections.
start() {
  local name=$1 port=$2
  shift 2
  "$@" >"$work/$name.log" 2>&1 &
  pids[$name]=$!
  for _ in $(seq 100); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then return 0; fi
    kill -0 "${pids[$name]}" 2>/dev/null || break
    sleep 0.1
  done
  echo "$name does not listen on port $port:" >&2
  tail -5 "$work/$name.log" >&2
  unset "pids[$name]"
  return 1
}

stop() {
  [ -n "${pids[$1]:-}" ] || return 0
  kill "${pids[$1]}" 2>/dev/null
  wait "${pids[$1]}" 2>/dev/null
  unset "pids[$1]"
}

# ticks NAME: user and system time of a server so far, in hundredths of a second.
ticks() { awk '{ print $14 + $15 }' "/proc/${pids[$1]}/stat"; }

# memory NAME FIELD: VmRSS or VmHWM of a server, in MB.
memory() { awk -v field="$2:" '$1 == field { printf "%.1f", $2 / 1024 }' "/proc/${pids[$1]}/status"; }

# median of the lines of standard input.
median() { sort -g | awk '{ v[NR] = $1 } END { if (NR) print v[int(NR / 2) + 1]; else print "nan" }'; }

# note ROW NAME ANSWERED SECONDS TICKS: remembers a run's requests per second and CPU us per request.
note() {
  awk -v n="$3" -v s="$4" -v t="$5" 'BEGIN {
    if (n > 0 && s > 0) printf "%.0f %.3f\n", n / s, t * 10000 / n; else print "nan nan" }' \
    >>"$work/figures.$1.$2"
}

# figure ROW NAME COLUMN: the median of what was noted; 1 is requests per second, 2 CPU time.
figure() {
  if [ -s "$work/figures.$1.$2" ]; then awk -v c="$3" '{ print $c }' "$work/figures.$1.$2" | median; else echo nan; fi
}

# in_turn ROW MEASURE NAME...: MEASURE ROW NAME for each server that runs, in turn, RUNS times.
in_turn() {
  local row=$1 measure=$2 name run
  shift 2
  for run in $(seq "$RUNS"); do
    for name in "$@"; do
      [ -n "${pids[$name]:-}" ] && "$measure" "$row" "$name"
    done
  done
}

# head TITLE: the heading of a table of requests per second and CPU time.
head_of_table() {
  printf '\n### %s\n\n' "$1"
  echo "| server | requests per second | server CPU us per request | req/s to the ceiling | CPU to the ceiling | target |"
  echo "|---|---|---|---|---|---|"
}

# line ROW NAME CEILING LABEL TARGET: one line of it.
line() {
  awk -v rps="$(figure "$1" "$2" 1)" -v cpu="$(figure "$1" "$2" 2)" \
    -v crps="$(figure "$1" "$3" 1)" -v ccpu="$(figure "$1" "$3" 2)" -v label="$4" -v target="$5" 'BEGIN {
    ratio = (rps + 0 > 0 && crps + 0 > 0) ? sprintf("%.2f", rps / crps) : "-"
    cpus = (cpu + 0 > 0 && ccpu + 0 > 0) ? sprintf("%.2f", cpu / ccpu) : "-"
    if (!(rps + 0 > 0)) { rps = "not measured"; cpu = "-" }
    printf "| %s | %s | %s | %s | %s | %s |\n", label, rps, cpu, ratio, cpus, target }'
}
