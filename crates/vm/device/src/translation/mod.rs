//! Where an address leads: of the GPU, through its page tables, and of the CPU, through the aperture.

mod aperture;
pub mod page_tables;
