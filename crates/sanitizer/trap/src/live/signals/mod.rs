//! Signals: the actions of the crate and the program, masks, and stacks for work in handlers.

mod actions;
mod mask;
pub(super) mod stack;

pub(super) use actions::{give_to_program, own, restorer, use_alternate_stack};
pub use actions::{keep_trap_unblocked, owns_signal, program_action, set_program_action};
pub(super) use mask::Blocked;
pub use stack::on_own_stack;
