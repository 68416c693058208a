//! The instructions of the guest's CPU that have to do with its caches, decoded from their bytes. Only 64-bit code is
//! decoded: the kernel and its programs are that.

/// The memory operand of an instruction.
#[derive(Debug, PartialEq, Eq)]
pub struct Operand {
    pub base: Option<u8>,
    /// A register, and the power of two that it is multiplied with.
    pub index: Option<(u8, u8)>,
    pub displacement: u64,
    /// 4: fs, 5: gs.
    pub segment: Option<u8>,
    /// The address has 32 bits (prefix 67).
    pub short: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Flush {
    /// CLFLUSH: in order with stores.
    Strong,
    /// CLFLUSHOPT.
    Weak,
    /// CLWB: the line may stay.
    WriteBack,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Instruction {
    Flush(Flush, Operand),
    /// WBINVD.
    WriteBackAll,
    /// A store past the cache.
    StoreAround,
    /// An instruction that earlier stores and flushes are done before: fences, locked and serialising ones.
    Fence,
    Return,
    Other,
}

struct Prefixes {
    operand_size: bool,
    short: bool,
    lock: bool,
    rex: u8,
    segment: Option<u8>,
}

/// Decodes the instruction in `code`, which is at `at`.
pub fn decode(code: &[u8], at: u64) -> Instruction {
    let mut prefixes = Prefixes { operand_size: false, short: false, lock: false, rex: 0, segment: None };
    let mut rest = code;
    while let [byte, after @ ..] = rest {
        match byte {
            0x66 => prefixes.operand_size = true,
            0x67 => prefixes.short = true,
            0xf0 => prefixes.lock = true,
            0x64 => prefixes.segment = Some(4),
            0x65 => prefixes.segment = Some(5),
            0x2e | 0x36 | 0x3e | 0x26 | 0xf2 | 0xf3 => {}
            0x40..=0x4f => prefixes.rex = *byte,
            _ => break,
        }
        rest = after;
    }
    if prefixes.lock {
        return Instruction::Fence;
    }
    match *rest {
        // VMOVNTPS, VMOVNTDQ with their two forms of VEX; MOVNTPS, MOVNTDQ, MOVNTQ, MOVNTI, MASKMOVDQU, MASKMOVQ.
        [0xc5, _, 0x2b | 0xe7, ..] | [0xc4, _, _, 0x2b | 0xe7, ..] => Instruction::StoreAround,
        [0xc5, _, 0xf7, ..] | [0x0f, 0x2b | 0xe7 | 0xc3 | 0xf7, ..] => Instruction::StoreAround,
        [0x0f, 0x09, ..] => Instruction::WriteBackAll,
        // CPUID, WRMSR, MOV to a control register; IRET.
        [0x0f, 0xa2 | 0x30 | 0x22, ..] | [0xcf, ..] => Instruction::Fence,
        // XCHG with memory.
        [0x86 | 0x87, modrm, ..] if modrm < 0xc0 => Instruction::Fence,
        // MFENCE, SFENCE.
        [0x0f, 0xae, 0xf0..=0xff, ..] => Instruction::Fence,
        [0xc3 | 0xc2, ..] => Instruction::Return,
        [0x0f, 0xae, modrm, ref rest @ ..] if modrm < 0xc0 => {
            let flush = match (modrm >> 3 & 7, prefixes.operand_size) {
                (7, false) => Flush::Strong,
                (7, true) => Flush::Weak,
                (6, true) => Flush::WriteBack,
                _ => return Instruction::Other,
            };
            operand(modrm, rest, &prefixes, at.wrapping_add(code.len() as u64))
                .map_or(Instruction::Other, |operand| Instruction::Flush(flush, operand))
        }
        _ => Instruction::Other,
    }
}

/// The memory operand after a ModRM byte; `next` is where the next instruction is. `None`: bytes are missing.
fn operand(modrm: u8, mut rest: &[u8], prefixes: &Prefixes, next: u64) -> Option<Operand> {
    let (mode, rm) = (modrm >> 6, modrm & 7);
    let (extended_base, extended_index) = ((prefixes.rex & 1) << 3, (prefixes.rex & 2) << 2);
    let mut base = Some(rm | extended_base);
    let mut index = None;
    let mut no_base = mode == 0 && rm == 5;
    let relative = no_base;
    if rm == 4 {
        let (&sib, after) = rest.split_first()?;
        rest = after;
        base = Some(sib & 7 | extended_base);
        no_base = mode == 0 && sib & 7 == 5;
        let number = sib >> 3 & 7 | extended_index;
        index = (number != 4).then_some((number, sib >> 6));
    }
    if no_base {
        base = None;
    }
    let displacement = match mode {
        1 => i64::from(rest.first()?.cast_signed()),
        0 if !no_base => 0,
        _ => i64::from(i32::from_le_bytes(*rest.first_chunk()?)),
    };
    let displacement = displacement.cast_unsigned().wrapping_add(if relative { next } else { 0 });
    Some(Operand { base, index, displacement, segment: prefixes.segment, short: prefixes.short })
}
