//! The threads of a walker: one after the other, group by group.

use super::state::Slot;
use super::surfaces::Surfaces;
use super::walker::Descriptor;
use crate::eu::layout::Form;
use crate::eu::{REGISTER, Shader, Stop, Thread};
use crate::gpu::Gpu;
use crate::translation::page_tables::Context;
use std::ops::ControlFlow::{self, Break, Continue};

/// What a walker starts.
pub struct Dispatch {
    pub form: Form,
    /// Channels of a thread.
    pub lanes: u32,
    /// Threads in a row of a group, and in a group.
    pub row: u32,
    pub threads: u32,
    /// The channels of the last thread in a row.
    pub right: u32,
    /// The first group, and the end of groups, by dimension.
    pub from: [u32; 3],
    pub to: [u32; 3],
    pub descriptor: Descriptor,
    /// Data for register 1 of each thread.
    pub inline: Option<[u32; 8]>,
}

/// More threads than this in one walker are an accident.
const MOST_THREADS: u64 = 1 << 20;

impl Gpu {
    /// Runs all threads of a walker. Those that cannot go on say so in the trace; `Break`: one of them never ends.
    pub fn dispatch(&self, dispatch: &Dispatch, context: &Context) -> Result<ControlFlow<()>, String> {
        let descriptor = &dispatch.descriptor;
        let [x, y, z] = [0, 1, 2].map(|dimension| dispatch.from[dimension]..dispatch.to[dimension]);
        let groups = [&x, &y, &z].iter().map(|range| range.len() as u64).fold(1, u64::saturating_mul);
        if groups.saturating_mul(dispatch.threads.into()) > MOST_THREADS {
            return Err(format!("a walker of {groups} groups of {} threads", dispatch.threads));
        }
        if descriptor.threads != 0 && descriptor.threads != dispatch.threads {
            let (other, threads) = (descriptor.threads, dispatch.threads);
            return Err(format!("a walker with {threads} threads in a group, and a descriptor with {other}"));
        }
        if descriptor.constants != 0 && descriptor.shared_constants != 0 {
            return Err("constants for each thread beside shared ones: their order is not known".into());
        }
        self.trace(format_args!(
            "a walker of {groups} groups of {} threads, SIMD{}",
            dispatch.threads, dispatch.lanes
        ));
        let start = self.pointer(context, Slot::Instructions).plus(descriptor.shader);
        let shader = Shader::read(dispatch.form, |offset| {
            let from = start.plus(offset);
            self.load_words(context, from).ok_or_else(|| format!("no instruction at {:x}", from.at))
        });
        let base = self.pointer(context, Slot::Surfaces);
        let tables = if dispatch.form == Form::XeHp { self.pointer(context, Slot::Tables) } else { base };
        let table = tables.plus(descriptor.table.into());
        let mut surfaces = Surfaces::new(self, context, dispatch.form, base, table);
        for z in z {
            for y in y.clone() {
                for x in x.clone() {
                    for number in 0..dispatch.threads {
                        let ran =
                            self.run_thread(dispatch, context, &shader, &mut surfaces, [x, y, z], number);
                        let thread = format_args!("thread {number} of group {x} {y} {z}");
                        match ran {
                            Ok(()) => {}
                            Err(Stop::Unknown(error)) => {
                                self.trace(format_args!("{thread} stopped: {error}"))
                            }
                            Err(Stop::Endless) => {
                                self.trace(format_args!("{thread} never ends"));
                                return Ok(Break(()));
                            }
                        }
                    }
                }
            }
        }
        Ok(Continue(()))
    }

    fn run_thread(
        &self,
        dispatch: &Dispatch,
        context: &Context,
        shader: &Shader,
        surfaces: &mut Surfaces<'_>,
        [x, y, z]: [u32; 3],
        number: u32,
    ) -> Result<(), Stop> {
        let descriptor = &dispatch.descriptor;
        let constants = self.constants(context, descriptor, number)?;
        let last = (number + 1).is_multiple_of(dispatch.row);
        let mask = u32::MAX >> (32 - dispatch.lanes) & if last { dispatch.right } else { u32::MAX };
        let mut thread = Thread::new(dispatch.form, mask, surfaces);
        let header = [0, x, 0, descriptor.samplers, descriptor.table, 0, y, z];
        for (index, word) in header.into_iter().enumerate() {
            thread.registers.set_dword(0, index, word)?;
        }
        thread.registers.bytes(1, constants.len())?.copy_from_slice(&constants);
        for (index, word) in dispatch.inline.iter().flatten().enumerate() {
            thread.registers.set_dword(1, index, *word)?;
        }
        thread.run(shader)
    }

    /// The constants that a thread starts with.
    fn constants(&self, context: &Context, descriptor: &Descriptor, number: u32) -> Result<Vec<u8>, String> {
        let own = u64::from(descriptor.constants);
        let registers = own.max(descriptor.shared_constants.into());
        let mut bytes = vec![0; registers as usize * REGISTER];
        let offset = (u64::from(descriptor.constants_start) + own * u64::from(number)) * REGISTER as u64;
        let loaded = self.state(context, Slot::ConstantsLength);
        if bytes.is_empty() {
            return Ok(bytes);
        }
        if offset + bytes.len() as u64 > loaded {
            return Err(format!("{} bytes of constants from {offset} on, of {loaded}", bytes.len()));
        }
        let from = self.pointer(context, Slot::Constants).plus(offset);
        self.load(context, from, &mut bytes).ok_or_else(|| format!("no constants at {:x}", from.at))?;
        Ok(bytes)
    }
}
