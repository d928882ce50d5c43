#!/usr/bin/env bash
# A Python environment with grpcio, for the test that has another language's client call the service.
# Prints nothing when it is there already.
set -euo pipefail
cd "$(dirname "$0")/.."
env=.cache/python-grpc
[ -x "$env/bin/python" ] && "$env/bin/python" -c 'import grpc_tools, grpc_health, grpc_reflection' 2>/dev/null && exit 0
rm -rf "$env"
python3 -m venv "$env"
"$env/bin/pip" install --quiet --disable-pip-version-check grpcio grpcio-tools grpcio-health-checking grpcio-reflection
