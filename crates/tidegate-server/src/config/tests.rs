//! Tests of reading configurations.
