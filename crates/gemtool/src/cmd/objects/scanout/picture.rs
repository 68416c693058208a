//! Pictures: what was drawn, and its pixels.

use gem_coherency::device::Device;
use gem_coherency::object::Bo;
use gem_coherency_exercise::commands::Extent;
use gem_coherency_exercise::{Batch, CURSOR_PIXELS, Error, Region, Screen};
use gem_coherency_sim::Crc;

/// Bytes of a pixel.
const PIXEL: usize = 4;
/// The value of all bytes of the cursor.
const CURSOR_BYTE: u8 = 0x80;

/// The part of a picture that [`Stroke::Part`] draws, in pixels.
const PART: Part = Part { x: 10, y: 20, width: 100, height: 50 };

/// A part of a picture, in pixels.
#[derive(Clone, Copy, Debug)]
struct Part {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

/// Something drawn, by the number of its frame, which determines the colours.
#[derive(Clone, Copy, Debug)]
enum Stroke {
    /// Bands of colours, everywhere.
    Bands(u32),
    /// One colour in a part.
    Part(u32),
    /// One colour everywhere.
    Fill(u32),
}

/// Everything drawn into a zeroed buffer that still shows.
#[derive(Clone, Debug, Default)]
pub struct Contents(Vec<Stroke>);

/// The place of pixels in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pitch: usize,
    visible: usize,
    lines: usize,
}

/// A buffer and its contents.
#[derive(Debug)]
pub struct Picture {
    bo: Bo,
    contents: Contents,
    layout: Layout,
}

impl Layout {
    /// Returns the layout of a screen's pictures.
    pub fn of(screen: &Screen) -> Self {
        let mode = screen.mode();
        Self {
            pitch: screen.pitch_bytes() as usize,
            visible: usize::from(mode.horizontal.shown) * PIXEL,
            lines: usize::from(mode.vertical.shown),
        }
    }

    /// Returns the byte ranges of [`PART`], line by line, without those beyond the picture's end.
    fn part(self) -> impl Iterator<Item = std::ops::Range<usize>> {
        (PART.y..self.lines.min(PART.y + PART.height)).map(move |y| {
            let start = y * self.pitch + PART.x * PIXEL;
            start..(start + PART.width * PIXEL).min(self.pitch * self.lines)
        })
    }
}

impl Contents {
    fn add(&mut self, stroke: Stroke) {
        match stroke {
            Stroke::Bands(_) | Stroke::Fill(_) => self.0.clear(),
            Stroke::Part(_) => {}
        }
        self.0.push(stroke);
    }

    /// Returns all bytes of the buffer.
    pub fn bytes(&self, layout: Layout) -> Vec<u8> {
        let mut bytes = vec![0; layout.pitch * layout.lines];
        for &stroke in &self.0 {
            match stroke {
                Stroke::Bands(number) => {
                    for (y, line) in bytes.chunks_mut(layout.pitch).enumerate() {
                        fill(line, colour(number, y as u32 / 32));
                    }
                }
                Stroke::Part(number) => {
                    for range in layout.part() {
                        if let Some(line) = bytes.get_mut(range) {
                            fill(line, colour(number, 99));
                        }
                    }
                }
                Stroke::Fill(number) => fill(&mut bytes, fill_colour(number)),
            }
        }
        bytes
    }

    /// Returns the CRC that a software display must read, with the cursor or without.
    pub fn crc(&self, layout: Layout, cursor: bool) -> u32 {
        let mut crc = Crc::default();
        for line in self.bytes(layout).chunks(layout.pitch) {
            crc.add(line.get(..layout.visible).unwrap_or(line));
        }
        if cursor {
            crc.add(&cursor_bytes());
        }
        crc.finish()
    }
}

impl Picture {
    /// Creates the picture of a zeroed buffer.
    pub fn new(bo: Bo, layout: Layout) -> Self {
        Self { bo, contents: Contents::default(), layout }
    }

    /// Returns the buffer.
    pub fn bo(&self) -> &Bo {
        &self.bo
    }

    /// Returns the contents.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Draws all of frame `number` with the CPU: bands of colours.
    ///
    /// # Errors
    /// The errors of writing to the BO.
    pub fn draw(&mut self, number: u32) -> Result<(), Error> {
        let mut contents = Contents::default();
        contents.add(Stroke::Bands(number));
        self.draw_contents(contents)
    }

    /// Draws what another picture contains, with the CPU.
    ///
    /// # Errors
    /// The errors of writing to the BO.
    pub fn draw_contents(&mut self, contents: Contents) -> Result<(), Error> {
        write(&self.bo, 0, &contents.bytes(self.layout))?;
        self.contents = contents;
        Ok(())
    }

    /// Draws a part in one colour with the CPU.
    ///
    /// # Errors
    /// The errors of writing to the BO.
    pub fn draw_part(&mut self, number: u32) -> Result<(), Error> {
        self.contents.add(Stroke::Part(number));
        let bytes = self.contents.bytes(self.layout);
        for range in self.layout.part() {
            let start = range.start;
            if let Some(line) = bytes.get(range) {
                write(&self.bo, start, line)?;
            }
        }
        Ok(())
    }

    /// Draws the whole picture in one colour with the GPU, and waits for it.
    ///
    /// # Errors
    /// The errors of writing and submitting the batch.
    pub fn draw_by_gpu(&mut self, device: &Device, number: u32) -> Result<(), Error> {
        let mut batch = Batch::new(device)?;
        let extent = Extent { width: self.layout.visible as u32, height: self.layout.lines as u32 };
        let region = Region::new(&self.bo, 0).pitch(self.layout.pitch as u32);
        batch.fill(region, extent, fill_colour(number))?;
        batch.submit()?.wait(None)?;
        self.contents.add(Stroke::Fill(number));
        Ok(())
    }
}

/// Draws the cursor with the CPU.
///
/// # Errors
/// The errors of writing to the BO.
pub fn draw_cursor(bo: &Bo) -> Result<(), Error> {
    write(bo, 0, &cursor_bytes())
}

/// Returns the bytes of the cursor.
fn cursor_bytes() -> Vec<u8> {
    vec![CURSOR_BYTE; (CURSOR_PIXELS * CURSOR_PIXELS) as usize * PIXEL]
}

/// Writes bytes at an offset with the CPU.
fn write(bo: &Bo, start: usize, bytes: &[u8]) -> Result<(), Error> {
    let mut write = bo.write(start as u64, bytes.len() as u64)?;
    write.write_at(start as u64, bytes)?;
    write.finish();
    Ok(())
}

/// Fills bytes with pixels of one colour.
fn fill(bytes: &mut [u8], colour: u32) {
    let colour = colour.to_le_bytes();
    bytes.chunks_mut(PIXEL).for_each(|pixel| pixel.copy_from_slice(&colour[..pixel.len()]));
}

/// Returns a colour of frame `number`, different in each band.
fn colour(number: u32, band: u32) -> u32 {
    number.wrapping_mul(0x0025_4b97).wrapping_add(band.wrapping_mul(0x0013_0b07)) & 0x00ff_ffff
}

/// Returns the colour of a frame in one colour.
fn fill_colour(number: u32) -> u32 {
    colour(number, 7)
}
