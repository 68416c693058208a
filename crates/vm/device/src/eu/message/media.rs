//! Media blocks: messages that read and write lines of pictures.

use super::super::Thread;
use super::super::channels::Channels;
use super::super::registers::REGISTER;
use super::{Message, dword};

impl Thread<'_> {
    /// Reads or writes lines of a picture, whatever channels are enabled. In registers each line has the
    /// smallest of the sizes 4, 8, 16, 32 and 64 that it fits in; a block has eight registers at most.
    pub fn media(&mut self, channels: &Channels, message: &Message, write: bool) -> Result<(), String> {
        if channels.predicate.is_some() || !message.has_header() || message.bits(13, 8) != 0 {
            return Err("a media block with a predicate, without a header, or of other lines".into());
        }
        let (binding, payload) = (message.binding()?, self.payload(message)?);
        let [x, y, size] = [0, 1, 2].map(|index| dword(&payload, index));
        let (width, height) = ((size & 0x3f) as usize + 1, (size >> 16 & 0x3f) as usize + 1);
        let step = width.next_power_of_two().max(4);
        // Whether places are signed is not known.
        let known = size & !0x3f_003f == 0 && step * height <= 8 * REGISTER && (x | y) >> 31 == 0;
        if !known || write && !(x.is_multiple_of(4) && width.is_multiple_of(4)) {
            return Err(format!("a media block of size {size:#x} at byte {x:#x} of line {y:#x}"));
        }
        let (x, y) = (u64::from(x), u64::from(y));
        let places = (0..height).map(|line| (line * step, [x, y + line as u64]));
        if write {
            // Programs send more registers than the block has.
            let data = payload.get(REGISTER..).filter(|data| data.len() >= step * height);
            let data = data.ok_or_else(|| format!("{} bytes for a media block", payload.len()))?;
            message.lengths(payload.len() / REGISTER, 0)?;
            return places.into_iter().try_for_each(|(start, place)| {
                self.memory.write_line(binding, place, &data[start..start + width])
            });
        }
        let length = step * height;
        message.lengths(1, length.div_ceil(REGISTER))?;
        let data = self.registers.bytes(message.destination, length)?;
        places.into_iter().try_for_each(|(start, place)| {
            self.memory.read_line(binding, place, &mut data[start..start + width])
        })
    }
}
