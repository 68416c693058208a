//! What is particular to a generation: fuses, forcewake, resets, interrupts.
//!
//! * [`gen3_5`], [`gen6_7`], [`gen8_9`], [`gen11_12`]: generations;
//! * [`valleyview`]: Valleyview and Cherryview, around the GT of gen7 and gen8;
//! * [`xehp`]: discrete GPUs and Meteor Lake, on top of gen12;
//! * [`xe2`]: Lunar Lake and later, on top of these;
//! * [`gt`]: what the GTs of gen6 and later have in common.

pub mod gen11_12;
pub mod gen3_5;
pub mod gen6_7;
pub mod gen8_9;
mod gt;
pub mod valleyview;
pub mod xe2;
pub mod xehp;
