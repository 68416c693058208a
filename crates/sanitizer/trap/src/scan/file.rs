//! Images of ELF files that are not loaded.

use object::elf::{PF_X, PT_GNU_EH_FRAME, PT_LOAD};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, ReadRef};

use super::{Image, Segment};

impl<'a> Image<'a> {
    /// Returns the image of an x86-64 ELF file, with the addresses of the file. `None` if `file` is something else, or
    /// malformed.
    #[must_use]
    pub fn of_file(file: &'a [u8]) -> Option<Self> {
        let elf = ElfFile64::<Endianness>::parse(file).ok()?;
        let endian = elf.endian();
        if elf.elf_header().e_machine.get(endian) != object::elf::EM_X86_64 {
            return None;
        }
        let mut image = Image { segments: Vec::new(), eh_frame_hdr: None };
        for header in elf.elf_program_headers() {
            let address = header.p_vaddr(endian);
            if header.p_type(endian) == PT_GNU_EH_FRAME {
                image.eh_frame_hdr = Some(address);
            } else if header.p_type(endian) == PT_LOAD {
                let bytes = file.read_bytes_at(header.p_offset(endian), header.p_filesz(endian)).ok()?;
                image.segments.push(Segment {
                    address,
                    bytes,
                    executable: header.p_flags(endian) & PF_X != 0,
                });
            }
        }
        Some(image)
    }
}
