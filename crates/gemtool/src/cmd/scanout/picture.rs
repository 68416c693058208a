//! Pictures, with a second copy of their contents for the CRC that the display must show.

use gem_coherency::bo::Bo;
use gem_coherency::device::Device;
use gem_coherency_exercise::commands::Extent;
use gem_coherency_exercise::{Batch, Error, Region, Screen};
use gem_coherency_sim::Crc;

/// A part of a picture, in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

/// A buffer, and a copy of the contents drawn into it.
#[derive(Debug)]
pub struct Picture {
    bo: Bo,
    pixels: Vec<u8>,
    pitch: usize,
    visible: usize,
    lines: usize,
}

/// Bytes of a pixel.
const PIXEL: usize = 4;

impl Picture {
    /// Creates the picture of a zeroed buffer with a screen's size.
    pub fn new(bo: Bo, screen: &Screen) -> Self {
        let mode = screen.mode();
        let pitch = screen.pitch_bytes() as usize;
        let lines = usize::from(mode.vertical.shown);
        Self {
            bo,
            pixels: vec![0; pitch * lines],
            pitch,
            visible: usize::from(mode.horizontal.shown) * PIXEL,
            lines,
        }
    }

    /// Returns the buffer.
    pub fn bo(&self) -> &Bo {
        &self.bo
    }

    /// Returns the CRC that the display must read.
    pub fn crc(&self) -> Crc {
        let mut crc = Crc::default();
        for line in self.pixels.chunks(self.pitch) {
            crc.add(line.get(..self.visible).unwrap_or(line));
        }
        crc
    }

    /// Draws all of frame `number` with the CPU: bands of colours.
    ///
    /// # Errors
    /// The errors of writing to the BO.
    pub fn draw(&mut self, number: u32) -> Result<(), Error> {
        for (y, line) in self.pixels.chunks_mut(self.pitch).enumerate() {
            let colour = colour(number, y as u32 / 32);
            line.chunks_mut(PIXEL)
                .for_each(|pixel| pixel.copy_from_slice(&colour.to_le_bytes()[..pixel.len()]));
        }
        let mut write = self.bo.write(0, self.pixels.len() as u64)?;
        write.write_at(0, &self.pixels)?;
        write.finish();
        Ok(())
    }

    /// Draws a part in one colour with the CPU.
    ///
    /// # Errors
    /// The errors of writing to the BO.
    pub fn draw_part(&mut self, number: u32) -> Result<(), Error> {
        let part = Part { x: 10, y: 20, width: 100, height: 50 };
        let colour = colour(number, 99).to_le_bytes();
        let height = part.height.min(self.lines.saturating_sub(part.y));
        for y in part.y..part.y + height {
            let start = y * self.pitch + part.x * PIXEL;
            let Some(line) = self.pixels.get_mut(start..start + part.width * PIXEL) else { continue };
            line.chunks_mut(PIXEL).for_each(|pixel| pixel.copy_from_slice(&colour));
            let mut write = self.bo.write(start as u64, line.len() as u64)?;
            write.write_at(start as u64, line)?;
            write.finish();
        }
        Ok(())
    }

    /// Draws the whole picture in one colour with the GPU, and waits for it.
    ///
    /// # Errors
    /// The errors of writing and submitting the batch.
    pub fn draw_by_gpu(&mut self, device: &Device, number: u32) -> Result<(), Error> {
        let colour = colour(number, 7);
        let mut batch = Batch::new(device)?;
        let extent = Extent { width: self.visible as u32, height: self.lines as u32 };
        batch.fill(Region::new(&self.bo, 0).pitch(self.pitch as u32), extent, colour)?;
        batch.submit()?.wait(None)?;
        for line in self.pixels.chunks_mut(self.pitch) {
            for pixel in line.chunks_mut(PIXEL) {
                pixel.copy_from_slice(&colour.to_le_bytes()[..pixel.len()]);
            }
        }
        Ok(())
    }
}

/// Returns a colour of frame `number`, different in each band.
fn colour(number: u32, band: u32) -> u32 {
    number.wrapping_mul(0x0025_4b97).wrapping_add(band.wrapping_mul(0x0013_0b07)) & 0x00ff_ffff
}
