//! Room on disk for what is too much for memory.

use std::fs::{File, OpenOptions};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes each name of this process its own; what it counts is of no meaning.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Opens a new file in the directory for temporary files, readable by this user alone.
///
/// Its name is removed at once: the room is free again when the file is closed, also after a
/// crash.
pub(super) fn scratch_file() -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidegate-replay-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        match options.open(&path) {
            // A process of the same number left it behind, or holds it in another namespace.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
        }
    }
}
