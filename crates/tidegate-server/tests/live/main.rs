//! The service as its users meet it: real processes, real sockets, real time, and clients that
//! nobody here wrote. Everything else is tested in virtual time elsewhere.

mod client;
mod cores;
mod counts;
mod faults;
mod peers;
mod process;
mod readme;
mod start;
mod stop;
