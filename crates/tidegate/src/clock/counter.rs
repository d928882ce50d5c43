//! A counter that runs evenly: the processor's where it can be trusted, else the kernel's.

use std::time::Instant;

/// What counts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counter {
    /// The processor's time stamp counter.
    #[cfg(target_arch = "x86_64")]
    Processor,
    /// Nanoseconds of the kernel's monotonic clock since an instant.
    Kernel(Instant),
}

impl Counter {
    /// The cheapest counter that runs evenly on this machine.
    #[allow(clippy::disallowed_methods, reason = "the clock's own counter")]
    pub(super) fn best() -> Counter {
        #[cfg(target_arch = "x86_64")]
        if kernel_trusts_the_processor() {
            return Counter::Processor;
        }
        Counter::Kernel(Instant::now())
    }

    /// The count now.
    #[inline]
    pub(super) fn read(self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Counter::Processor => processor(),
            Counter::Kernel(start) => u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

/// Whether the kernel keeps time by the time stamp counter: then it has found it to run evenly, in
/// step on all processors, and through sleep.
#[cfg(target_arch = "x86_64")]
fn kernel_trusts_the_processor() -> bool {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    std::fs::read_to_string(source).is_ok_and(|source| source.trim() == "tsc")
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code, reason = "the instruction has no safe form in the standard library")]
fn processor() -> u64 {
    // SAFETY: RDTSC reads a register and has no other effect; every x86-64 processor has it. A kernel
    // that forbids it to programs would not offer it as a clock source to them.
    unsafe { core::arch::x86_64::_rdtsc() }
}
