//! A userspace driver in one file, to start from: buffers, an upload, a batch, the way back, and the screen.
//!
//! ```sh
//! cargo run --example mini_driver -- sim:jsl,display=on
//! cargo run --example mini_driver -- /dev/dri/card0
//! ```
//!
//! Without an argument it takes the first i915 device. It draws a rectangle with the GPU's fills; a driver that
//! renders has its own batches, and its own execbuf within `Device::submit_with`.
//! `examples/mini_driver.c` is the same in C, and prints the same.

use std::process::ExitCode;

use gem_coherency::Error::NotAvailable;
use gem_coherency::device::{AllocRequest, Device};
use gem_coherency::object::Bo;
use gem_coherency::object::{FlushReport, Upload};
use gem_coherency_exercise::commands::Extent;
use gem_coherency_exercise::{Batch, Error, Region, Result, Screen};

/// Colours, XRGB8888.
const BACKGROUND: u32 = 0x0030_3040;
const RECTANGLE: u32 = 0x00ff_8000;
const LINE: u32 = 0x00ff_ffff;
/// The place of the rectangle, in pixels: left, top, width, height.
const CORNERS: [u32; 4] = [32, 16, 100, 40];
/// The row that the CPU draws.
const ROW: u32 = 20;

/// Rows of pixels in a BO.
struct Surface {
    bo: Bo,
    width: u32,
    height: u32,
    pitch: u32,
}

impl Surface {
    /// Returns the offset of a pixel.
    fn at(&self, x: u32, y: u32) -> u64 {
        u64::from(y) * u64::from(self.pitch) + 4 * u64::from(x)
    }

    /// The colour that a pixel should have in the end.
    fn expected(x: u32, y: u32) -> u32 {
        let [left, top, width, height] = CORNERS;
        let inside = (left..left + width).contains(&x) && (top..top + height).contains(&y);
        match (y, inside) {
            (ROW, _) => LINE,
            (_, true) => RECTANGLE,
            (_, false) => BACKGROUND,
        }
    }
}

/// Says what was flushed or not, and by which rule.
fn say(what: &str, report: &FlushReport) {
    let FlushReport { step, decision, lines, bytes } = report;
    let (verdict, rule) = (decision.verdict, decision.rule);
    println!("{what}: {step}: {verdict}, {lines} lines ({bytes} bytes), by {rule}: {}", rule.reason());
}

/// Draws with the GPU, and has it fetch the vertices as a vertex shader would.
fn draw(device: &Device, vertices: &Bo, fetched: &Bo, to: &Surface) -> Result<()> {
    let [left, top, width, height] = CORNERS;
    let region = |x, y| Region::new(&to.bo, to.at(x, y)).pitch(to.pitch);
    let mut batch = Batch::new(device)?;
    batch.fill(region(0, 0), Extent { width: 4 * to.width, height: to.height }, BACKGROUND)?;
    batch.fill(region(left, top), Extent { width: 4 * width, height }, RECTANGLE)?;
    batch.copy_range(Region::new(fetched, 0), Region::new(vertices, 0), 64)?;
    let job = batch.submit()?;
    // Per BO, access and MOCS class, in the order of the commands; the last is the batch's own.
    for (what, report) in ["colour", "fetched", "vertices", "batch"].iter().zip(job.reports()) {
        say(what, report);
    }
    job.wait(None)
}

/// Draws a row with the CPU: four bytes of each line of it are written, or all.
fn draw_row(to: &Surface) -> Result<()> {
    let row = LINE.to_le_bytes().repeat(to.width as usize);
    let mut write = to.bo.write(to.at(0, ROW), row.len() as u64)?;
    write.write_at(to.at(0, ROW), &row)?;
    write.finish();
    Ok(())
}

/// Returns the number of pixels that are wrong.
fn wrong_pixels(surface: &Surface) -> Result<u32> {
    let mut wrong = 0;
    let mut row = vec![0; 4 * surface.width as usize];
    for y in 0..surface.height {
        surface.bo.read(surface.at(0, y), row.len() as u64)?.read_at(surface.at(0, y), &mut row)?;
        let expected = (0..surface.width).map(|x| Surface::expected(x, y).to_le_bytes());
        wrong += row.chunks_exact(4).zip(expected).filter(|(pixel, want)| pixel != want).count();
    }
    Ok(wrong as u32)
}

/// A frame of the driver's life; returns how much came out wrong.
fn frame(device: &Device) -> Result<u32> {
    println!("{}", device.machine().platform.title);
    // Buffers that are given back are kept: that spares the page faults.
    device.set_reuse_limit(64 << 20);

    // The colour buffer is what is shown, where there is a screen.
    let screen = match Screen::open(device) {
        Ok(screen) => Some(screen),
        Err(error) => {
            println!("no screen");
            eprintln!("{error}");
            None
        }
    };
    let colour = match &screen {
        Some(screen) => Surface {
            bo: screen.alloc_dumb()?,
            width: screen.mode().horizontal.shown.into(),
            height: screen.mode().vertical.shown.into(),
            pitch: screen.pitch_bytes(),
        },
        None => {
            Surface { bo: device.alloc(AllocRequest::new(1024 * 128))?, width: 256, height: 128, pitch: 1024 }
        }
    };
    println!("{}x{} pixels", colour.width, colour.height);

    // Vertices for the GPU: in memory when this returns, if that is where the GPU looks.
    let vertices = device.alloc(AllocRequest::new(4096))?;
    let fetched = device.alloc(AllocRequest::new(4096))?;
    let corners: Vec<u8> = CORNERS.iter().flat_map(|corner| corner.to_le_bytes()).collect();
    say("upload", &vertices.upload(0, &corners, Upload::Auto)?);

    draw(device, &vertices, &fetched, &colour)?;
    draw_row(&colour)?;

    // The way back: reading waits for the GPU, and drops what is stale.
    let read = fetched.read(0, corners.len() as u64)?;
    let mut seen = vec![0; corners.len()];
    read.read_at(0, &mut seen)?;
    say("read back", &read.finish());
    let mut wrong = wrong_pixels(&colour)?;
    wrong += u32::from(seen != corners);
    println!("wrong: {wrong}");

    if let Some(mut screen) = screen {
        match screen.show(&colour.bo) {
            Ok(report) => {
                say("show", &report);
                draw_row(&colour)?;
                say("show again", &screen.dirty()?);
            }
            Err(error @ Error::Library(NotAvailable { .. })) => {
                println!("not shown");
                eprintln!("{error}");
            }
            Err(error) => return Err(error),
        }
        // Shows the previous contents of the screen again.
        screen.close()?;
    }
    Ok(wrong)
}

fn main() -> ExitCode {
    // For `sim:...`; a driver of real devices leaves it out.
    gem_coherency_sim::link();
    let opened = match std::env::args().nth(1) {
        Some(name) => Device::open(&name),
        None => Device::open_first(),
    };
    match opened.map_err(Error::from).and_then(|device| frame(&device)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
