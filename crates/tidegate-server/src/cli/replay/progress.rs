//! How far a replay is, shown on a terminal.

use std::io::{self, Read};
use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on standard error; where that is no terminal, nothing.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Nothing read so far of these logs.
    pub(super) fn new(logs: &[PathBuf]) -> Progress {
        let sizes = logs.iter().map(|log| std::fs::metadata(log).ok());
        let total: Option<u64> = sizes.map(|size| Some(size?.len())).sum();
        let (bar, template) = match total {
            Some(total) => (
                ProgressBar::new(total),
                "{msg} [{bar:32}] {bytes}/{total_bytes} {bytes_per_sec}, {eta} left",
            ),
            // How much standard input holds is not known.
            None => (ProgressBar::new_spinner(), "{msg} {spinner} {bytes} {bytes_per_sec}"),
        };
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message("reading");
        Progress { bar }
    }

    /// The reader, counted as it is read.
    pub(super) fn watch<R: Read>(&self, reader: R) -> Watched<R> {
        Watched { reader, bar: self.bar.clone() }
    }

    /// Reading is over, and `records` are to be played.
    pub(super) fn start_playing(&self, records: u64) {
        let style = ProgressStyle::with_template("{msg} [{bar:32}] {human_pos}/{human_len}");
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        self.bar.set_length(records);
        self.bar.set_position(0);
        self.bar.set_message("playing");
    }

    /// So many more were played.
    pub(super) fn played(&self, records: u64) {
        self.bar.inc(records);
    }
}

/// Takes the bar away, so that a report or an error begins on a clean line.
impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A reader whose bytes move the bar.
#[derive(Debug)]
pub(super) struct Watched<R> {
    reader: R,
    bar: ProgressBar,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.bar.inc(count as u64);
        Ok(count)
    }
}
