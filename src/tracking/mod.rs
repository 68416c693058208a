//! Run-time state of one object (the object word, the line maps, in-flight flushes) and of one device (the BO
//! of every handle: [`Registry`]).
//!
//! [`Tracked`] holds the state of one object and is shared by threads. The order of calls is the protocol,
//! which loom checks:
//!
//! - **Storing**: [`State::begin_write`], whose state tells where the marks go ([`State::marks`]); the stores; then
//!   [`DirtyLines::mark_in`] on [`Tracked::dirty`] (write-back mapping), or [`State::note_wc_store`] or
//!   [`State::note_gtt_store`] (other mappings); [`State::end_write`]. A mark made before its store may be taken,
//!   and its line flushed, before the data is there.
//! - **Storing by a stream**: [`DirtyLines::open_stream`] after the begin; stores; marks, and then [`DirtyLines::advance_stream`] or
//!   [`DirtyLines::close_stream`], which takes out of the stream's lines what is marked. A flush marks those that are left before it takes marks.
//! - **Submitting**: [`Submissions::begin`], and then a look at each object: nothing else is needed for one of which
//!   [`State::can_submit`] is true and nothing is pending. Otherwise, and without a place in the list, as below. The
//!   ioctl; [`Submissions::end`]. Transitions that submissions block are made in [`Submissions::exclude`].
//! - **Making memory current** (submit, scanout pin, export): [`State::begin_submit`];
//!   [`Tracked::begin_flush`]; take the lines and the noted stores from the [`InFlightFlush`]; flush and drain;
//!   fence; [`complete`]. Only then is memory current, including lines that another thread took and was still
//!   flushing. [`crate::engine::make_current`] keeps this order for several objects at once.
//! - **Reading through the cache**: [`State::begin_read`]; an in-flight flush as above that takes the
//!   stale lines and invalidates them, after the GPU is done; [`complete`]; the loads; then
//!   [`State::end_read`].
//! - **Making the GPU write**: [`GpuWrites::tell`]; the notes of the write (stale lines, or
//!   [`State::note_gpu_write`]); the ioctl; then both again, because a reader may have taken the first
//!   notes before the GPU had anything to write.
//! - **Mapping, and writing around the cache**: [`Mappings`], which orders the two.
//! - **Unmapping**: [`State::begin_unmap`], which excludes accesses, but not submissions; the drain;
//!   [`Mappings::forget`]; [`Tracked::wait_for_flushes`], after which no flush uses the old pages; their release;
//!   [`State::end_unmap`].
//! - **Advice**: [`State::begin_dont_need`] or [`State::begin_will_need`], which exclude each other; MADVISE;
//!   [`State::end_advice`].
//! - **Releasing an object for reuse**: everything above has ended; the advice that it is not needed; then, as the last step,
//!   [`ReuseCache::put`]. **Reusing it**: [`ReuseCache::take`]; the GPU is idle; MADVISE; the word's advice that it is needed. The rest of the
//!   word and the maps are kept unchanged.
//!
//! ```text
//! L2  flushes
//! L1  mappings   word
//! L0  lines   gpu_writes   registry   reuse   submissions
//! ```
//!
//! * `flushes`: the state of one object, and the flushes that are open on it. Not how a line is flushed.
//! * `word`: what is open on an object, its level, and the notes of stores. Not lines.
//! * `mappings`: the mappings of an object, and when its stale lines are tracked. Not how it is mapped.
//! * `lines`: sets of dirty and of stale lines. Not the rules for a line.
//! * `gpu_writes`: whether the GPU's writes are over. Not where they went.
//! * `registry`: the BO of each handle. Not the kernel's names.
//! * `reuse`: objects that are kept for another allocation. Not whether one can be.
//! * `submissions`: the submissions in progress, and their objects. Not what they wait for.

mod flushes;
mod gpu_writes;
mod lines;
mod mappings;
mod registry;
mod reuse;
mod submissions;
mod word;

#[cfg(loom)]
pub use crate::sync::set_peeks;
pub use flushes::{Completion, InFlightFlush, Tracked, WasPending, complete};
pub use gpu_writes::GpuWrites;
pub use lines::{DirtyLines, LineMap, Marks};
pub use mappings::{Mappings, Past, Remap};
pub use registry::{Adopted, Closed, Named, Number, Registry};
pub use reuse::{Claim, Put, ReuseCache};
pub use submissions::{Listed, Submissions};
pub use word::{Blocked, ObjectWord, State, Transition};
