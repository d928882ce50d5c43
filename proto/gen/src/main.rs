//! Writes the gRPC face's code from `proto/`: run it with `cargo run` in `proto/gen` after changing a
//! .proto file, and commit what it wrote.

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

use prost::Message;

/// The only file compiled, from the include path.
const PROTO: &str = "ratelimiter/v1/ratelimiter.proto";

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let generated = root.join("crates/tidegate-server/src/proto/generated");
    let descriptors = protox::compile([PROTO], [root.join("proto")])?;
    fs::write(generated.join("ratelimiter_v1.bin"), descriptors.encode_to_vec())?;
    let out = std::env::temp_dir().join(format!("proto-gen-{}", std::process::id()));
    fs::create_dir_all(&out)?;
    tonic_prost_build::configure()
        .bytes(".ratelimiter.v1.AllowRequest.key")
        .build_transport(false)
        .out_dir(&out)
        .compile_fds(descriptors)?;
    let code = generated.join("ratelimiter_v1.rs");
    fs::copy(out.join("ratelimiter.v1.rs"), &code)?;
    fs::remove_dir_all(&out)?;
    let formatted = Command::new("rustfmt").args(["--edition", "2024"]).arg(&code).status()?;
    if !formatted.success() {
        return Err(io::Error::other("rustfmt failed").into());
    }
    Ok(())
}
