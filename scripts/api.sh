#!/usr/bin/env bash
# Compares the public API of the crates that others use with the lists in api/, one line an item.
# After a change that is meant: `scripts/api.sh --write`, and commit the lists with it.
set -euo pipefail
cd "$(dirname "$0")/.."
crates=(tidegate tidegate-actix tidegate-metrics tidegate-middleware tidegate-redis tidegate-tower)
[ "${1:-}" = "--write" ] && write=yes || write=
target=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT

cargo build --quiet --manifest-path scripts/api/Cargo.toml --target-dir "$target/scripts-api"
status=0
for crate in "${crates[@]}"; do
  RUSTDOC="$PWD/scripts/api/rustdoc.sh" cargo rustdoc --quiet -p "$crate" --lib --all-features -- \
    -Z unstable-options --output-format json --cap-lints allow
  "$target/scripts-api/debug/api" "$target/doc/${crate//-/_}.json" >"$new/$crate.txt"
  if [ -n "$write" ]; then
    cp "$new/$crate.txt" "api/$crate.txt"
  elif ! diff -u "api/$crate.txt" "$new/$crate.txt"; then
    status=1
  fi
done
[ "$status" -eq 0 ] || echo "the public API is not the one in api/; if that is meant: scripts/api.sh --write" >&2
exit "$status"
