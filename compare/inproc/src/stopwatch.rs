//! Clocks for measuring: wall time, and the time a thread itself ran.

use std::time::{Duration, Instant};

use crate::settings::Time;

/// Processor time that the calling thread has used.
pub fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live timespec, which the call fills.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Time since a moment, of the kind asked for.
#[derive(Clone, Copy, Debug)]
pub enum Since {
    Wall(Instant),
    Processor(Duration),
}

impl Since {
    /// From now on; processor time is that of the calling thread.
    pub fn now(time: Time) -> Since {
        match time {
            Time::Wall => Since::Wall(Instant::now()),
            Time::Processor => Since::Processor(thread_time()),
        }
    }

    /// How much of it has passed.
    pub fn elapsed(self) -> Duration {
        match self {
            Since::Wall(start) => start.elapsed(),
            Since::Processor(start) => thread_time() - start,
        }
    }
}

/// How often the scheduler took the processor from the calling thread for another one.
pub fn preemptions() -> i64 {
    // SAFETY: all zeros is a valid rusage, and the pointer is to a live one, which the call fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    usage.ru_nivcsw
}

/// The longest of many short steps, told apart from what the machine did meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Longest {
    /// By wall time, whatever the reason.
    pub wall: Duration,
    /// By wall time, over the steps in which the scheduler did not take the thread's processor:
    /// waits for locks count, other programs of the machine do not.
    pub undisturbed: Duration,
}

impl Longest {
    /// Runs a step and remembers it if it was the longest.
    pub fn time(&mut self, step: impl FnOnce()) {
        let before = preemptions();
        let start = Instant::now();
        step();
        let wall = start.elapsed();
        if wall > self.wall {
            self.wall = wall;
        }
        if wall > self.undisturbed && preemptions() == before {
            self.undisturbed = wall;
        }
    }
}
