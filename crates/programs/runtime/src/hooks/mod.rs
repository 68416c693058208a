//! The functions that replace libc's.

#[path = "files/attributes.rs"]
mod attributes;
mod calls;
#[path = "processes/children.rs"]
mod children;
mod descriptors;
#[path = "processes/environment.rs"]
mod environment;
#[path = "processes/exec.rs"]
mod exec;
#[path = "processes/executable.rs"]
mod executable;
#[path = "files/folders.rs"]
mod folders;
mod loaded;
mod memory;
#[path = "files/open.rs"]
mod open;
mod requests;
#[path = "files/resolve.rs"]
mod resolve;
mod sandbox;
mod sends;
mod signals;
#[path = "processes/spawn.rs"]
mod spawn;
#[path = "files/stat.rs"]
mod stat;
mod transfers;
#[path = "files/volumes.rs"]
mod volumes;
#[path = "files/walk.rs"]
mod walk;

/// Defines functions that replace libc's, with all the names by which programs call them.
macro_rules! replace {
    ($($(#[$doc:meta])* fn $($name:ident)|+ ($($argument:ident: $type:ty),*) -> $result:ty $body:block)*) => {
        $(replace!(@each [$($name)+] { $(#[$doc])* } { ($($argument: $type),*) -> $result $body });)*
    };
    (@each [$($name:ident)+] $docs:tt $function:tt) => {
        $(replace!(@one $name $docs $function);)+
    };
    (@one $name:ident { $(#[$doc:meta])* } { ($($argument:ident: $type:ty),*) -> $result:ty $body:block }) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As libc's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the caller passes what libc's function takes, and gets what that returns.
            unsafe { $body }
        }
    };
}
use replace;
