//! Shaders: loaded, validated, and executed thread by thread.
//!
//! Instructions, the binding table and surface states are read as the hardware does: through the hierarchy, by the MOCS of their base. The bytes
//! of surfaces are accessed by the MOCS entry of the surface.

use std::collections::BTreeMap;

use intel_eu::execute::{Access, Bus, Rows, Shader, Stop, Why};
use intel_eu::{Encoding as Bits, Platform, Rule, validate};

use super::super::memory::View;
use super::super::shader_clock::Overtime;
use super::compute::Dispatch;
use super::encoding::Encoding;
use super::reader::Reader;
use super::surface::{Naming, Surface};
use super::tables::{Base, Tables};

/// Number of instructions of a thread between two looks at the time.
const SLICE: u64 = 1 << 12;
/// Largest size of a shader in bytes.
const MOST_BYTES: usize = 64 << 10;
/// Bytes of instructions that are read at a time.
const FETCH_BYTES: usize = 64;

/// The reason why a shader hangs the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) enum Refusal {
    /// An instruction breaks a rule of the hardware.
    Rule(Rule),
    /// It does not end.
    Endless,
    /// It was ended, because nobody waits for it.
    Unwanted,
}

impl From<Overtime> for Refusal {
    fn from(overtime: Overtime) -> Self {
        match overtime {
            Overtime::Endless => Self::Endless,
            Overtime::Unwanted => Self::Unwanted,
        }
    }
}

/// The result of a dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All threads ran.
    Done,
    /// Not all accesses of the threads were made, for this reason.
    Skipped(String),
}

/// Runs the shader of a dispatch.
///
/// # Errors
/// The reason of a hang, or of an early end.
pub(super) fn run(
    encoding: Encoding,
    dispatch: &Dispatch,
    tables: &Tables,
    view: &View<'_>,
    reader: &mut Reader<'_>,
) -> Result<Outcome, Refusal> {
    let shader = match load(encoding, dispatch, reader)? {
        Ok(shader) => shader,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let engines = view.engines;
    let mut clock = engines.shader_clock(dispatch.all_threads());
    let pointer = dispatch.table.0;
    let mut surfaces =
        Surfaces { encoding, tables, view, reader, pointer, known: BTreeMap::new(), missed: false };
    let [x, y, z] = dispatch.groups.clone();
    for z in z {
        for y in y.clone() {
            for x in x.clone() {
                for number in 0..dispatch.threads {
                    let mut thread = dispatch.thread(&shader, [x, y, z], number);
                    loop {
                        match thread.run(SLICE, &mut surfaces) {
                            Ok(_) => break clock.end_thread(|| engines.is_stopped())?,
                            Err(Stop { why: Why::Endless { .. }, .. }) => {
                                clock.tick(|| engines.is_stopped())?
                            }
                            Err(stop) => {
                                tracing::warn!(%stop, group = ?[x, y, z], "a shader stops");
                                return Ok(Outcome::Skipped(stop.to_string()));
                            }
                        }
                    }
                }
            }
        }
    }
    Ok(match surfaces.missed {
        true => Outcome::Skipped("a shader accesses a surface that is not known".to_owned()),
        false => Outcome::Done,
    })
}

/// Reads a shader up to the end of its thread; says why it cannot be executed.
///
/// # Errors
/// The rule that one of its instructions breaks.
fn load(
    encoding: Encoding,
    dispatch: &Dispatch,
    reader: &mut Reader<'_>,
) -> Result<Result<Shader, String>, Refusal> {
    let skipped = |why: &str| Ok(Err(why.to_owned()));
    let Some(platform) = Platform::from_name(encoding.platform()) else {
        return skipped("the platform's instructions are not known");
    };
    if let Some(unknown) = dispatch.unknown {
        return Ok(Err(format!("the threads get {unknown}")));
    }
    let Some(start) = dispatch.shader else { return skipped("the shader has no address") };
    let (mut code, mut at) = (Vec::new(), 0);
    while code.len() < MOST_BYTES {
        let Some(line) = reader.fetch(start.after(code.len() as u64), FETCH_BYTES) else {
            return skipped("the shader leaves the bound memory, or the batch has read too much");
        };
        code.extend(line);
        // An instruction may go on in the next line.
        while let Ok(encoded) = Bits::at(&code, at) {
            let instruction = match encoded.decode(platform) {
                Ok(instruction) => instruction,
                Err(error) => return Ok(Err(format!("instruction at {at:#x}: {error}"))),
            };
            if let Some(violation) = validate(platform, &instruction).first() {
                tracing::warn!(at, %violation, "invalid shader");
                return Err(Refusal::Rule(violation.rule));
            }
            at += encoded.to_bytes().len();
            if !instruction.message.is_some_and(|message| message.end_of_thread) {
                continue;
            }
            let shader = Shader::new(platform, code.get(..at).unwrap_or_default());
            match shader.check(dispatch.enabled(0)) {
                Ok(_) => return Ok(Ok(shader)),
                // A branch leads after this end.
                Err(Stop { why: Why::End | Why::Target { .. }, .. }) => {}
                Err(stop) => return Ok(Err(stop.to_string())),
            }
        }
    }
    skipped("the shader has no end")
}

/// The surfaces of a dispatch.
struct Surfaces<'a, 'b> {
    encoding: Encoding,
    tables: &'a Tables,
    view: &'a View<'a>,
    reader: &'a mut Reader<'b>,
    /// The binding table.
    pointer: u32,
    /// The surfaces that were accessed before; those that show no known bytes are `None`.
    known: BTreeMap<u8, Option<Surface>>,
    /// A surface that is not known was accessed.
    missed: bool,
}

impl Surfaces<'_, '_> {
    /// Returns a surface whose bytes can be named.
    fn surface(&mut self, entry: u8) -> Option<&Surface> {
        let Self { encoding, tables, reader, pointer, known, .. } = self;
        let surface = known.entry(entry).or_insert_with(|| {
            let surface = tables.surface(*encoding, *pointer, entry, reader);
            surface.filter(|surface| surface.naming != Naming::Unknown)
        });
        surface.as_ref()
    }

    /// Returns the part of an access that lies in the surface: the class and the address of the first byte, and the number of bytes.
    fn part(&mut self, access: Access, len: usize) -> Option<(Base, usize)> {
        let Access { at, surface: entry, offset } = access;
        let Some(surface) = self.surface(entry) else {
            tracing::warn!(surface = entry, at, "a shader accesses a surface that is not known");
            self.missed = true;
            return None;
        };
        let bytes = match surface.naming {
            Naming::Rows { .. } => surface.stride.saturating_mul(surface.rows),
            Naming::Offsets | Naming::Unknown => surface.row_bytes,
        };
        let left = bytes.checked_sub(offset.into())?;
        let base = Base { address: surface.start, mocs: surface.mocs };
        Some((base.after(offset.into()), len.min(left as usize)))
    }
}

impl Bus for Surfaces<'_, '_> {
    fn rows(&mut self, surface: u8) -> Option<Rows> {
        let &Surface { naming, rows, stride, .. } = self.surface(surface)?;
        let Naming::Rows { bytes } = naming else { return None };
        Some(Rows { pitch: u32::try_from(stride).ok()?, bytes, count: u32::try_from(rows).ok()? })
    }

    fn read(&mut self, access: Access, bytes: &mut [u8]) {
        bytes.fill(0);
        if let Some((from, len)) = self.part(access, bytes.len())
            && let Some(bytes) = bytes.get_mut(..len)
        {
            self.view.read(from.mocs, from.address, bytes);
        }
    }

    fn write(&mut self, access: Access, bytes: &[u8]) {
        if let Some((to, len)) = self.part(access, bytes.len())
            && let Some(bytes) = bytes.get(..len)
        {
            self.view.write(to.mocs, to.address, bytes);
        }
    }
}
