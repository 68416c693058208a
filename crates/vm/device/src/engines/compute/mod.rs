//! Commands that start shaders on the execution units, and the state that they need.
//!
//! They are PIPELINE_SELECT, STATE_BASE_ADDRESS and walkers: GPGPU_WALKER with MEDIA_VFE_STATE, MEDIA_CURBE_LOAD and
//! MEDIA_INTERFACE_DESCRIPTOR_LOAD up to 12.0; COMPUTE_WALKER with CFE_STATE, 3DSTATE_BINDING_TABLE_POOL_ALLOC and inline data on `dg2` and
//! `mtl`. Threads have group ids in r0, constants (or inline data) from r1 on, and SIMD8, 16 or 32. A walker with an unknown field is not
//! executed. The engine goes on after a thread that stops, but hangs at a thread of 2^20 instructions.
//!
//! * [`state`]: what commands leave for later ones;
//! * [`walker`]: walker commands: which threads they start, of which shader;
//! * [`dispatch`]: the threads of a walker, one after the other;
//! * [`surfaces`]: the memory behind a shader's bindings.

mod dispatch;
mod state;
mod surfaces;
mod walker;

use crate::engines::fetch::Command;
use crate::eu::layout::Form;
use crate::gpu::Gpu;
use crate::translation::page_tables::{Context, Pointer};
use state::Slot;
use std::ops::ControlFlow;

/// Commands: the upper half of the first dword.
const PIPELINE_SELECT: u32 = 0x6904;
const STATE_BASE_ADDRESS: u32 = 0x6101;
const MEDIA_VFE_STATE: u32 = 0x7000;
const MEDIA_CURBE_LOAD: u32 = 0x7001;
const MEDIA_INTERFACE_DESCRIPTOR_LOAD: u32 = 0x7002;
const GPGPU_WALKER: u32 = 0x7105;
const BINDING_TABLE_POOL_ALLOC: u32 = 0x7919;
const CFE_STATE: u32 = 0x7200;
const COMPUTE_WALKER: u32 = 0x7208;

/// STATE_BASE_ADDRESS: bit 0 of an address: it is to be changed.
const MODIFY: u32 = 1;
/// MEDIA_VFE_STATE of gen7: GPGPU mode.
const GPGPU_MODE: u32 = 1 << 2;
/// The length in MEDIA_CURBE_LOAD and MEDIA_INTERFACE_DESCRIPTOR_LOAD.
const LOAD_LENGTH: u32 = 0x1_ffff;

/// A page in two dwords, of 48 bits, with a MOCS entry below it that starts at bit `mocs`.
fn page(low: u32, high: u32, mocs: u32) -> Pointer {
    Pointer { at: u64::from(high & 0xffff) << 32 | u64::from(low & !0xfff), mocs: (low >> mocs & 0x3f) as u8 }
}

impl Gpu {
    /// The form of shaders on this engine, if it runs any.
    pub fn shader_form(&self, context: &Context) -> Option<Form> {
        let name = self.engines[context.engine].info.name;
        self.platform.shaders.filter(|_| matches!(name, "rcs0" | "ccs0"))
    }

    /// Executes a command that has to do with shaders; others are ignored. One that is not known in
    /// this form is written to the trace, and has no effect. `Break`: it never ends, and the engine hangs.
    pub fn shader_command(&mut self, form: Form, context: &Context, command: &Command) -> ControlFlow<()> {
        let words = &command.words;
        let done = match (words[0] >> 16, form == Form::XeHp) {
            (PIPELINE_SELECT, _) => self.select_pipeline(context, words[0]),
            (STATE_BASE_ADDRESS, _) => self.set_bases(form, context, words),
            (MEDIA_VFE_STATE, false) => self.set_front_end(form, context, words),
            (MEDIA_CURBE_LOAD, false) => self.load_constants(context, words),
            (MEDIA_INTERFACE_DESCRIPTOR_LOAD, false) => self.load_descriptors(context, words),
            (BINDING_TABLE_POOL_ALLOC, true) => {
                self.set_pointer(context, Slot::Tables, page(words[1], words[2], 1))
            }
            (CFE_STATE, true) => self.set_state(context, Slot::Threads, (words[3] >> 16).into()),
            _ => Ok(()),
        };
        let walked = done.and_then(|()| match (words[0] >> 16, form == Form::XeHp) {
            (GPGPU_WALKER, false) => self.gpgpu_walker(form, context, words),
            (COMPUTE_WALKER, true) => self.compute_walker(context, command),
            _ => Ok(ControlFlow::Continue(())),
        });
        let flow = walked.unwrap_or_else(|error| {
            self.trace(format_args!("not executed: {error}"));
            ControlFlow::Continue(())
        });
        self.engines[context.engine].hangs = flow.is_break();
        flow
    }

    /// PIPELINE_SELECT: since gen9 the upper byte says which bits of the lower one count.
    fn select_pipeline(&self, context: &Context, word: u32) -> Result<(), String> {
        let counts = if self.platform.version >= 9 { word >> 8 & 3 } else { 3 };
        let old = self.state(context, Slot::Pipeline) as u32;
        self.set_state(context, Slot::Pipeline, (old & !counts | word & counts).into())
    }

    fn set_bases(&self, form: Form, context: &Context, words: &[u32]) -> Result<(), String> {
        // The dwords of surface states, dynamic state and instructions.
        let indices = if form == Form::Gen7 { [2, 3, 5] } else { [4, 6, 10] };
        for (index, slot) in indices.into_iter().zip([Slot::Surfaces, Slot::Dynamic, Slot::Instructions]) {
            if words[index] & MODIFY != 0 {
                let high = if form == Form::Gen7 { 0 } else { words[index + 1] };
                self.set_pointer(context, slot, page(words[index], high, 5))?;
            }
        }
        Ok(())
    }

    fn set_front_end(&self, form: Form, context: &Context, words: &[u32]) -> Result<(), String> {
        let (threads, sizes) = if form == Form::Gen7 { (words[2], words[4]) } else { (words[3], words[5]) };
        if form == Form::Gen7 && threads & GPGPU_MODE == 0 {
            self.set_state(context, Slot::Threads, 0)?;
            return Err("MEDIA_VFE_STATE for media objects".into());
        }
        self.set_state(context, Slot::Threads, u64::from(threads >> 16) + 1)?;
        self.set_state(context, Slot::ConstantsRoom, 32 * u64::from(sizes & 0xffff))
    }

    fn load_constants(&self, context: &Context, words: &[u32]) -> Result<(), String> {
        // IGT loads more than there is room for. The rest has no known place: no thread gets it.
        let length = u64::from(words[2] & LOAD_LENGTH).min(self.state(context, Slot::ConstantsRoom));
        let base = self.pointer(context, Slot::Dynamic);
        self.set_pointer(context, Slot::Constants, base.plus(words[3].into()))?;
        self.set_state(context, Slot::ConstantsLength, length)
    }

    fn load_descriptors(&self, context: &Context, words: &[u32]) -> Result<(), String> {
        let base = self.pointer(context, Slot::Dynamic);
        self.set_pointer(context, Slot::Descriptors, base.plus(words[3].into()))?;
        self.set_state(context, Slot::DescriptorsLength, (words[2] & LOAD_LENGTH).into())
    }
}
