//! CRCs of what the display reads: those of a software device, or those that a pipe computes, through debugfs.

use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gem_coherency::device::{AllocRequest, Device};
use gem_coherency::object::Bo;
use gem_coherency::vocabulary::MmapMode;
use gem_coherency_exercise::Screen;
use gem_coherency_sim::SimDevice;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::picture::{Contents, Layout, Picture, draw_cursor};
use super::report::CrcSource;
use super::{CURSOR_AT, CURSOR_BYTES};
use crate::failure::Failure;

/// Directory of DRM devices in debugfs, by minor number.
const DEBUGFS: &str = "/sys/kernel/debug/dri";
/// The choice of the pipe's own CRC.
const SOURCE: &[u8] = b"auto";
/// Milliseconds until a CRC must be there. The kernel drops the first two.
const TIMEOUT: u16 = 5000;
/// Bytes of a line of CRCs, at most.
const LINE: usize = 128;

/// The source of CRCs.
#[derive(Debug)]
enum Source {
    Software(Arc<SimDevice>),
    /// The directory of the CRTC's files `control` and `data`.
    Pipe(PathBuf),
    None {
        why: String,
    },
}

/// A picture on the screen, and the CRC that the display had for it.
#[derive(Debug)]
struct Seen {
    row: usize,
    contents: Contents,
    cursor: bool,
    crc: u32,
}

/// CRCs, each with the picture that should have been shown.
#[derive(Debug)]
pub struct Crcs {
    source: Source,
    seen: Vec<Seen>,
}

impl Crcs {
    /// Finds the source of a screen's CRCs.
    pub fn new(device: &Device, soft: Option<Arc<SimDevice>>, screen: &Screen) -> Self {
        let source = match soft {
            Some(soft) => Source::Software(soft),
            None => match directory(device, screen) {
                Ok(directory) => Source::Pipe(directory),
                Err(why) => Source::None { why },
            },
        };
        Self { source, seen: Vec::new() }
    }

    /// Returns the source.
    pub fn source(&self) -> CrcSource {
        match &self.source {
            Source::Software(_) => CrcSource::Simulated,
            Source::Pipe(_) => CrcSource::Measured,
            Source::None { why } => CrcSource::Unknown(why.clone()),
        }
    }

    /// Notes the CRC of what is on the screen at a row, where a picture should be, with the cursor or without.
    pub fn see(&mut self, screen: &Screen, row: usize, contents: &Contents, cursor: bool) {
        if let Some(crc) = self.read(screen) {
            self.seen.push(Seen { row, contents: contents.clone(), cursor, crc });
        }
    }

    /// Returns the CRC of what is on the screen. If the pipe has none, there are none from then on.
    fn read(&mut self, screen: &Screen) -> Option<u32> {
        let crc = match &self.source {
            Source::Software(soft) => soft.display_crc(screen.crtc()).map_err(|error| error.to_string()),
            Source::Pipe(directory) => of_pipe(directory),
            Source::None { .. } => return None,
        };
        crc.map_err(|why| self.source = Source::None { why }).ok()
    }

    /// Returns the row, the expected CRC and the CRC read of each picture that was seen.
    ///
    /// The expected CRC of a pipe is read from the pipe: the picture is shown once more, in a buffer without
    /// cached lines. The screen must be off, and is off afterwards.
    ///
    /// # Errors
    /// The errors of showing the pictures.
    pub fn compare(
        &mut self,
        device: &Device,
        screen: &mut Screen,
    ) -> Result<Vec<(usize, u32, u32)>, Failure> {
        let seen = std::mem::take(&mut self.seen);
        let layout = Layout::of(screen);
        if let Source::Software(_) = self.source {
            let all = seen.iter().map(|seen| (seen.row, seen.contents.crc(layout, seen.cursor), seen.crc));
            return Ok(all.collect());
        }
        if seen.is_empty() {
            return Ok(Vec::new());
        }
        let failed = "the pictures with which CRCs are compared";
        let uncached = |bytes| uncached(device, screen.request(bytes));
        let mut reference = Picture::new(uncached(screen.picture_bytes())?, layout);
        let cursor = uncached(CURSOR_BYTES)?;
        draw_cursor(&cursor).map_err(Failure::step(failed))?;
        let mut compared = Vec::new();
        for Seen { row, contents, cursor: with_cursor, crc } in seen {
            reference.draw_contents(contents).map_err(Failure::step(failed))?;
            screen.show(reference.bo()).map_err(Failure::step(failed))?;
            let shown = with_cursor.then_some(&cursor);
            screen.set_cursor(shown, CURSOR_AT).map_err(Failure::step(failed))?;
            let Some(expected) = self.read(screen) else { break };
            compared.push((row, expected, crc));
        }
        screen.set_cursor(None, CURSOR_AT).map_err(Failure::step(failed))?;
        screen.turn_off().map_err(Failure::step(failed))?;
        screen.forget(reference.bo()).map_err(Failure::step(failed))?;
        Ok(compared)
    }
}

/// Creates a buffer that the CPU writes past its caches.
fn uncached(device: &Device, request: AllocRequest) -> Result<Bo, Failure> {
    let bo = device.alloc(request).map_err(Failure::step("a buffer"))?;
    bo.map(MmapMode::Wc)
        .or_else(|_| bo.map(MmapMode::Fixed))
        .map_err(Failure::step("mapping a buffer past the CPU's caches"))?;
    Ok(bo)
}

/// Returns the directory of a screen's CRCs, or the reason why there is none.
fn directory(device: &Device, screen: &Screen) -> Result<PathBuf, String> {
    let node = device.drm().name();
    let number = fs::metadata(node).map_err(|error| format!("cannot find {node}: {error}"))?.rdev();
    let crtcs = device
        .drm()
        .display()
        .and_then(|display| display.resources())
        .map_err(|error| error.to_string())?
        .crtcs;
    let index = crtcs.iter().position(|&crtc| crtc == screen.crtc());
    let index = index.ok_or_else(|| format!("CRTC {} is not listed", screen.crtc().id()))?;
    let directory = PathBuf::from(format!("{DEBUGFS}/{}/crtc-{index}/crc", nix::sys::stat::minor(number)));
    let control = directory.join("control");
    OpenOptions::new().write(true).open(&control).map_err(|error| {
        format!(
            "cannot write {}: {error} (a pipe's CRCs need root, and debugfs: `mount -t debugfs nodev /sys/kernel/debug`)",
            control.display()
        )
    })?;
    Ok(directory)
}

/// Returns the CRC of a frame that a pipe reads from now on.
fn of_pipe(directory: &Path) -> Result<u32, String> {
    let (control, data) = (directory.join("control"), directory.join("data"));
    fs::write(&control, SOURCE).map_err(|error| failed(&control, error))?;
    let open = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(&data);
    let mut file = open.map_err(|error| failed(&data, error))?;
    let mut fds = [PollFd::new(file.as_fd(), PollFlags::POLLIN)];
    let ready = poll(&mut fds, PollTimeout::from(TIMEOUT)).map_err(|errno| failed(&data, errno))?;
    if ready == 0 {
        return Err(failed(&data, format_args!("none within {TIMEOUT} ms")));
    }
    let mut line = [0; LINE];
    let length = file.read(&mut line).map_err(|error| failed(&data, error))?;
    let text = String::from_utf8_lossy(line.get(..length).unwrap_or_default()).into_owned();
    parse(&text).ok_or_else(|| failed(&data, format_args!("'{}'", text.escape_debug())))
}

fn failed(path: &Path, why: impl Display) -> String {
    format!("no CRC from {}: {why}", path.display())
}

/// Parses a line: the frame's number, and CRCs, of which all but the first are zero since Haswell. Returns
/// one that depends on all of them.
fn parse(line: &str) -> Option<u32> {
    // The kernel's line ends with a NUL.
    let values = line.trim_end_matches('\0').split_whitespace().skip(1);
    let values = values.map(|value| u32::from_str_radix(value.strip_prefix("0x")?, 16).ok());
    let values: Vec<u32> = values.collect::<Option<_>>()?;
    let (first, others) = values.split_first()?;
    Some(first ^ others.iter().rfold(0, |all: u32, &value| (all ^ value).rotate_left(7)))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_line_of_crcs_becomes_one() {
        let line = "0x0000002a 0xaa33e2a9 0x00000000 0x00000000 0x00000000 0x00000000\n\0";
        assert_eq!(parse(line), Some(0xaa33_e2a9));
        let before_haswell = |values: [u32; 5]| {
            let values = values.map(|value| format!(" 0x{value:08x}"));
            parse(&format!("XXXXXXXXXX{}\n", values.concat()))
        };
        assert_ne!(before_haswell([1, 2, 3, 4, 5]), before_haswell([1, 2, 3, 5, 4]));
        assert_ne!(before_haswell([1, 2, 3, 4, 5]), before_haswell([1, 2, 3, 4, 6]));
    }

    #[test]
    fn other_text_is_no_crc() {
        for line in ["", "\n", "0x0000002a", "0x0000002a 12", "0x0000002a 0x1ffffffff", "0x0 0x1 0xg"] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }
}
