//! The functions that replace libc's.

mod calls;
mod descriptors;
mod files;
mod loaded;
mod memory;
mod processes;
mod requests;
mod sandbox;
mod sends;
mod signals;
mod transfers;

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
