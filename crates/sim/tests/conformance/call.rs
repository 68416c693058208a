//! A call: a shape and the values it takes, and how it is made.

use std::fmt;

use gem_coherency::Errno;
use gem_coherency_sim::Pages;

use super::shapes::{
    ADDRESSES, ANY_HANDLES, Builder, Field, HANDLES, Kind, Mask, Out, Shape, TOKENS, Values,
};
use crate::processes::arena::ARGS;
use crate::processes::target::{Done, Target};

/// A call, the same for every process.
#[derive(Clone)]
pub struct Call {
    /// Its shape.
    pub shape: &'static Shape,
    /// On which of the three files.
    pub file: u16,
    /// Which value each field takes.
    pub picks: Vec<u16>,
}

/// Values that earlier calls returned in one process; an index refers to the same value in all of them.
#[derive(Debug, Default)]
pub struct Known {
    pub fds: Vec<i32>,
    pub offsets: Vec<u64>,
    pub framebuffers: Vec<u32>,
    /// Address and length.
    pub mappings: Vec<(u64, u64)>,
}

/// The result of a call, with everything replaced that may differ between processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The value that it returned.
    pub done: Done<u64>,
    /// The request's struct afterwards, or the bytes that were loaded.
    pub bytes: Vec<u8>,
}

/// No offset and no address: what stands for a token that there is none of.
const NONE: u64 = 0x4000_0000_0000;

impl Call {
    /// The call whose fields take their first values.
    pub fn first(shape: &'static Shape) -> Self {
        Self { shape, file: 0, picks: vec![0; shape.fields.len()] }
    }

    /// The same with `value` in the field `name`.
    pub fn with(mut self, name: &str, value: u64) -> Self {
        let index = self.shape.fields.iter().position(|field| field.name == name);
        let index = index.unwrap_or_else(|| panic!("{} has no field {name}", self.shape.name));
        let pick = (0..self.shape.fields[index].values.len())
            .find(|&pick| plain_value(self.shape.fields[index].values, pick) == Some(value));
        self.picks[index] = pick.unwrap_or_else(|| panic!("{}.{name} never is {value:#x}", self.shape.name));
        self
    }

    /// Makes the call in `target`; returns what came of it, and what is not to be compared.
    pub fn make(&self, target: &mut dyn Target, fd: i32, known: &mut Known) -> (Outcome, Vec<Mask>) {
        let mut builder = Builder::default();
        let values: Vec<u64> = (self.shape.fields.iter().zip(&self.picks))
            .map(|(field, &pick)| value(field.values, pick, known, &mut builder))
            .collect();
        for (address, bytes) in &builder.written {
            target.store(*address, bytes).expect("the arena can be written");
        }
        let outcome = match self.shape.kind {
            Kind::Ioctl(code) => self.request(target, fd, code, &values, known),
            Kind::DmaBuf(code) => self.request(target, values[0] as i32, code, &values, known),
            Kind::Mmap => self.map(target, fd, values[0].wrapping_add(values[1]), &values[2..], known),
            Kind::MmapDmaBuf => self.map(target, values[0] as i32, values[1], &values[2..], known),
            Kind::Munmap => {
                let done = match known.mappings.get_mut(usize::from(self.picks[0])) {
                    Some(mapping) if mapping.0 != NONE => {
                        let (address, len) = std::mem::replace(mapping, (NONE, 0));
                        target.munmap(address, len).map(|()| 0)
                    }
                    _ => Err(Errno::EINVAL),
                };
                Outcome { done, bytes: Vec::new() }
            }
            Kind::Load => {
                let mut bytes = vec![0; self.mapped(known, values[1], values[2])];
                let done = target.load(values[0].wrapping_add(values[1]), &mut bytes).map(|()| 0);
                Outcome { done, bytes: if done.is_ok() { bytes } else { Vec::new() } }
            }
            Kind::Store => {
                let bytes = vec![values[3] as u8; self.mapped(known, values[1], values[2])];
                let done = target.store(values[0].wrapping_add(values[1]), &bytes).map(|()| 0);
                Outcome { done, bytes: Vec::new() }
            }
            Kind::Close => {
                let done = target.close(values[0] as i32).map(|()| 0);
                if let Some(fd) = known.fds.get_mut(usize::from(self.picks[0])) {
                    *fd = -1;
                }
                Outcome { done, bytes: Vec::new() }
            }
            Kind::Seek => Outcome { done: target.size_of(values[0] as i32), bytes: Vec::new() },
            Kind::Suspend => {
                target.suspend();
                Outcome { done: Ok(0), bytes: Vec::new() }
            }
            Kind::Shrink => {
                target.shrink();
                Outcome { done: Ok(0), bytes: Vec::new() }
            }
        };
        (outcome, builder.masks)
    }

    /// As many of `len` bytes from `offset` as are in the mapping: what lies after it is chance.
    fn mapped(&self, known: &Known, offset: u64, len: u64) -> usize {
        let mapping = known.mappings.get(usize::from(self.picks[0])).filter(|mapping| mapping.0 != NONE);
        let end = mapping.and_then(|mapping| mapping.1.checked_next_multiple_of(4096)).unwrap_or(u64::MAX);
        len.min(end.saturating_sub(offset)) as usize
    }

    fn request(
        &self,
        target: &mut dyn Target,
        fd: i32,
        code: u32,
        values: &[u64],
        known: &mut Known,
    ) -> Outcome {
        let size = (code >> 16 & 0x3fff) as usize;
        let mut args = vec![0; size];
        for (field, value) in self.shape.fields.iter().zip(values) {
            put(&mut args, field, *value);
        }
        target.store(ARGS, &args).expect("the arena can be written");
        let done = target.ioctl(fd, code, ARGS).map(|value| value as u64);
        target.load(ARGS, &mut args).expect("the arena can be read");
        for (field, &given) in self.shape.fields.iter().zip(values) {
            let back = get(&args, field);
            let token = match field.out {
                Out::Exact if tokenless(field.values) => continue,
                // A token that went in came back as it was, or it is what it is.
                Out::Exact => (back != given).then_some(back),
                _ if done.is_err() => (back != given).then_some(back),
                Out::Fd => Some(note(&mut known.fds, back as i32)),
                Out::Offset => Some(note(&mut known.offsets, back)),
                Out::Framebuffer => Some(note(&mut known.framebuffers, back as u32)),
                Out::Address => {
                    let len = values[self.shape.fields.iter().position(|f| f.name == "size").unwrap_or(0)];
                    Some(note(&mut known.mappings, (back, len)))
                }
                Out::Sign => Some((back as i64).signum() as u64),
                Out::Nothing(_) => None,
            };
            put(&mut args, field, token.unwrap_or(0));
        }
        Outcome { done, bytes: args }
    }

    fn map(&self, target: &mut dyn Target, fd: i32, offset: u64, rest: &[u64], known: &mut Known) -> Outcome {
        let pages = match rest[1] {
            0 => Pages::ReadWrite,
            1 => Pages::ReadOnly,
            2 => Pages::Executable,
            _ => Pages::None,
        };
        let done = target
            .mmap(rest[0], pages, fd, offset)
            .map(|address| note(&mut known.mappings, (address, rest[0])));
        Outcome { done, bytes: Vec::new() }
    }
}

/// The number of a thing that was returned; a new one is remembered.
fn note<T: PartialEq>(known: &mut Vec<T>, thing: T) -> u64 {
    let index = known.iter().position(|one| *one == thing).unwrap_or_else(|| {
        known.push(thing);
        known.len() - 1
    });
    index as u64
}

fn tokenless(values: Values) -> bool {
    !matches!(values, Values::Fd | Values::Offset | Values::Framebuffer | Values::Mapping)
}

/// The value of a pick that is the same in every process.
fn plain_value(values: Values, pick: u16) -> Option<u64> {
    let list = match values {
        Values::Of(list) => list,
        Values::Handle => HANDLES,
        Values::AnyHandle => ANY_HANDLES,
        Values::Address => ADDRESSES,
        Values::Fd | Values::Offset | Values::Framebuffer | Values::Mapping | Values::Built(..) => {
            return None;
        }
    };
    list.get(usize::from(pick)).copied()
}

fn value(values: Values, pick: u16, known: &Known, builder: &mut Builder) -> u64 {
    let index = usize::from(pick);
    let real = |pick: u16| pick < TOKENS - 2;
    match values {
        // Descriptors that are none: no number, and a number that no file has.
        Values::Fd if !real(pick) => [-1, 9999][usize::from(pick % 2)] as u32 as u64,
        Values::Fd => known.fds.get(index).copied().unwrap_or(-1) as u32 as u64,
        Values::Offset if !real(pick) => [NONE, 0][usize::from(pick % 2)],
        Values::Offset => known.offsets.get(index).copied().unwrap_or(NONE),
        // Ids that are none: no id, and one that no object of the display has.
        Values::Framebuffer if !real(pick) => [0, 0x7fff_fff0][usize::from(pick % 2)],
        Values::Framebuffer => known.framebuffers.get(index).copied().unwrap_or(0).into(),
        Values::Mapping if !real(pick) => NONE,
        Values::Mapping => known.mappings.get(index).map_or(NONE, |mapping| mapping.0),
        Values::Built(_, build) => build(builder, pick),
        Values::Of(_) | Values::Handle | Values::AnyHandle | Values::Address => {
            plain_value(values, pick).unwrap_or(0)
        }
    }
}

fn put(args: &mut [u8], field: &Field, value: u64) {
    if let Some(bytes) = args.get_mut(field.at..field.at + field.size) {
        bytes.copy_from_slice(&value.to_le_bytes()[..field.size]);
    }
}

fn get(args: &[u8], field: &Field) -> u64 {
    let mut value = [0; 8];
    if let Some(bytes) = args.get(field.at..field.at + field.size) {
        value[..field.size].copy_from_slice(bytes);
    }
    u64::from_le_bytes(value)
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on file {}", self.shape.name, self.file)?;
        for (field, &pick) in self.shape.fields.iter().zip(&self.picks) {
            match plain_value(field.values, pick) {
                Some(value) => write!(f, " {}={value:#x}", field.name)?,
                None => write!(f, " {}=#{pick}", field.name)?,
            }
        }
        Ok(())
    }
}
