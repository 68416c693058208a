//! The names by which a program finds the server.

/// The environment variable with the folder of a server.
pub const ENVIRONMENT: &str = "GEM_COHERENCY_SERVER";

/// The server's socket in that folder.
pub const SOCKET: &str = "socket";

/// The folder in it that has what programs look at: `dev`, `sys`. It is complete if it is there ([`Request::Folder`](crate::Request)).
pub const FOLDER: &str = "root";

/// The environment variable with the name of the test that a program is part of.
pub const TEST: &str = "GEM_COHERENCY_TEST";

/// A number that differs if the messages, the logs or the tables of two builds do: the library of a program and the server refuse each other.
pub const BUILD: u64 = {
    let sources = [
        include_str!("flushes.rs"),
        include_str!("message.rs"),
        include_str!("names.rs"),
        include_str!("sites.rs"),
        include_str!("stores.rs"),
        env!("CARGO_PKG_VERSION"),
    ];
    let mut hash = FNV_OFFSET;
    let mut source = 0;
    while source < sources.len() {
        let bytes = sources[source].as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            hash = (hash ^ bytes[at] as u64).wrapping_mul(FNV_PRIME);
            at += 1;
        }
        source += 1;
    }
    hash
};

/// The constants of FNV-1a with 64 bits.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
