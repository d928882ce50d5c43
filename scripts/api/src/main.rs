//! Prints the public API of a crate, a line for each item, from the JSON that rustdoc wrote of it.
//!
//! Of what is derived and of what the compiler finds out by itself it prints only what a user can miss:
//! which traits a type has, and where one is not `Send` or `Sync`.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

use public_api::Builder;

fn main() -> Result<(), Box<dyn Error>> {
    let json = std::env::args_os().nth(1).ok_or("which file did rustdoc write?")?;
    let said = lines(Path::new(&json), true)?;
    let said: BTreeSet<String> = said.into_iter().collect();
    for line in lines(Path::new(&json), false)? {
        let is_trait = line.starts_with("impl");
        let is_automatic = ["Freeze", "Send", "Sync", "Unpin", "UnsafeUnpin", "UnwindSafe"]
            .iter()
            .any(|name| line.contains(&format!("{name} for ")));
        let is_missing =
            ["!core::marker::Send", "!core::marker::Sync"].iter().any(|no| line.contains(no));
        let is_derived = is_trait && (!is_automatic || is_missing);
        if said.contains(&line) || is_derived {
            println!("{line}");
        }
    }
    Ok(())
}

/// The items, in the order of their names; without those that nobody wrote, if so wanted.
fn lines(json: &Path, written_alone: bool) -> Result<Vec<String>, Box<dyn Error>> {
    let api = Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(written_alone)
        .omit_auto_derived_impls(written_alone)
        .build()?;
    Ok(api.items().map(ToString::to_string).collect())
}
