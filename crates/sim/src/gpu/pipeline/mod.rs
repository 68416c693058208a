//! The 3D and compute pipelines, as far as they access memory.
//!
//! The command streamer keeps the state of these commands while it walks a batch. The shaders of compute walkers are executed ([`compute`],
//! [`shader`]) if each instruction is known; a shader that breaks a rule of the hardware hangs the GPU.
//!
//! Nothing is drawn. On a device that is watched or traced, a draw reads what the fixed functions read:
//!
//! - the vertex fetcher, vertices and indices ([`vertices`]): exactly the bytes that the vertex elements name;
//! - the state cache, binding tables and surface states ([`tables`]); what it sees is decoded further.
//!
//! A surface's own bytes are read or written by shaders. Where these are not executed, its dirty lines are logged as
//! [`Mistake::DirtySurface`](crate::Mistake::DirtySurface), and all of its lines are traced as
//! [`TraceEvent::Bound`](crate::TraceEvent::Bound) ([`surface`]).
//!
//! What is followed and what is skipped is counted ([`Coverage`](crate::Coverage)). A draw may access any object of its
//! submission, followed or not, because its shaders are not executed; so may a dispatch that is skipped
//! ([`TraceEvent::Unfollowed`](crate::TraceEvent::Unfollowed)).
//!
//! An encoding that is not known, a draw that depends on a predicate or on registers, and state that may be stale are
//! skipped: no byte is read here that the hardware might not read. No read faults, because the decoder knows less than
//! the hardware.
//!
//! Source of every encoding: Mesa's `src/intel/genxml` (`gen6.xml` to `gen125.xml`); numbers of formats:
//! `src/intel/isl/isl.h`. Each table names the structures there.

mod compute;
mod encoding;
mod formats;
mod reader;
mod shader;
mod surface;
mod tables;
mod topology;
mod vertices;

use std::collections::BTreeMap;
use std::sync::MutexGuard;

use super::commands::Streamer;
use super::commands::encoding::{
    CLIENT_MI, CLIENT_PIPELINES, CLIENT_SHIFT, MI_LOAD_REGISTER_IMM, PIPE_CONTROL, REGISTER, mi_opcode,
};
use super::commands::{post_sync, work};
use super::engines::Lane;
use super::memory::View;
use crate::kernel::objects::system::System;
use crate::observe::coverage::Kind;
use compute::{Compute, PostSync};
use encoding::{Encoding, bits};
use gem_coherency::sync::Mutex;
use gem_coherency::vocabulary::MocsClass;
use reader::{Judged, Reader};
use shader::Outcome;
pub(in crate::gpu) use shader::Refusal;
use tables::Tables;
use vertices::Vertices;

/// GT_MODE (graphics 11 and 12): bit 10 selects the larger binding table pointers, and bit 26 makes it valid.
const GT_MODE: u32 = 0x7008;

/// The reason of work that is skipped after a predicate.
const PREDICATE: &str = "an earlier command depends on a predicate";
/// The reason of draws on a device that is neither watched nor traced.
const NOT_JUDGED: &str = "draws are not executed";

/// The state of a context's pipelines, which the hardware keeps in the context's image between batches.
#[derive(Clone, Debug, Default)]
struct State {
    vertices: Vertices,
    tables: Tables,
    compute: Compute,
}

/// The states of a context's queues.
#[derive(Debug, Default)]
pub(in crate::gpu) struct Images(Mutex<BTreeMap<Lane, State>>);

/// The pipelines during a batch.
#[derive(Debug)]
pub(in crate::gpu) struct Pipeline {
    on: Streamer,
    /// `None` of engines without these pipelines, and of generations that are not known here.
    followed: Option<Box<Followed>>,
}

/// Pipelines whose state is kept.
#[derive(Debug)]
struct Followed {
    encoding: Encoding,
    state: State,
    judged: Judged,
    /// What draws read is read: the device is watched or traced.
    judges: bool,
    /// The next commands depend on a predicate that is not known.
    predicated: bool,
    /// The batch jumped by a predicate that is not known: the hardware may be elsewhere.
    astray: bool,
}

impl Pipeline {
    /// Begins a batch with the state that the last batch of its queue left, which is taken: a batch that hangs leaves none.
    pub(in crate::gpu) fn begin(system: &System, on: &Streamer, images: &Images, lane: Lane) -> Self {
        let (watched, traced) = (system.incoherent.is_on(), system.trace.is_on());
        let encoding = Encoding::new(on, system.trace.is_coherent());
        if !on.renders() || !encoding.is_known() {
            return Self { on: *on, followed: None };
        }
        let state = images.states().remove(&lane).unwrap_or_default();
        let followed = Followed {
            encoding,
            state,
            judged: Judged::default(),
            judges: watched || traced,
            predicated: false,
            astray: false,
        };
        Self { on: *on, followed: Some(Box::new(followed)) }
    }

    /// Ends the batch, and keeps the state for the next one.
    pub(in crate::gpu) fn end(self, images: &Images, lane: Lane) {
        if let Some(followed) = self.followed.filter(|followed| !followed.predicated && !followed.astray) {
            images.states().insert(lane, followed.state);
        }
    }

    /// Sets whether the next commands depend on a predicate that is not known.
    pub(in crate::gpu) fn depend(&mut self, is_unknown: bool) {
        if let Some(followed) = &mut self.followed {
            followed.predicated = is_unknown;
            if is_unknown {
                followed.state = State::default();
            }
        }
    }

    /// Takes note of a jump by a predicate that is not known: the hardware may be elsewhere.
    pub(in crate::gpu) fn stray(&mut self) {
        if let Some(followed) = &mut self.followed {
            followed.astray = true;
        }
    }

    /// Follows a command, of which `words` are all dwords, and executes the shaders that it starts.
    ///
    /// # Errors
    /// The reason why a shader hangs the GPU, or ends early.
    pub(in crate::gpu) fn follow(&mut self, view: &View<'_>, words: &[u32]) -> Result<(), Refusal> {
        let Some(&first) = words.first() else { return Ok(()) };
        let starts = if self.on.renders() { work::started(&self.on, first) } else { None };
        match (&mut self.followed, starts) {
            (Some(followed), Some(kind)) if followed.astray || followed.predicated => {
                view.skip(kind, PREDICATE)
            }
            (Some(followed), _) if !followed.astray => return followed.follow(view, first, words, starts),
            (Some(_), _) | (None, None) => {}
            (None, Some(kind)) => view.skip(kind, "this generation's pipelines are not simulated"),
        }
        Ok(())
    }
}

impl Images {
    fn states(&self) -> MutexGuard<'_, BTreeMap<Lane, State>> {
        self.0.lock()
    }
}

impl Followed {
    fn follow(
        &mut self,
        view: &View<'_>,
        first: u32,
        words: &[u32],
        starts: Option<Kind>,
    ) -> Result<(), Refusal> {
        match first >> CLIENT_SHIFT {
            CLIENT_MI => self.streamer_command(first, words),
            CLIENT_PIPELINES if !self.predicated => match starts {
                None => self.set(view, first >> 16, words),
                Some(Kind::Dispatch) => return self.dispatch(view, first >> 16, words),
                Some(kind) => match self.draw(view, first >> 16, words) {
                    Ok(false) => {}
                    Ok(true) => {
                        view.follow(kind);
                        // Its shaders are not executed.
                        view.bindings.miss();
                    }
                    Err(why) => view.skip(kind, why),
                },
            },
            _ => {}
        }
        Ok(())
    }

    fn streamer_command(&mut self, first: u32, words: &[u32]) {
        let encoding = self.encoding;
        if mi_opcode(first) == MI_LOAD_REGISTER_IMM {
            for pair in words.get(1..).unwrap_or_default().as_chunks::<2>().0 {
                let [register, value] = *pair;
                if register & REGISTER == GT_MODE && bits(value, 26, 26) != 0 {
                    self.state.tables.set_alignment(encoding, bits(value, 10, 10) != 0);
                }
            }
        }
    }

    /// Follows a command that sets state.
    fn set(&mut self, view: &View<'_>, opcode: u32, words: &[u32]) {
        let encoding = self.encoding;
        let State { vertices, tables, compute } = &mut self.state;
        let mut reader = Reader::new(view, &mut self.judged);
        vertices.set(encoding, opcode, words);
        tables.set(encoding, opcode, words);
        compute.set(encoding, opcode, words, &mut reader);
    }

    /// Reads what the fixed functions read for a draw; returns whether anything is drawn.
    ///
    /// # Errors
    /// The reason why some of it is not read.
    fn draw(&mut self, view: &View<'_>, opcode: u32, words: &[u32]) -> Result<bool, &'static str> {
        if opcode != vertices::PRIMITIVE {
            return Err("the command is not known");
        }
        let encoding = self.encoding;
        let State { vertices, tables, .. } = &self.state;
        let Some(draw) = vertices.draw(encoding, words)? else { return Ok(false) };
        if !self.judges {
            return Err(NOT_JUDGED);
        }
        let mut reader = Reader::new(view, &mut self.judged);
        let read = (vertices.fetch(&draw, &mut reader), tables.draw(encoding, &mut reader));
        reader.all_read()?;
        read.0.and(read.1).map(|()| true)
    }

    /// Executes the shader of a dispatch, and makes the write after it, also if the shader is skipped: programs wait for it.
    ///
    /// # Errors
    /// The reason why the shader hangs the GPU.
    fn dispatch(&mut self, view: &View<'_>, opcode: u32, words: &[u32]) -> Result<(), Refusal> {
        let is_predicated = words.first().is_some_and(|first| bits(*first, 8, 8) != 0);
        let Some(write) = PostSync::of(self.encoding, opcode, words).filter(|_| !is_predicated) else {
            return self.execute(view, opcode, words);
        };
        let start = view.engines.system.hardware.timestamp();
        self.execute(view, opcode, words)?;
        let (address, bytes) = write.bytes(start, view.engines.system.hardware.timestamp());
        view.write(MocsClass::PageTable, address, &bytes);
        view.bindings.tally.stream();
        Ok(())
    }

    /// Executes the shader of a dispatch.
    ///
    /// # Errors
    /// As [`Self::dispatch`].
    fn execute(&mut self, view: &View<'_>, opcode: u32, words: &[u32]) -> Result<(), Refusal> {
        let kind = Kind::Dispatch;
        let encoding = self.encoding;
        let State { tables, compute, .. } = &self.state;
        let mut reader = Reader::new(view, &mut self.judged);
        let dispatch = match opcode {
            compute::GPGPU_WALKER | compute::COMPUTE_WALKER => compute.dispatch(encoding, words, &mut reader),
            _ => Err("the command is not known"),
        };
        let dispatch = match dispatch {
            Ok(Some(dispatch)) => dispatch,
            Ok(None) => return Ok(()),
            Err(why) => {
                view.skip(kind, why);
                return Ok(());
            }
        };
        match shader::run(encoding, &dispatch, tables, view, &mut reader) {
            Ok(Outcome::Done) => view.follow(kind),
            Ok(Outcome::Skipped(why)) => {
                view.skip(kind, &why);
                if self.judges && tables.dispatch(encoding, dispatch.table, &mut reader) {
                    view.follow(Kind::Surfaces);
                }
            }
            Err(refusal) => {
                view.skip(
                    kind,
                    match refusal {
                        Refusal::Rule(_) | Refusal::Endless => "the shader hangs the GPU",
                        Refusal::Unwanted => "the program ended first",
                    },
                );
                return Err(refusal);
            }
        }
        Ok(())
    }
}

impl Streamer {
    /// Returns the number of dwords that [`Self::decode`] needs of a command of `dwords` dwords.
    pub(in crate::gpu) fn reads(&self, first: u32, dwords: usize) -> usize {
        match first >> CLIENT_SHIFT {
            CLIENT_PIPELINES if first >> 16 == PIPE_CONTROL => dwords.min(post_sync::PIPE_CONTROL_READS),
            CLIENT_PIPELINES if self.renders() && is_followed(first) => dwords,
            CLIENT_PIPELINES if self.renders() && work::is_depth_operation(first) => dwords,
            CLIENT_PIPELINES => 1,
            _ => dwords,
        }
    }
}

/// Returns whether [`Pipeline::follow`] needs all dwords of the pipelines' command that starts with `first`.
fn is_followed(first: u32) -> bool {
    let opcode = first >> 16;
    vertices::OPCODES.contains(&opcode) || compute::OPCODES.contains(&opcode) || tables::is_followed(opcode)
}

#[cfg(test)]
mod tests;
