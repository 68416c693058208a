//! The names by which a program finds the server.

/// The environment variable with the folder of a server.
pub const ENVIRONMENT: &str = "GEM_COHERENCY_SERVER";

/// The server's socket in that folder.
pub const SOCKET: &str = "socket";

/// The folder in it that has what programs look at: `dev`, `sys`. It is complete if it is there ([`Request::Folder`](crate::Request)).
pub const FOLDER: &str = "root";
