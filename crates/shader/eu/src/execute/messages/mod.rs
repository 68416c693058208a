//! Messages to the data port: what they ask for, and the accesses that they make.

mod atomic;
mod media;
mod message;
mod port;
