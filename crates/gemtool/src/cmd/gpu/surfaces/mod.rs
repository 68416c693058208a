//! Surfaces of shaders on a device: allocated, filled, and described.

pub mod report;

use std::ops::Range;

use gem_coherency::device::{AllocRequest, Device, Submission};
use gem_coherency::policy::pending::cached_mode;
use gem_coherency::units::LINE_BYTES;
use gem_coherency::vocabulary::{Access, MocsClass};
use gemtool::dispatch::{Surface, entry_of_shaders, read};

use crate::args;
use crate::failure::Failure;

/// A surface that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Its number or its binding, for messages.
    pub name: &'a str,
    /// Its settings.
    pub settings: &'a args::Surface,
    /// The MOCS entry; `None` if the page table decides.
    pub entry: Option<u8>,
}

impl Asked<'_> {
    /// Returns the class of the MOCS entry.
    fn class(&self, device: &Device) -> MocsClass {
        self.entry.map_or(MocsClass::PageTable, |entry| device.mocs_class(entry))
    }
}

/// Returns the MOCS entry of a surface on a device.
///
/// # Errors
/// The device has no entry of the class.
pub fn entry(device: &Device, mocs: args::Mocs) -> Result<Option<u8>, Failure> {
    match mocs {
        args::Mocs::Entry(entry) => Ok(Some(entry)),
        args::Mocs::Class(class) => {
            entry_of_shaders(device, class).map_err(|error| Failure::Environment(error.to_string()))
        }
    }
}

/// Allocates the surfaces. The lines that the CPU does not store to get their contents, in memory. Then the GPU uses the surfaces once,
/// as the library prepares them.
///
/// # Errors
/// Those of the library; a file that cannot be read, or is larger than its surface.
pub fn allocate(device: &Device, asked: &[Asked<'_>]) -> Result<Vec<Surface>, Failure> {
    let mut surfaces = Vec::new();
    for one in asked {
        let args::Surface { size, caching, ref contents, .. } = *one.settings;
        let step = || format!("surface {}", one.name);
        let bo = device.alloc(AllocRequest { caching, ..AllocRequest::new(size) });
        let bo = bo.map_err(Failure::step(step()))?;
        if contents.is_some() {
            let (bytes, dirty) = (bytes(one, 0)?, range(one));
            // Memory keeps its zeroes where the CPU stores later.
            for clean in [0..dirty.start, dirty.end..bytes.len()] {
                let written = bo.write_bytes(clean.start as u64, bytes.get(clean).unwrap_or_default());
                written.map_err(Failure::step(step()))?;
            }
            bo.flush().map_err(Failure::step(step()))?;
        }
        surfaces.push(Surface { bo, size, entry: one.entry, class: one.class(device) });
    }
    let uses: Vec<_> = surfaces
        .iter()
        .map(|Surface { bo, class, .. }| Submission { bo, access: Access::Write, mocs: *class })
        .collect();
    device.submit(&uses).map_err(Failure::step("the first use of the surfaces"))?;
    surfaces.iter().try_for_each(|surface| surface.bo.wait(None))?;
    Ok(surfaces)
}

/// Lets the CPU store to the dirty lines, through its cache and past the library, which flushes nothing for that.
///
/// # Errors
/// Those of the mapping.
pub fn store_untracked(device: &Device, asked: &[Asked<'_>], surfaces: &[Surface]) -> Result<(), Failure> {
    for (number, (surface, one)) in (0..).zip(surfaces.iter().zip(asked)) {
        let (bo, bytes, dirty) = (&surface.bo, bytes(one, number)?, range(one));
        let stored = bytes.get(dirty.clone()).unwrap_or_default();
        let mapping = device.drm().map(bo.handle(), cached_mode(device.machine().caps), bo.size());
        let stored = mapping.and_then(|mapping| mapping.copy_in(dirty.start as u64, stored));
        stored.map_err(Failure::step(format!("the CPU's stores to surface {}", one.name)))?;
    }
    Ok(())
}

/// Lets the CPU store to the dirty lines through a guard, so that the library knows of it.
///
/// # Errors
/// Those of the guard.
pub fn store_tracked(device: &Device, asked: &[Asked<'_>], surfaces: &[Surface]) -> Result<(), Failure> {
    for (number, (surface, one)) in (0..).zip(surfaces.iter().zip(asked)) {
        let (bo, bytes, dirty) = (&surface.bo, bytes(one, number)?, range(one));
        let stored = bytes.get(dirty.clone()).unwrap_or_default();
        let stored = bo
            .map(cached_mode(device.machine().caps))
            .and_then(|()| bo.write_bytes(dirty.start as u64, stored).map(drop));
        stored.map_err(Failure::step(format!("the CPU's stores to surface {}", one.name)))?;
    }
    Ok(())
}

/// Returns the bytes of the lines that the CPU stores to.
fn range(one: &Asked<'_>) -> Range<usize> {
    let args::Surface { size, dirty, .. } = one.settings;
    let [first, end] = [dirty.first(), dirty.end()].map(|line| (line * LINE_BYTES).min(*size) as usize);
    first..end
}

/// Returns all bytes of a surface.
fn bytes(one: &Asked<'_>, number: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0; one.settings.size as usize];
    match &one.settings.contents {
        None => (0..).zip(&mut bytes).for_each(|(at, byte)| *byte = stored(number, at)),
        Some(args::Contents::Pattern(pattern)) => pattern.fill(0, &mut bytes),
        Some(args::Contents::Dwords(dwords)) => {
            let from = dwords.iter().flat_map(|dword| dword.to_le_bytes());
            bytes.iter_mut().zip(from).for_each(|(byte, from)| *byte = from);
        }
        Some(args::Contents::File(path)) => {
            let wrong = |why: String| Failure::flag("--surface", format!("'{}': {why}", path.display()));
            let read = read(path).map_err(|error| wrong(error.to_string()))?;
            let (size, len) = (bytes.len(), read.len());
            let part = bytes.get_mut(..len).ok_or_else(|| {
                wrong(format!("{len} bytes are more than surface {} has: {size}", one.name))
            })?;
            part.copy_from_slice(&read);
        }
    }
    Ok(bytes)
}

/// Returns the byte that the CPU stores: any but 0, so that it differs from what memory has, and from most other bytes.
fn stored(surface: u64, at: u64) -> u8 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = (surface << 32 | at).wrapping_add(1).wrapping_mul(ODD);
    ((mixed ^ mixed >> 32).wrapping_mul(ODD) >> 56) as u8 | 1
}
