#!/usr/bin/env bash
# The in-process benches: every table, or the one named, printed as Markdown.
#
#   compare/run-inproc.sh [speed|threads|algorithms|growth|expiry|flood|workloads|memory|all] [--runs N]
set -euo pipefail
cd "$(dirname "$0")"
table=${1:-all}
[ $# -eq 0 ] || shift
cargo build --release --quiet -p inproc --bins
case $table in
  memory) target/release/counted ;;
  all) target/release/inproc all "$@" && target/release/counted ;;
  *) target/release/inproc "$table" "$@" ;;
esac
