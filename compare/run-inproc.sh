#!/usr/bin/env bash
# The in-process benches: every table, or the one named, printed as Markdown.
#
#   compare/run-inproc.sh [speed|threads|algorithms|growth|expiry|flood|quota|workloads|memory|all] [--runs N]
set -euo pipefail
cd "$(dirname "$0")"
table=${1:-all}
[ $# -eq 0 ] || shift
cargo build --release --quiet -p inproc --bins
# within_quota COMMAND...: runs it with half a processor for each 100 ms, in a control group of its own
# (version 2 or 1), which takes root.
within_quota() {
  local group
  if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
    group=/sys/fs/cgroup/tidegate-$$
    mkdir "$group" && echo "50000 100000" >"$group/cpu.max"
  else
    group=/sys/fs/cgroup/cpu/tidegate-$$
    mkdir "$group" && echo 100000 >"$group/cpu.cfs_period_us" && echo 50000 >"$group/cpu.cfs_quota_us"
  fi || { echo "no control group can be made here: not measured" >&2; return 1; }
  (echo "$BASHPID" >"$group/cgroup.procs" && exec "$@")
  rmdir "$group"
}

case $table in
  memory) target/release/counted ;;
  quota) within_quota target/release/inproc quota "$@" ;;
  all)
    for each in speed threads algorithms growth expiry flood workloads; do
      target/release/inproc "$each" "$@"
    done
    within_quota target/release/inproc quota "$@"
    target/release/counted
    ;;
  *) target/release/inproc "$table" "$@" ;;
esac
