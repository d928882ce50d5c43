//! What the in-process benches are made of: contenders, key orders, timing, tables.

pub mod contender;
pub mod key;
pub mod measure;
pub mod report;
pub mod settings;
pub mod stopwatch;
pub mod table;
