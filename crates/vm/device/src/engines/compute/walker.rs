//! Walker commands: which threads they start, of which shader.

use super::dispatch::Dispatch;
use super::state::Slot;
use crate::engines::fetch::Command;
use crate::eu::layout::Form;
use crate::gpu::Gpu;
use crate::translation::page_tables::Context;
use std::ops::ControlFlow;

/// The first dword of walkers: to be executed by a predicate, with sizes from registers.
const PREDICATE: u32 = 1 << 8;
const INDIRECT: u32 = 1 << 10;
/// The pipeline that executes GPGPU_WALKER and COMPUTE_WALKER.
const GPGPU_PIPELINE: u64 = 2;
/// The length of indirect data.
const INDIRECT_LENGTH: u32 = 0x1_ffff;
/// Bytes of an interface descriptor.
const DESCRIPTOR: u64 = 32;
/// COMPUTE_WALKER, dword 4: a tile layout, another order of groups, local ids in registers; inline
/// data in registers.
const ORDER_AND_LOCAL_IDS: u32 = 0x7ff << 19 & !INLINE;
const INLINE: u32 = 1 << 25;
/// COMPUTE_WALKER: the first dwords of interface descriptor, post-sync operation, inline data.
const WALKER_DESCRIPTOR: u32 = 18;
const POST_SYNC: u32 = 26;
const INLINE_DATA: u32 = 31;

/// An interface descriptor in the form of gen8.
pub struct Descriptor {
    /// The shader's offset from the base of instructions.
    pub shader: u64,
    pub samplers: u32,
    /// The binding table's offset.
    pub table: u32,
    /// Registers of constants for each thread, and where they start.
    pub constants: u32,
    pub constants_start: u32,
    /// Registers of constants that all threads share.
    pub shared_constants: u32,
    /// Threads in a group; zero: it does not say.
    pub threads: u32,
}

impl Descriptor {
    fn decode(form: Form, words: [u32; 8]) -> Result<Self, String> {
        // Addresses of one dword.
        let [w0, w1, w2, w3, w4, w5, w6, w7] = match (form, words) {
            (Form::Gen7, [w0, w1, w2, w3, w4, w5, w6, _]) => [w0, 0, w1, w2, w3, w4, w5, w6],
            (_, words) => words,
        };
        // Bit 16: the alternate mode of floats.
        if w2 >> 16 & 1 != 0 {
            return Err("a shader in the alternate floating-point mode".into());
        }
        let shader = u64::from(w1 & 0xffff) << 32 | u64::from(w0 & !0x3f);
        let samplers = w3 & !0x1f;
        Ok(if form == Form::XeHp {
            let (table, threads) = (w4 & 0x1f_ffe0, w5 & 0x3ff);
            Self { shader, samplers, table, constants: 0, constants_start: 0, shared_constants: 0, threads }
        } else {
            Self {
                shader,
                samplers,
                table: w4 & 0xffe0,
                constants: w5 >> 16,
                constants_start: w5 & 0xffff,
                shared_constants: w7 & 0xff,
                threads: w6 & if form == Form::Gen7 { 0xff } else { 0x3ff },
            }
        })
    }
}

/// Channels of a thread, from bits 31..30.
fn lanes(word: u32) -> Result<u32, String> {
    match word >> 30 {
        simd @ 0..=2 => Ok(8 << simd),
        simd => Err(format!("a walker with SIMD size {simd}")),
    }
}

impl Gpu {
    /// Checks what both walkers have in common.
    fn check_walker(&self, context: &Context, first: u32) -> Result<(), String> {
        let name = self.engines[context.engine].info.name;
        let pipeline = self.state(context, Slot::Pipeline);
        if name == "rcs0" && pipeline != GPGPU_PIPELINE {
            return Err(format!("a walker in pipeline {pipeline}"));
        }
        if first & (PREDICATE | INDIRECT) != 0 {
            return Err(format!("a walker with a predicate or with indirect parameters: {first:08x}"));
        }
        if self.state(context, Slot::Threads) == 0 {
            return Err("a walker without a front-end state".into());
        }
        Ok(())
    }

    pub fn gpgpu_walker(
        &self,
        form: Form,
        context: &Context,
        words: &[u32; 32],
    ) -> Result<ControlFlow<()>, String> {
        self.check_walker(context, words[0])?;
        let (size, from, to, [right, bottom]) = if form == Form::Gen7 {
            let from = [words[3], words[5], words[7]];
            (words[2], from, [words[4], words[6], words[8]], [words[9], words[10]])
        } else {
            if words[2] & INDIRECT_LENGTH != 0 {
                return Err(format!("a walker with {} bytes of indirect data", words[2] & INDIRECT_LENGTH));
            }
            let from = [words[5], words[8], words[11]];
            (words[4], from, [words[7], words[10], words[12]], [words[13], words[14]])
        };
        if bottom != u32::MAX {
            return Err(format!("a walker with bottom mask {bottom:08x}"));
        }
        let index = u64::from(words[1] & 0x3f);
        let length = self.state(context, Slot::DescriptorsLength);
        if DESCRIPTOR * (index + 1) > length {
            return Err(format!("interface descriptor {index}, of {length} bytes"));
        }
        let source = self.pointer(context, Slot::Descriptors).plus(DESCRIPTOR * index);
        let descriptor = self
            .load_words(context, source)
            .ok_or_else(|| format!("no interface descriptor at {:x}", source.at))?;
        let row = (size & 0x3f) + 1;
        self.dispatch(
            &Dispatch {
                form,
                lanes: lanes(size)?,
                row,
                threads: row * ((size >> 8 & 0x3f) + 1) * ((size >> 16 & 0x3f) + 1),
                right,
                from,
                to,
                descriptor: Descriptor::decode(form, descriptor)?,
                inline: None,
            },
            context,
        )
    }

    pub fn compute_walker(&self, context: &Context, command: &Command) -> Result<ControlFlow<()>, String> {
        let words = &command.words;
        self.check_walker(context, words[0])?;
        if words[2] & INDIRECT_LENGTH != 0 || words[4] & ORDER_AND_LOCAL_IDS != 0 {
            let (indirect, order) = (words[2], words[4]);
            return Err(format!(
                "a walker with indirect data, an order or local ids: {indirect:08x} {order:08x}"
            ));
        }
        let many = |first: u32| -> Option<[u32; 8]> {
            let mut words = [0; 8];
            for (word, index) in words.iter_mut().zip(first..) {
                *word = self.word(context, command, index)?;
            }
            Some(words)
        };
        let (Some(descriptor), Some([post_sync, ..]), Some(inline)) =
            (many(WALKER_DESCRIPTOR), many(POST_SYNC), many(INLINE_DATA))
        else {
            return Err("a walker that ends where nothing is mapped".into());
        };
        // Bits 1..0: the operation.
        if post_sync & 3 != 0 {
            return Err(format!("a walker with post-sync operation {}", post_sync & 3));
        }
        let descriptor = Descriptor::decode(Form::XeHp, descriptor)?;
        let threads = descriptor.threads.max(1);
        self.dispatch(
            &Dispatch {
                form: Form::XeHp,
                lanes: lanes(words[4])?,
                row: threads,
                threads,
                right: words[5],
                from: [words[10], words[11], words[12]],
                to: [words[7], words[8], words[9]],
                descriptor,
                inline: (words[4] & INLINE != 0).then_some(inline),
            },
            context,
        )
    }
}
