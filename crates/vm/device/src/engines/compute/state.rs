//! State of shaders: it lies in the context's image, where the driver keeps it while the context is
//! not on an engine, and where it copies a new context's from.

use crate::gpu::Gpu;
use crate::gpu::engine::{Submission, offset};
use crate::gpu::memory::Address;
use crate::translation::page_tables::{Context, Pointer};

/// Parts of the state, a qword each.
#[derive(Clone, Copy, Debug)]
pub enum Slot {
    /// The pipeline of PIPELINE_SELECT.
    Pipeline,
    /// Bases: surface states, dynamic state, instructions, binding tables (12.5).
    Surfaces,
    Dynamic,
    Instructions,
    Tables,
    /// The largest number of threads: zero before a front-end state.
    Threads,
    /// Bytes set apart for constants; where they are, and how many.
    ConstantsRoom,
    Constants,
    ConstantsLength,
    /// Where interface descriptors are, and how many bytes.
    Descriptors,
    DescriptorsLength,
}

/// The state's page in an image: after the status page and the registers.
const PAGE: u64 = 0x2000;
/// CCID: the address in a ring's context; the rest is flags.
const IMAGE: u32 = 0xffff_f000;
/// The bits of an address in a slot; the MOCS entry is above.
const ADDRESS_BITS: u32 = 48;

impl Gpu {
    fn place(&self, context: &Context, slot: Slot) -> Option<Address> {
        let image = match self.platform.submission {
            Submission::Ring => u64::from(self.engine_get(context.engine, offset::CONTEXT_ID) & IMAGE),
            // The status page is the first page of the image.
            Submission::Elsp(_) | Submission::SubmitQueue(_) => context.status_page,
        };
        let page = self.translate_global(image + PAGE).filter(|_| image != 0)?;
        Some(page.plus(8 * slot as u64))
    }

    pub fn state(&self, context: &Context, slot: Slot) -> u64 {
        self.place(context, slot).map_or(0, |place| self.memory.read_u64(place))
    }

    pub fn pointer(&self, context: &Context, slot: Slot) -> Pointer {
        let value = self.state(context, slot);
        Pointer { at: value & ((1 << ADDRESS_BITS) - 1), mocs: (value >> ADDRESS_BITS) as u8 }
    }

    pub fn set_state(&self, context: &Context, slot: Slot, value: u64) -> Result<(), String> {
        let place = self.place(context, slot).ok_or("no context image for the state of shaders")?;
        self.memory.write(place, &value.to_le_bytes());
        Ok(())
    }

    /// Keeps a pointer, and says if what is there will be accessed past the CPU's caches.
    pub fn set_pointer(
        &self,
        context: &Context,
        slot: Slot,
        Pointer { at, mocs }: Pointer,
    ) -> Result<(), String> {
        if self.bypasses(mocs) {
            self.trace(format_args!("{slot:?} at {at:x}: MOCS entry {mocs}, past the LLC"));
        }
        self.set_state(context, slot, at & ((1 << ADDRESS_BITS) - 1) | u64::from(mocs) << ADDRESS_BITS)
    }
}
