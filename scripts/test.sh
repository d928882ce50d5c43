#!/usr/bin/env bash
# Everything that must hold: formatting, lints, every test, the documentation.
# Installs what the tests need and is missing; the tests start their own servers on free ports and
# stop them by process id. Ends with "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/.."
export CARGO_TERM_COLOR=never
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
failed_steps=0

# install COMMAND PACKAGE...: the packages, from Debian, when the command is missing.
install() {
  command -v "$1" >/dev/null 2>&1 && return 0
  shift
  local as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  echo "== install $*"
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$@" >"$log/apt" 2>&1; then
    "${as_root[@]}" apt-get update -q >"$log/apt" 2>&1
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$@" >"$log/apt" 2>&1 ||
      { cat "$log/apt"; echo "cannot install $*" >&2; exit 1; }
  fi
}

# step NAME COMMAND...: runs a command and remembers whether it failed.
step() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  if "$@"; then
    echo "== $name: ok, $((SECONDS - start)) s"
  else
    echo "== $name: FAILED, $((SECONDS - start)) s"
    failed_steps=$((failed_steps + 1))
  fi
}

tests() {
  # Without --no-fail-fast the first failing crate would hide the rest.
  cargo test --workspace --all-targets --no-fail-fast 2>&1 | tee "$log/tests"
  local targets=${PIPESTATUS[0]}
  cargo test --workspace --doc --no-fail-fast 2>&1 | tee "$log/docs"
  local docs=${PIPESTATUS[0]}
  [ "$targets" -eq 0 ] && [ "$docs" -eq 0 ]
}

install gcc gcc libc6-dev
install redis-server redis-server
install curl curl
install h2load nghttp2-client
install hey hey
install faketime faketime
install prometheus prometheus
install valgrind valgrind
install python3 python3 python3-venv
step "python client for gRPC" bash scripts/python-grpc.sh

step "format" cargo fmt --all --check
step "lints" cargo clippy --workspace --all-targets --quiet -- -D warnings
# The service itself, as a user would build it: tests start it as processes of their own.
step "build the service" cargo build --quiet --bin tidegate
step "tests" tests
# Every interleaving of the one lock that is our own; the cell of its model fails on a race.
step "lock model" env RUSTFLAGS="--cfg loom" cargo test --quiet -p tidegate --lib --target-dir target/loom -- memory::lock
step "instructions of the hot paths" scripts/instructions.sh
# What others build on changes only when its list in api/ does.
step "public API" scripts/api.sh
step "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

count() { awk -v what="$1" '/^test result:/ { for (i = 2; i <= NF; i++) if ($i ~ "^" what) n += $(i-1) } END { print n + 0 }' "$log/tests" "$log/docs"; }
passed=$(count passed)
failed=$(count failed)
# A step that failed without a failing test (a lint, a crate that does not build) counts as one.
if [ "$failed_steps" -gt 0 ] && [ "$failed" -eq 0 ]; then failed=$failed_steps; fi
if [ "$passed" -eq 0 ]; then failed=$((failed > 0 ? failed : 1)); fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$failed_steps" -eq 0 ]
