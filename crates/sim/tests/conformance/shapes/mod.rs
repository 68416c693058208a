//! Calls as data: which requests there are, and which values each field of their structs may take.
//!
//! The first value of each field is an ordinary one, so that a call with all first values succeeds
//! where it can. A call changes few fields at a time, or is random; see `random` and `enumerated`.

pub mod access;
pub mod build;
pub mod caching;
pub mod contexts;
pub mod display;
pub mod execute;
pub mod facts;
pub mod framebuffers;
pub mod legacy;
pub mod objects;
pub mod query;
pub mod share;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

pub use build::{Builder, Mask};

use crate::processes::arena::{DATA, HOLE, ISLAND, READ_ONLY};

/// The parts of a call.
#[derive(Debug)]
pub struct Shape {
    /// As the uAPI header names it, without the prefix.
    pub name: &'static str,
    /// The way in which it is made.
    pub kind: Kind,
    /// On which files.
    pub files: Files,
    /// Its relative frequency among random calls.
    pub weight: u32,
    /// Its fields.
    pub fields: &'static [Field],
}

/// The way in which a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// ioctl(2) on a device's file.
    Ioctl(u32),
    /// ioctl(2) on a dma-buf, which the first field names.
    DmaBuf(u32),
    /// mmap(2) of a device's file: offset, bytes added to it, length, pages.
    Mmap,
    /// mmap(2) of a dma-buf: descriptor, offset, length, pages.
    MmapDmaBuf,
    /// munmap(2): mapping.
    Munmap,
    /// A load: mapping, offset, length.
    Load,
    /// A store: mapping, offset, length, byte.
    Store,
    /// close(2): descriptor.
    Close,
    /// lseek(2) to the end: descriptor.
    Seek,
    /// The shrinker.
    Shrink,
    /// Suspend to memory, and resume.
    Suspend,
}

/// On which files a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// The first file of the primary node, its second, or the render node's.
    All,
    /// The first of the primary node.
    First,
}

/// A field of a call.
#[derive(Debug)]
pub struct Field {
    /// Its name in the header.
    pub name: &'static str,
    /// Bytes from the struct's start.
    pub at: usize,
    /// Bytes of it.
    pub size: usize,
    /// The values that go in.
    pub values: Values,
    /// The comparison of the value that comes back.
    pub out: Out,
}

/// The values of a field.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// These.
    Of(&'static [u64]),
    /// An object's name, one that was closed, or no name; never that of the batch.
    Handle,
    /// As `Handle`, and the batch.
    AnyHandle,
    /// An address in the arena, good ones and bad ones.
    Address,
    /// A descriptor that some call returned, or none.
    Fd,
    /// An offset that some call returned, or none.
    Offset,
    /// A framebuffer that some call made, or none.
    Framebuffer,
    /// A mapping that some call made, or none.
    Mapping,
    /// The address of something that is built for the call; as many kinds as said.
    Built(u16, fn(&mut Builder, u16) -> u64),
}

/// The part of a field that is compared after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Out {
    /// The bytes.
    Exact,
    /// Which descriptor it is.
    Fd,
    /// Which offset it is.
    Offset,
    /// Which framebuffer it is.
    Framebuffer,
    /// Which mapping it is; its length is in the field `size`.
    Address,
    /// Its sign, or 0: a time that is left.
    Sign,
    /// Nothing, and why.
    Nothing(&'static str),
}

/// Names of objects that calls use; the batch has the name 1, and is spared.
pub const HANDLES: &[u64] = &[2, 3, 4, 5, 0, 77, 0xffff_ffff];
/// Those and the batch.
pub const ANY_HANDLES: &[u64] = &[2, 3, 1, 4, 5, 0, 77, 0xffff_ffff];
/// Addresses that data are copied from and to.
pub const ADDRESSES: &[u64] = &[
    DATA,
    DATA + 100,
    DATA + 4096 - 60,
    READ_ONLY - 64,
    READ_ONLY,
    HOLE - 64,
    HOLE,
    ISLAND - 10,
    ISLAND,
    0,
    0x7fff_ffff_f000,
    0x7fff_ffff_effc,
    0x8000_0000_0000,
    0xffff_8000_0000_0000,
    0xffff_ffff_ffff_ff00,
];
/// The number of descriptors, offsets, framebuffers or mappings to choose from; the last two do not exist.
pub const TOKENS: u16 = 6;

impl Values {
    /// Returns the number of values.
    pub fn len(self) -> u16 {
        match self {
            Self::Of(values) => values.len() as u16,
            Self::Handle => HANDLES.len() as u16,
            Self::AnyHandle => ANY_HANDLES.len() as u16,
            Self::Address => ADDRESSES.len() as u16,
            Self::Fd | Self::Offset | Self::Framebuffer | Self::Mapping => TOKENS,
            Self::Built(count, _) => count,
        }
    }
}

/// A field: `f(NAME, OFFSET, SIZE, VALUES)`.
pub const fn f(name: &'static str, at: usize, size: usize, values: Values) -> Field {
    Field { name, at, size, values, out: Out::Exact }
}

/// A field whose value is not compared byte by byte.
pub const fn out(name: &'static str, at: usize, size: usize, values: Values, out: Out) -> Field {
    Field { name, at, size, values, out }
}

/// A request on every file.
pub const fn ioctl(name: &'static str, code: u32, weight: u32, fields: &'static [Field]) -> Shape {
    Shape { name, kind: Kind::Ioctl(code), files: Files::All, weight, fields }
}

/// A call that is no request of the device.
pub const fn plain(name: &'static str, kind: Kind, weight: u32, fields: &'static [Field]) -> Shape {
    Shape { name, kind, files: Files::All, weight, fields }
}

/// Names of the shapes that are used; all of them if there are none.
static CHOSEN: OnceLock<Vec<String>> = OnceLock::new();

/// Uses only the shapes whose names begin with one of these words, separated by commas.
pub fn choose(words: &str) {
    let _ = CHOSEN.set(words.split(',').map(str::to_owned).collect());
}

/// Set if the driver has a display.
static DISPLAY: AtomicBool = AtomicBool::new(false);

/// Says that the driver has a display: framebuffers can be made, and what is unlike is left out.
pub fn with_display() {
    DISPLAY.store(true, Ordering::Relaxed);
}

/// Returns whether the driver has a display.
pub fn has_display() -> bool {
    DISPLAY.load(Ordering::Relaxed)
}

/// The shapes that are used.
pub fn chosen() -> impl Iterator<Item = &'static Shape> {
    let chosen = CHOSEN.get().map_or(&[][..], Vec::as_slice);
    let left_out = if has_display() { display::UNLIKE } else { &[] };
    all().filter(move |shape| {
        if left_out.iter().any(|one| one.name == shape.name) {
            return false;
        }
        chosen.is_empty() || chosen.iter().any(|word| shape.name.starts_with(word.as_str()))
    })
}

/// Every shape.
fn all() -> impl Iterator<Item = &'static Shape> {
    [
        caching::SHAPES,
        access::SHAPES,
        contexts::SHAPES,
        display::SHAPES,
        display::UNLIKE,
        execute::SHAPES,
        facts::SHAPES,
        framebuffers::SHAPES,
        legacy::SHAPES,
        legacy::OTHERS,
        objects::SHAPES,
        query::SHAPES,
        share::SHAPES,
    ]
    .into_iter()
    .flatten()
}

/// The shape of that name.
pub fn named(name: &str) -> &'static Shape {
    all().find(|shape| shape.name == name).unwrap_or_else(|| panic!("no shape '{name}'"))
}
