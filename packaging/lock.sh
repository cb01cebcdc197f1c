#!/bin/sh
# Re-make the two lock files after pyproject.toml changed. Needs `uv`; names no index.
set -eu
cd "$(dirname "$0")/.."
pin="uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q"
$pin pyproject.toml -o packaging/requirements.lock
$pin --group dev -c packaging/requirements.lock -o packaging/requirements-dev.lock
