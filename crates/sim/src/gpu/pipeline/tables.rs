//! Binding tables and surface states: what the state cache reads at a draw or a dispatch.
//!
//! A stage's shader declares how many entries it uses, which the hardware fetches ahead with their surface states. Of a
//! shader that is not executed and declares none, as all compute shaders of Mesa do from graphics 12.5 on, no entry is read here.

use super::encoding::{Encoding, bits};
use super::reader::Reader;
use super::surface::{self, Surface};
use gem_coherency::vocabulary::MocsClass;

const STATE_BASE_ADDRESS: u32 = 0x6101;
/// 3DSTATE_BINDING_TABLE_POINTERS of graphics 6.
const POINTERS: u32 = 0x7801;
/// 3DSTATE_BINDING_TABLE_POINTERS_VS, and after it those of HS, DS, GS and PS (graphics 7 and later).
const POINTERS_VS: u32 = 0x7826;
const POINTERS_PS: u32 = 0x782a;
/// 3DSTATE_BINDING_TABLE_POOL_ALLOC (graphics 7.5 and later).
const POOL_ALLOC: u32 = 0x7919;
/// 3DSTATE_PS_EXTRA (graphics 8 and later).
const PS_EXTRA: u32 = 0x784f;

/// A stage of the 3D pipeline, in the order of the commands with the binding tables.
const VS: usize = 0;
const HS: usize = 1;
const DS: usize = 2;
const GS: usize = 3;
const PS: usize = 4;
const STAGES: usize = 5;

/// The commands that set a stage: the command, the stage, the first and the last generation, the dword of the number of
/// binding table entries (bits 25:18), and the dword and the bits that enable the stage.
#[rustfmt::skip]
const STAGE_COMMANDS: &[(u32, usize, u16, u16, usize, usize, u32)] = &[
    (0x7810, VS, 60,       75, 2, 5, 1),       // 3DSTATE_VS
    (0x7810, VS, 80, u16::MAX, 3, 7, 1),
    (0x7811, GS, 60,       60, 2, 6, 1 << 15), // 3DSTATE_GS
    (0x7811, GS, 70,       75, 2, 5, 1),
    (0x7811, GS, 80, u16::MAX, 3, 7, 1),
    (0x7814, PS, 60,       60, 2, 5, 1 << 19), // 3DSTATE_WM
    (0x781b, HS, 70, u16::MAX, 1, 2, 1 << 31), // 3DSTATE_HS
    (0x781d, DS, 70,       75, 2, 5, 1),       // 3DSTATE_DS
    (0x781d, DS, 80, u16::MAX, 3, 7, 1),
    (0x7820, PS, 70,       75, 2, 4, 7),       // 3DSTATE_PS: 8, 16 or 32 pixels at a time
    (0x7820, PS, 80, u16::MAX, 3, 6, 7),
];

/// An address that offsets are relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Base {
    pub(super) address: u64,
    pub(super) mocs: MocsClass,
}

impl Base {
    /// Returns the address `offset` bytes further on, with the same MOCS.
    pub(super) fn after(self, offset: u64) -> Self {
        Self { address: self.address.wrapping_add(offset), ..self }
    }
}

/// The memory that binding tables are in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Pool {
    /// They are relative to the surface states' base.
    #[default]
    None,
    /// Their own.
    Of(Base),
    /// Tables that the hardware generates, up to graphics 10: their form is not known here.
    Generated,
}

/// The number of binding table entries of a stage that is enabled.
type Entries = Option<u32>;

/// The state of binding tables.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    surfaces: Option<Base>,
    pool: Pool,
    /// Pointers are in units of 256 bytes instead of 32 (graphics 11 and 12).
    is_aligned: bool,
    stages: [Entries; STAGES],
    pointers: [Option<u64>; STAGES],
    has_pixel_shader: bool,
}

/// Returns whether this is one of the commands that set this state or start the pipelines.
pub(super) fn is_followed(opcode: u32) -> bool {
    matches!(opcode, STATE_BASE_ADDRESS | POINTERS | POINTERS_VS..=POINTERS_PS | POOL_ALLOC | PS_EXTRA)
        || STAGE_COMMANDS.iter().any(|row| row.0 == opcode)
}

impl Tables {
    /// Sets the alignment of binding tables.
    pub(super) fn set_alignment(&mut self, encoding: Encoding, is_aligned: bool) {
        if (110..125).contains(&encoding.generation) && self.is_aligned != is_aligned {
            self.is_aligned = is_aligned;
            self.pointers = [None; STAGES];
        }
    }

    /// Follows a command that sets state.
    pub(super) fn set(&mut self, encoding: Encoding, opcode: u32, words: &[u32]) {
        let generation = encoding.generation;
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        match opcode {
            STATE_BASE_ADDRESS => {
                if let Some(base) = base(encoding, words, if encoding.is_wide() { 4 } else { 2 }) {
                    self.move_tables(|tables| tables.surfaces = Some(base));
                }
            }
            POINTERS if generation < 70 => {
                for (stage, bit, at) in [(VS, 8, 1), (GS, 9, 2), (PS, 12, 3)] {
                    if bits(word(0), bit, bit) != 0
                        && let Some(pointer) = self.pointers.get_mut(stage)
                    {
                        *pointer = Some((word(at) & !0x1f).into());
                    }
                }
            }
            POINTERS_VS..=POINTERS_PS if generation >= 70 => {
                let pointer = self.pointer(encoding, word(1));
                if let Some(of_stage) = self.pointers.get_mut((opcode - POINTERS_VS) as usize) {
                    *of_stage = Some(pointer);
                }
            }
            POOL_ALLOC if generation >= 75 => {
                let enabled = generation >= 125 || bits(word(1), 11, 11) != 0;
                let pool = match (enabled, generation) {
                    (false, _) => Pool::None,
                    (true, ..110) => Pool::Generated,
                    (true, 110..) => {
                        let mocs = encoding.mocs(bits(word(1), 6, 0));
                        encoding
                            .address(words, 1)
                            .map_or(Pool::None, |address| Pool::Of(Base { address: address & !0xfff, mocs }))
                    }
                };
                self.move_tables(|tables| tables.pool = pool);
            }
            PS_EXTRA if generation >= 80 => self.has_pixel_shader = bits(word(1), 31, 31) != 0,
            _ => {
                let row = STAGE_COMMANDS
                    .iter()
                    .find(|row| row.0 == opcode && (row.2..=row.3).contains(&generation));
                if let Some(&(_, stage, _, _, entries, enable, mask)) = row
                    && let Some(of_stage) = self.stages.get_mut(stage)
                {
                    let is_enabled = word(enable) & mask != 0;
                    *of_stage = is_enabled.then_some(bits(word(entries), 25, 18));
                }
            }
        }
    }

    /// Changes a base. Where that moves the tables, their pointers have to be set anew.
    fn move_tables(&mut self, change: impl FnOnce(&mut Self)) {
        let before = (self.surfaces, self.pool);
        change(self);
        if (self.surfaces, self.pool) != before {
            self.pointers = [None; STAGES];
        }
    }

    /// Decodes a pointer to a binding table.
    fn pointer(&self, encoding: Encoding, word: u32) -> u64 {
        let offset = if encoding.generation >= 125 { bits(word, 20, 5) } else { bits(word, 15, 5) };
        u64::from(offset) << if self.is_aligned { 8 } else { 5 }
    }

    /// Reads the tables of a draw.
    ///
    /// # Errors
    /// The reason why one of them is not known.
    pub(super) fn draw(&self, encoding: Encoding, reader: &mut Reader<'_>) -> Result<(), &'static str> {
        let mut all_known = Ok(());
        for (stage, (entries, pointer)) in self.stages.iter().zip(&self.pointers).enumerate() {
            let has_shader = stage != PS || self.has_pixel_shader || encoding.generation < 80;
            let Some(entries) = entries.filter(|&entries| has_shader && entries > 0) else { continue };
            match pointer {
                Some(pointer) if self.surfaces.is_some() && self.tables().is_some() => {
                    self.read(encoding, *pointer, entries, reader);
                }
                Some(_) | None => all_known = Err("the place of a binding table is not known"),
            }
        }
        all_known
    }

    /// Reads the table of a dispatch whose shader is not executed; returns whether it has one.
    pub(super) fn dispatch(
        &self,
        encoding: Encoding,
        (table, entries): (u32, u32),
        reader: &mut Reader<'_>,
    ) -> bool {
        // Mesa's Vulkan drivers declare an entry more than the shader has (`BindingTableEntryCount`).
        let entries = entries.saturating_sub(1);
        self.read(encoding, self.pointer(encoding, table), entries, reader);
        entries > 0 && self.surfaces.is_some() && self.tables().is_some()
    }

    /// Reads an entry of a shader's table and the surface state that it names; `None` if it shows no known bytes.
    pub(super) fn surface(
        &self,
        encoding: Encoding,
        table: u32,
        entry: u8,
        reader: &mut Reader<'_>,
    ) -> Option<Surface> {
        let offset = self.pointer(encoding, table) + 4 * u64::from(entry);
        let state = *reader.dwords(self.tables()?.after(offset), 1)?.first()?;
        let words = reader.dwords(self.surfaces?.after(state.into()), surface::dwords(encoding))?;
        Surface::new(encoding, &words)
    }

    /// Returns the base of binding tables.
    fn tables(&self) -> Option<Base> {
        match self.pool {
            Pool::None => self.surfaces,
            Pool::Of(base) => Some(base),
            Pool::Generated => None,
        }
    }

    /// Reads a table, the surface states that it names, and judges their surfaces.
    fn read(&self, encoding: Encoding, pointer: u64, entries: u32, reader: &mut Reader<'_>) {
        let Some(surfaces) = self.surfaces else { return };
        let tables = self.tables().map(|base| base.after(pointer));
        let Some(table) = tables.and_then(|table| reader.state(table, entries as usize)) else { return };
        let unused = if encoding.is_wide() { 0x3f } else { 0x1f };
        for entry in table.into_iter().filter(|&entry| entry != 0 && entry & unused == 0) {
            let words = reader.state(surfaces.after(entry.into()), surface::dwords(encoding));
            if let Some(surface) = words.and_then(|words| Surface::new(encoding, &words)) {
                surface.watch(reader);
            }
        }
    }
}

/// Decodes a base of STATE_BASE_ADDRESS; `None` if the command leaves it as it is.
pub(super) fn base(encoding: Encoding, words: &[u32], at: usize) -> Option<Base> {
    let low = *words.get(at)?;
    let mocs = encoding.mocs(if encoding.is_wide() { bits(low, 10, 4) } else { bits(low, 11, 8) });
    let address = encoding.address(words, at)? & !0xfff;
    (bits(low, 0, 0) != 0).then_some(Base { address, mocs })
}
