#!/usr/bin/env bash
# What a layer adds to an allowed request: tidegate-tower, tower_governor and axum-governor, in turn, in
# one process. Prints a table as Markdown.
#
#   compare/run-middleware.sh [RUNS] [PEERS]
set -euo pipefail
cd "$(dirname "$0")"
cargo build --release --quiet -p middleware
target/release/middleware "$@"
