//! What is known about one object at run time: the object word, the line maps, the flushes under way;
//! and of one device, which BO every handle belongs to ([`Registry`]).
//!
//! [`Tracked`] holds all of it for one object and is what threads share. The order of calls is the
//! protocol, and loom checks it:
//!
//! - **Who stores**: [`ObjectWord::begin_write`]; the stores; then [`LineMap::mark`] on
//!   [`Tracked::dirty`] (write-back mapping), or [`ObjectWord::note_wc_store`] or
//!   [`ObjectWord::note_gtt_store`] (other mappings); [`ObjectWord::end_write`]. A mark made before
//!   its store may be taken, and its line flushed, before the data is there.
//! - **Who needs memory to be current** (submit, scanout pin, export): [`ObjectWord::begin_submit`];
//!   [`Tracked::begin_flight`]; take the lines and the noted stores from the [`Flight`]; flush and drain;
//!   fence; [`land`]. Only then is memory current, also with regard to lines that another thread took
//!   and is still flushing. [`crate::engine::settle`] keeps this order, for several objects at once.
//! - **Who reads through the cache**: [`ObjectWord::begin_read`]; a flight as above that takes the
//!   stale lines and invalidates them, after the GPU is done; [`land`]; the loads; then
//!   [`ObjectWord::end_read`].
//! - **Who makes the GPU write**: [`GpuWrites::tell`]; the notes of the write (stale lines, or
//!   [`ObjectWord::note_gpu_write`]); the ioctl; and both again, because a reader may have taken the
//!   first notes before the GPU had anything to write.
//! - **Who maps, and who writes around the cache**: [`Mappings`], which keeps the account between them.
//! - **Who gives an object up for reuse**: everything above is over; [`ObjectWord::set_dont_need`]; the
//!   kernel is told; then, and nothing after it, [`ReuseCache::put`]. **Who takes it**:
//!   [`ReuseCache::take`]; the GPU is idle; the kernel is told; [`ObjectWord::set_will_need`]. The word
//!   and the maps go with it as they are.

mod blocked;
mod flight;
mod gpu_writes;
mod layout;
mod lines;
mod mappings;
mod registry;
mod reuse;
mod state;
mod summary;
mod word;

#[cfg(loom)]
pub use crate::sync::set_looks;
pub use blocked::Blocked;
pub use flight::{Flight, Landing, Taken, Tracked, land};
pub use gpu_writes::GpuWrites;
pub use lines::LineMap;
pub use mappings::{Mappings, Past};
pub use registry::{GivenBack, Named, Number, Registry};
pub use reuse::{Claim, Put, ReuseCache};
pub use state::State;
pub use word::ObjectWord;
