//! The object word: what is open on an object, its level, and the notes of stores and GPU writes, in one atomic.
//!
//! ```text
//! L3  debug
//! L2  object_word
//! L1  state
//! L0  blocked   layout
//! ```
//!
//! * `object_word`: the atomic and the loop that changes it. Not the meaning of a transition.
//! * `state`: the transitions, as functions of a value. Not what other threads see of them.
//! * `debug`: a state as text. Not its fields' places.
//! * `layout`: the bits of the fields. Not their meaning.
//! * `blocked`: the reasons why a transition is refused. Not errors of the uAPI.

mod blocked;
mod debug;
mod layout;
mod object_word;
mod state;

pub use blocked::Blocked;
pub use object_word::{ObjectWord, Transition};
pub use state::State;
