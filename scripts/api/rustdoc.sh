#!/usr/bin/env bash
# rustdoc, allowed to write JSON. It alone is: the compiler runs as ever, so nothing is compiled anew.
RUSTC_BOOTSTRAP=1 exec rustdoc "$@"
